// Copy and download: strings for people and programs, CSV, SVG and PNG.

import { drawCurve, drawPlot } from "../../../plotting/page/chart.js";
import { element, make, picture, toText } from "../../../plotting/page/elements.js";
import { tableOf, toCsv } from "./curves.js";
import { announce, byId, colours } from "./page.js";
import { forServer, writeState } from "./state.js";

const [WIDTH, HEIGHT, LEGEND_LINE] = [720, 460, 20];

/** Return the SVG document of one chart: its title, its plot, and a legend below. */
export function svgText({ plot, lines }, ink) {
  const height = HEIGHT + LEGEND_LINE * lines.length;
  const { parts, box } = drawPlot(plot, plot.curves, { width: WIDTH, height: HEIGHT, colours: ink, title: true });
  const text = (attributes, words) => element("text", { fill: ink.ink, ...attributes }, words);
  const legend = lines.flatMap((line, i) => {
    const py = HEIGHT + 4 + LEGEND_LINE * i;
    const places = [{ px: box.left, py, i: 0 }, { px: box.left + 42, py, i: 1 }];
    return [drawCurve(line, places, ink), text({ x: box.left + 54, y: py + 5 }, line.series)];
  });
  return toText(picture(WIDTH, height, { "font-family": "system-ui, sans-serif", "font-size": 14 },
    element("title", {}, plot.title),
    element("rect", { width: WIDTH, height, fill: ink.paper }),
    text({ x: box.left, y: 26, "font-weight": 600 }, plot.title),
    ...parts, ...legend));
}

const PIXELS = 2; // of a PNG, per unit of the SVG

/** Wire the dialog of copies and the buttons of downloads; `now()` returns what is shown. */
export function createExport({ server, now }) {
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
    byId("copy-status").textContent = words;
    announce(words);
    setTimeout(() => { byId("copy-status").textContent = ""; }, 2000);
  }

  byId("download-csv").addEventListener("click", () => {
    const { answer, state, points, pins } = now();
    const csv = toCsv(tableOf({ answer, axis: state.axis, points, pins }));
    save(new Blob([csv], { type: "text/csv" }), "onegrad.csv");
  });
  byId("download-svg").addEventListener("click", () => {
    for (const [svg, name] of files(now().pictures)) save(svgBlob(svg), `${name}.svg`);
  });
  byId("download-png").addEventListener("click", async () => {
    for (const [svg, name] of files(now().pictures)) save(await toPng(svg), `${name}.png`);
  });
}

/** Return every chart as [SVG text, name of its file]. */
function files(pictures) {
  return pictures.map((shown) => [
    svgText(shown, colours()),
    `onegrad-${shown.plot.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}`,
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
