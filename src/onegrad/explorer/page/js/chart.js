// One chart of curves: uPlot behind the few things that the page needs.

import uPlot from "../vendor/uplot.js";
import { isDark } from "./colours.js";
import { drawCurrent, drawFlagged, drawPoints } from "./marks.js";
import { linearTicks, logTicks, show, yRange } from "./numbers.js";
import { createTip } from "./tip.js";

const FONT = "12px system-ui, sans-serif";
const PIXELS_PER_TICK = { x: 52, y: 38 };

let inks = { dark: null }; // as read last: reading makes the browser compute all styles anew

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
 * every drawing. A view of another key has other lines or colours and is built anew.
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
      cursor: {
        drag: { x: false, y: false },
        y: false,
        points: { show: false },
        sync: { key: "explorer", setSeries: false },
      },
      scales: {
        x: { time: false, distr: view.logX ? 3 : 1, range: () => [view.x[0], view.x.at(-1)] },
        y: { distr: view.logY ? 3 : 1, range: () => yRange(view) },
      },
      axes: [axis("x", view.logX, colours), axis("y", view.logY, colours)],
      hooks: {
        draw: [
          () => {
            drawFlagged(plot, view.flagged, ink());
            drawCurrent(plot, view.current, ink());
            drawPoints(plot, view.points);
            onDrawn();
          },
        ],
        setCursor: [(u) => tip.show(u, view)],
      },
    };
  }

  function data() {
    const columns = [view.x];
    const kept = (values) =>
      view.logY ? values.map((value) => (value > 0 ? value : null)) : values;
    for (const line of view.lines) {
      if (line.low) columns.push(kept(line.low), kept(line.high));
      columns.push(kept(line.values));
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
    redraw() {
      plot?.redraw(false);
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
