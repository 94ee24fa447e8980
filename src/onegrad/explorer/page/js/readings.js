// The numbers at the present setting: a table of models and metrics, notes, method and time.

import { make } from "../../../plotting/page/elements.js";
import { show, showPercent } from "../../../plotting/page/numbers.js";
import { flagsOf, rowsAt } from "./curves.js";
import { modelLabel } from "./models.js";
import { announce, byId, lineSample } from "./page.js";

const NOTABLE = 0.05; // a gap to the network from which it is called one

/** Show the table at the present setting, notes, method and time. */
export function showReadings({ answer, draft, metrics, description, axis, styles }) {
  const log = axis.scale === "log";
  const rows = rowsAt(answer, metrics.map((metric) => metric.name), answer.current, { log })
    .filter((row) => styles[row.model]);
  const outside = !(answer.current >= answer.x[0] && answer.current <= answer.x.at(-1));
  const place = `${axis.symbol || axis.label} = ${show(answer.current)}`;
  byId("readings-title").textContent = outside
    ? `The present ${place} is outside of the curve`
    : `At the marked point, ${place}`;
  byId("readings").replaceChildren(table(rows, metrics, description, styles));
  const [count, time] = [`${answer.x.length} points${draft ? " (draft)" : ""}`, show(answer.milliseconds, 2)];
  byId("method").textContent = `${count} by ${METHODS[answer.method]}, ${time} ms`;
  showNotes(answer, axis);
  if (!draft && !outside) announce(sentence(rows, metrics, description, place));
}

function table(rows, metrics, description, styles) {
  const gaps = rows.some((row) => row.gap !== null && row.gap !== 0);
  const head = make("tr", {}, make("th", { scope: "col" }, "Model"),
    ...metrics.map((metric) => make("th", { scope: "col" }, metric.label)),
    gaps ? make("th", { scope: "col" }, "Gap to the network") : null,
    make("th", { scope: "col" }, "Theory off by"));
  const body = rows.map((row) =>
    make("tr", { class: Math.abs(row.gap ?? 0) >= NOTABLE ? "notable" : null },
      make("th", { scope: "row" }, lineSample(styles[row.model]), modelLabel(row.model, description.models)),
      ...row.values.map((value) => make("td", {}, show(value, 4))),
      gaps ? make("td", { class: "gap" }, row.gap ? showPercent(row.gap) : "–") : null,
      make("td", {}, row.error === null ? "–" : `≤ ${showPercent(row.error).replace("+", "")}`)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

function sentence(rows, metrics, description, place) {
  const parts = rows.map((row) => {
    const label = modelLabel(row.model, description.models);
    return `${label} ${show(row.values[0])}${row.gap ? `, ${showPercent(row.gap)} to the network` : ""}`;
  });
  return `${metrics[0]?.label ?? "Error"} at ${place}: ${parts.join("; ")}`;
}

const METHODS = {
  closed: "theory without draws (closed)",
  types: "theory by types, on drawn networks",
};

/** Show the notes of an answer, and its flags with where on the axis they apply, once each. */
function showNotes(answer, axis) {
  const lines = [...new Set(answer.notes)];
  for (const { flag, from, to, everywhere } of flagsOf(answer)) {
    const stretch = from === to ? `= ${show(from)}` : `from ${show(from)} to ${show(to)}`;
    const where = everywhere ? "" : ` (${axis.symbol || axis.label} ${stretch})`;
    lines.push(`${flag}${where}`);
  }
  const list = byId("notes");
  list.replaceChildren(...lines.map((line) => make("li", {}, line)));
  list.hidden = lines.length === 0;
}
