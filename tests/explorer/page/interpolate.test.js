import assert from "node:assert/strict";
import { test } from "node:test";

import { evenGrid, interpolate, runs } from "../../../src/onegrad/explorer/page/js/curves.js";

test("knots are met exactly", () => {
  const xs = [1, 2, 4, 8];
  const ys = [3, 1, 1.5, 0.2];
  assert.deepEqual(interpolate(xs, ys, xs), ys);
  interpolate(xs, ys, xs, { log: true }).forEach((y, i) => assert.ok(Math.abs(y - ys[i]) < 1e-12));
});

test("a straight line stays straight, on a linear and on a logarithmic axis", () => {
  const grid = evenGrid(1, 9, 33);
  interpolate([1, 3, 4, 9], [2, 6, 8, 18], grid).forEach((y, i) =>
    assert.ok(Math.abs(y - 2 * grid[i]) < 1e-12));
  const even = evenGrid(0.1, 10, 21, { log: true });
  interpolate([0.1, 1, 10], [-1, 0, 1], even, { log: true }).forEach((y, i) =>
    assert.ok(Math.abs(y - Math.log10(even[i])) < 1e-12));
});

test("nothing overshoots: values rise where the knots rise", () => {
  const ys = [0, 0, 0.01, 5, 5.01, 5.01];
  const dense = interpolate([0, 1, 2, 3, 4, 5], ys, evenGrid(0, 5, 400));
  for (let i = 1; i < dense.length; i += 1) assert.ok(dense[i] >= dense[i - 1] - 1e-12);
  assert.ok(Math.max(...dense) <= 5.01 + 1e-12);
});

test("a cubic without the limiter does overshoot there: the test above can fail", () => {
  const [xs, ys] = [[0, 1, 2, 3], [0, 0, 5, 5]];
  // Catmull and Rom's slope at x = 1 is 2.5: the piece left of it dips below 0.
  const t = 0.5;
  const left = 2.5 * (t ** 3 - t ** 2);
  assert.ok(left < -0.1);
  assert.ok(interpolate(xs, ys, [0.5])[0] >= 0);
});

test("holes stay holes and split the curve", () => {
  assert.deepEqual(runs([1, null, 2, 3, Number.NaN]), [[0, 0], [2, 3]]);
  const values = interpolate([0, 1, 2, 3], [1, null, 5, 7], [0, 0.5, 1, 2, 2.5, 3]);
  assert.deepEqual(values, [1, null, null, 5, 6, 7]);
});

test("the ends of a grid are exact", () => {
  const grid = evenGrid(1e-7, 3.3, 50, { log: true });
  assert.equal(grid[0], 1e-7);
  assert.equal(grid.at(-1), 3.3);
});
