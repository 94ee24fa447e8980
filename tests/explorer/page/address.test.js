import assert from "node:assert/strict";
import { test } from "node:test";

import { readState, readValue, writeState, writeValue } from "../../../src/onegrad/explorer/page/js/state.js";

const start = {
  base: null, problem: {}, axis: "a.b", models: ["network"], metrics: ["test_mse"], log: false,
  automatic: false, preset: null, pins: [],
};

const rich = {
  ...start,
  base: "digits",
  problem: {
    "x.number": 0.001, "x.word": "max(u, 0.1*u)", "x.text": "3", "x.none": null, "x.flag": true,
    "x.list": [1, 2.5], "x.odd": "a=b&c #é+%", "x.table": [{ weight: 0.5 }],
  },
  axis: "x.number",
  models: ["network", "hermite:3"],
  metrics: ["test_mse", "train_mse"],
  log: true,
  automatic: true,
  preset: "1a",
  pins: [{ base: null, problem: { "x.word": "tanh", "x.number": 2 }, models: ["linear"], name: "β = 2, a&b" }],
};

test("a state survives its address", () => {
  assert.deepEqual(readState(`#${writeState(rich)}`, start), rich);
  assert.deepEqual(readState(writeState(start), rich).problem, {});
});

test("no address is the start, and nonsense does no harm", () => {
  assert.equal(readState("", start), start);
  const state = readState("#&&=3&%E0%A4%A=1&show.models=&show.unknown=1", start);
  assert.deepEqual(state.models, ["network"]);
  assert.equal(state.axis, "a.b");
});

test("an address is readable", () => {
  const text = writeState({ ...start, problem: { "scaling.strength": 0.9 }, models: ["network", "hermite:3"] });
  assert.equal(text, "scaling.strength=0.9&show.axis=a.b&show.models=network,hermite:3&show.metrics=test_mse");
});

test("metrics that nobody chose are not in the address, and stay those of the task", () => {
  const text = writeState({ ...start, metrics: null });
  assert.doesNotMatch(text, /metrics/);
  assert.equal(readState(`#${text}`, { ...start, metrics: null }).metrics, null);
});

test("texts that read as numbers keep being texts", () => {
  for (const value of ["3", "true", "null", "1e-4", "relu", "", 3, true, null, [1]]) {
    assert.deepEqual(readValue(writeValue(value)), value);
  }
});
