// From an answer of the server to lines, bands and points that can be drawn.

/** Return the slopes at each knot that keep every piece between two knots monotone, as PCHIP has them. */
function monotoneSlopes(xs, ys) {
  const widths = xs.slice(1).map((x, i) => x - xs[i]);
  const secants = widths.map((width, i) => (ys[i + 1] - ys[i]) / width);
  const inner = secants.slice(1).map((right, i) => {
    const left = secants[i];
    if (left * right <= 0) return 0;
    const [a, b] = [widths[i] + 2 * widths[i + 1], 2 * widths[i] + widths[i + 1]];
    return (a + b) / (a / left + b / right);
  });
  return [secants[0], ...inner, secants.at(-1)];
}

/** Return the value of one cubic piece at x, between knots i and i + 1. */
function piece(xs, ys, slopes, i, x) {
  const width = xs[i + 1] - xs[i];
  const t = (x - xs[i]) / width;
  const s = 1 - t;
  return (
    ys[i] * (1 + 2 * t) * s * s +
    slopes[i] * width * t * s * s +
    ys[i + 1] * t * t * (3 - 2 * t) -
    slopes[i + 1] * width * t * t * s
  );
}

/** Return values of one run of knots without holes at every grid point, null outside of it. */
function interpolateRun(xs, ys, grid) {
  if (xs.length === 1) return grid.map((x) => (x === xs[0] ? ys[0] : null));
  const slopes = monotoneSlopes(xs, ys);
  const last = xs.length - 2;
  let i = 0;
  return grid.map((x) => {
    if (x < xs[0] || x > xs[last + 1]) return null;
    while (i < last && x > xs[i + 1]) i += 1;
    return piece(xs, ys, slopes, i, x);
  });
}

/** Return [first, last] index pairs of the stretches of ys that hold numbers. */
export function runs(ys) {
  const found = [];
  let start = -1;
  for (let i = 0; i <= ys.length; i += 1) {
    const held = i < ys.length && Number.isFinite(ys[i]);
    if (held && start < 0) start = i;
    if (!held && start >= 0) {
      found.push([start, i - 1]);
      start = -1;
    }
  }
  return found;
}

/**
 * Return the values at the points of an increasing grid; a hole (null) stays a hole.
 * With `log`, x is measured by its logarithm, so that points of a logarithmic axis are even.
 */
export function interpolate(xs, ys, grid, { log = false } = {}) {
  const measure = log ? Math.log : (x) => x;
  const knots = xs.map(measure);
  // exp(log x) may leave the range by one rounding.
  const places = grid.map((x) => Math.min(Math.max(measure(x), knots[0]), knots.at(-1)));
  const values = grid.map(() => null);
  for (const [first, last] of runs(ys)) {
    const part = interpolateRun(
      knots.slice(first, last + 1),
      ys.slice(first, last + 1),
      places,
    );
    part.forEach((value, i) => {
      if (value !== null) values[i] = value;
    });
  }
  return values;
}

/** Return `count` points from low to high, even on the axis; the ends are exact. */
export function evenGrid(low, high, count, { log = false } = {}) {
  const grid = [];
  for (let i = 0; i < count; i += 1) {
    const t = i / (count - 1);
    grid.push(log ? low * (high / low) ** t : low + (high - low) * t);
  }
  grid[0] = low;
  grid[count - 1] = high;
  return grid;
}

const DENSE = 161; // points of an interpolated line
const FEW = 40; // points below which a line between them would show its corners

/** Return the grid on which an answer is drawn: its own points, a dense one where they are few. */
export function drawnGrid(answer, { log }) {
  if (answer.x.length >= FEW || answer.x.length < 2) return answer.x;
  return evenGrid(answer.x[0], answer.x.at(-1), DENSE, { log });
}

/** Return the names of the metrics that an answer holds for some model. */
export function heldMetrics(answer) {
  const names = new Set();
  for (const curve of Object.values(answer.curves)) {
    for (const [name, values] of Object.entries(curve)) {
      if (Array.isArray(values) && values.some((value) => Number.isFinite(value))) names.add(name);
    }
  }
  return names;
}

/** Return one metric's lines of an answer on the grid: {model, x, y, band}. */
export function linesOf(answer, metric, grid, { log, band = false }) {
  const on = (ys) => (grid === answer.x ? ys : interpolate(answer.x, ys, grid, { log }));
  return Object.entries(answer.curves).filter(([, curve]) => curve[metric]).map(([model, curve]) => {
    const y = on(curve[metric]);
    const errors = band ? on(curve.theory_error) : null;
    return { model, x: grid, y, band: errors && y.map((value, i) => Math.abs(value) * Math.min(errors[i] ?? 0, 0.98)) };
  });
}

/** Return one row per model of what it does at x: values by metric, theory error, gap. */
export function rowsAt(answer, metrics, x, { log }) {
  const inside = Number.isFinite(x) && x >= answer.x[0] && x <= answer.x.at(-1);
  const at = (values) => (values && inside ? interpolate(answer.x, values, [x], { log })[0] : null);
  return Object.entries(answer.curves).map(([model, curve]) => ({
    model,
    values: metrics.map((metric) => at(curve[metric])),
    error: at(curve.theory_error),
    gap: at(answer.gap?.[model]),
  }));
}

/**
 * Return the flags of an answer: {flag, from, to, everywhere}. Flags that differ only in their numbers
 * are one, with the first's words and the stretch of x between them.
 */
export function flagsOf(answer) {
  const found = new Map();
  (answer.flags ?? []).forEach((flags, i) => {
    for (const flag of flags) {
      const key = flag.replace(/[-+]?[\d.]+(e[-+]?\d+)?/gi, "#");
      const known = found.get(key) ?? { flag, from: answer.x[i] };
      found.set(key, { ...known, to: answer.x[i] });
    }
  });
  return [...found.values()].map((entry) => ({
    ...entry, everywhere: entry.from === answer.x[0] && entry.to === answer.x.at(-1),
  }));
}

/** Return the rows of a table of everything that is drawn, header first. */
export function tableOf({ answer, axis, points, pins }) {
  const header = ["kind", "model", axis, "metric", "value", "error"];
  const rows = [header];
  const add = (kind, source) => {
    for (const [model, curve] of Object.entries(source.curves)) {
      for (const metric of heldMetrics({ curves: { [model]: curve } })) {
        if (metric === "theory_error") continue;
        source.x.forEach((x, i) => {
          const value = curve[metric][i];
          const error = curve.theory_error?.[i] ?? "";
          if (Number.isFinite(value)) rows.push([kind, model, x, metric, value, error]);
        });
      }
    }
  };
  add("theory", answer);
  for (const pin of pins) add(`pinned: ${pin.name}`, pin.answer);
  for (const point of points) {
    for (const [metric, { mean, stderr }] of Object.entries(point.metrics)) {
      rows.push(["simulated", point.model, point.x, metric, mean, stderr ?? ""]);
    }
  }
  return rows;
}

/** Return a table as CSV, entries quoted where they must be. */
export function toCsv(rows) {
  const quoted = (entry) => {
    const text = String(entry);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");
}
