// One chart for every chosen metric: the curves of an answer, pinned curves, simulated points.

import { colourOf, drawPlot } from "../../../plotting/page/chart.js";
import { element, make, picture, toNode } from "../../../plotting/page/elements.js";
import { show } from "../../../plotting/page/numbers.js";
import { drawnGrid, flagsOf, linesOf } from "./curves.js";
import { modelLabel, modelStyles } from "./models.js";
import { byId, colours, named } from "./page.js";

const ASIDE = 5; // pixels between the points of two models at one x, so that both are seen
const BARS = 2; // standard errors of a point's bar

/** Return one metric's picture: a plot, the setting's own x, and where theory has doubts. */
function pictureOf({ answer, state, metric, description, points, pins }) {
  const axis = axisOf(description, answer.axis);
  const log = axis.scale === "log";
  const grid = drawnGrid(answer, { log });
  const label = (model) => modelLabel(model, description.models);
  const styles = modelStyles(state.models, description.models);
  const lines = linesOf(answer, metric.name, grid, { log, band: metric.band })
    .filter(({ model }) => styles[model])
    .map(({ model, ...line }) => ({ ...line, ...styles[model], series: label(model), short: label(model) }));
  const pinned = pins.flatMap((pin) => {
    const own = modelStyles(pin.models, description.models);
    return linesOf(pin.answer, metric.name, grid, { log }).map(({ model, ...line }) => ({
      ...line, ...own[model], faded: true, series: `${label(model)} (${pin.name})`, short: `${label(model)}, pinned`,
    }));
  });
  const simulated = state.models.map((model, place) => {
    const own = points.filter((point) => point.model === model && point.metrics[metric.name]);
    const values = own.map((point) => point.metrics[metric.name]);
    return {
      ...styles[model], mark: "points", x: own.map(({ x }) => x), y: values.map(({ mean }) => mean),
      stderr: values.map(({ stderr }) => BARS * (stderr ?? 0)),
      aside: ASIDE * (place - (state.models.length - 1) / 2),
    };
  });
  return {
    plot: {
      title: metric.label,
      x_label: `${axis.label}${axis.symbol ? ` ${axis.symbol}` : ""}`,
      y_label: "",
      curves: [...lines, ...pinned, ...simulated],
      log_x: log,
      log_y: state.log,
      ends: [answer.x[0], answer.x.at(-1)],
    },
    lines: [...lines, ...pinned],
    symbol: axis.symbol || axis.label,
    current: answer.current,
    flagged: flagsOf(answer).filter((flag) => !flag.everywhere),
  };
}

/** Return the description of an axis. */
export function axisOf(description, path) {
  return description.axes.find((axis) => axis.path === path)
    ?? { path, label: path, symbol: "", scale: "linear" };
}

/** Return `{update, pictures}` of the charts; `onGo(x)` is called by a click on one. */
export function createCharts({ onGo, onDrawn }) {
  const host = byId("charts");
  const drawn = new Map(); // metric → chart
  const watcher = new ResizeObserver(() => drawn.forEach((chart) => chart.resize()));
  const follow = (x) => drawn.forEach((chart) => chart.follow(x));

  function add(metric) {
    const chart = createChart({ onGo, onPoint: follow });
    const caption = make("figcaption", {}, ...named(make("b", {}, metric.label), metric.symbol), " ",
      make("span", { class: "sentence" }, metric.sentence ?? ""));
    chart.figure = make("figure", { class: "plot", "data-metric": metric.name }, caption, chart.box);
    drawn.set(metric.name, chart);
    watcher.observe(chart.box);
    return chart;
  }

  return {
    /** Draw the chosen metrics; a chart that is no longer wanted goes. */
    update(inputs, metrics) {
      for (const [name, { figure, box }] of drawn) {
        if (metrics.some((metric) => metric.name === name)) continue;
        watcher.unobserve(box);
        figure.remove();
        drawn.delete(name);
      }
      host.dataset.count = metrics.length;
      const charts = metrics.map((metric) => drawn.get(metric.name) ?? add(metric));
      if (charts.some((chart, i) => host.children[i] !== chart.figure)) {
        host.replaceChildren(...charts.map((chart) => chart.figure));
      }
      charts.forEach((chart, i) => chart.update(pictureOf({ ...inputs, metric: metrics[i] })));
      if (charts.length) onDrawn();
    },
    pictures: () => [...drawn.values()].map((chart) => chart.shown()),
  };
}

/** Return a chart in a box: a pointer on it shows the values at an x, a click goes there. */
function createChart({ onGo, onPoint }) {
  const tip = make("div", { class: "tip", hidden: true });
  const cursor = toNode(element("path", { class: "cursor", visibility: "hidden" }));
  const box = make("div", { class: "canvas", role: "img" }, tip);
  let shown = null;
  let drawn = null;

  function draw() {
    const size = { width: Math.max(box.clientWidth, 120), height: Math.max(box.clientHeight, 120) };
    drawn = drawPlot(shown.plot, shown.plot.curves, { ...size, colours: colours() });
    const parts = [...drawn.parts, ...flagStrips(shown, drawn), currentMark(shown, drawn)];
    const svg = toNode(picture(size.width, size.height, {}, ...parts));
    svg.append(cursor);
    box.replaceChildren(svg, tip);
  }

  /** Return the value of x under a pointer, null beside the axis. */
  function xAt(event) {
    const pixel = event.clientX - box.getBoundingClientRect().left;
    return pixel < drawn.box.left || pixel > drawn.box.right ? null : drawn.x.back(pixel);
  }

  box.addEventListener("pointermove", (event) => onPoint(xAt(event)));
  box.addEventListener("pointerleave", () => onPoint(null));
  box.addEventListener("click", (event) => {
    const x = xAt(event);
    if (x !== null) onGo(x);
  });
  return {
    box,
    shown: () => shown,
    update(next) {
      shown = next;
      draw();
      box.setAttribute("aria-label", summary(shown));
    },
    resize() {
      if (drawn && (box.clientWidth !== drawn.box.width || box.clientHeight !== drawn.box.height)) draw();
    },
    /** Show where x is, and the values there in the chart that the pointer is on. */
    follow(x) {
      cursor.setAttribute("visibility", x === null ? "hidden" : "visible");
      tip.hidden = x === null || !box.matches(":hover");
      if (x === null) return;
      const at = drawn.x.at(x);
      cursor.setAttribute("d", `M${at} ${drawn.box.top}V${drawn.box.bottom}`);
      if (!tip.hidden) showTip(tip, shown, x, at, box.clientWidth);
    },
  };
}

/** Return strips at the foot of a chart where theory has doubts about its values. */
function flagStrips({ flagged }, { x, box }) {
  const height = 4;
  return flagged.map(({ from, to }) => element("rect", {
    x: x.at(from) - 2, y: box.bottom - height, width: x.at(to) - x.at(from) + 4, height, fill: colours().warm,
  }));
}

/** Return the mark of the present setting: a thin line from a small triangle. */
function currentMark({ current }, { x, box }) {
  if (!(current >= x.low && current <= x.high)) return null;
  const [at, ink] = [x.at(current), colours().ink];
  return element("g", {},
    element("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, stroke: ink, "stroke-dasharray": "3 3", opacity: 0.6 }),
    element("path", { d: `M${at - 6} ${box.top}h12l-6 8z`, fill: ink }));
}

const GAP = 12; // pixels beside the pointer

/** Show the values of all lines at the drawn x that is nearest. */
function showTip(tip, { lines, symbol }, x, at, width) {
  if (!lines.length) return;
  const grid = lines[0].x;
  const place = grid.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(grid[best] - x) ? i : best), 0);
  const rows = lines.map((line) => {
    const dot = make("i");
    dot.style.background = colourOf(line, colours());
    const error = line.band && Number.isFinite(line.y[place]) ? ` ± ${show(line.band[place], 2)}` : "";
    return make("span", {}, dot, `${line.short}: ${show(line.y[place], 4)}${error}`);
  });
  tip.replaceChildren(make("b", {}, `${symbol} = ${show(grid[place], 4)}`), ...rows);
  const after = at + GAP + tip.offsetWidth <= width;
  tip.style.left = `${Math.max(0, after ? at + GAP : at - GAP - tip.offsetWidth)}px`;
}

function summary({ plot, lines }) {
  const ends = lines.map((line) => {
    const known = line.y.filter((value) => Number.isFinite(value));
    return `${line.series} from ${show(known[0])} to ${show(known.at(-1))}`;
  });
  return `${plot.title} along ${plot.x_label}: ${ends.join("; ")}. The table below has the values.`;
}
