// Copy and download: strings for people and programs, CSV, SVG and PNG.

import { markerPath } from "./colours.js";
import { tableOf, toCsv } from "./curves.js";
import { linearTicks, logTicks, show, yRange } from "./numbers.js";
import { announce, byId, make } from "./page.js";
import { forServer, writeState } from "./state.js";

const MARGIN = { left: 74, right: 20, top: 44, bottom: 58 };
const LEGEND_LINE = 20;

/** Return an element as text; attributes that are null are left out. */
export function element(name, attributes = {}, content = "") {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeText(value)}"`)
    .join("");
  return content === "" ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** Return a string with the characters of XML escaped. */
export function escapeText(value) {
  const codes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(value).replace(/[&<>"]/g, (character) => codes[character]);
}

/** Return the SVG document of one chart: see `chartValues` for what it reads. */
export function drawSvg(chart, { width = 720, height = 460 } = {}) {
  const tall = height + LEGEND_LINE * chart.lines.length;
  const frame = {
    left: MARGIN.left,
    right: width - MARGIN.right,
    top: MARGIN.top,
    bottom: height - MARGIN.bottom,
  };
  const scales = makeScales(chart, frame);
  const clip = { x: frame.left, y: frame.top, width: frame.right - frame.left };
  const parts = [
    element("title", {}, escapeText(chart.title)),
    element("rect", { width, height: tall, fill: chart.background }),
    element("defs", {}, element("clipPath", { id: "plot" },
      element("rect", { ...clip, height: frame.bottom - frame.top }))),
    axes(chart, frame, scales),
    element("g", { "clip-path": "url(#plot)" },
      [...chart.lines.map((line) => band(line, chart.x, scales)),
        ...chart.lines.map((line) => curve(line, chart.x, scales)),
        ...chart.points.map((point) => errorBar(point, scales))].join("")),
    legend(chart, height),
  ];
  const root = {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height: tall,
    viewBox: `0 0 ${width} ${tall}`,
    "font-family": "system-ui, sans-serif",
    "font-size": 14,
  };
  return element("svg", root, parts.join("\n"));
}

function makeScales(chart, frame) {
  const [low, high] = yRange(chart);
  const [first, last] = [chart.x[0], chart.x.at(-1)];
  const map = (log, a, b, from, to) => {
    const f = log ? Math.log : (v) => v;
    return (v) => from + ((f(v) - f(a)) / (f(b) - f(a))) * (to - from);
  };
  return {
    x: map(chart.logX, first, last, frame.left, frame.right),
    y: map(chart.logY, low, high, frame.bottom, frame.top),
    xTicks: chart.logX ? logTicks(first, last) : linearTicks(first, last),
    yTicks: chart.logY ? logTicks(low, high) : linearTicks(low, high, 6),
  };
}

function axes(chart, frame, { x, y, xTicks, yTicks }) {
  const parts = [];
  const text = (attributes, words) =>
    parts.push(element("text", { fill: chart.ink, ...attributes }, escapeText(words)));
  const grid = { stroke: chart.grid, "stroke-width": 1 };
  for (const tick of xTicks) {
    const at = round(x(tick));
    parts.push(element("line", { x1: at, x2: at, y1: frame.top, y2: frame.bottom, ...grid }));
    text({ x: at, y: frame.bottom + 20, "text-anchor": "middle" }, show(tick));
  }
  for (const tick of yTicks) {
    const at = round(y(tick));
    parts.push(element("line", { x1: frame.left, x2: frame.right, y1: at, y2: at, ...grid }));
    text({ x: frame.left - 8, y: at + 5, "text-anchor": "end" }, show(tick));
  }
  const middle = (frame.left + frame.right) / 2;
  text({ x: middle, y: frame.bottom + 44, "text-anchor": "middle" }, chart.xLabel);
  text({ x: frame.left, y: 26, "font-weight": 600 }, chart.title);
  return parts.join("");
}

/** Return the path of a line, lifted at holes. */
export function linePath(xs, values, { x, y }) {
  let path = "";
  let drawing = false;
  values.forEach((value, i) => {
    const known = Number.isFinite(value);
    if (known) path += `${drawing ? "L" : "M"}${round(x(xs[i]))} ${round(y(value))}`;
    drawing = known;
  });
  return path;
}

function band(line, xs, scales) {
  if (!line.low || !line.low.every((value) => Number.isFinite(value))) return "";
  const upper = linePath(xs, line.high, scales);
  const lower = linePath([...xs].reverse(), [...line.low].reverse(), scales).replace("M", "L");
  return element("path", { d: `${upper}${lower}Z`, fill: line.colour, opacity: 0.15 });
}

function curve(line, xs, scales) {
  return element("path", {
    d: linePath(xs, line.values, scales),
    fill: "none",
    stroke: line.colour,
    "stroke-width": line.faded ? 1.25 : 2.25,
    "stroke-dasharray": line.dash.length ? line.dash.join(" ") : null,
    opacity: line.faded ? 0.55 : null,
  });
}

function errorBar(point, { x, y }) {
  const [at, middle] = [round(x(point.x)), round(y(point.mean))];
  const reach = 2 * (point.stderr ?? 0);
  const [top, bottom] = [round(y(point.mean + reach)), round(y(Math.max(point.mean - reach, 0.02 * point.mean)))];
  const bar = element("line", { x1: at, x2: at, y1: top, y2: bottom, stroke: point.colour, "stroke-width": 1.5 });
  return bar + element("path", { d: markerPath(point.marker, at, middle, 4), fill: point.colour });
}

function legend(chart, height) {
  return chart.lines
    .map((line, i) => {
      const at = height - 4 + LEGEND_LINE * i;
      const sample = curve({ ...line, values: [0, 1] }, [MARGIN.left, MARGIN.left + 42], {
        x: (v) => v,
        y: () => at,
      });
      const words = { x: MARGIN.left + 54, y: at + 5, fill: chart.ink };
      return sample + element("text", words, escapeText(line.label));
    })
    .join("");
}

function round(value) {
  return Math.round(100 * value) / 100;
}

const PIXELS = 2; // of a PNG, per unit of the SVG

/** Wire the dialog of copies and the buttons of downloads; `now()` returns what is shown. */
export function createKeeping({ server, now }) {
  const dialog = byId("copy-dialog");
  const text = byId("copy-text");

  async function showCopy(as) {
    for (const tab of dialog.querySelectorAll("[data-as]")) {
      tab.setAttribute("aria-pressed", tab.dataset.as === as);
    }
    try {
      text.value = as === "link"
        ? `${location.href.split("#")[0]}#${writeState(now().state)}`
        : (await server.post("/api/copy", { state: forServer(now().state), as })).text;
    } catch (error) {
      text.value = error.message;
    }
  }

  byId("copy").addEventListener("click", () => {
    dialog.showModal();
    showCopy("link");
  });
  byId("copy-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
    if (event.target.dataset.as) showCopy(event.target.dataset.as);
  });
  byId("copy-now").addEventListener("click", async () => {
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
      report("Copied");
    } catch {
      report("Selected: copy it with the keyboard");
    }
  });

  function report(words) {
    byId("copy-told").textContent = words;
    announce(words);
    setTimeout(() => { byId("copy-told").textContent = ""; }, 2000);
  }

  byId("download-csv").addEventListener("click", () => {
    const { answer, state, points, pins } = now();
    const csv = toCsv(tableOf({ answer, axis: state.axis, points, pins }));
    save(new Blob([csv], { type: "text/csv" }), "onegrad.csv");
  });
  byId("download-svg").addEventListener("click", () => {
    for (const [svg, name] of pictures(now().views)) save(svgBlob(svg), `${name}.svg`);
  });
  byId("download-png").addEventListener("click", async () => {
    for (const [svg, name] of pictures(now().views)) save(await toPng(svg), `${name}.png`);
  });
}

/** Return every chart as [SVG text, name of its file]. */
function pictures(views) {
  return views.map((view) => [
    drawSvg(view),
    `onegrad-${view.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}`,
  ]);
}

function svgBlob(svg) {
  return new Blob([svg], { type: "image/svg+xml" });
}

/** Return the PNG of an SVG text. */
async function toPng(svg) {
  const address = URL.createObjectURL(svgBlob(svg));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = make("canvas", { width: PIXELS * image.width, height: PIXELS * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  announce(`Saved ${name}`);
}
