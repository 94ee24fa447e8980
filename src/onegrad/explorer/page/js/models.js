// Models: their names for people, and the look of their curves.

const COLOUR_ORDER = [0, 1, 4, 5, 3, 2]; // of the table of colours
const MARKS = ["line", "dashed", "dotted", "dashdot", "longdash", "dashdotdot"];

/** Return {model: {colour, mark}}: a model keeps its place while it is free. */
export function modelStyles(models, known) {
  const taken = new Set();
  const styles = {};
  for (const model of models) {
    const base = known.findIndex((entry) => entry.name === model || isOf(entry, model));
    let place = (base < 0 ? known.length : base) % MARKS.length;
    while (taken.has(place) && taken.size < MARKS.length) place = (place + 1) % MARKS.length;
    taken.add(place);
    styles[model] = { colour: COLOUR_ORDER[place], mark: MARKS[place] };
  }
  return styles;
}

/** Return whether a model such as hermite:3 is one of an entry with degrees. */
export function isOf(entry, model) {
  return Boolean(entry.degrees) && model.split(":")[0] === entry.name.split(":")[0];
}

/** Return a model's name for people: the entry's label, and the degree if it has one. */
export function modelLabel(model, known) {
  const exact = known.find((entry) => entry.name === model);
  if (exact) return exact.label;
  const entry = known.find((candidate) => isOf(candidate, model));
  const degree = model.split(":")[1];
  if (!entry) return model;
  return degree ? `${entry.label}, degree ${degree}` : entry.label;
}
