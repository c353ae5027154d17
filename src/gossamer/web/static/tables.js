// The tables, lists and charts beside the picture. Everything that comes from a network is text, never markup.

import { bars, scatter, short } from "./charts.js";

const $ = (id) => document.getElementById(id);
const HAPPENINGS_MAX = 200;

function rowOf(cells, isChosen) {
  const row = document.createElement("tr");
  row.classList.toggle("chosen", Boolean(isChosen));
  for (const cell of cells) {
    const made = document.createElement("td");
    if (cell instanceof Node) made.append(cell);
    else {
      const { text, bad } = typeof cell === "object" ? cell : { text: cell };
      made.textContent = text;
      made.classList.toggle("bad", Boolean(bad));
    }
    row.append(made);
  }
  return row;
}

function choice(text, onChoose, isChosen) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-pressed", String(Boolean(isChosen)));
  button.addEventListener("click", onChoose);
  button.dataset.name = text;
  return button;
}

// Replace rows, and keep the focus on the button of the same name.
function fill(table, rows) {
  const body = table.tBodies[0];
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  body.replaceChildren(...rows);
  if (focused !== null) [...body.querySelectorAll("button")].find((each) => each.dataset.name === focused)?.focus();
}

export function share(arrived, expected) {
  if (!expected) return "";
  return arrived === expected ? "100%" : `${(Math.floor((1000 * arrived) / expected) / 10).toFixed(1)}%`;
}

export function showTopics(topics, chosen, onChoose) {
  fill($("topics"), topics.map((topic) => rowOf([
    choice(topic.name, () => onChoose(topic.name), topic.name === chosen),
    topic.subscribers,
    { text: topic.components, bad: topic.components > 1 },
    (topic.is_exact ? "" : "≥ ") + topic.diameter,
    { text: share(topic.arrived, topic.expected), bad: topic.arrived < topic.expected },
  ], topic.name === chosen)));
  $("no-topic").hidden = !chosen;
}

export function showMessages(messages, chosen, onChoose) {
  fill($("messages"), messages.map((message) => {
    const button = choice(brief(message.publisher), () => onChoose(message.name), message.name === chosen);
    button.dataset.name = message.name;
    const arrived = `${message.arrived} of ${message.expected}`;
    return rowOf([button, message.topic, arrived, message.needless], message.name === chosen);
  }));
}

export function showWay(way) {
  $("way").hidden = !way;
  if (!way) return;
  const missing = way.missing.length ? `; missing at ${way.missing.map(brief).join(", ")}` : "";
  $("way-title").textContent = `The way of a message of ${brief(way.publisher)} on ${way.topic}${missing}`;
  fill($("hops"), way.copies.map(([from, to, after, needless]) =>
    rowOf([`${(after / 1000).toFixed(1)} ms`, brief(from), brief(to), { text: needless, bad: needless }])));
}

export function showCharts(nodes, frame) {
  if (nodes) {
    const degrees = new Map();
    for (const [, , degree] of nodes) degrees.set(degree, (degrees.get(degree) ?? 0) + 1);
    const most = Math.max(0, ...degrees.keys());
    bars($("degrees"), Array.from({ length: most + 1 }, (_, degree) => [degree, degrees.get(degree) ?? 0]));
    scatter($("scatter"), nodes.map(([, topics, degree]) => [topics, degree]));
  }
  const counts = frame.latencies;
  const [first, last] = [counts.findIndex(Boolean), counts.findLastIndex(Boolean)];
  const shown = first < 0 ? [] : counts.slice(first, last + 1).map((count, place) => [micros(2 ** (first + place)), count]);
  bars($("latencies"), shown);
  bars($("control"), Object.entries(frame.speeds.control).sort((one, other) => other[1] - one[1]).slice(0, 6));
}

function micros(us) {
  if (us < 1000) return `${us}µs`;
  return us < 1e6 ? `${Math.round(us / 1000)}ms` : `${Math.round(us / 1e6)}s`;
}

export function addHappenings(happenings, sayTime) {
  const list = $("happenings");
  for (const [, atUs, sentence] of happenings.slice(-HAPPENINGS_MAX)) {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = sayTime(atUs);
    item.append(time, sentence);
    list.prepend(item);
  }
  while (list.children.length > HAPPENINGS_MAX) list.lastChild.remove();
}

export function clearHappenings() {
  $("happenings").replaceChildren();
}

export function summary(frame) {
  const whole = frame.topics.filter((topic) => topic.components === 1).length;
  const [arrived, expected] = ["arrived", "expected"].map((name) => frame.topics.reduce((sum, topic) => sum + topic[name], 0));
  const parts = [
    `${frame.counts.nodes} nodes`,
    `${frame.counts.links} links`,
    `${whole} of ${frame.topics.length} topics connected`,
    `${short(frame.speeds.published)} published and ${short(frame.speeds.delivered)} delivered a second`,
  ];
  if (expected) parts.push(`${share(arrived, expected)} complete`);
  return parts.join(" · ");
}

// What the page shows, in a few words.
export function traced(frame, runs) {
  if (runs[0].from_us !== null) return runs.length > 1 ? "two runs" : "a run that is over";
  return frame.every > 1 ? `live, one message in ${frame.every} traced` : "live, every message traced";
}

export function brief(name) {
  return name.length === 16 ? name.slice(0, 6) : name;
}
