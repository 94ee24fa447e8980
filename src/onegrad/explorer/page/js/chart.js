// One chart of curves: uPlot, with the marks and the tip that the page draws on it.

import uPlot from "../vendor/uplot.js";
import { isDark, markerPath } from "./colours.js";
import { linearTicks, logTicks, show, yRange } from "./numbers.js";
import { make } from "./page.js";

const FONT = "12px system-ui, sans-serif";
const PIXELS_PER_TICK = { x: 52, y: 38 };

let inks = { dark: null }; // as read last: reading makes the browser compute all styles

/** Return the page's colours as CSS says them. */
export function ink() {
  const dark = isDark();
  if (inks.dark === dark) return inks;
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  inks = { dark, text: read("--muted"), strong: read("--ink"), grid: read("--grid"), card: read("--card"),
    warm: read("--warm") };
  return inks;
}

/**
 * Return `{update, resize, destroy}` of a chart inside `host`. `update(view)` draws
 * {x, lines, points, current, logX, logY, key}; `onGo(x)` is called by a click, `onDrawn` after
 * every drawing. A view of another key has other lines or colours and is built again.
 */
export function createChart(host, { onGo, onDrawn }) {
  let plot = null;
  let view = null;
  const tip = createTip(host);

  function build() {
    plot?.destroy();
    plot = new uPlot(options(), data(), host);
    plot.over.addEventListener("click", () => {
      const x = plot.posToVal(plot.cursor.left, "x");
      if (Number.isFinite(x)) onGo(x);
    });
  }

  function options() {
    const colours = ink();
    const series = [{}];
    const bands = [];
    view.lines.forEach((line) => {
      const base = { scale: "y", points: { show: false } };
      if (line.low) {
        bands.push({ series: [series.length + 1, series.length], fill: `${line.colour}26` });
        series.push({ ...base, stroke: "transparent" }, { ...base, stroke: "transparent" });
      }
      series.push({
        ...base,
        stroke: line.faded ? `${line.colour}99` : line.colour,
        width: line.faded ? 1.25 : 2.25,
        dash: line.dash,
      });
    });
    return {
      ...size(),
      series,
      bands,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false },
        sync: { key: "explorer", setSeries: false } },
      scales: {
        x: { time: false, distr: view.logX ? 3 : 1, range: () => [view.x[0], view.x.at(-1)] },
        y: { distr: view.logY ? 3 : 1, range: () => yRange(view) },
      },
      axes: [axis("x", view.logX, colours), axis("y", view.logY, colours)],
      hooks: {
        draw: [() => {
          drawFlagged(plot, view.flagged, ink());
          drawCurrent(plot, view.current, ink());
          drawPoints(plot, view.points);
          onDrawn();
        }],
        setCursor: [(u) => tip.show(u, view)],
      },
    };
  }

  function data() {
    const columns = [view.x];
    const drawable = (values) =>
      view.logY ? values.map((value) => (value > 0 ? value : null)) : values;
    for (const line of view.lines) {
      if (line.low) columns.push(drawable(line.low), drawable(line.high));
      columns.push(drawable(line.values));
    }
    return columns;
  }

  function size() {
    return { width: Math.max(host.clientWidth, 120), height: Math.max(host.clientHeight, 120) };
  }

  return {
    update(next) {
      const rebuild = !view || next.key !== view.key;
      view = next;
      if (rebuild || !plot) build();
      else plot.setData(data());
    },
    resize() {
      if (plot && (host.clientWidth !== plot.width || host.clientHeight !== plot.height)) {
        plot.setSize(size());
      }
    },
    destroy() {
      plot?.destroy();
      tip.remove();
    },
  };
}

function axis(side, log, colours) {
  const ticks = (u, _, low, high) => {
    const pixels = (side === "x" ? u.over.clientWidth : u.over.clientHeight) || 300;
    const most = Math.max(2, Math.floor(pixels / PIXELS_PER_TICK[side]));
    return log ? logTicks(low, high, most) : linearTicks(low, high, most);
  };
  return {
    scale: side,
    stroke: colours.text,
    font: FONT,
    size: side === "y" ? 52 : 26,
    gap: 4,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    splits: ticks,
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map((value) => show(value)),
  };
}

const RADIUS = 4.5;
const ASIDE = 5; // pixels between the points of two models at one x, so that both are seen

/** Draw a strip at the foot of the chart where theory flags its values. */
function drawFlagged(plot, flagged, colours) {
  const { ctx, bbox } = plot;
  const strip = 4 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colours.warm;
  for (const { from, to } of flagged) {
    const [left, right] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
    ctx.fillRect(left - strip / 2, bbox.top + bbox.height - strip, right - left + strip, strip);
  }
  ctx.restore();
}

/** Draw the present setting as a thin vertical line. */
function drawCurrent(plot, x, colours) {
  if (!Number.isFinite(x)) return;
  const [low, high] = [plot.scales.x.min, plot.scales.x.max];
  if (x < low || x > high) return;
  const { ctx, bbox } = plot;
  const at = plot.valToPos(x, "x", true);
  ctx.save();
  ctx.strokeStyle = colours.strong;
  ctx.fillStyle = colours.strong;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.globalAlpha = 0.6;
  ctx.beginPath();
  ctx.moveTo(at, bbox.top);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.beginPath();
  ctx.moveTo(at - 6 * devicePixelRatio, bbox.top);
  ctx.lineTo(at + 6 * devicePixelRatio, bbox.top);
  ctx.lineTo(at, bbox.top + 8 * devicePixelRatio);
  ctx.fill();
  ctx.restore();
}

/** Draw simulated points with bars of two standard errors. */
function drawPoints(plot, points) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  const room = 3 * RADIUS * devicePixelRatio; // a marker at an end of the axis is seen whole
  ctx.rect(bbox.left - room, bbox.top, bbox.width + 2 * room, bbox.height);
  ctx.clip();
  for (const point of points) drawPoint(plot, point);
  ctx.restore();
}

function drawPoint(plot, { x, mean, stderr, colour, marker, background, aside }) {
  const { ctx } = plot;
  const place = (value) => plot.valToPos(value, "y", true);
  const at = plot.valToPos(x, "x", true) + aside * ASIDE * devicePixelRatio;
  const middle = place(mean);
  if (!Number.isFinite(at) || !Number.isFinite(middle)) return;
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([]);
  if (stderr > 0) {
    ctx.beginPath();
    ctx.moveTo(at, place(mean + 2 * stderr));
    // On a logarithmic axis the lower end must stay positive.
    ctx.lineTo(at, place(Math.max(mean - 2 * stderr, 0.02 * mean)));
    ctx.stroke();
  }
  const outline = new Path2D(markerPath(marker, at, middle, RADIUS * devicePixelRatio));
  ctx.fill(outline);
  ctx.strokeStyle = background;
  ctx.stroke(outline);
}

const GAP = 12; // pixels beside the pointer

/** Return `{show, remove}` of a box inside `host` that follows uPlot's cursor. */
function createTip(host) {
  const box = make("div", { class: "tip", hidden: true });
  host.append(box);
  return {
    show(plot, view) {
      const { idx, left } = plot.cursor;
      const inside = idx !== null && idx !== undefined && left >= 0 && host.matches(":hover");
      box.hidden = !inside;
      if (!inside) return;
      box.replaceChildren(
        make("b", {}, `${view.xSymbol} = ${show(view.x[idx], 4)}`),
        ...view.lines.map((line) => row(line, idx)),
      );
      const at = plot.over.offsetLeft + left;
      const after = at + GAP + box.offsetWidth <= host.clientWidth;
      const place = after ? at + GAP : at - GAP - box.offsetWidth;
      box.style.left = `${Math.max(0, place)}px`;
    },
    remove() {
      box.remove();
    },
  };
}

function row(line, idx) {
  const value = line.values[idx];
  const error = line.low && Number.isFinite(value) ? ` ± ${show(value - line.low[idx], 2)}` : "";
  const dot = make("i");
  dot.style.background = line.colour;
  return make("span", {}, dot, `${line.short ?? line.label}: ${show(value, 4)}${error}`);
}
