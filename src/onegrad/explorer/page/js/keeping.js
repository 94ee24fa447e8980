// Copy and download: text for people and programs, CSV, SVG and PNG.

import { writeState } from "./address.js";
import { tableOf, toCsv } from "./curves.js";
import { announce, byId, make } from "./page.js";
import { drawSvg } from "./svg.js";
import { forServer } from "./state.js";

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
      tell("Copied");
    } catch {
      tell("Selected: copy it with the keyboard");
    }
  });

  function tell(words) {
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
