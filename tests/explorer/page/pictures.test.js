import assert from "node:assert/strict";
import { test } from "node:test";

import { flagsOf, heldMetrics, linesOf, rowsAt, tableOf, toCsv } from "../../../src/onegrad/explorer/page/js/curves.js";
import { bilinear, gapShare, inWords } from "../../../src/onegrad/explorer/page/js/views.js";
import { svgText } from "../../../src/onegrad/explorer/page/js/export.js";
import { drawPlot, linePath } from "../../../src/onegrad/plotting/page/chart.js";
import { COLOURS } from "../../../src/onegrad/plotting/page/colours.js";

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
  assert.deepEqual(network.y, [1, 0.5, 0.25]);
  network.band.forEach((value, i) => assert.ok(Math.abs(value - 0.1 * network.y[i]) < 1e-12));
  assert.equal(linesOf(answer, "mse", answer.x, { log: true, band: false })[0].band, null);
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

const line = { series: "a <b> & c", colour: 0, mark: "dashed", x: [1, 10, 100], y: [1, 0.1, 0.01],
  band: [0.1, 0.01, 0.001] };
const point = { colour: 1, mark: "points", x: [10], y: [0.1], stderr: [0.01] };
const shown = { plot: { title: "Error", x_label: "k/m", y_label: "", log_x: true, log_y: true, ends: [1, 100],
  curves: [line, point] }, lines: [line] };

test("an SVG has lines, bands, points and legend, and its text is escaped", () => {
  const svg = svgText(shown, COLOURS.light);
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.match(svg, /a &lt;b&gt; &amp; c/);
  assert.doesNotMatch(svg, /NaN|undefined|null|<b>/);
  assert.equal(svg.match(/z" fill="#d55e00" class="filled"/g).length, 1); // the point, with the page's marker
  assert.equal(svg.match(/z" fill="#0072b2" opacity="0.15"/g).length, 1); // the band
  assert.equal(svg.match(/stroke-dasharray="6 3"/g).length, 2); // the line, and its sample in the legend
});

test("equal steps of a logarithmic axis are equal on paper", () => {
  const { points } = drawPlot(shown.plot, [line], { width: 720, height: 460, colours: COLOURS.light });
  const [a, b, c] = points;
  assert.ok(Math.abs(b.px - a.px - (c.px - b.px)) < 0.2);
  assert.ok(Math.abs(b.py - a.py - (c.py - b.py)) < 0.2);
});

test("a path is lifted at holes", () => {
  const places = [[1, 1], [3, 2], [4, 3]].map(([px, py]) => ({ px, py, i: px - 1 }));
  assert.equal(linePath(places), "M1 1M3 2L4 3");
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
