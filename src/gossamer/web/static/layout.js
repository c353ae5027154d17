// A worker that moves nodes: linked nodes attract each other, all nodes repel each other. It rests when nothing changes.

import { forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor-force.js";

// Chosen: a large network moves in fewer steps, between which the picture slides, so that drawing has the machine.
const pauseMs = () => (order.length > 500 ? 50 : 15);

let nodes = new Map();
let order = [];
let version = 0;
const links = forceLink().id((node) => node.id).distance(40);
const repel = forceManyBody().strength(-120).theta(1.1);
const simulation = forceSimulation()
  .force("links", links)
  .force("repel", repel)
  .force("x", forceX().strength(0.06))
  .force("y", forceY().strength(0.06))
  .stop();
let timer = 0;

function step() {
  timer = 0;
  simulation.tick();
  const places = new Float32Array(2 * order.length);
  order.forEach((node, index) => places.set([node.x, node.y], 2 * index));
  const isDone = simulation.alpha() < simulation.alphaMin();
  postMessage({ version, places, isDone }, [places.buffer]);
  if (!isDone) timer = setTimeout(step, pauseMs());
}

onmessage = ({ data }) => {
  const known = nodes;
  version = data.version;
  nodes = new Map(data.nodes.map((id) => [id, known.get(id) ?? { id }]));
  order = [...nodes.values()];
  const isNew = known.size === 0;
  // A node that comes starts beside a neighbour.
  for (const [from, to] of data.links) {
    const [one, other] = [nodes.get(from), nodes.get(to)];
    if (one.x === undefined && other.x !== undefined) Object.assign(one, { x: other.x + 10, y: other.y + 10 });
    if (other.x === undefined && one.x !== undefined) Object.assign(other, { x: one.x + 10, y: one.y - 10 });
  }
  const degree = (2 * data.links.length) / Math.max(order.length, 1);
  repel.strength(-60 - 8 * degree).distanceMax(600);
  links.strength(Math.min(0.5, 1.2 / Math.max(degree, 1)));
  simulation.nodes(order);
  links.links(data.links.map(([source, target]) => ({ source, target })));
  simulation.alphaDecay(order.length > 500 ? 0.02 : 0.03).alpha(Math.max(simulation.alpha(), isNew ? 1 : 0.25));
  if (!timer) timer = setTimeout(step, 0);
};
