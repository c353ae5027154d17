// The overlay as a picture: nodes and links (Sigma, WebGL), moved by the layout worker, and dots for messages on a canvas above.

import { EdgeLineProgram, Graph, NodeCircleProgram, NodePointProgram, Sigma } from "./vendor-graph.js";

// Chosen: while the picture moves, at most so many links are drawn, fewer on slow machines; all are drawn when it rests.
const MOVING_LINKS = { most: 20000, first: 6000, least: 500 };
const FRAME_MS = 33;
// Chosen: the picture rests when the camera did not move for so long.
const CAMERA_MS = 200;
const LABELS_MAX = 60;
const FLIGHT_MS = 350;
const FLIGHTS_MAX = 300;

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Picture {
  constructor(box, onChoose) {
    this.graph = new Graph();
    this.isMoving = false;
    this.movingLinks = MOVING_LINKS.first;
    // How long frames take, as a share of the time that they may take.
    this.slowness = 0.8;
    this.frames = 0;
    this.cameraUntil = 0;
    this.box = box;
    this.lit = null;
    this.way = null;
    this.chosen = "";
    this.flights = [];
    this.version = 0;
    this.goal = null;
    this.extent = null;
    this.colors = {};
    const place = document.createElement("div");
    place.className = "sigma-container";
    this.dots = document.createElement("canvas");
    this.dots.className = "dots";
    box.append(place, this.dots);
    this.readColors();
    this.sigma = new Sigma(this.graph, place, {
      allowInvalidContainer: true,
      defaultEdgeType: "line",
      defaultNodeType: "circle",
      edgeProgramClasses: { line: EdgeLineProgram },
      nodeProgramClasses: { circle: NodeCircleProgram, point: NodePointProgram },
      labelFont: "system-ui, sans-serif",
      labelSize: 11,
      labelRenderedSizeThreshold: 0,
      labelDensity: 10,
      labelColor: { attribute: "labelColor" },
      zIndex: true,
      nodeReducer: (node, data) => this.nodeLook(node, data),
      edgeReducer: (edge, data) => this.linkLook(edge, data),
    });
    this.sigma.on("clickNode", ({ node }) => onChoose(node));
    this.sigma.on("enterNode", () => this.showHovered(true));
    this.sigma.on("leaveNode", () => this.showHovered(false));
    this.sigma.getCamera().on("updated", () => {
      this.cameraUntil = performance.now() + CAMERA_MS;
      this.move();
    });
    this.worker = new Worker("layout.js", { type: "module" });
    this.worker.onmessage = ({ data }) => {
      if (data.version !== this.version) return;
      this.goal = data.places;
      this.move();
    };
    new ResizeObserver(() => this.resize()).observe(box);
    this.resize();
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["node", "link", "lit", "lit-link", "text", "bad", "dot", "faint", "panel"]) {
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  changeTheme() {
    this.readColors();
    this.sigma.refresh();
  }

  // nodes: [name, topics, links, names of topics]; links: places of both ends, flat.
  show(nodes, links) {
    const graph = this.graph;
    const names = new Map(nodes.map((node) => [node[0], node]));
    for (const name of graph.nodes()) if (!names.has(name)) graph.dropNode(name);
    const isSmall = nodes.length <= 300;
    for (const [name, , degree] of nodes) {
      const look = { label: name.length > 8 ? name.slice(0, 6) : name, size: isSmall ? 4 + Math.sqrt(degree) : 3 };
      if (graph.hasNode(name)) graph.mergeNodeAttributes(name, look);
      else graph.addNode(name, { ...look, x: 0, y: 0, isPlaced: false, type: isSmall ? "circle" : "point" });
    }
    const wanted = new Map();
    for (let place = 0; place < links.length; place += 2) {
      const [one, other] = [nodes[links[place]][0], nodes[links[place + 1]][0]];
      wanted.set(`${one} ${other}`, [one, other]);
    }
    for (const key of graph.edges()) if (!wanted.has(key)) graph.dropEdge(key);
    let rank = 0;
    for (const [key, [one, other]] of wanted) {
      // The rank decides which links are drawn while the picture moves: spread over the whole network.
      rank = (rank + 7919) % 100003;
      if (!graph.hasEdge(key)) graph.addEdgeWithKey(key, one, other, { rank, size: 1 });
    }
    this.sigma.setSetting("renderLabels", nodes.length <= LABELS_MAX);
    this.box.classList.toggle("labelled", nodes.length <= LABELS_MAX);
    this.version += 1;
    this.goal = null;
    this.worker.postMessage({ version: this.version, nodes: graph.nodes(), links: [...wanted.values()] });
  }

  light(lit) {
    this.lit = lit && {
      nodes: new Set(lit.nodes),
      followers: new Set(lit.followers),
      links: new Set(pairs(lit.links).flatMap(([one, other]) => [`${one} ${other}`, `${other} ${one}`])),
    };
    this.sigma.refresh({ skipIndexation: true });
  }

  // The layer of highlighted nodes is there for the one under the pointer, and the chosen one.
  showHovered(isHovered) {
    this.box.classList.toggle("hovered", isHovered || Boolean(this.chosen));
  }

  choose(node) {
    this.chosen = node;
    this.showHovered(false);
    this.sigma.refresh({ skipIndexation: true });
  }

  showWay(way) {
    this.way = way && new Map();
    for (const [from, to, , needless] of way?.copies ?? []) {
      for (const link of [`${from} ${to}`, `${to} ${from}`]) {
        // A link over which one copy was of use counts as such.
        if (this.way.get(link) !== "") this.way.set(link, needless);
      }
    }
    this.sigma.refresh({ skipIndexation: true });
  }

  nodeLook(node, data) {
    const { colors, lit } = this;
    const look = { ...data, color: colors.node, labelColor: colors.text, zIndex: 1 };
    if (lit) {
      if (lit.followers.has(node)) Object.assign(look, { color: colors.lit, size: data.size + 1.5, zIndex: 2 });
      else if (lit.nodes.has(node)) Object.assign(look, { color: colors["lit-link"], zIndex: 2 });
      else Object.assign(look, { color: colors.link, labelColor: colors.faint, zIndex: 0 });
    }
    if (node === this.chosen) Object.assign(look, { highlighted: true, color: colors.dot, size: data.size + 3 });
    return look;
  }

  linkLook(edge, data) {
    const { colors, lit, way } = this;
    const look = { ...data, color: colors.link, zIndex: 0 };
    if (lit?.links.has(edge)) Object.assign(look, { color: colors.lit, zIndex: 1 });
    if (way) {
      const needless = way.get(edge);
      if (needless !== undefined) Object.assign(look, { color: needless ? colors.bad : colors.dot, zIndex: 2 });
    }
    if (this.isMoving && look.zIndex === 0 && this.graph.size > this.movingLinks) {
      look.hidden = data.rank % this.graph.size >= this.movingLinks;
    }
    return look;
  }

  // One frame of a movement; it asks for the next one while something moves.
  move() {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      const haveNodesMoved = this.stepNodes();
      const isMoving = haveNodesMoved || now < this.cameraUntil;
      const wasMoving = this.isMoving;
      const drawn = this.movingLinks;
      if (isMoving && wasMoving) this.adapt(now - this.lastFrame);
      this.isMoving = isMoving;
      // Sigma draws the movements of the camera by itself, with the links that were drawn before.
      if (haveNodesMoved || isMoving !== wasMoving || drawn !== this.movingLinks) {
        this.sigma.refresh({ skipIndexation: true });
      }
      this.frames += 1;
      this.lastFrame = now;
      const isFlying = this.drawDots(now);
      if (isMoving || wasMoving || isFlying) this.move();
    });
  }

  // Draw fewer links while the picture moves if frames take too long, more if there is time.
  adapt(took) {
    this.slowness = 0.8 * this.slowness + 0.2 * (took / FRAME_MS);
    if (this.slowness > 1) this.setMovingLinks(this.movingLinks * 0.8);
    else if (this.slowness < 0.6) this.setMovingLinks(this.movingLinks * 1.1);
  }

  setMovingLinks(count) {
    this.movingLinks = Math.round(Math.min(Math.max(count, MOVING_LINKS.least), MOVING_LINKS.most));
    this.slowness = 0.8;
  }

  stepNodes() {
    const goal = this.goal;
    if (!goal) return false;
    let index = 0;
    let farthest = 0;
    const extent = { x: [Infinity, -Infinity], y: [Infinity, -Infinity] };
    this.graph.updateEachNodeAttributes((node, data) => {
      const [x, y] = [goal[2 * index], goal[2 * index + 1]];
      index += 1;
      const share = data.isPlaced && !calm.matches ? 0.25 : 1;
      farthest = Math.max(farthest, Math.abs(x - data.x), Math.abs(y - data.y));
      data.x += (x - data.x) * share;
      data.y += (y - data.y) * share;
      data.isPlaced = true;
      for (const axis of ["x", "y"]) {
        extent[axis] = [Math.min(extent[axis][0], data[axis]), Math.max(extent[axis][1], data[axis])];
      }
      return data;
    }, { attributes: ["x", "y"] });
    const size = Math.max(extent.x[1] - extent.x[0], extent.y[1] - extent.y[0], 1);
    const moved = !this.extent || ["x", "y"].some((axis) => [0, 1].some(
      (end) => Math.abs(extent[axis][end] - this.extent[axis][end]) > size / 50));
    // The frame of the picture follows the nodes in steps, so that it does not tremble.
    if (index && moved) this.sigma.setCustomBBox((this.extent = extent));
    return farthest > size / 2000;
  }

  // copies: [sender, node, hops, is needless, topic]; each hop begins when the one before has arrived.
  fly(copies, slow = 1) {
    if (calm.matches) return;
    const now = performance.now();
    for (const [from, to, hops, needless] of copies) {
      if (this.flights.length >= FLIGHTS_MAX) break;
      const start = now + hops * FLIGHT_MS * slow;
      this.flights.push({ from, to, needless, start, took: FLIGHT_MS * slow, large: slow > 1 });
    }
    this.move();
  }

  drawDots(now) {
    this.dots.classList.toggle("busy", this.flights.length > 0);
    if (!this.flights.length) return false;
    const context = this.dots.getContext("2d");
    context.clearRect(0, 0, this.dots.width, this.dots.height);
    this.flights = this.flights.filter((flight) => now < flight.start + flight.took);
    const ratio = devicePixelRatio;
    for (const { from, to, needless, start, took, large } of this.flights) {
      const share = (now - start) / took;
      if (share < 0 || !this.graph.hasNode(from) || !this.graph.hasNode(to)) continue;
      const one = this.sigma.graphToViewport(this.graph.getNodeAttributes(from));
      const other = this.sigma.graphToViewport(this.graph.getNodeAttributes(to));
      context.fillStyle = needless ? this.colors.bad : this.colors.dot;
      context.globalAlpha = needless ? 0.6 : 1;
      context.beginPath();
      const x = one.x + (other.x - one.x) * share;
      const y = one.y + (other.y - one.y) * share;
      context.arc(x * ratio, y * ratio, (large ? 5 : needless ? 2 : 3) * ratio, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    return this.flights.length > 0;
  }

  resize() {
    this.dots.width = this.box.clientWidth * devicePixelRatio;
    this.dots.height = this.box.clientHeight * devicePixelRatio;
  }
}

export function pairs(flat) {
  return Array.from({ length: flat.length / 2 }, (_, place) => [flat[2 * place], flat[2 * place + 1]]);
}
