// The map of two exponents: where the simpler model stops to follow the network.

import { cividis } from "./colours.js";
import { announce, byId, make } from "./page.js";
import { show, showPercent } from "./numbers.js";

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
    const exact = place !== null && same(place, answer.here) ? answer.here.gap : null;
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

function same(place, here) {
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
