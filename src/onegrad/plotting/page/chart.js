// A plot of a view as SVG elements: scales, axes, curves with their marks.

import { element, picture } from "./elements.js";
import { linearTicks, logTicks, show } from "./numbers.js";

const SHAPES = ["circle", "square", "up", "diamond", "down", "plus"]; // of markers, by colour
const FILLED = ["points", "joined"];
const MARKERS = [...FILLED, "open", "cross", "plus"]; // marks without a line, but for joined
const OWN = { "-1": "grey", "-2": "ink", "-3": "red" };
const DASHES = {
  dotted: "1.5 3", dashed: "6 3", dashdot: "9 2 2 2", longdash: "12 5", dashdotdot: "9 2 2 2 2 2",
};
const RADIUS = 4;
const PIXELS_PER_TICK = { x: 44, y: 30 };
const MOST_TICKS = 8;

function makeScale([low, high], [from, to], log, side) {
  const forward = log ? Math.log : Number;
  const [a, b] = [forward(low), forward(high)];
  const most = Math.min(MOST_TICKS, Math.max(2, Math.floor(Math.abs(to - from) / PIXELS_PER_TICK[side])));
  return {
    low, high,
    ticks: (log ? logTicks : linearTicks)(low, high, most),
    /** Return the pixel of a value. */
    at: (value) => Number((from + ((forward(value) - a) / (b - a || 1)) * (to - from)).toFixed(1)),
    /** Return the value at a pixel. */
    back: (pixel) => (log ? Math.exp : Number)(a + ((pixel - from) / (to - from)) * (b - a)),
  };
}

/** Return [low, high] with room for a share of their distance around. */
function withRoom(low, high, log, share) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return log ? [0.1, 1] : [0, 1];
  if (log) {
    const room = Math.max((high / low) ** share, 1.05);
    return [low / room, high * room];
  }
  const room = Math.max(share * (high - low), 0.03 * Math.abs(high), 1e-12);
  return [low - room, high + room];
}

/** Return the ends of both axes; bands may leave them. An axis of values that come near 0 begins there. */
export function ranges(plot, points) {
  const xs = points.map((p) => p.x);
  const ys = points.flatMap((p) => (p.stderr ? [p.y, p.y + p.stderr, p.y - p.stderr] : [p.y]))
    .filter((y) => !plot.log_y || y > 0);
  if (plot.square) {
    const reach = 1.08 * Math.max(...xs.concat(ys).map(Math.abs), 0.1);
    return [[-reach, reach], [-reach, reach]];
  }
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const [foot, top] = withRoom(low, high, plot.log_y, 0.06);
  const least = Math.min(...points.map((p) => p.y));
  const nearZero = !plot.log_y && least >= 0 && (foot < 0 || low < 0.35 * high);
  const x = plot.ends ?? withRoom(Math.min(...xs), Math.max(...xs), plot.log_x, 0.04);
  return [x, [nearZero ? 0 : foot, top]];
}

/** Return the points of curves that the axes can show. */
function pointsOf(plot, curves) {
  const known = (value, log) => Number.isFinite(value) && (!log || value > 0);
  return curves.flatMap((curve) => curve.x
    .map((x, i) => ({ curve, i, x, y: curve.y[i], stderr: curve.stderr?.[i], trials: curve.trials?.[i] }))
    .filter((p) => known(p.x, plot.log_x) && known(p.y, plot.log_y)));
}

function markerPath(shape, x, y, r) {
  if (shape === "square") return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
  if (shape === "up") return `M${x} ${y - r}l${r} ${2 * r}h${-2 * r}z`;
  if (shape === "down") return `M${x} ${y + r}l${r} ${-2 * r}h${-2 * r}z`;
  if (shape === "plus") {
    const [half, arm] = [0.33 * r, 0.67 * r]; // of a bar, and from the bar to its end
    return `M${x - r} ${y - half}h${arm}v${-arm}h${2 * half}v${arm}h${arm}v${2 * half}h${-arm}v${arm}`
      + `h${-2 * half}v${-arm}h${-arm}z`;
  }
  if (shape === "diamond") return `M${x} ${y - 1.2 * r}l${r} ${1.2 * r}l${-r} ${1.2 * r}l${-r} ${-1.2 * r}z`;
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

/** Return the path along places, lifted where points are missing between them. */
export function linePath(places) {
  return places.map((p, k) => `${k && p.i === places[k - 1].i + 1 ? "L" : "M"}${p.px} ${p.py}`).join("");
}

/** Return the colour of a curve. */
export function colourOf(curve, colours) {
  return curve.colour < 0 ? colours[OWN[curve.colour]] : colours.series[curve.colour % SHAPES.length];
}

/** Return a curve through places; every mark is one path: thousands of dots cost no more. */
export function drawCurve(curve, places, colours) {
  const colour = colourOf(curve, colours);
  const line = { fill: "none", stroke: colour };
  if (curve.mark === "dots") {
    const d = places.map((p) => `M${p.px} ${p.py}h0`).join("");
    const round = { "stroke-width": 3, "stroke-linecap": "round", "stroke-opacity": 0.55 };
    return element("g", {}, element("path", { d, ...line, ...round }));
  }
  const parts = [];
  if (curve.mark === "joined" || !MARKERS.includes(curve.mark)) {
    parts.push(element("path", { d: linePath(places), ...line, "stroke-width": curve.faded ? 1.25 : 2,
      "stroke-dasharray": DASHES[curve.mark], opacity: curve.faded ? 0.6 : null }));
  }
  if (MARKERS.includes(curve.mark)) parts.push(...drawMarkers(curve, places, line));
  return element("g", { class: `series-${curve.colour}` }, ...parts);
}

function drawMarkers(curve, places, line) {
  const shape = SHAPES[(curve.marker ?? Math.max(curve.colour, 0)) % SHAPES.length];
  const bars = places.filter((p) => p.low !== undefined)
    .map((p) => `M${p.px} ${p.low}V${p.high}M${p.px - 3} ${p.low}h6M${p.px - 3} ${p.high}h6`).join("");
  const strokes = {
    cross: (p) => `M${p.px - 4} ${p.py - 4}l8 8M${p.px - 4} ${p.py + 4}l8 -8`,
    plus: (p) => `M${p.px - 5} ${p.py}h10M${p.px} ${p.py - 5}v10`,
  };
  const d = places.map(strokes[curve.mark] ?? ((p) => markerPath(shape, p.px, p.py, RADIUS))).join("");
  const filled = FILLED.includes(curve.mark);
  return [
    bars ? element("path", { d: bars, ...line, "stroke-width": 1.2 }) : null,
    element("path", filled ? { d, fill: line.stroke, class: "filled" } : { d, ...line, "stroke-width": 1.6 }),
    ...places.filter(({ i }) => curve.labels?.[i])
      .map((p) => element("text", { x: p.px + 8, y: p.py + 4, fill: line.stroke }, curve.labels[p.i])),
  ];
}

/** Return the band around a curve, cut off at the ends of the axis. */
function drawBand(curve, places, y, colours) {
  const within = (value) => y.at(Math.min(y.high, Math.max(y.low, value)));
  const edge = (sign) => places.map((p) => ({ ...p, py: within(p.y + sign * curve.band[p.i]) }));
  const back = linePath(edge(-1).reverse().map((p, i) => ({ ...p, i }))).replace("M", "L");
  return element("path", { d: `${linePath(edge(1))}${back}z`, fill: colourOf(curve, colours), opacity: 0.15 });
}

function drawAxes(plot, x, y, box, colours) {
  const { left, right, top, bottom, height } = box;
  const rule = (ends) => element("line", { ...ends, stroke: colours.grid });
  const text = (attributes, words) => element("text", { fill: colours.text, ...attributes }, words);
  const middle = (top + bottom) / 2;
  const turned = { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` };
  return element("g", { class: "axes" },
    ...x.ticks.flatMap((tick) => [
      rule({ x1: x.at(tick), x2: x.at(tick), y1: top, y2: bottom }),
      text({ x: x.at(tick), y: bottom + 16, "text-anchor": "middle" }, show(tick)),
    ]),
    ...y.ticks.flatMap((tick) => [
      rule({ x1: left, x2: right, y1: y.at(tick), y2: y.at(tick) }),
      text({ x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, show(tick)),
    ]),
    text({ x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, plot.x_label),
    text(turned, plot.y_label));
}

/**
 * Return `{parts, points, x, y, box}`: axes and curves as elements, points with their pixels, scales.
 * `title` leaves room above.
 */
export function drawPlot(plot, curves, { width, height, colours, title = false }) {
  const left = plot.y_label ? 62 : 46;
  const box = { left, right: width - 12, top: title ? 44 : 10, bottom: height - 42, width, height };
  const points = pointsOf(plot, curves);
  const [xs, ys] = ranges(plot, points);
  const x = makeScale(xs, [box.left, box.right], plot.log_x, "x");
  const y = makeScale(ys, [box.bottom, box.top], plot.log_y, "y");
  for (const p of points) {
    [p.px, p.py] = [x.at(p.x) + (p.curve.aside ?? 0), y.at(p.y)];
    if (p.stderr) [p.low, p.high] = [y.at(Math.max(p.y - p.stderr, y.low)), y.at(p.y + p.stderr)];
  }
  const drawn = curves.map((curve) => [curve, points.filter((p) => p.curve === curve)]);
  const parts = [
    drawAxes(plot, x, y, box, colours),
    ...drawn.filter(([curve, places]) => curve.band?.length && places.length)
      .map(([curve, places]) => drawBand(curve, places, y, colours)),
    ...drawn.map(([curve, places]) => drawCurve(curve, places, colours)),
  ];
  return { parts, points, x, y, box };
}

/** Return a small sample of how a curve is drawn. */
export function swatch(curve, colours) {
  const marked = [...MARKERS, "dots"].includes(curve.mark);
  const places = marked ? [{ px: 15, py: 7, i: 0 }] : [{ px: 1, py: 7, i: 0 }, { px: 29, py: 7, i: 1 }];
  return picture(30, 14, { class: "sample", "aria-hidden": "true" },
    drawCurve({ ...curve, labels: [] }, places, colours));
}
