// The state of the page: one frozen value, how a change makes the next one, and its address.

export const MOST_PINS = 4;

/** Return the state that the server's description starts with. */
export function startingState({ state }) {
  return Object.freeze({
    ...state, metrics: null, // until one chooses, those of the task
    log: false, automatic: false, preset: null, pins: [],
  });
}

/** Return the state of a preset: what it does not set is as at the start; pins stay. */
export function presetState(preset, start, { automatic, pins }) {
  return Object.freeze({ ...start, ...preset.state, automatic, pins, preset: preset.name });
}

/**
 * Return the state with one field of the problem set. Fields that exclude it drop out; those that
 * must be set with it join in, at the value that they show.
 */
export function withField(state, control, value, byPath = new Map()) {
  const problem = { ...state.problem };
  for (const rival of control.rivals ?? []) delete problem[rival];
  delete problem[control.path]; // the newest change is last
  if (!same(value, control.default)) {
    for (const path of control.companions ?? []) {
      const other = byPath.get(path);
      const shown = other ? fieldValue(state, other) : null;
      if (!(path in problem) && shown !== null && shown !== undefined) problem[path] = shown;
    }
    problem[control.path] = value;
  }
  return Object.freeze({ ...state, problem });
}

/** Return the state on another source of data: what was changed of the old one is dropped. */
export function withBase(state, source) {
  const drops = source.drops ?? [];
  const kept = Object.entries(state.problem).filter(
    ([path]) => !drops.some((prefix) => path === prefix || path.startsWith(`${prefix}.`)),
  );
  return Object.freeze({ ...state, base: source.name, problem: Object.fromEntries(kept) });
}

/** Return the state with other things shown: axis, models, metrics, log, automatic, pins. */
export function withShown(state, changes) {
  return Object.freeze({ ...state, ...changes });
}

/** Return the state with the present curves pinned; the oldest pin makes room. */
export function withPin(state, name) {
  const pin = { base: state.base, problem: state.problem, models: state.models, name };
  return Object.freeze({ ...state, pins: [...state.pins, pin].slice(-MOST_PINS) });
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

/** Return a string that is equal if the server's answers are. */
export function serverKey(state) {
  return JSON.stringify(forServer(state));
}

/** Return whether two plain values are equal. */
export function same(a, b) {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}

// In the address a field of the problem has its own path as its key, what is shown has `show.`:
//   #some.field=0.9&show.axis=other.field&show.models=network,linear&show.metrics=test_mse

const SHOW = "show.";

/** Return the text of a field's value: as it reads, quoted only where it would be misread. */
export function writeValue(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return readValue(value) === value ? value : JSON.stringify(value);
}

/** Return the value of a string: as JSON if it is JSON, else the string itself. */
export function readValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Return pairs of key and text as a fragment of an address, or as the text of a pin in it. */
function join(pairs) {
  // Characters that an address may hold as they are stay readable.
  return String(new URLSearchParams(pairs)).replace(/%(2C|3A|2F|40|24|3B|28|29|21|27|5B|5D)/g, (code) =>
    decodeURIComponent(code));
}

/** Return the pairs of such a fragment. */
function split(text) {
  return [...new URLSearchParams(text)].filter(([key]) => key);
}

/** Return the pairs of the problem and its source, which states and pins have. */
function problemPairs({ base, problem }) {
  const pairs = Object.entries(problem).map(([path, value]) => [path, writeValue(value)]);
  return base ? [...pairs, [`${SHOW}source`, base]] : pairs;
}

/** Return the fragment of a state, without the #. */
export function writeState(state) {
  const pairs = [...problemPairs(state), [`${SHOW}axis`, state.axis], [`${SHOW}models`, state.models.join(",")]];
  if (state.metrics) pairs.push([`${SHOW}metrics`, state.metrics.join(",")]);
  if (state.log) pairs.push([`${SHOW}log`, "true"]);
  if (state.automatic) pairs.push([`${SHOW}simulate`, "true"]);
  if (state.preset) pairs.push([`${SHOW}preset`, state.preset]);
  for (const pin of state.pins) {
    const own = [[`${SHOW}models`, pin.models.join(",")], [`${SHOW}name`, pin.name]];
    pairs.push([`${SHOW}pin`, join([...problemPairs(pin), ...own])]);
  }
  return join(pairs);
}

/** Return the state of a fragment; what it does not set is taken from `start`. */
export function readState(fragment, start) {
  const text = fragment.replace(/^#/, "");
  if (!text) return start;
  const fresh = { problem: {}, log: false, automatic: false, preset: null, pins: [] };
  return readPairs(text, { ...start, ...fresh });
}

function readPairs(text, state) {
  for (const [key, value] of split(text)) {
    if (key.startsWith(SHOW)) readShown(state, key.slice(SHOW.length), value);
    else state.problem[key] = readValue(value);
  }
  return state;
}

function readShown(state, name, text) {
  const names = text.split(",").filter(Boolean);
  const shown = {
    source: { base: text || state.base },
    axis: { axis: text || state.axis },
    models: { models: names.length ? names : state.models },
    metrics: { metrics: names.length ? names : state.metrics },
    log: { log: text === "true" },
    simulate: { automatic: text === "true" },
    preset: { preset: text },
    name: { name: text },
  };
  if (name === "pin") state.pins?.push(readPairs(text, { base: null, problem: {}, models: [], name: "" }));
  else if (Object.hasOwn(shown, name)) Object.assign(state, shown[name]);
}
