// Maps of a panel on a canvas: a colour per cell, the value under a pointer or the arrow keys.

import { cividis, LEVEL_COLOURS, NO_LEVEL } from "../../plotting/page/colours.js";
import { make, paintCells } from "../../plotting/page/elements.js";
import { show } from "../../plotting/page/numbers.js";

const UNKNOWN = [255, 255, 255];

function cellColour(map, value) {
  if (value === null) return map.levels ? NO_LEVEL : UNKNOWN;
  if (map.levels) return LEVEL_COLOURS[Math.min(Math.max(Math.round(value), 1), map.levels) - 1];
  const scale = map.log ? Math.log : Number;
  const [low, high] = [scale(map.low), scale(map.high)];
  return cividis((scale(Math.max(value, map.log ? map.low : value)) - low) / (high - low || 1));
}

/** Return the bar of a map's colours between its least and its largest value. */
export function colourBar(map) {
  const count = map.levels || 24;
  const colourAt = (i) => [...(map.levels ? LEVEL_COLOURS[i] : cividis(i / (count - 1))), 255];
  const bar = paintCells(make("canvas", { "aria-hidden": "true" }), count, 1, colourAt);
  return make("div", { class: "bar" }, make("span", {}, show(map.low, 4)), bar, make("span", {}, show(map.high, 4)));
}

function cellWords(map, i, j) {
  const missing = map.levels ? "none" : "not known";
  const value = map.rows[i][j] === null ? missing : show(map.rows[i][j], 4);
  return `${map.value_label}: ${value} at ${map.x_label} ${show(map.x[j], 4)}, ${map.y_label} ${show(map.y[i], 4)}`;
}

// Lines across a map at some y, each with its meaning; cells are centred at their y.
function guideLines(map) {
  const last = map.y.length - 1;
  const cell = (map.y[last] - map.y[0]) / (last || 1);
  const shareAt = (y) => (y - map.y[0] + cell / 2) / (map.y[last] - map.y[0] + cell);
  return map.guides.map(([y, words], i) => {
    const text = make("span", {}, words);
    text.style.right = `${(i % 2) * 25}%`;
    const line = make("div", { class: "guide" }, text);
    line.style.bottom = `${100 * shareAt(y)}%`;
    return line;
  });
}

/** Return a map's figure; `say` shows the words of a cell. */
export function buildMap(map, say) {
  const [columns, lines] = [map.x.length, map.y.length];
  const lineOf = (i) => (map.downwards ? i : lines - 1 - i);
  const cells = paintCells(make("canvas"), columns, lines, (j, line) =>
    [...cellColour(map, map.rows[lineOf(line)][j]), 255]);
  const mark = make("div", { class: "cell-mark", hidden: true });
  const frame = make("div", {
    class: "cells", tabindex: 0, role: "group",
    "aria-label": `${map.title}: map of ${map.value_label}; arrow keys read cells`,
  }, cells, ...guideLines(map), mark);
  const up = map.downwards ? -1 : 1;
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [up, 0], ArrowDown: [-up, 0] };
  const within = (place, count) => Math.min(count - 1, Math.max(0, place));
  let present = null;
  const visit = (line, column) => {
    const [i, j] = [within(line, lines), within(column, columns)];
    present = [i, j];
    mark.style.left = `${(100 * (j + 0.5)) / columns}%`;
    mark.style.top = `${(100 * (lineOf(i) + 0.5)) / lines}%`;
    mark.hidden = false;
    say(`${map.title}: ${cellWords(map, i, j)}`);
  };
  frame.addEventListener("pointermove", (event) => {
    const area = frame.getBoundingClientRect();
    const down = Math.floor(((event.clientY - area.top) / area.height) * lines);
    visit(lineOf(within(down, lines)), Math.floor(((event.clientX - area.left) / area.width) * columns));
  });
  frame.addEventListener("pointerleave", () => { mark.hidden = true; });
  frame.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    if (present) visit(present[0] + move[0], present[1] + move[1]);
    else visit(0, 0);
  });
  const ends = `across: ${map.x_label}, ${show(map.x[0], 4)} to ${show(map.x[columns - 1], 4)}; `
    + `${map.downwards ? "downwards" : "upwards"}: ${map.y_label}, ${show(map.y[0], 4)} to ${show(map.y[lines - 1], 4)}`;
  return make("div", { class: "map" }, make("h3", {}, map.title), frame, make("p", { class: "axis-words" }, ends));
}
