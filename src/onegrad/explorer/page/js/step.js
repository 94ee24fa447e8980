// What the step did: spike and bulk of the first layer, overlap with the teacher.

import { byId, draw, make, named } from "./page.js";
import { linearTicks, show } from "./numbers.js";

const [WIDTH, HEIGHT, BASE] = [320, 120, 96];

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
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words }, ...parts);
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
