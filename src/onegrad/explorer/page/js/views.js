// Views beside the curves: the Hermite degrees, the step, the map of two exponents.

import { cividis } from "./colours.js";
import { linearTicks, show, showPercent } from "./numbers.js";
import { announce, byId, draw, make, named } from "./page.js";

const WIDTH = 320; // of the pictures
const FLOOR = 1e-4; // of the gaps that are drawn
const BARS_HEIGHT = 150;
const TOP = 18;
const BOTTOM = 28;

/** Return the height of a gap's bar, logarithmic from 0.01 % to 100 %. */
export function barShare(gap) {
  const size = Math.min(1, Math.max(FLOOR, Math.abs(gap)));
  return Math.max(0.02, Math.log(size / FLOOR) / Math.log(1 / FLOOR));
}

/** Return a gap in as few characters as stand over a bar. */
export function shortPercent(gap) {
  const size = 100 * Math.abs(gap);
  if (size < 0.1) return "<0.1";
  return `${gap < 0 ? "−" : ""}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

/** Show the bars and the sentence of an answer. */
export function showDegrees(answer) {
  const { degrees, gaps, smallest } = answer;
  const slot = (WIDTH - 46) / degrees.length;
  const room = BARS_HEIGHT - TOP - BOTTOM;
  const tolerance = answer.tolerance ?? 0.01;
  const parts = [];
  for (const level of [1e-4, 1e-2, 1]) {
    const y = BARS_HEIGHT - BOTTOM - room * barShare(level);
    parts.push(draw("line", { x1: 40, x2: WIDTH, y1: y, y2: y, class: level === tolerance ? "limit" : "grid" }));
    parts.push(draw("text", { x: 36, y: y + 4, class: "tick end" }, showPercent(level).replace("+", "")));
  }
  degrees.forEach((degree, i) => {
    const known = Number.isFinite(gaps[i]);
    const height = known ? room * barShare(gaps[i]) : 0;
    const x = 46 + slot * i + slot * 0.15;
    const good = smallest !== null && smallest !== undefined && degree === smallest;
    parts.push(
      draw("rect", {
        x, y: BARS_HEIGHT - BOTTOM - height, width: slot * 0.7, height, rx: 2,
        class: `bar${good ? " good" : ""}${gaps[i] < 0 ? " below" : ""}`,
      }),
      draw("text", { x: x + slot * 0.35, y: BARS_HEIGHT - BOTTOM - height - 5, class: "tick middle" },
        known ? shortPercent(gaps[i]) : "–"),
      draw("text", { x: x + slot * 0.35, y: BARS_HEIGHT - 10, class: `tick middle${good ? " strong" : ""}` },
        String(degree)),
    );
  });
  const words = degrees.map((degree, i) => `degree ${degree}: ${showPercent(gaps[i])}`).join(", ");
  byId("degree-picture").replaceChildren(
    draw("svg", { viewBox: `0 0 ${WIDTH} ${BARS_HEIGHT}`, role: "img", "aria-label": `Gap to the network by ${words}` }, ...parts),
  );
  byId("degree-says").textContent = answer.sentence ?? "";
  byId("degree-card").classList.remove("stale", "failed");
}

/** Say why there are no degrees. */
export function failDegrees(error) {
  byId("degree-says").textContent = error.message;
  byId("degree-card").classList.remove("stale");
  byId("degree-card").classList.add("failed");
}

const [SPECTRUM_HEIGHT, BASE] = [120, 96];

/** Show the picture and the numbers of an answer. */
export function showStep(answer) {
  byId("step-picture").replaceChildren(...(answer.spectrum ? [spectrum(answer.spectrum)] : []));
  byId("step-numbers").replaceChildren(
    ...(answer.overlaps ?? []).map(meter),
    ...(answer.numbers ?? []).map((number) =>
      make("div", { class: "number-row" },
        make("dt", {}, ...named(number.label, number.symbol)),
        make("dd", {}, show(number.value)),
        number.sentence ? make("dd", { class: "sentence" }, number.sentence) : null)),
  );
  byId("step-says").textContent = answer.sentence ?? answer.spectrum?.sentence ?? "";
  byId("step-card").classList.remove("stale", "failed");
}

function spectrum({ bulk = [], spikes = [], density = { x: [], y: [] }, symbol, label }) {
  const high = 1.08 * Math.max(...[...bulk, ...spikes, ...density.x].filter(Number.isFinite));
  const x = (value) => 8 + ((WIDTH - 16) * value) / high;
  const outside = spikes.filter(Number.isFinite);
  const parts = [
    draw("line", { x1: 4, x2: WIDTH - 4, y1: BASE, y2: BASE, class: "axis" }),
    ...bulkShape(density, x),
    ...outside.flatMap((spike) => spikeMark(spike, x(spike))),
    ...linearTicks(0, high, 5).map((tick) =>
      draw("text", { x: x(tick), y: BASE + 15, class: "tick middle" }, show(tick))),
  ];
  const name = `${label ?? "Singular values of the first layer"} ${symbol ?? ""}`;
  const places = outside.map((spike) => show(spike)).join(", ");
  const words = `${name}: bulk up to ${show(bulk[1])}, ${outside.length} outside ${places}`;
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${SPECTRUM_HEIGHT}`, role: "img", "aria-label": words }, ...parts);
}

function bulkShape(density, x) {
  if (!density.x.length) return [];
  const peak = Math.max(...density.y);
  const y = (value) => BASE - (70 * value) / peak;
  const path = density.x.map((value, i) => `${i ? "L" : "M"}${x(value).toFixed(1)} ${y(density.y[i]).toFixed(1)}`);
  const [first, last] = [x(density.x[0]), x(density.x.at(-1))];
  return [draw("path", { d: `${path.join("")}L${last} ${BASE}L${first} ${BASE}Z`, class: "bulk" })];
}

function spikeMark(spike, at) {
  return [
    draw("line", { x1: at, x2: at, y1: BASE, y2: BASE - 62, class: "spike" }),
    draw("circle", { cx: at, cy: BASE - 62, r: 4, class: "spike-head" }),
    draw("text", { x: Math.min(at, WIDTH - 26), y: BASE - 72, class: "tick middle strong" }, show(spike)),
  ];
}

function meter({ value, label, sentence, symbol }) {
  const bar = make("meter", { min: 0, max: 1, value: value ?? 0, "aria-label": label });
  return make("div", { class: "number-row" },
    make("dt", {}, ...named(label, symbol)),
    make("dd", {}, bar, ` ${show(value)}`),
    sentence ? make("dd", { class: "sentence" }, sentence) : null);
}

/** Say why there is nothing about the step. */
export function failStep(error) {
  byId("step-says").textContent = error.message;
  byId("step-card").classList.remove("stale");
  byId("step-card").classList.add("failed");
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

/** Return `{update, fail, here}` of the map; `onGo({path: value})` moves the present point. */
export function createMap({ onGo }) {
  const canvas = byId("map");
  const legend = byId("map-legend");
  let answer = null;
  let place = null;

  function go(alpha, beta) {
    if (!answer?.paths) return;
    place = { alpha: clamp(alpha, answer.alpha), beta: clamp(beta, answer.beta) };
    paint();
    onGo({ [answer.paths.alpha]: place.alpha, [answer.paths.beta]: place.beta });
    const gap = gapAt(place);
    announce(`α = ${show(place.alpha)}, β = ${show(place.beta)}, gap ${showPercent(gap)}`);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fromPointer(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) fromPointer(event);
    else hover(event);
  });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    const move = moves[event.key];
    if (!move || !place) return;
    event.preventDefault();
    const stride = (event.shiftKey ? 5 : 1) * NUDGE;
    go(place.alpha + stride * move[0], place.beta + stride * move[1]);
  });

  function share(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
  }

  function fromPointer(event) {
    if (!answer) return;
    const [u, v] = share(event);
    go(between(answer.alpha, u), between(answer.beta, v));
  }

  function hover(event) {
    if (!answer) return;
    const [u, v] = share(event);
    const gap = bilinear(answer.values, u, v);
    canvas.title = `α = ${show(between(answer.alpha, u), 2)}, β = ${show(between(answer.beta, v), 2)}: gap ${showPercent(gap)}`;
  }

  function gapAt({ alpha, beta }) {
    return bilinear(answer.values, shareOf(answer.alpha, alpha), shareOf(answer.beta, beta));
  }

  function paint() {
    canvas.width = CELLS;
    canvas.height = CELLS;
    const pixels = new ImageData(CELLS, CELLS);
    for (let i = 0; i < CELLS; i += 1) {
      for (let j = 0; j < CELLS; j += 1) {
        const gap = bilinear(answer.values, j / (CELLS - 1), 1 - i / (CELLS - 1));
        const colour = gap === null ? [128, 128, 128] : cividis(gapShare(gap));
        pixels.data.set([...colour.map(Math.round), gap === null ? 60 : 255], 4 * (i * CELLS + j));
      }
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    const ring = byId("map-here");
    ring.hidden = !place;
    if (!place) return;
    ring.style.left = `${100 * shareOf(answer.alpha, place.alpha)}%`;
    ring.style.bottom = `${100 * shareOf(answer.beta, place.beta)}%`;
  }

  function label() {
    const exact = place !== null && isHere(place, answer.here) ? answer.here.gap : null;
    const gap = exact ?? (place ? gapAt(place) : null);
    const here = place ? `here α = ${show(place.alpha)}, β = ${show(place.beta)}, gap ${showPercent(gap)}` : "";
    const title = `Where ${answer.name} fails`;
    byId("map-title").textContent = title;
    canvas.setAttribute("aria-label", `${title}: gap to the network over α and β; ${here}. Arrow keys move the point.`);
    byId("map-says").textContent = place
      ? `Here its test error is ${exact === null ? "about " : ""}${told(gap)} the network's. Click, or use the arrow keys, to go elsewhere.`
      : "Click to go there.";
  }

  drawLegend(legend);
  return {
    /** Take the answer of the server. */
    update(next) {
      answer = next;
      const { alpha, beta } = next.here;
      place = Number.isFinite(alpha) && Number.isFinite(beta) ? { alpha, beta } : null;
      byId("map-card").classList.remove("stale", "failed");
      paint();
      label();
    },
    /** Say why there is no map. */
    fail(error) {
      byId("map-card").classList.remove("stale");
      byId("map-card").classList.add("failed");
      byId("map-says").textContent = error.message;
    },
    /** Move the ring without a new map, where only the two exponents changed. */
    move(values) {
      if (!answer?.paths) return;
      const [alpha, beta] = [values(answer.paths.alpha), values(answer.paths.beta)];
      if (!Number.isFinite(alpha) || !Number.isFinite(beta)) return;
      place = { alpha, beta };
      const ring = byId("map-here");
      ring.hidden = false;
      ring.style.left = `${100 * shareOf(answer.alpha, alpha)}%`;
      ring.style.bottom = `${100 * shareOf(answer.beta, beta)}%`;
      label();
    },
    paths: () => Object.values(answer?.paths ?? {}),
  };
}

function isHere(place, here) {
  return place.alpha === here.alpha && place.beta === here.beta;
}

/** Return a gap in words: "69 % above", "2.0 % below". */
export function told(gap) {
  if (!Number.isFinite(gap)) return "not known beside";
  return `${showPercent(gap).replace(/^[+−]/, "")} ${gap < 0 ? "below" : "above"}`;
}

function drawLegend(host) {
  const stops = Array.from({ length: 41 }, (_, i) => {
    const stop = make("i");
    stop.style.background = `rgb(${cividis(i / 40).map(Math.round).join(" ")})`;
    return stop;
  });
  host.replaceChildren(
    make("span", { class: "ramp", "aria-hidden": "true" }, ...stops),
    make("span", { class: "ticks" }, ...["≤ 0.1 %", "1 %", "10 %", "≥ 100 %"].map((t) => make("span", {}, t))),
  );
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
