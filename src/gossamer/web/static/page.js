// The page: asks for frames, shows them, and sends what the user wants to the network.

import * as api from "./api.js";
import { Picture } from "./picture.js";
import * as tables from "./tables.js";

const $ = (id) => document.getElementById(id);
const LIVE_MS = 500;
const PLAY_MS = 200;

const state = { topic: "", message: "", node: "", active: 0, isPlaying: false, atUs: 0, panes: [], runs: [], asked: Promise.resolve() };
// For tests, and for the curious.
window.gossamer = state;

class Pane {
  constructor(run, place) {
    this.place = place;
    this.run = run;
    this.version = -1;
    this.afterUs = 0;
    this.afterHappening = 0;
    this.nodes = [];
    const box = document.createElement("article");
    box.className = "pane";
    const title = document.createElement("h2");
    title.textContent = run.title;
    this.line = document.createElement("p");
    const view = document.createElement("div");
    view.className = "picture";
    box.append(title, this.line, view);
    box.addEventListener("pointerdown", () => activate(place));
    $("panes").append(box);
    this.box = box;
    try {
      this.picture = new Picture(view, (node) => chooseNode(node));
    } catch (error) {
      // A browser without WebGL still has the tables.
      view.textContent = `This browser cannot draw the picture: ${error.message}`;
      this.picture = null;
    }
  }

  async refresh(atUs) {
    const wanted = { run: this.place, at_us: Math.round(atUs), topic: state.topic, message: state.message, version: this.version };
    const isBack = this.run.from_us !== null && atUs < this.afterUs;
    if (isBack) Object.assign(this, { afterUs: 0, afterHappening: 0 });
    const frame = await api.frame({ ...wanted, after_us: this.afterUs, after_happening: this.afterHappening });
    if (isBack && this.place === state.active) tables.clearHappenings();
    this.show(frame, isBack || this.afterUs === 0);
  }

  show(frame, isFirst) {
    this.frame = frame;
    if (frame.nodes) {
      this.nodes = frame.nodes;
      this.version = frame.version;
      this.picture?.show(frame.nodes, frame.links);
    }
    if (JSON.stringify(frame.lit) !== this.lit) {
      this.lit = JSON.stringify(frame.lit);
      this.picture?.light(frame.lit);
    }
    if (!isFirst) this.picture?.fly(frame.copies.filter((copy) => !state.topic || copy[4] === state.topic));
    this.afterUs = frame.at_us;
    if (frame.happenings.length) this.afterHappening = frame.happenings.at(-1)[0];
    this.line.textContent = tables.summary(frame);
    if (this.place === state.active) this.showTables(frame);
  }

  showTables(frame) {
    tables.showTopics(frame.topics, state.topic, chooseTopic);
    tables.showMessages(frame.messages, state.message, chooseMessage);
    tables.showCharts(frame.nodes, frame);
    tables.addHappenings(frame.happenings, (atUs) => sayTime(atUs, this.run));
    if (frame.message && state.message !== this.wayOf) {
      this.wayOf = state.message;
      tables.showWay(frame.message);
      this.picture?.showWay(frame.message);
      this.playWay(frame.message);
    }
    if (frame.nodes) showChoices(frame);
    if (frame.is_cut !== undefined) {
      document.querySelector("[data-action=cut]").disabled = frame.is_cut;
      document.querySelector("[data-action=heal]").disabled = !frame.is_cut;
    }
  }

  // The way of a message in slow motion, hop by hop from its publisher.
  playWay(way) {
    const distance = new Map([[way.publisher, 0]]);
    for (const [from, to] of way.copies) if (!distance.has(to)) distance.set(to, (distance.get(from) ?? 0) + 1);
    this.picture?.fly(way.copies.map(([from, to, , needless]) => [from, to, distance.get(from) ?? 0, needless, way.topic]), 2.5);
  }
}

function sayTime(atUs, run) {
  if (run.from_us !== null) return `${((atUs - run.from_us) / 1e6).toFixed(1)} s`;
  return new Date(atUs / 1000).toLocaleTimeString();
}

// Choosing.

function chooseTopic(name) {
  state.topic = state.topic === name ? "" : name;
  chooseMessage("");
}

function chooseMessage(name) {
  state.message = state.message === name ? "" : name;
  for (const pane of state.panes) {
    pane.wayOf = "";
    if (!state.message) {
      pane.picture?.showWay(null);
      tables.showWay(null);
    }
  }
  refreshAll();
}

function chooseNode(name) {
  state.node = state.node === name ? "" : name;
  for (const pane of state.panes) pane.picture?.choose(state.node);
  $("node").value = state.node;
  showNodeTopics();
}

function activate(place) {
  if (state.active === place) return;
  state.active = place;
  tables.clearHappenings();
  const pane = state.panes[place];
  Object.assign(pane, { version: -1, afterHappening: 0 });
  markActive();
  refreshAll();
}

function markActive() {
  for (const pane of state.panes) pane.box.classList.toggle("active", state.panes.length > 1 && pane.place === state.active);
}

// Controls.

function showChoices(frame) {
  options($("node"), ["", ...frame.nodes.map(([name]) => name)], state.node);
  options($("publish-topic"), frame.topics.map((topic) => topic.name), state.topic || $("publish-topic").value);
}

function options(select, names, chosen) {
  select.replaceChildren(...names.map((name) => new Option(name || "choose", name)));
  select.value = names.includes(chosen) ? chosen : names[0] ?? "";
}

function showNodeTopics() {
  const found = state.panes[state.active].nodes.find(([name]) => name === $("node").value);
  $("follow-topics").value = found ? found[3].join(" ") : "";
}

async function order(content) {
  const answer = $("answer");
  answer.classList.remove("wrong");
  answer.textContent = "…";
  try {
    answer.textContent = (await api.control(content)).done;
  } catch (error) {
    answer.classList.add("wrong");
    answer.textContent = error.message;
  }
  refreshAll();
}

function listenToControls() {
  for (const button of document.querySelectorAll("[data-action]")) {
    button.addEventListener("click", () => {
      const action = button.dataset.action;
      const node = $("node").value;
      if (action === "kill-one" || action === "stop") order({ action: action === "stop" ? "stop" : "kill", node: node || "?" });
      else order({ action });
    });
  }
  $("publish").addEventListener("submit", (event) => {
    event.preventDefault();
    const topic = $("publish-topic").value;
    const holders = state.panes[0].nodes.filter(([, , , topics]) => topics.includes(topic)).map(([name]) => name);
    order({ action: "publish", node: $("node").value || holders[0] || "", topic, text: $("text").value });
  });
  $("follow").addEventListener("submit", (event) => {
    event.preventDefault();
    order({ action: "follow", node: $("node").value, topics: $("follow-topics").value.split(/\s+/).filter(Boolean) });
  });
  $("node").addEventListener("change", () => chooseNode($("node").value));
}

// Time.

async function refreshNow() {
  try {
    await Promise.all(state.panes.map((pane) => pane.refresh(state.atUs)));
    $("status").classList.remove("wrong");
    $("status").textContent = tables.traced(state.panes[0].frame, state.runs);
  } catch (error) {
    if (error instanceof api.Refused) return askToken(error.message);
    $("status").classList.add("wrong");
    $("status").textContent = `no answer from gossamer dashboard: ${error.message}`;
  }
}

// One request at a time; the last wish counts.
function refreshAll() {
  state.asked = state.asked.then(refreshNow);
  return state.asked;
}

function span() {
  const from = Math.min(...state.runs.map((run) => run.from_us));
  return [from, Math.max(...state.runs.map((run) => run.until_us))];
}

function showClock() {
  const [from, until] = span();
  $("time").value = (1000 * (state.atUs - from)) / Math.max(until - from, 1);
  const sentence = `${((state.atUs - from) / 1e6).toFixed(1)} of ${((until - from) / 1e6).toFixed(1)} s`;
  $("clock").textContent = sentence;
  $("time").setAttribute("aria-valuetext", sentence);
}

function play(isPlaying) {
  const [from, until] = span();
  if (isPlaying && state.atUs >= until) state.atUs = from;
  state.isPlaying = isPlaying;
  $("play").textContent = isPlaying ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", String(isPlaying));
}

function listenToPlayer() {
  const [from, until] = span();
  state.atUs = from;
  $("play").addEventListener("click", () => play(!state.isPlaying));
  $("time").addEventListener("input", () => {
    state.atUs = from + (($("time").value / 1000) * (until - from));
    showClock();
    refreshAll();
  });
}

async function runPlayer() {
  const [, until] = span();
  let last = performance.now();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PLAY_MS));
    const now = performance.now();
    if (state.isPlaying) {
      state.atUs = Math.min(state.atUs + (now - last) * 1000 * Number($("speed").value), until);
      showClock();
      await refreshAll();
      if (state.atUs >= until) play(false);
    }
    last = now;
  }
}

async function watchLive() {
  for (;;) {
    await refreshAll();
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? 4 * LIVE_MS : LIVE_MS));
  }
}

// Start.

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const pane of state.panes) pane.picture?.changeTheme();
}

function askToken(sentence) {
  $("main").hidden = true;
  $("ask-token").hidden = false;
  $("status").classList.add("wrong");
  $("status").textContent = sentence;
}

async function start() {
  $("ask-token").hidden = true;
  let about;
  try {
    about = await api.about();
  } catch (error) {
    askToken(error.message);
    return;
  }
  $("status").classList.remove("wrong");
  if (about.report) {
    $("status").textContent = "the report of a study";
    $("report").src = URL.createObjectURL(await api.report());
    $("report").hidden = false;
    return;
  }
  $("main").hidden = false;
  state.runs = about.runs;
  state.panes = about.runs.map((run, place) => new Pane(run, place));
  markActive();
  $("controls").hidden = !about.controls;
  listenToControls();
  if (about.runs[0].from_us === null) {
    watchLive();
    return;
  }
  $("player").hidden = false;
  listenToPlayer();
  showClock();
  await refreshAll();
  runPlayer();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, button, textarea");
  if (event.key === "Escape") {
    state.topic = "";
    chooseMessage("");
    chooseNode("");
  } else if (event.key === " " && !isTyping && !$("player").hidden) {
    event.preventDefault();
    play(!state.isPlaying);
  }
});
$("no-topic").addEventListener("click", () => chooseTopic(state.topic));
$("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
$("ask-token").addEventListener("submit", (event) => {
  event.preventDefault();
  api.keepToken($("token").value.trim());
  start();
});
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
api.takeToken();
start();
