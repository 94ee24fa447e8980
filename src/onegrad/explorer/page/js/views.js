// Views beside the curves: the Hermite degrees, the step, the map of two exponents.

import { cividis } from "../../../plotting/page/colours.js";
import { element, make, paintCells, toNode } from "../../../plotting/page/elements.js";
import { linearTicks, show, showPercent } from "../../../plotting/page/numbers.js";
import { announce, byId, named } from "./page.js";

const WIDTH = 320; // of the pictures
const FLOOR = 1e-4; // of the gaps that are drawn
const BARS_HEIGHT = 150;
const TOP = 18;
const BOTTOM = 28;

/** Return the height of a gap's bar, logarithmic from 0.01 % to 100 %. */
function barShare(gap) {
  const size = Math.min(1, Math.max(FLOOR, Math.abs(gap)));
  return Math.max(0.02, Math.log(size / FLOOR) / Math.log(1 / FLOOR));
}

/** Return a gap in as few characters as stand over a bar. */
function shortPercent(gap) {
  const size = 100 * Math.abs(gap);
  if (size < 0.1) return "<0.1";
  return `${gap < 0 ? "−" : ""}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

/** Show why a card has nothing to show. */
export function failCard(name) {
  return (error) => {
    byId(`${name}-says`).textContent = error.message;
    byId(`${name}-card`).classList.remove("stale");
    byId(`${name}-card`).classList.add("failed");
  };
}

function finishCard(name, sentence) {
  byId(`${name}-says`).textContent = sentence;
  byId(`${name}-card`).classList.remove("stale", "failed");
}

/** Show the bars and the sentence of an answer. */
export function showDegrees({ degrees, gaps, smallest, tolerance, sentence }) {
  const slot = (WIDTH - 46) / degrees.length;
  const foot = BARS_HEIGHT - BOTTOM;
  const heightOf = (gap) => (foot - TOP) * barShare(gap);
  const parts = [];
  for (const level of [1e-4, 1e-2, 1]) {
    const y = foot - heightOf(level);
    parts.push(element("line", { x1: 40, x2: WIDTH, y1: y, y2: y, class: level === tolerance ? "limit" : "grid" }));
    parts.push(element("text", { x: 36, y: y + 4, class: "tick end" }, showPercent(level).replace("+", "")));
  }
  degrees.forEach((degree, i) => {
    const known = Number.isFinite(gaps[i]);
    const height = known ? heightOf(gaps[i]) : 0;
    const x = 46 + slot * i + slot * 0.15;
    const good = degree === smallest;
    const text = (y, strong, words) =>
      element("text", { x: x + slot * 0.35, y, class: `tick middle${strong ? " strong" : ""}` }, words);
    parts.push(
      element("rect", { x, y: foot - height, width: slot * 0.7, height, rx: 2,
        class: `bar${good ? " good" : ""}${gaps[i] < 0 ? " below" : ""}` }),
      text(foot - height - 5, false, known ? shortPercent(gaps[i]) : "–"),
      text(BARS_HEIGHT - 10, good, String(degree)),
    );
  });
  const words = degrees.map((degree, i) => `degree ${degree}: ${showPercent(gaps[i])}`).join(", ");
  byId("degree-picture").replaceChildren(picture(BARS_HEIGHT, `Gap to the network by ${words}`, parts));
  finishCard("degree", sentence);
}

function picture(height, words, parts) {
  return toNode(element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": words }, ...parts));
}

const [SPECTRUM_HEIGHT, BASE] = [120, 96];

/** Show the picture and the numbers of an answer. */
export function showStep(answer) {
  byId("step-picture").replaceChildren(spectrum(answer.spectrum));
  byId("step-numbers").replaceChildren(
    ...answer.overlaps.map((overlap) => {
      const { label, value } = overlap;
      return numberRow(overlap, make("meter", { min: 0, max: 1, value, "aria-label": label }), " ");
    }),
    ...answer.numbers.map((number) => numberRow(number)),
  );
  finishCard("step", answer.spectrum.sentence);
}

function numberRow({ label, symbol, value, sentence }, ...before) {
  return make("div", { class: "number-row" },
    make("dt", {}, ...named(label, symbol)),
    make("dd", {}, ...before, show(value)),
    make("dd", { class: "sentence" }, sentence));
}

function spectrum({ bulk, spikes, density, symbol }) {
  const high = 1.08 * Math.max(...bulk, ...spikes, ...density.x);
  const x = (value) => 8 + ((WIDTH - 16) * value) / high;
  const parts = [
    element("line", { x1: 4, x2: WIDTH - 4, y1: BASE, y2: BASE, class: "axis" }),
    bulkShape(density, x),
    ...spikes.flatMap((spike) => spikeMark(spike, x(spike))),
    ...linearTicks(0, high, 5).map((tick) =>
      element("text", { x: x(tick), y: BASE + 15, class: "tick middle" }, show(tick))),
  ];
  const outside = `${spikes.length} outside ${spikes.map((spike) => show(spike)).join(", ")}`;
  const words = `Singular values of the first layer ${symbol}: bulk up to ${show(bulk[1])}, ${outside}`;
  return picture(SPECTRUM_HEIGHT, words, parts);
}

function bulkShape(density, x) {
  const peak = Math.max(...density.y);
  const y = (value) => BASE - (70 * value) / peak;
  const path = density.x.map((value, i) => `${i ? "L" : "M"}${x(value).toFixed(1)} ${y(density.y[i]).toFixed(1)}`);
  const [first, last] = [x(density.x[0]), x(density.x.at(-1))];
  return element("path", { d: `${path.join("")}L${last} ${BASE}L${first} ${BASE}Z`, class: "bulk" });
}

function spikeMark(spike, at) {
  return [
    element("line", { x1: at, x2: at, y1: BASE, y2: BASE - 62, class: "spike" }),
    element("circle", { cx: at, cy: BASE - 62, r: 4, class: "spike-head" }),
    element("text", { x: Math.min(at, WIDTH - 26), y: BASE - 72, class: "tick middle strong" }, show(spike)),
  ];
}

const LOW = 1e-3; // gaps below are drawn alike
const HIGH = 1;
const NUDGE = 0.02;
const CELLS = 140; // drawn cells along each side

/** Return the colour's share of a gap, logarithmic from 0.1 % to 100 %. */
export function gapShare(gap) {
  const size = Math.min(HIGH, Math.max(LOW, Math.abs(gap)));
  return Math.log(size / LOW) / Math.log(HIGH / LOW);
}

/** Return the value between the nodes of a grid by two linear steps; null beside a hole. */
export function bilinear(values, u, v) {
  const [rows, columns] = [values.length, values[0].length];
  const y = Math.min(rows - 1, Math.max(0, v * (rows - 1)));
  const x = Math.min(columns - 1, Math.max(0, u * (columns - 1)));
  const [i, j] = [Math.min(rows - 2, Math.floor(y)), Math.min(columns - 2, Math.floor(x))];
  const corners = [values[i][j], values[i][j + 1], values[i + 1][j], values[i + 1][j + 1]];
  if (corners.some((value) => !Number.isFinite(value))) return null;
  const [s, t] = [y - i, x - j];
  const mix = (a, b, w) => a * (1 - w) + b * w;
  return mix(mix(corners[0], corners[1], t), mix(corners[2], corners[3], t), s);
}

/** Return `{update, move}` of the map; `onGo({path: value})` moves the present point. */
export function createMap({ onGo }) {
  const canvas = byId("map");
  let answer = null;
  let place = null;

  function go(alpha, beta) {
    if (!answer) return;
    place = { alpha: clamp(alpha, answer.alpha), beta: clamp(beta, answer.beta) };
    onGo({ [answer.paths.alpha]: place.alpha, [answer.paths.beta]: place.beta });
    announce(`α = ${show(place.alpha)}, β = ${show(place.beta)}, gap ${showPercent(gapAt(place))}`);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    go(...pointAt(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!answer) return;
    const [alpha, beta] = pointAt(event);
    if (event.buttons & 1) go(alpha, beta);
    else canvas.title = `α = ${show(alpha, 2)}, β = ${show(beta, 2)}: gap ${showPercent(gapAt({ alpha, beta }))}`;
  });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    const move = moves[event.key];
    if (!move || !place) return;
    event.preventDefault();
    const stride = (event.shiftKey ? 5 : 1) * NUDGE;
    go(place.alpha + stride * move[0], place.beta + stride * move[1]);
  });

  function pointAt(event) {
    if (!answer) return [];
    const box = canvas.getBoundingClientRect();
    const [u, v] = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    return [between(answer.alpha, u), between(answer.beta, v)];
  }

  function gapAt({ alpha, beta }) {
    return bilinear(answer.values, shareOf(answer.alpha, alpha), shareOf(answer.beta, beta));
  }

  function paint() {
    paintCells(canvas, CELLS, CELLS, (j, i) => {
      const gap = bilinear(answer.values, j / (CELLS - 1), 1 - i / (CELLS - 1));
      return gap === null ? [128, 128, 128, 60] : [...cividis(gapShare(gap)), 255];
    });
  }

  function mark() {
    const ring = byId("map-here");
    ring.hidden = !place;
    const title = `Where ${answer.name} fails`;
    const names = [`${title}: gap to the network over α and β`];
    let says = "Click to go there.";
    if (place) {
      ring.style.left = `${100 * shareOf(answer.alpha, place.alpha)}%`;
      ring.style.bottom = `${100 * shareOf(answer.beta, place.beta)}%`;
      const exact = place.alpha === answer.here.alpha && place.beta === answer.here.beta ? answer.here.gap : null;
      const gap = exact ?? gapAt(place);
      names.push(`here α = ${show(place.alpha)}, β = ${show(place.beta)}, gap ${showPercent(gap)}`);
      const about = exact === null ? "about " : "";
      says = `Here its test error is ${about}${inWords(gap)} the network's. Click, or use the arrow keys, to go elsewhere.`;
    }
    canvas.setAttribute("aria-label", `${names.join("; ")}. Arrow keys move the point.`);
    byId("map-title").textContent = title;
    byId("map-says").textContent = says;
  }

  drawLegend(byId("map-legend"));
  return {
    /** Take the answer of the server. */
    update(next) {
      answer = next;
      const { alpha, beta } = next.here;
      place = Number.isFinite(alpha) && Number.isFinite(beta) ? { alpha, beta } : null;
      byId("map-card").classList.remove("stale", "failed");
      paint();
      mark();
    },
    /** Move the ring to where `valueOf(path)` is, without a new map. */
    move(valueOf) {
      if (!answer) return;
      const [alpha, beta] = [valueOf(answer.paths.alpha), valueOf(answer.paths.beta)];
      if (!Number.isFinite(alpha) || !Number.isFinite(beta)) return;
      place = { alpha, beta };
      mark();
    },
  };
}

/** Return a gap in words: "69 % above", "2.0 % below". */
export function inWords(gap) {
  if (!Number.isFinite(gap)) return "not known beside";
  return `${showPercent(gap).replace(/^[+−]/, "")} ${gap < 0 ? "below" : "above"}`;
}

function drawLegend(host) {
  const ramp = make("canvas", { class: "ramp", "aria-hidden": "true" });
  const ticks = ["≤ 0.1 %", "1 %", "10 %", "≥ 100 %"].map((tick) => make("span", {}, tick));
  host.replaceChildren(paintCells(ramp, 41, 1, (i) => [...cividis(i / 40), 255]), make("span", { class: "ticks" }, ...ticks));
}

function between(nodes, share) {
  const value = nodes[0] + Math.min(1, Math.max(0, share)) * (nodes.at(-1) - nodes[0]);
  return Number(value.toFixed(3));
}

function shareOf(nodes, value) {
  return Math.min(1, Math.max(0, (value - nodes[0]) / (nodes.at(-1) - nodes[0])));
}

function clamp(value, nodes) {
  return Number(Math.min(nodes.at(-1), Math.max(nodes[0], value)).toFixed(3));
}
