// Maps of a panel on a canvas: a colour per cell, the value under a pointer or the arrow keys.
// Cividis, at nine places from dark blue to yellow; between them colours are mixed.
const CIVIDIS = [
  [0, 32, 77], [15, 58, 110], [62, 77, 108], [91, 96, 110], [118, 116, 117],
  [147, 138, 119], [179, 162, 111], [213, 187, 95], [255, 234, 70],
];
const LEVEL_COLOURS = [
  [247, 247, 247], [217, 217, 217], [189, 189, 189], [107, 174, 214], [33, 113, 181], [8, 48, 107],
];
const NONE = [213, 94, 0]; // none of the levels
const UNKNOWN = [255, 255, 255];

function mixed(share) {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1);
  const i = Math.min(Math.floor(place), CIVIDIS.length - 2);
  return CIVIDIS[i].map((c, j) => Math.round(c + (CIVIDIS[i + 1][j] - c) * (place - i)));
}

function cellColour(map, value) {
  if (value === null) return map.levels ? NONE : UNKNOWN;
  if (map.levels) return LEVEL_COLOURS[Math.min(Math.max(Math.round(value), 1), map.levels) - 1];
  const scale = map.log ? Math.log : Number;
  const [low, high] = [scale(map.low), scale(map.high)];
  return mixed((scale(Math.max(value, map.log ? map.low : value)) - low) / (high - low || 1));
}

function rgb(colour) {
  return `rgb(${colour.join(",")})`;
}

// One pixel per cell, enlarged by the browser without smoothing.
function cellsOf(map) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [map.x.length, map.y.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  map.rows.forEach((row, i) => {
    const line = map.downwards ? i : map.y.length - 1 - i;
    row.forEach((value, j) => image.data.set([...cellColour(map, value), 255], 4 * (line * row.length + j)));
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function colourBar(map) {
  const bar = document.createElement("div");
  bar.className = "bar";
  const count = map.levels || 24;
  const cells = Array.from({ length: count }, (_, i) => {
    const cell = node("rect", { x: i, y: 0, width: 1.05, height: 1 });
    cell.setAttribute("fill", rgb(map.levels ? LEVEL_COLOURS[i] : mixed(i / (count - 1))));
    return cell;
  });
  const svg = node("svg", { viewBox: `0 0 ${count} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(...cells);
  const ends = [map.low, map.high].map((value) => {
    const text = document.createElement("span");
    text.textContent = short(value);
    return text;
  });
  bar.append(ends[0], svg, ends[1]);
  return bar;
}

function cellWords(map, i, j) {
  const missing = map.levels ? "none" : "not known";
  const value = map.rows[i][j] === null ? missing : short(map.rows[i][j]);
  return `${map.value_label}: ${value} at ${map.x_label} ${short(map.x[j])}, ${map.y_label} ${short(map.y[i])}`;
}

// Lines across a map at some y, each with its meaning; cells are centred at their y.
function guideLines(map) {
  const last = map.y.length - 1;
  const cell = (map.y[last] - map.y[0]) / (last || 1);
  const shareAt = (y) => (y - map.y[0] + cell / 2) / (map.y[last] - map.y[0] + cell);
  return map.guides.map(([y, words], i) => {
    const line = document.createElement("div");
    line.className = "guide";
    line.style.bottom = `${100 * shareAt(y)}%`;
    const text = document.createElement("span");
    text.textContent = words;
    text.style.right = `${(i % 2) * 25}%`;
    line.append(text);
    return line;
  });
}

// Build a map's figure; `say` shows the words of a cell.
function buildMap(map, say) {
  const box = document.createElement("div");
  box.className = "map";
  const heading = document.createElement("h3");
  heading.textContent = map.title;
  const frame = document.createElement("div");
  frame.className = "cells";
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", `${map.title}: map of ${map.value_label}; arrow keys read cells`);
  const mark = document.createElement("div");
  mark.className = "cell-mark";
  mark.hidden = true;
  const [columns, lines] = [map.x.length, map.y.length];
  let place = null;
  const show = (i, j) => {
    place = [i, j];
    const line = map.downwards ? i : lines - 1 - i;
    mark.style.left = `${(100 * (j + 0.5)) / columns}%`;
    mark.style.top = `${(100 * (line + 0.5)) / lines}%`;
    mark.hidden = false;
    say(`${map.title}: ${cellWords(map, i, j)}`);
  };
  frame.addEventListener("pointermove", (event) => {
    const area = frame.getBoundingClientRect();
    const j = Math.min(columns - 1, Math.max(0, Math.floor(((event.clientX - area.left) / area.width) * columns)));
    const down = Math.min(lines - 1, Math.max(0, Math.floor(((event.clientY - area.top) / area.height) * lines)));
    show(map.downwards ? down : lines - 1 - down, j);
  });
  frame.addEventListener("pointerleave", () => { mark.hidden = true; });
  frame.addEventListener("keydown", (event) => {
    const up = map.downwards ? -1 : 1;
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [up, 0], ArrowDown: [-up, 0] };
    if (!moves[event.key]) return;
    event.preventDefault();
    const [i, j] = place || [0, 0];
    const [di, dj] = place ? moves[event.key] : [0, 0];
    show(Math.min(lines - 1, Math.max(0, i + di)), Math.min(columns - 1, Math.max(0, j + dj)));
  });
  frame.append(cellsOf(map), ...guideLines(map), mark);
  const ends = document.createElement("p");
  ends.className = "axis-words";
  const first = map.downwards ? "downwards" : "upwards";
  ends.textContent = `across: ${map.x_label}, ${short(map.x[0])} to ${short(map.x[columns - 1])}; `
    + `${first}: ${map.y_label}, ${short(map.y[0])} to ${short(map.y[lines - 1])}`;
  box.append(heading, frame, ends);
  return box;
}
