// The values under the pointer, beside it.

import { make } from "./page.js";
import { show } from "./numbers.js";

const GAP = 12; // pixels beside the pointer

/** Return `{show, remove}` of a box inside `host` that follows uPlot's cursor. */
export function createTip(host) {
  const box = make("div", { class: "tip", hidden: true });
  host.append(box);
  return {
    show(plot, view) {
      const { idx, left } = plot.cursor;
      const inside = idx !== null && idx !== undefined && left >= 0 && host.matches(":hover");
      box.hidden = !inside;
      if (!inside) return;
      box.replaceChildren(
        make("b", {}, `${view.xSymbol} = ${show(view.x[idx], 4)}`),
        ...view.lines.map((line) => row(line, idx)),
      );
      const at = plot.over.offsetLeft + left;
      const after = at + GAP + box.offsetWidth <= host.clientWidth;
      const place = after ? at + GAP : at - GAP - box.offsetWidth;
      box.style.left = `${Math.max(0, place)}px`;
    },
    remove() {
      box.remove();
    },
  };
}

function row(line, idx) {
  const value = line.values[idx];
  const error = line.low && Number.isFinite(value) ? ` ± ${show(value - line.low[idx], 2)}` : "";
  const dot = make("i");
  dot.style.background = line.colour;
  return make("span", {}, dot, `${line.short ?? line.label}: ${show(value, 4)}${error}`);
}
