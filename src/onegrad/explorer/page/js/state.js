// The state of the page: one frozen value, how a change makes the next one, and its address.

export const MOST_PINS = 4;

/** Return the state that the server's description starts with. */
export function startingState(description) {
  const start = description.state ?? {};
  const axis = start.axis ?? description.axes[0].path;
  const models = start.models ?? description.models.slice(0, 2).map((model) => model.name);
  return freeze({
    base: start.base ?? null,
    problem: start.problem ?? {},
    axis,
    models,
    metrics: start.metrics ?? null, // until one chooses, those of the task
    log: start.log ?? false,
    automatic: false,
    preset: null,
    pins: [],
  });
}

/** Return the state of a preset: what it does not say is as at the start; pins stay. */
export function presetState(preset, start, current) {
  const said = preset.state;
  return freeze({
    ...start,
    base: said.base ?? start.base,
    problem: said.problem ?? {},
    axis: said.axis ?? start.axis,
    models: said.models ?? start.models,
    metrics: said.metrics ?? start.metrics,
    log: said.log ?? false,
    automatic: current.automatic,
    pins: current.pins,
    preset: preset.name,
  });
}

/**
 * Return the state with one field of the problem set. Fields that exclude it drop out; those that
 * it must be said with join in, at the value that they show.
 */
export function withField(state, control, value, byPath = new Map()) {
  const problem = { ...state.problem };
  for (const rival of control.rivals ?? []) delete problem[rival];
  delete problem[control.path]; // the newest change stands last
  if (!same(value, control.default)) {
    for (const path of control.companions ?? []) {
      const other = byPath.get(path);
      const shown = other ? fieldValue(state, other) : null;
      if (!(path in problem) && shown !== null && shown !== undefined) problem[path] = shown;
    }
    problem[control.path] = value;
  }
  return freeze({ ...state, problem });
}

/** Return the state on another source of data: what was changed of the old one is dropped. */
export function withBase(state, source) {
  const drops = source.drops ?? [];
  const kept = Object.entries(state.problem).filter(
    ([path]) => !drops.some((prefix) => path === prefix || path.startsWith(`${prefix}.`)),
  );
  return freeze({ ...state, base: source.name, problem: Object.fromEntries(kept) });
}

/** Return the state with other things shown: axis, models, metrics, log, automatic, pins. */
export function withShown(state, changes) {
  return freeze({ ...state, ...changes });
}

/** Return the state with the present curves pinned; the oldest pin makes room. */
export function withPin(state, name) {
  const pin = { base: state.base, problem: state.problem, models: state.models, name };
  return freeze({ ...state, pins: [...state.pins, pin].slice(-MOST_PINS) });
}

/** Return the value of a control in this state: as set, else as the server says it holds. */
export function fieldValue(state, control) {
  const value = state.problem[control.path];
  if (value !== undefined) return value;
  return control.value === undefined ? control.default : control.value;
}

/** Return whether a control is shown: others may decide whether it means anything. */
export function applies(state, control, byPath) {
  const when = control.when;
  if (!when) return true;
  const value = byPath.has(when.path)
    ? fieldValue(state, byPath.get(when.path))
    : state.problem[when.path];
  return when.values.some((allowed) => same(allowed, value));
}

/** Return what the server reads of a state. */
export function forServer(state) {
  const { base, problem, axis, models } = state;
  return base === null ? { problem, axis, models } : { base, problem, axis, models };
}

/** Return a text that is equal where the server's answers are. */
export function serverKey(state) {
  return JSON.stringify(forServer(state));
}

/** Return whether two plain values are equal. */
export function same(a, b) {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

function freeze(state) {
  return Object.freeze(state);
}

//
// A field of the problem stands under its own path, what is shown under `show.`:
//   #some.field=0.9&show.axis=other.field&show.models=network,linear&show.metrics=test_mse

const SHOW = "show.";

/** Return the text of a field's value: as it reads, quoted only where it would be misread. */
export function writeValue(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return readsAsJson(value) ? JSON.stringify(value) : value;
}

/** Return the value of a text: JSON where it is JSON, else the text itself. */
export function readValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readsAsJson(text) {
  return readValue(text) !== text;
}

function encode(text) {
  // What an address may hold as it is stays readable.
  return encodeURIComponent(text).replace(/%(2C|3A|2F|40|24|3B|28|29|2A|21|27|5B|5D)/g, (code) =>
    decodeURIComponent(code),
  );
}

function decode(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

function pairsOf(fields) {
  return Object.entries(fields).map(([path, value]) => [path, writeValue(value)]);
}

/** Return the fragment of a state, without the #. */
export function writeState(state) {
  const pairs = pairsOf(state.problem);
  if (state.base) pairs.push([`${SHOW}source`, state.base]);
  pairs.push([`${SHOW}axis`, state.axis]);
  pairs.push([`${SHOW}models`, state.models.join(",")]);
  if (state.metrics) pairs.push([`${SHOW}metrics`, state.metrics.join(",")]);
  if (state.log) pairs.push([`${SHOW}log`, "true"]);
  if (state.automatic) pairs.push([`${SHOW}simulate`, "true"]);
  if (state.preset) pairs.push([`${SHOW}preset`, state.preset]);
  for (const pin of state.pins) pairs.push([`${SHOW}pin`, writePin(pin)]);
  return pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join("&");
}

/** Return the state of a fragment, what it does not say taken from `start`. */
export function readState(fragment, start) {
  const text = fragment.replace(/^#/, "");
  if (!text) return start;
  const state = { ...start, problem: {}, log: false, automatic: false, preset: null, pins: [] };
  for (const pair of text.split("&")) {
    const [key, ...rest] = pair.split("=");
    const value = decode(rest.join("="));
    const name = decode(key);
    if (!name) continue;
    if (name.startsWith(SHOW)) readShown(state, name.slice(SHOW.length), value);
    else state.problem[name] = readValue(value);
  }
  return state;
}

function readShown(state, name, text) {
  const names = text.split(",").filter(Boolean);
  if (name === "source" && text) state.base = text;
  else if (name === "axis" && text) state.axis = text;
  else if (name === "models" && names.length) state.models = names;
  else if (name === "metrics" && names.length) state.metrics = names;
  else if (name === "log") state.log = text === "true";
  else if (name === "simulate") state.automatic = text === "true";
  else if (name === "preset") state.preset = text;
  else if (name === "pin") state.pins.push(readPin(text));
}

function writePin(pin) {
  const pairs = pairsOf(pin.problem);
  if (pin.base) pairs.push([`${SHOW}source`, pin.base]);
  pairs.push([`${SHOW}models`, pin.models.join(",")], [`${SHOW}name`, pin.name]);
  return pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join("&");
}

function readPin(text) {
  const pin = { base: null, problem: {}, models: [], name: "" };
  for (const pair of text.split("&")) {
    const [key, ...rest] = pair.split("=");
    const [name, value] = [decode(key), decode(rest.join("="))];
    if (name === `${SHOW}source`) pin.base = value;
    else if (name === `${SHOW}models`) pin.models = value.split(",").filter(Boolean);
    else if (name === `${SHOW}name`) pin.name = value;
    else if (name) pin.problem[name] = readValue(value);
  }
  return pin;
}
