// The gap of every Hermite degree, and the smallest that suffices.

import { byId, draw } from "./page.js";
import { showPercent } from "./numbers.js";

const [WIDTH, HEIGHT, FLOOR] = [320, 150, 1e-4];
const TOP = 18;
const BOTTOM = 28;

/** Return the height of a gap's bar, logarithmic from 0.01 % to 100 %. */
export function barShare(gap) {
  const size = Math.min(1, Math.max(FLOOR, Math.abs(gap)));
  return Math.max(0.02, Math.log(size / FLOOR) / Math.log(1 / FLOOR));
}

/** Return a gap in as few characters as stand over a bar. */
export function shortPercent(gap) {
  const size = 100 * Math.abs(gap);
  if (size < 0.1) return "<0.1";
  return `${gap < 0 ? "−" : ""}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

/** Show the bars and the sentence of an answer. */
export function showDegrees(answer) {
  const { degrees, gaps, smallest } = answer;
  const slot = (WIDTH - 46) / degrees.length;
  const room = HEIGHT - TOP - BOTTOM;
  const tolerance = answer.tolerance ?? 0.01;
  const parts = [];
  for (const level of [1e-4, 1e-2, 1]) {
    const y = HEIGHT - BOTTOM - room * barShare(level);
    parts.push(draw("line", { x1: 40, x2: WIDTH, y1: y, y2: y, class: level === tolerance ? "limit" : "grid" }));
    parts.push(draw("text", { x: 36, y: y + 4, class: "tick end" }, showPercent(level).replace("+", "")));
  }
  degrees.forEach((degree, i) => {
    const known = Number.isFinite(gaps[i]);
    const height = known ? room * barShare(gaps[i]) : 0;
    const x = 46 + slot * i + slot * 0.15;
    const good = smallest !== null && smallest !== undefined && degree === smallest;
    parts.push(
      draw("rect", {
        x, y: HEIGHT - BOTTOM - height, width: slot * 0.7, height, rx: 2,
        class: `bar${good ? " good" : ""}${gaps[i] < 0 ? " below" : ""}`,
      }),
      draw("text", { x: x + slot * 0.35, y: HEIGHT - BOTTOM - height - 5, class: "tick middle" },
        known ? shortPercent(gaps[i]) : "–"),
      draw("text", { x: x + slot * 0.35, y: HEIGHT - 10, class: `tick middle${good ? " strong" : ""}` },
        String(degree)),
    );
  });
  const words = degrees.map((degree, i) => `degree ${degree}: ${showPercent(gaps[i])}`).join(", ");
  byId("degree-picture").replaceChildren(
    draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Gap to the network by ${words}` }, ...parts),
  );
  byId("degree-says").textContent = answer.sentence ?? "";
  byId("degree-card").classList.remove("stale", "failed");
}

/** Say why there are no degrees. */
export function failDegrees(error) {
  byId("degree-says").textContent = error.message;
  byId("degree-card").classList.remove("stale");
  byId("degree-card").classList.add("failed");
}
