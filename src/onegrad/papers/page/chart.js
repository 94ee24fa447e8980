// Curves of a panel as SVG: scales, marks, the nearest point under a pointer or the arrow keys.
const SVG = "http://www.w3.org/2000/svg";
const SHAPES = ["circle", "square", "up", "diamond", "down", "plus"];
const MARKED = ["points", "open", "joined", "cross", "plus"];
const OWN = { "-1": "grey", "-2": "ink", "-3": "red" };
const DASHES = { dotted: "1.5 3", dashed: "6 3", dashdot: "9 2 2 2", longdash: "12 5" };
const REACH = 60; // pixels from a point at which a pointer still means it

function node(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

function short(value) {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(2).replace("e-", "e−").replace("e+", "e");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

function niceTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= 0.7 * raw) || raw;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

// At 1, 2 and 5 times powers of ten; at the powers alone where those would crowd.
function logTicks(low, high) {
  const ticksAt = (multiples) => {
    const ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      for (const m of multiples) {
        const tick = Number((m * 10 ** e).toPrecision(12));
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  };
  const fine = ticksAt([1, 2, 5]);
  return fine.length > 6 ? ticksAt([1]) : fine;
}

function makeScale(low, high, from, to, log) {
  const forward = log ? Math.log : Number;
  const [a, b] = [forward(low), forward(high)];
  const at = (value) => from + ((forward(value) - a) / (b - a || 1)) * (to - from);
  return { at, ticks: log ? logTicks(low, high) : niceTicks(low, high, 5), low, high };
}

function rangeOf(values, log, margin) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(low)) return [log ? 0.1 : 0, 1];
  if (log) {
    const room = Math.max((high / low) ** margin, 1.02);
    return [low / room, high * room];
  }
  const room = (high - low) * margin || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

function usable(plot, value, axis) {
  return value !== null && (!plot[`log_${axis}`] || value > 0);
}

function pointsOf(plot, curves) {
  const points = [];
  for (const curve of curves) {
    curve.x.forEach((x, i) => {
      if (usable(plot, x, "x") && usable(plot, curve.y[i], "y")) {
        points.push({ curve, i, x, y: curve.y[i], stderr: curve.stderr[i], trials: curve.trials[i] });
      }
    });
  }
  return points;
}

function extents(plot, points) {
  const xs = points.map((p) => p.x);
  const ys = [];
  for (const p of points) {
    ys.push(p.y);
    if (p.stderr) ys.push(p.y + p.stderr);
    if (p.stderr && (!plot.log_y || p.y > p.stderr)) ys.push(p.y - p.stderr);
  }
  if (plot.square) {
    const reach = 1.08 * Math.max(...xs.concat(ys).map(Math.abs), 0.1);
    return [[-reach, reach], [-reach, reach]];
  }
  return [rangeOf(xs, plot.log_x, 0.04), rangeOf(ys, plot.log_y, 0.06)];
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

function colourClass(curve) {
  return OWN[curve.colour] || `c${curve.colour % SHAPES.length}`;
}

// Every mark is one path, or two where it has error bars: thousands of dots cost no more.
function drawCurve(curve, places) {
  const group = node("g", { class: colourClass(curve) });
  const shape = SHAPES[(curve.marker ?? Math.max(curve.colour, 0)) % SHAPES.length];
  if (curve.mark === "dots") {
    const d = places.map((p) => `M${p.px} ${p.py}h0`).join("");
    group.append(node("path", { d, class: "dots" }));
    return group;
  }
  if (curve.mark === "joined" || !MARKED.includes(curve.mark)) {
    const d = places.map((p, i) => `${i ? "L" : "M"}${p.px} ${p.py}`).join("");
    const line = node("path", { d, class: `stroke ${curve.mark}` });
    if (DASHES[curve.mark]) line.setAttribute("stroke-dasharray", DASHES[curve.mark]);
    group.append(line);
  }
  if (!MARKED.includes(curve.mark)) return group;
  const bars = places.filter((p) => p.low !== undefined)
    .map((p) => `M${p.px} ${p.low}V${p.high}M${p.px - 3} ${p.low}h6M${p.px - 3} ${p.high}h6`).join("");
  if (bars) group.append(node("path", { d: bars, class: "stroke bars" }));
  const strokes = {
    cross: (p) => `M${p.px - 4} ${p.py - 4}l8 8M${p.px - 4} ${p.py + 4}l8 -8`,
    plus: (p) => `M${p.px - 5} ${p.py}h10M${p.px} ${p.py - 5}v10`,
  };
  const d = places.map(strokes[curve.mark] || ((p) => markerPath(shape, p.px, p.py, 4))).join("");
  const look = { points: "filled", joined: "filled", open: "hollow" };
  group.append(node("path", { d, class: look[curve.mark] || "stroke published" }));
  for (const p of places.filter(({ i }) => curve.labels[i])) {
    group.append(node("text", { x: p.px + 8, y: p.py + 4 }, curve.labels[p.i]));
  }
  return group;
}

function drawAxes(svg, plot, sx, sy, box) {
  const axes = node("g", { class: "axes" });
  const { left, right, top, bottom, height } = box;
  for (const tick of sx.ticks) {
    const x = sx.at(tick);
    axes.append(node("path", { d: `M${x} ${top}V${bottom}`, class: "grid" }));
    axes.append(node("text", { x, y: bottom + 16, "text-anchor": "middle" }, short(tick)));
  }
  for (const tick of sy.ticks) {
    const y = sy.at(tick);
    axes.append(node("path", { d: `M${left} ${y}H${right}`, class: "grid" }));
    axes.append(node("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(tick)));
  }
  axes.append(node("path", { d: `M${left} ${top}V${bottom}H${right}`, class: "frame" }));
  const middle = (top + bottom) / 2;
  axes.append(node("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, plot.x_label));
  axes.append(node("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, plot.y_label));
  svg.append(axes);
}

// Draw the plot into the holder at this width; return its points with their pixels.
function drawPlot(holder, plot, visible, space) {
  const width = Math.max(260, Math.round(space));
  const height = plot.square ? width : Math.round(Math.min(380, Math.max(240, 0.62 * width)));
  const box = { left: 62, right: width - 10, top: 10, bottom: height - 42, width, height };
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  const points = pointsOf(plot, plot.curves.filter(visible));
  const [xs, ys] = extents(plot, points);
  const sx = makeScale(...xs, box.left, box.right, plot.log_x);
  const sy = makeScale(...ys, box.bottom, box.top, plot.log_y);
  drawAxes(svg, plot, sx, sy, box);
  for (const p of points) {
    [p.px, p.py] = [Number(sx.at(p.x).toFixed(1)), Number(sy.at(p.y).toFixed(1))];
    if (p.stderr) {
      const low = plot.log_y ? Math.max(p.y - p.stderr, sy.low) : p.y - p.stderr;
      [p.low, p.high] = [Number(sy.at(low).toFixed(1)), Number(sy.at(p.y + p.stderr).toFixed(1))];
    }
  }
  for (const curve of plot.curves.filter(visible)) {
    svg.append(drawCurve(curve, points.filter((p) => p.curve === curve)));
  }
  const ring = node("circle", { r: 9, class: "ring", visibility: "hidden" });
  svg.append(ring);
  holder.replaceChildren(svg);
  return { points, ring, svg };
}

function pointWords(plot, p) {
  const name = [p.curve.series, p.curve.role].filter(Boolean).join(", ");
  const error = p.stderr === null || p.stderr === undefined ? "" : ` ± ${short(p.stderr)}`;
  const trials = p.trials > 1 ? ` (${p.trials} trials)` : "";
  return `${name}: ${short(p.y)}${error}${trials} at ${plot.x_label} ${short(p.x)}`;
}

function nearestPoint(points, x, y) {
  let [best, least] = [null, REACH];
  for (const p of points) {
    const far = Math.hypot(p.px - x, p.py - y);
    if (far < least) [best, least] = [p, far];
  }
  return best;
}

// The point that an arrow key leads to: along a curve, or to the curve above or below at this x.
function neighbour(points, present, key) {
  if (!present) return points[0] || null;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const own = points.filter((p) => p.curve === present.curve).sort((a, b) => a.px - b.px);
    const next = own.indexOf(present) + (key === "ArrowRight" ? 1 : -1);
    return own[Math.min(own.length - 1, Math.max(0, next))];
  }
  const curves = [...new Set(points.map((p) => p.curve))];
  const step = key === "ArrowDown" ? 1 : curves.length - 1;
  const curve = curves[(curves.indexOf(present.curve) + step) % curves.length];
  const far = (p) => Math.abs(p.px - present.px);
  return points.filter((p) => p.curve === curve).reduce((a, b) => (far(b) < far(a) ? b : a));
}
