import assert from "node:assert/strict";
import { test } from "node:test";

import { delayed, latest } from "../../../src/onegrad/explorer/page/js/requests.js";
import { PLACES, placeOf, valueAt } from "../../../src/onegrad/explorer/page/js/controls.js";
import { ranges } from "../../../src/onegrad/plotting/page/chart.js";
import { linearTicks, logTicks, show, showPercent } from "../../../src/onegrad/plotting/page/numbers.js";
import { readLines } from "../../../src/onegrad/explorer/page/js/requests.js";

test("numbers read as people write them", () => {
  assert.equal(show(0.12345), "0.123");
  assert.equal(show(1e-4), "10⁻⁴");
  assert.equal(show(-2.5e-7), "−2.5·10⁻⁷");
  assert.equal(show(1234), "1234");
  assert.equal(show(null), "–");
  assert.equal(show("closed"), "closed");
  assert.equal(showPercent(0.384), "+38 %");
  assert.equal(showPercent(-0.01234), "−1.2 %");
  assert.equal(showPercent(null), "–");
});

test("every place of a slider leads back to itself, and the ends are exact", () => {
  for (const control of [
    { low: 1e-7, high: 100, scale: "log", kind: "number" },
    { low: -1, high: 1, scale: "linear", kind: "number" },
    { low: 0, high: 0.5, scale: "linear", kind: "number" },
  ]) {
    assert.equal(valueAt(0, control), control.low);
    assert.equal(valueAt(PLACES, control), control.high);
    for (let place = 0; place <= PLACES; place += 1) assert.equal(placeOf(valueAt(place, control), control), place);
  }
  const count = { low: 10, high: 100000, scale: "log", kind: "count" };
  for (let place = 0; place <= PLACES; place += 1) assert.ok(Number.isInteger(valueAt(place, count)));
  assert.equal(placeOf(1e9, count), PLACES);
});

test("ticks lie inside, are round, and are few", () => {
  assert.deepEqual(linearTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(logTicks(0.1, 10, 8), [0.1, 0.2, 0.5, 1, 2, 5, 10]);
  for (const most of [3, 5, 9]) {
    const ticks = logTicks(1e-8, 1e4, most);
    assert.ok(ticks.length <= most + 1);
    assert.ok(ticks.every((tick) => tick >= 1e-8 && tick <= 1e4));
  }
  const [, [low, high]] = ranges({ log_y: true, ends: [0, 1] }, [{ x: 0, y: 0.5 }, { x: 1, y: 0.51 }]);
  assert.ok(low < 0.5 && high > 0.51 && low > 0);
  assert.deepEqual(ranges({}, []), [[0, 1], [0, 1]]);
});

test("the newest request replaces those that wait, and one runs at a time", async () => {
  const ran = [];
  const ends = [];
  const ask = latest((job) => {
    ran.push(job);
    return new Promise((resolve) => ends.push(resolve));
  });
  [1, 2, 3, 4].forEach(ask);
  assert.deepEqual(ran, [1]);
  ends[0]();
  await new Promise(setImmediate);
  assert.deepEqual(ran, [1, 4]);
  ends[1]();
  await new Promise(setImmediate);
  ask(5);
  assert.deepEqual(ran, [1, 4, 5]);
});

test("an action that waits is replaced", async () => {
  const done = [];
  const later = delayed();
  later(5, () => done.push(1));
  later(5, () => done.push(2));
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(done, [2]);
});

test("lines of a stream are read whole, however they are cut", async () => {
  const bytes = new TextEncoder().encode('{"x":1,"name":"β"}\n{"x":2}\n{"done":true}');
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const lines = [];
  await readLines(body, (line) => lines.push(line));
  assert.deepEqual(lines, [{ x: 1, name: "β" }, { x: 2 }, { done: true }]);
});

test("the range of y holds points with their bars, and no bar leads below zero", () => {
  const line = [{ x: 0, y: 1 }, { x: 1, y: 2 }];
  const withPoint = (point, plot = {}) => ranges(plot, [...line, { x: 1, ...point }])[1];
  assert.ok(withPoint({ y: 3, stderr: 2 })[1] > 5);
  assert.equal(withPoint({ y: 1, stderr: 8 })[0], 0);
  assert.ok(withPoint({ y: 1, stderr: 8 }, { log_y: true })[0] > 0.5);
});
