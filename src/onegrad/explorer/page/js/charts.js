// One chart for every chosen metric, and the numbers at the present setting.

import { createChart, ink } from "./chart.js";
import { isDark, modelLabel, modelStyles } from "./colours.js";
import { drawnGrid, flagsOf, interpolate, linesOf, rowsAt } from "./curves.js";
import { show, showPercent } from "./numbers.js";
import { announce, byId, lineSample, make, named } from "./page.js";

/** Return everything that one metric's chart draws: lines with bands, pins, points. */
export function chartValues({ answer, state, metric, description, points, pins }) {
  const axis = axisOf(description, answer.axis);
  const log = axis.scale === "log";
  const grid = drawnGrid(answer, { log });
  const styles = modelStyles(state.models, description.models, isDark());
  const colours = ink();
  const lines = linesOf(answer, metric.name, grid, { log, band: metric.band })
    .filter((line) => styles[line.model])
    .map((line) => ({ ...line, ...styles[line.model], label: modelLabel(line.model, description.models) }));
  for (const pin of pins) lines.push(...pinnedLines(pin, { metric, grid, log, description }));
  return {
    x: grid,
    lines,
    points: points
      .filter((point) => styles[point.model] && point.metrics[metric.name])
      .map((point) => ({
        x: point.x,
        ...point.metrics[metric.name],
        ...styles[point.model],
        background: colours.card,
        aside: state.models.indexOf(point.model) - (state.models.length - 1) / 2,
      })),
    current: answer.current,
    flagged: flagsOf(answer).filter((flag) => !flag.everywhere),
    logX: log,
    logY: state.log,
    title: metric.label,
    xLabel: `${axis.label}${axis.symbol ? ` ${axis.symbol}` : ""}`,
    xSymbol: axis.symbol || axis.label,
    ink: colours.strong,
    grid: colours.grid,
    background: colours.card,
    key: JSON.stringify([lines.map((l) => [l.label, l.colour, Boolean(l.low)]), log, state.log,
      answer.axis, isDark()]),
  };
}

function pinnedLines(pin, { metric, grid, log, description }) {
  const styles = modelStyles(pin.models, description.models, isDark());
  return Object.entries(pin.answer.curves)
    .filter(([, curve]) => curve[metric.name])
    .map(([model, curve]) => ({
      model,
      values: interpolate(pin.answer.x, curve[metric.name], grid, { log }),
      low: null,
      high: null,
      ...styles[model],
      faded: true,
      label: `${modelLabel(model, description.models)} (${pin.name})`,
      short: `${modelLabel(model, description.models)}, pinned`,
    }));
}

/** Return the description of an axis. */
export function axisOf(description, path) {
  return description.axes.find((axis) => axis.path === path)
    ?? { path, label: path, symbol: "", scale: "linear" };
}

/** Return `{update, redraw}` of the charts; `onGo(x)` is called by a click on one. */
export function createCharts({ onGo, onDrawn }) {
  const host = byId("charts");
  const drawn = new Map(); // metric → {figure, chart, box}
  const watcher = new ResizeObserver(() => drawn.forEach(({ chart }) => chart.resize()));
  let views = [];

  function add(metric) {
    const box = make("div", { class: "canvas", role: "img" });
    const caption = make("figcaption", {}, ...named(make("b", {}, metric.label), metric.symbol), " ",
      make("span", { class: "sentence" }, metric.sentence ?? ""));
    const axisName = make("p", { class: "axis-name", "aria-hidden": "true" });
    const figure = make("figure", { class: "plot", "data-metric": metric.name }, caption, box, axisName);
    host.append(figure);
    watcher.observe(box);
    const chart = createChart(box, { onGo, onDrawn });
    const entry = { figure, chart, box, axisName };
    drawn.set(metric.name, entry);
    return entry;
  }

  return {
    /** Draw the chosen metrics; a chart that is no longer wanted goes. */
    update(inputs, metrics) {
      for (const [name, { figure, chart, box }] of drawn) {
        if (metrics.some((metric) => metric.name === name)) continue;
        watcher.unobserve(box);
        chart.destroy();
        figure.remove();
        drawn.delete(name);
      }
      host.dataset.count = metrics.length;
      views = metrics.map((metric) => {
        const entry = drawn.get(metric.name) ?? add(metric);
        host.append(entry.figure);
        const view = chartValues({ ...inputs, metric });
        entry.chart.update(view);
        entry.box.setAttribute("aria-label", summary(view));
        entry.axisName.textContent = view.xLabel;
        return view;
      });
    },
    views: () => views,
  };
}

function summary(view) {
  const ends = view.lines.map((line) => {
    const known = line.values.filter((value) => Number.isFinite(value));
    return `${line.label} from ${show(known[0])} to ${show(known.at(-1))}`;
  });
  return `${view.title} along ${view.xLabel}: ${ends.join("; ")}. Values stand in the table below.`;
}

const NOTABLE = 0.05; // a gap to the network from which it is called one

/** Show the table at the present setting, notes, method and time. */
export function showReadings({ answer, draft, metrics, description, axis, styles }) {
  const log = axis.scale === "log";
  const rows = rowsAt(answer, metrics.map((metric) => metric.name), answer.current, { log })
    .filter((row) => styles[row.model]);
  const outside = !(answer.current >= answer.x[0] && answer.current <= answer.x.at(-1));
  const place = `${axis.symbol || axis.label} = ${show(answer.current)}`;
  byId("readings-title").textContent = outside
    ? `The present ${place} is outside of the curve`
    : `At the marked point, ${place}`;
  byId("readings").replaceChildren(table(rows, metrics, description, styles));
  const [count, time] = [`${answer.x.length} points${draft ? " (draft)" : ""}`, show(answer.milliseconds, 2)];
  byId("method").textContent = `${count} by ${METHODS[answer.method]}, ${time} ms`;
  showNotes(answer, axis);
  if (!draft && !outside) announce(sentence(rows, metrics, description, place));
}

function table(rows, metrics, description, styles) {
  const gaps = rows.some((row) => row.gap !== null && row.gap !== 0);
  const head = make("tr", {}, make("th", { scope: "col" }, "Model"),
    ...metrics.map((metric) => make("th", { scope: "col" }, metric.label)),
    gaps ? make("th", { scope: "col" }, "Gap to the network") : null,
    make("th", { scope: "col" }, "Theory off by"));
  const body = rows.map((row) =>
    make("tr", { class: Math.abs(row.gap ?? 0) >= NOTABLE ? "notable" : null },
      make("th", { scope: "row" }, lineSample(styles[row.model]), modelLabel(row.model, description.models)),
      ...row.values.map((value) => make("td", {}, show(value, 4))),
      gaps ? make("td", { class: "gap" }, row.gap ? showPercent(row.gap) : "–") : null,
      make("td", {}, row.error === null ? "–" : `≤ ${showPercent(row.error).replace("+", "")}`)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

function sentence(rows, metrics, description, place) {
  const parts = rows.map((row) => {
    const label = modelLabel(row.model, description.models);
    return `${label} ${show(row.values[0])}${row.gap ? `, ${showPercent(row.gap)} to the network` : ""}`;
  });
  return `${metrics[0]?.label ?? "Error"} at ${place}: ${parts.join("; ")}`;
}

const METHODS = {
  closed: "theory without draws (closed)",
  types: "theory by types, on drawn networks",
};

/** Show the notes of an answer, and its flags with where on the axis they apply, once each. */
function showNotes(answer, axis) {
  const lines = [...new Set(answer.notes)];
  for (const { flag, from, to, everywhere } of flagsOf(answer)) {
    const stretch = from === to ? `= ${show(from)}` : `from ${show(from)} to ${show(to)}`;
    const where = everywhere ? "" : ` (${axis.symbol || axis.label} ${stretch})`;
    lines.push(`${flag}${where}`);
  }
  const list = byId("notes");
  list.replaceChildren(...lines.map((line) => make("li", {}, line)));
  list.hidden = lines.length === 0;
}
