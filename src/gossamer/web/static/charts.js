// Small charts as SVG.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [180, 90, 26, 14];

function add(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function canvas(figure, sentence) {
  figure.querySelector("svg")?.remove();
  const svg = add(figure, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": sentence });
  add(svg, "line", { class: "axis", x1: LEFT, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM });
  return svg;
}

// rows: [label, value]; labels that would overlap are left out.
export function bars(figure, rows) {
  const caption = figure.querySelector("figcaption").textContent;
  const most = Math.max(...rows.map(([, value]) => value), 0);
  const svg = canvas(figure, `${caption}: ${rows.map(([label, value]) => `${label}: ${short(value)}`).join(", ") || "none"}`);
  if (!rows.length || !most) return;
  add(svg, "text", { x: LEFT - 3, y: 9, "text-anchor": "end" }, short(most));
  const step = (WIDTH - LEFT) / rows.length;
  const every = Math.ceil((Math.max(...rows.map(([label]) => String(label).length)) + 1) * 5.5 / step);
  rows.forEach(([label, value], place) => {
    const height = ((HEIGHT - BOTTOM - 4) * value) / most;
    const bar = add(svg, "rect", {
      class: "mark", x: LEFT + place * step + step * 0.1, y: HEIGHT - BOTTOM - height, width: step * 0.8, height,
    });
    add(bar, "title", {}, `${label}: ${short(value)}`);
    if (place % every === 0) {
      add(svg, "text", { x: LEFT + (place + 0.5) * step, y: HEIGHT - 3, "text-anchor": "middle" }, label);
    }
  });
}

// points: [x, y].
export function scatter(figure, points) {
  const caption = figure.querySelector("figcaption").textContent;
  const [wide, high] = [0, 1].map((axis) => Math.max(1, ...points.map((point) => point[axis])));
  const svg = canvas(figure, `${caption}: up to ${high} links, up to ${wide} topics`);
  add(svg, "text", { x: LEFT - 3, y: 9, "text-anchor": "end" }, high);
  add(svg, "text", { x: WIDTH, y: HEIGHT - 3, "text-anchor": "end" }, `${wide} topics`);
  const seen = new Set();
  for (const [x, y] of points) {
    if (seen.has(`${x} ${y}`)) continue;
    seen.add(`${x} ${y}`);
    const place = { cx: LEFT + ((WIDTH - LEFT - 4) * x) / wide, cy: 4 + (HEIGHT - BOTTOM - 4) * (1 - y / high) };
    add(svg, "circle", { class: "mark", r: 2, ...place });
  }
}

export function short(value) {
  return value >= 1000 ? `${(value / 1000).toFixed(value < 10000 ? 1 : 0)}k` : String(Math.round(value * 10) / 10);
}
