import assert from "node:assert/strict";
import { test } from "node:test";

import { modelLabel, modelStyles } from "../../../src/onegrad/explorer/page/js/models.js";
import { toggled } from "../../../src/onegrad/explorer/page/js/choices.js";
import {
  MOST_PINS, applies, fieldValue, presetState, serverKey, startingState, withBase, withField, withPin,
  withShown,
} from "../../../src/onegrad/explorer/page/js/state.js";

const models = [{ name: "network", label: "Network" }, { name: "hermite", label: "Hermite", degrees: [1, 2] },
  { name: "linear", label: "Linear" }];
const description = { axes: [{ path: "a" }], models, metrics: [{ name: "e" }],
  state: { base: "start", problem: {}, axis: "a", models: ["network", "hermite:1"] } };
const start = startingState(description);
const strength = { path: "strength", default: 0.7, rivals: ["rate", "spread"] };
const rate = { path: "rate", default: null, rivals: ["strength"], companions: ["spread"] };
const spread = { path: "spread", default: null, value: 2 };
const byPath = new Map([strength, rate, spread].map((control) => [control.path, control]));

test("a field that is set drops its rivals and brings its companions", () => {
  const first = withField(start, strength, 0.9, byPath);
  assert.deepEqual(first.problem, { strength: 0.9 });
  const second = withField(first, rate, 3, byPath);
  assert.deepEqual(second.problem, { spread: 2, rate: 3 });
  assert.deepEqual(withField(second, strength, 0.8, byPath).problem, { strength: 0.8 });
  assert.deepEqual(start.problem, {});
});

test("a default is not written down", () => {
  const set = withField(start, strength, 0.9);
  assert.deepEqual(withField(set, strength, 0.7).problem, {});
});

test("a value is what was set, else what the server says, else the default", () => {
  assert.equal(fieldValue(withField(start, strength, 0.9), strength), 0.9);
  assert.equal(fieldValue(start, spread), 2);
  assert.equal(fieldValue(start, strength), 0.7);
});

test("a control that depends on another shows only with its values", () => {
  const flips = { path: "flips", when: { path: "strength", values: [0.7] } };
  assert.equal(applies(start, flips, byPath), true);
  assert.equal(applies(withField(start, strength, 0.9), flips, byPath), false);
});

test("another source forgets what it drops, and nothing else", () => {
  const state = withShown(start, { problem: { "data.x": 1, database: 2, "net.k": 3 } });
  const moved = withBase(state, { name: "digits", drops: ["data"] });
  assert.deepEqual(moved.problem, { database: 2, "net.k": 3 });
  assert.equal(moved.base, "digits");
});

test("pins stay over a preset, and the oldest makes room", () => {
  let state = start;
  for (let i = 0; i < MOST_PINS + 2; i += 1) state = withPin(state, `pin ${i}`);
  assert.equal(state.pins.length, MOST_PINS);
  assert.equal(state.pins[0].name, "pin 2");
  const next = presetState({ name: "p", state: { problem: { a: 1 }, models: ["linear"] } }, start, state);
  assert.equal(next.pins, state.pins);
  assert.deepEqual(next.models, ["linear"]);
  assert.equal(next.axis, start.axis);
});

test("what only the page shows does not ask the server anew", () => {
  assert.equal(serverKey(withShown(start, { log: true, metrics: ["x"] })), serverKey(start));
  assert.notEqual(serverKey(withShown(start, { axis: "b" })), serverKey(start));
});

test("models keep their order, one always stays, and colours differ", () => {
  assert.deepEqual(toggled(["network", "linear"], "hermite:2", models), ["network", "hermite:2", "linear"]);
  assert.deepEqual(toggled(["network"], "network", models), ["network"]);
  const chosen = ["network", "hermite:1", "hermite:2", "linear"];
  const styles = modelStyles(chosen, models);
  assert.equal(new Set(Object.values(styles).map((style) => style.colour)).size, chosen.length);
  assert.equal(new Set(Object.values(styles).map((style) => style.mark)).size, chosen.length);
  assert.equal(modelLabel("hermite:2", models), "Hermite, degree 2");
});
