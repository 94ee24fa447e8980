import assert from "node:assert/strict";
import { test } from "node:test";

import { flagsOf, heldMetrics, linesOf, rowsAt, tableOf, toCsv } from "../../../src/onegrad/explorer/page/js/curves.js";
import { bilinear, gapShare, inWords } from "../../../src/onegrad/explorer/page/js/views.js";
import { drawSvg, escapeText, linePath } from "../../../src/onegrad/explorer/page/js/export.js";

const answer = {
  axis: "k",
  x: [1, 2, 4],
  current: 2,
  curves: {
    network: { mse: [1, 0.5, 0.25], theory_error: [0.1, 0.1, 0.1] },
    linear: { mse: [1, null, 0.5], theory_error: [0, 0, 0], empty: [null, null, null] },
  },
  gap: { linear: [0, 0.5, 1] },
};

test("bands are the values times one plus and minus the theory error", () => {
  const [network] = linesOf(answer, "mse", answer.x, { log: true, band: true });
  assert.deepEqual(network.values, [1, 0.5, 0.25]);
  network.high.forEach((value, i) => assert.ok(Math.abs(value - 1.1 * network.values[i]) < 1e-12));
  network.low.forEach((value, i) => assert.ok(Math.abs(value - 0.9 * network.values[i]) < 1e-12));
  assert.equal(linesOf(answer, "mse", answer.x, { log: true, band: false })[0].low, null);
});

test("readings are those at the present setting; holes are no zeros", () => {
  const rows = rowsAt(answer, ["mse"], 2, { log: true });
  assert.deepEqual(rows[0].values, [0.5]);
  assert.deepEqual(rows[1].values, [null]);
  assert.equal(rows[1].gap, 0.5);
  assert.deepEqual(rowsAt(answer, ["mse"], 9, { log: true })[0].values, [null]);
  assert.deepEqual([...heldMetrics(answer)].sort(), ["mse", "theory_error"]);
});

test("flags are listed once, with the stretch where they apply", () => {
  const flagged = {
    x: [1, 2, 3],
    flags: [["a"], ["a", "k=2.0: coarse"], ["k=3e-1: coarse", "a"]],
  };
  assert.deepEqual(flagsOf(flagged), [
    { flag: "a", from: 1, to: 3, everywhere: true },
    { flag: "k=2.0: coarse", from: 2, to: 3, everywhere: false },
  ]);
});

test("the table holds curves, pins and points, quoted where it must be", () => {
  const points = [{ x: 2, model: "network", metrics: { mse: { mean: 0.51, stderr: 0.01 } } }];
  const rows = tableOf({ answer, axis: "k", points, pins: [{ name: "a,b", answer }] });
  assert.equal(rows.length, 1 + 5 + 5 + 1);
  const text = toCsv(rows);
  assert.match(text, /^kind,model,k,metric,value,error\n/);
  assert.match(text, /"pinned: a,b",network,1,mse,1,0.1\n/);
  assert.match(text, /simulated,network,2,mse,0.51,0.01\n$/);
});

const chart = {
  x: [1, 10, 100],
  lines: [{ label: "a <b> & c", colour: "#0072B2", dash: [4, 2], values: [1, 0.1, 0.01],
    low: [0.9, 0.09, 0.009], high: [1.1, 0.11, 0.011] }],
  points: [{ x: 10, mean: 0.1, stderr: 0.01, colour: "#0072B2", marker: "square" }],
  logX: true, logY: true, title: "Error", xLabel: "k/m", ink: "#000", grid: "#eee", background: "#fff",
};

test("an SVG has lines, bands, points and legend, and its text is escaped", () => {
  const svg = drawSvg(chart);
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.match(svg, /a &lt;b&gt; &amp; c/);
  assert.doesNotMatch(svg, /NaN|undefined|null|<b>/);
  assert.equal(svg.match(/Z" fill="#0072B2"\/>/g).length, 1); // the point, with the marker of the page
  assert.match(svg, /stroke-dasharray="4 2"/);
  assert.equal(escapeText('"<'), "&quot;&lt;");
});

test("equal steps of a logarithmic axis are equal on paper", () => {
  const path = drawSvg(chart).match(/<path d="M([^"]*)" fill="none"/)[1];
  const [a, b, c] = path.split("L").map((pair) => pair.split(" ").map(Number));
  assert.ok(Math.abs(b[0] - a[0] - (c[0] - b[0])) < 0.02);
  assert.ok(Math.abs(b[1] - a[1] - (c[1] - b[1])) < 0.02);
});

test("a path is lifted at holes", () => {
  const scale = { x: (v) => v, y: (v) => v };
  assert.equal(linePath([1, 2, 3, 4], [1, null, 2, 3], scale), "M1 1M3 2L4 3");
});

test("the map is linear between its nodes, and grey beside a hole", () => {
  assert.equal(bilinear([[0, 1], [2, 3]], 0.5, 0.5), 1.5);
  assert.equal(bilinear([[0, 1], [2, 3]], 1, 1), 3);
  assert.equal(bilinear([[0, null], [2, 3]], 0.5, 0.5), null);
  assert.equal(gapShare(0.0001), 0);
  assert.equal(gapShare(-5), 1);
});

test("a gap is written in words", () => {
  assert.equal(inWords(0.69), "69 % above");
  assert.equal(inWords(-0.02), "2.0 % below");
});
