// The state of the page: one frozen value, and how a change makes the next one.

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
