// Presets: settings with a story, and the sources of data.

import { byId, make } from "./page.js";
import { fillSelect } from "./models.js";

/** Show the presets as buttons, the chosen one with its story. */
export function showPresets(description, state, onChoose) {
  const list = byId("presets");
  if (list.childElementCount !== description.presets.length) {
    list.replaceChildren(...description.presets.map((preset) =>
      make("button", { type: "button", class: "chip preset", "data-preset": preset.name,
        onclick: () => onChoose(preset) }, preset.title)));
  }
  for (const button of list.children) {
    button.setAttribute("aria-pressed", button.dataset.preset === state.preset);
  }
  const chosen = description.presets.find((preset) => preset.name === state.preset);
  byId("story").textContent = chosen ? chosen.story : "";
  byId("story").hidden = !chosen;
}

/** Show the sources of data where there is more than one. */
export function showSources(description, state, onChoose) {
  const sources = description.sources ?? [];
  byId("source-row").hidden = sources.length < 2;
  if (sources.length < 2) return;
  const select = byId("source");
  fillSelect(select, sources.map(({ name, label }) => ({ value: name, label: label ?? name })), state.base ?? sources[0].name);
  const chosen = sources.find((source) => source.name === select.value);
  byId("source-says").textContent = chosen?.sentence ?? "";
  select.onchange = () => onChoose(sources.find((source) => source.name === select.value));
}
