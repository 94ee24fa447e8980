// The page: one state, what it shows, and what changes it.

import { axisOf, createCharts } from "./charts.js";
import {
  createPins, fillSelect, pinName, showMetrics, showModels, showPresets, showSources, toggled,
} from "./choices.js";
import { createControls } from "./controls.js";
import { heldMetrics } from "./curves.js";
import { createExport } from "./export.js";
import { modelStyles } from "./models.js";
import { announce, byId, createTheme, takeSavedTheme } from "./page.js";
import { showReadings } from "./readings.js";
import { connect, createEngine, delayed, REFINED_POINTS } from "./requests.js";
import { createSimulation } from "./simulation.js";
import {
  fieldValue, forServer, presetState, readState, same, serverKey, startingState, withBase,
  withField, withPin, withShown, writeState,
} from "./state.js";
import { createMap, failCard, showDegrees, showStep } from "./views.js";

const MAP_SIZE = 9;
const SOURCE_PAUSES = [2000, 4000, 8000, 16000];
const ADDRESS_PAUSE = 250; // browsers refuse more than some hundred addresses in half a minute

let description;
let start;
let opened; // {controls, axes} of the problem that the page opened with
let state;
let shown = null; // {answer, draft, job}: the newest curve
const address = delayed();
const server = connect(new URLSearchParams(location.search).get("token") ?? "");
const engine = createEngine(server, {
  axis: () => state.axis,
  busy: (flag) => byId("page").classList.toggle("busy", flag),
  curve: takeCurve,
  error: takeError,
  beside,
});
const controls = createControls((control, value) => change(withField(state, control, value, paths())));
const charts = createCharts({ onGo: goAlong, onDrawn: drawn });
const map = createMap({ onGo: goOnMap });
const pins = createPins({ onAnswer: paint, onRemove: unpin });
const simulation = createSimulation({ server, onPoint: paint });

/** The controls of the description by path. */
function paths() {
  return new Map(description.controls.map((control) => [control.path, control]));
}

/** Take a new state: show it at once, ask for what it needs. */
function change(next, { push = false } = {}) {
  const asked = serverKey(next) !== serverKey(state);
  for (const control of description.controls) {
    // A field that was taken back shows its default until the server says more.
    if (control.path in state.problem && !(control.path in next.problem)) control.value = control.default;
  }
  state = next;
  if (same([state.base, state.problem], [start.base, start.problem])) {
    // Other fields follow from those that were taken back; without this they would show values of
    // the state before until the server answers, and choosing their own value would change nothing.
    description = { ...description, ...opened };
    controls.describe(description.controls);
  }
  if (asked) ask(); // the server computes while the page shows the state
  showState();
  simulation.changed(state);
  if (push) history.pushState(null, "", `#${writeState(state)}`);
  address(ADDRESS_PAUSE, () => history.replaceState(null, "", `#${writeState(state)}`));
  if (!asked) paint();
}

function ask() {
  const at = performance.now();
  for (const id of ["map-card", "degree-card", "step-card"]) byId(id).classList.add("stale");
  engine.change(state, at);
}

/** Show everything that follows from the state alone. */
function showState() {
  controls.update(state);
  showPresets(description, state, (preset) => change(presetState(preset, start, state), { push: true }));
  showSources(description, state, (source) => change(withBase(state, source)));
  fillSelect(byId("axis"), description.axes.map((axis) => ({
    value: axis.path, label: axis.symbol ? `${axis.label} (${axis.symbol})` : axis.label,
  })), state.axis);
  const styles = modelStyles(state.models, description.models);
  showModels(state, description, styles, (name) =>
    change(withShown(state, { models: toggled(state.models, name, description.models) })));
  byId("log").checked = state.log;
  byId("automatic").checked = state.automatic;
  pins.show(state);
  map.move((path) => {
    const control = paths().get(path);
    return control ? fieldValue(state, control) : null;
  });
}

/** Take a curve from the server, draft or refined. */
function takeCurve(answer, { draft, job }) {
  shown = { answer, draft, job };
  byId("error").hidden = true;
  byId("page").classList.remove("wrong");
  controls.mark(null);
  paint();
}

function takeError(error, job) {
  byId("error").textContent = error.message;
  byId("error").dataset.turn = job?.turn ?? engine.turn();
  byId("error").hidden = false;
  byId("page").classList.add("wrong");
  controls.mark(error.message);
  announce(error.message);
}

/** Draw the newest curve with pins and points. */
function paint() {
  if (!shown || shown.answer.axis !== state.axis) return;
  const { answer, draft } = shown;
  const held = heldMetrics(answer);
  const known = description.metrics.filter((metric) => held.has(metric.name));
  const wanted = state.metrics ?? answer.shown;
  let metrics = known.filter((metric) => wanted.includes(metric.name));
  if (!metrics.length) metrics = known.slice(0, 1);
  showMetrics({ ...state, metrics: metrics.map((metric) => metric.name) }, known, (name) =>
    change(withShown(state, { metrics: toggled(metrics.map((m) => m.name), name, known) })));
  const inputs = { answer, state, description, points: simulation.points(), pins: pins.answers(state) };
  charts.update(inputs, metrics);
  const styles = modelStyles(state.models, description.models);
  const axis = axisOf(description, answer.axis);
  showReadings({ answer, draft, metrics, description, axis, styles });
  if (!metrics.length) drawn(); // nothing to draw is an answer too
}

/** Report to benchmarks and tests when a curve has been drawn, and how long after the input. */
function drawn() {
  if (!shown?.job || shown.announced) return;
  shown.announced = true;
  const { draft, job, answer } = shown;
  document.dispatchEvent(new CustomEvent("onegrad:drawn", {
    detail: {
      draft, turn: job.turn, points: answer.x.length, server: answer.milliseconds,
      milliseconds: performance.now() - job.at,
    },
  }));
}

/** Return what is asked for after the refined curve, in this order. */
function beside(asked) {
  const body = { state: forServer(asked) };
  return [
    ...pins.requests(asked, REFINED_POINTS),
    { path: "/api/controls", body, take: takeDescription, fail: takeError },
    { path: "/api/degree", body, take: showDegrees, fail: failCard("degree") },
    { path: "/api/step", body, take: showStep, fail: failCard("step") },
    { path: "/api/map", body: { ...body, size: MAP_SIZE }, take: map.update, fail: failCard("map") },
  ];
}

function takeDescription(next) {
  description = { ...description, ...next };
  controls.describe(description.controls);
  showState();
}

/** Ask a few times whether more sources have been read: real data take the server seconds. */
function lookForSources(pauses) {
  const [pause, ...rest] = pauses;
  if (pause === undefined) return;
  setTimeout(async () => {
    const known = description.sources.length;
    const missing = !description.sources.some(({ name }) => name === state.base);
    const next = await server.get("/api/controls").catch(() => null);
    if (next === null) return; // the next curve reports it
    description = { ...description, sources: next.sources, presets: next.presets };
    if (next.sources.length > known) showState();
    if (missing && next.sources.some(({ name }) => name === state.base)) ask();
    lookForSources(rest);
  }, pause);
}

/** Go to x on the present axis. */
function goAlong(x) {
  const control = paths().get(state.axis);
  if (!control) return;
  const value = control.kind === "count" ? Math.round(x) : Number(x.toPrecision(3));
  change(withField(state, control, value, paths()));
}

/** Go to a point of the map: {path: value}. */
function goOnMap(values) {
  let next = state;
  for (const [path, value] of Object.entries(values)) {
    const control = paths().get(path);
    if (control && !same(fieldValue(next, control), value)) next = withField(next, control, value, paths());
  }
  if (next !== state) change(next);
}

function pin() {
  if (!shown || shown.draft) return;
  const name = pinName(state, paths());
  pins.remember(state, shown.answer);
  change(withPin(state, name));
  announce(`Pinned ${name}`);
}

function unpin(index) {
  change(withShown(state, { pins: state.pins.filter((_, i) => i !== index) }));
}

function wire() {
  byId("axis").addEventListener("change", (event) => change(withShown(state, { axis: event.target.value })));
  byId("log").addEventListener("change", (event) => change(withShown(state, { log: event.target.checked })));
  byId("automatic").addEventListener("change", (event) =>
    change(withShown(state, { automatic: event.target.checked })));
  byId("pin").addEventListener("click", pin);
  byId("reset").addEventListener("click", () => change(start, { push: true }));
  addEventListener("popstate", () => {
    if (location.hash.slice(1) !== writeState(state)) change(readState(location.hash, start));
  });
  createExport({ server, now: () => ({
    state, answer: shown.answer, points: simulation.points(), pins: pins.answers(state), pictures: charts.pictures(),
  }) });
  createTheme(() => {
    showState();
    paint();
  });
}

async function begin() {
  description = await server.get("/api/controls");
  opened = { controls: description.controls, axes: description.axes };
  start = startingState(description);
  state = readState(location.hash, start);
  byId("version").textContent = description.version ?? "";
  controls.describe(description.controls);
  wire();
  showState();
  simulation.changed(state);
  byId("page").classList.remove("loading");
  ask();
  lookForSources(SOURCE_PAUSES);
}

takeSavedTheme();
begin().catch((error) => {
  byId("page").classList.remove("loading");
  takeError(error);
});
