// What stands on a chart beside its lines: simulated points and the present setting.

const RADIUS = 4.5;
const ASIDE = 5; // pixels between the points of two models at one x, so that both are seen

/** Draw a strip at the foot of the chart where theory flags its values. */
export function drawFlagged(plot, flagged, colours) {
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
export function drawCurrent(plot, x, colours) {
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
export function drawPoints(plot, points) {
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
  outline(ctx, marker, at, middle, RADIUS * devicePixelRatio);
  ctx.fill();
  ctx.strokeStyle = background;
  ctx.stroke();
}

function outline(ctx, marker, x, y, r) {
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    triangle: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    cross: [[-1.2, -0.4], [-0.4, -0.4], [-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4],
      [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4]],
  }[marker];
  ctx.beginPath();
  if (!corners) {
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([a, b], i) => (i ? ctx.lineTo(x + a * r, y + b * r) : ctx.moveTo(x + a * r, y + b * r)));
  ctx.closePath();
}
