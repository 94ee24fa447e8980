// Monotone cubic interpolation (Fritsch and Carlson): no overshoot between computed points.

/** Return the slopes at each knot that keep every piece between two knots monotone. */
function monotoneSlopes(xs, ys) {
  const count = xs.length;
  const secants = [];
  for (let i = 0; i + 1 < count; i += 1) secants.push((ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]));
  const slopes = [secants[0]];
  for (let i = 1; i + 1 < count; i += 1) {
    const [left, right] = [secants[i - 1], secants[i]];
    slopes.push(left * right <= 0 ? 0 : (left + right) / 2);
  }
  slopes.push(secants[count - 2]);
  for (let i = 0; i + 1 < count; i += 1) {
    if (secants[i] === 0) {
      slopes[i] = 0;
      slopes[i + 1] = 0;
      continue;
    }
    const [a, b] = [slopes[i] / secants[i], slopes[i + 1] / secants[i]];
    const length = Math.hypot(a, b);
    if (length > 3) {
      slopes[i] = (3 * a * secants[i]) / length;
      slopes[i + 1] = (3 * b * secants[i]) / length;
    }
  }
  return slopes;
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
