// From an answer of the server to lines, bands and points that can be drawn.

import { evenGrid, interpolate } from "./interpolate.js";

export const DENSE = 161; // points of an interpolated line

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

/** Return one metric's lines of an answer: {model, values, low, high}, on the grid. */
export function linesOf(answer, metric, grid, { log, band }) {
  const lines = [];
  for (const [model, curve] of Object.entries(answer.curves)) {
    const values = curve[metric];
    if (!values) continue;
    const on = (ys) => (grid === answer.x ? ys : interpolate(answer.x, ys, grid, { log }));
    const errors = band ? curve.theory_error : null;
    const bound = (sign) =>
      on(values.map((value, i) => shifted(value, errors[i], sign)));
    lines.push({
      model,
      values: on(values),
      low: errors ? bound(-1) : null,
      high: errors ? bound(1) : null,
    });
  }
  return lines;
}

function shifted(value, error, sign) {
  if (!Number.isFinite(value)) return null;
  return value * Math.max(1 + sign * (error ?? 0), 0.02);
}

/** Return the value of one curve at x, or null outside of it. */
export function valueNear(answer, model, metric, x, { log }) {
  const values = answer.curves[model]?.[metric];
  if (!values || !Number.isFinite(x) || x < answer.x[0] || x > answer.x.at(-1)) return null;
  return interpolate(answer.x, values, [x], { log })[0];
}

/** Return one row per model of what it does at x: values by metric, theory error, gap. */
export function rowsAt(answer, metrics, x, { log }) {
  return Object.keys(answer.curves).map((model) => ({
    model,
    values: metrics.map((metric) => valueNear(answer, model, metric, x, { log })),
    error: valueNear(answer, model, "theory_error", x, { log }),
    gap: gapNear(answer, model, x, { log }),
  }));
}

function gapNear(answer, model, x, { log }) {
  const gaps = answer.gap?.[model];
  if (!gaps || !Number.isFinite(x) || x < answer.x[0] || x > answer.x.at(-1)) return null;
  return interpolate(answer.x, gaps, [x], { log })[0];
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
