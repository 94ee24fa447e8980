// Choices above the charts: models, metrics, presets, sources of data, pins.

import { make } from "../../../plotting/page/elements.js";
import { show } from "../../../plotting/page/numbers.js";
import { isOf, modelLabel } from "./models.js";
import { byId, colours, lineSample } from "./page.js";
import { forServer } from "./state.js";

/** Return the models after a click on one: at least one stays. */
export function toggled(models, name, order) {
  const next = models.includes(name) ? models.filter((model) => model !== name) : [...models, name];
  const place = (model) => {
    const found = order.findIndex((entry) => entry.name === model || isOf(entry, model));
    return found < 0 ? order.length : found;
  };
  const degree = (model) => Number(model.split(":")[1] ?? 0);
  next.sort((a, b) => place(a) - place(b) || degree(a) - degree(b));
  return next.length ? next : models;
}

/** Show the models as buttons with a sample of their line. */
export function showModels(state, description, styles, onToggle) {
  if (unchanged(byId("models"), [state.models, colours(), description.models])) return;
  const button = (name, label, sentence) => {
    const pressed = state.models.includes(name);
    return make("button", {
      type: "button", class: "chip", "aria-pressed": pressed, title: sentence, "data-model": name,
      onclick: () => onToggle(name),
    }, pressed ? lineSample(styles[name]) : null, label);
  };
  const parts = description.models.map((entry) => {
    if (!entry.degrees) return button(entry.name, entry.label, entry.sentence);
    const group = make("span", { class: "degrees", role: "group", title: entry.sentence,
      "aria-label": `${entry.label}: degrees` }, make("span", { class: "of" }, entry.label));
    group.append(...entry.degrees.map((degree) => {
      const name = `${entry.name.split(":")[0]}:${degree}`;
      const chip = button(name, String(degree), entry.sentence);
      chip.setAttribute("aria-label", modelLabel(name, description.models));
      return chip;
    }));
    return group;
  });
  replaceKeepingFocus(byId("models"), parts, "data-model");
}

/** Show the metrics that the present answer holds as buttons. */
export function showMetrics(state, metrics, onToggle) {
  if (unchanged(byId("metrics"), [state.metrics, metrics])) return;
  const parts = metrics.map((metric) =>
    make("button", {
      type: "button", class: "chip", "aria-pressed": state.metrics.includes(metric.name),
      title: metric.sentence, "data-metric": metric.name, onclick: () => onToggle(metric.name),
    }, metric.label));
  replaceKeepingFocus(byId("metrics"), parts, "data-metric");
}

/** Fill a select with entries of path or name, and label. */
export function fillSelect(select, entries, chosen) {
  const outline = JSON.stringify(entries.map((entry) => [entry.value, entry.label]));
  if (select.dataset.outline !== outline) {
    select.replaceChildren(...entries.map(({ value, label }) => make("option", { value }, label)));
    select.dataset.outline = outline;
  }
  select.value = chosen;
}

/** Return whether a host already shows this: a drag must not rebuild what stays. */
function unchanged(host, shown) {
  const outline = JSON.stringify(shown);
  const same = host.dataset.outline === outline;
  host.dataset.outline = outline;
  return same;
}

function replaceKeepingFocus(host, parts, attribute) {
  const focused = host.contains(document.activeElement)
    ? document.activeElement.getAttribute(attribute)
    : null;
  host.replaceChildren(...parts);
  if (focused) host.querySelector(`[${attribute}="${CSS.escape(focused)}"]`)?.focus();
}

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
  const { sources } = description;
  byId("source-row").hidden = sources.length < 2;
  if (sources.length < 2) return;
  const select = byId("source");
  fillSelect(select, sources.map(({ name, label }) => ({ value: name, label })), state.base);
  const chosen = sources.find((source) => source.name === select.value);
  byId("source-says").textContent = chosen?.sentence ?? ""; // none while real data are being read
  select.onchange = () => onChoose(sources.find((source) => source.name === select.value));
}

/** Return a short name of a state: the newest changes of its problem. */
export function pinName(state, byPath) {
  const entries = Object.entries(state.problem).slice(-2);
  if (!entries.length) return "start";
  return entries
    .map(([path, value]) => {
      const control = byPath.get(path);
      const name = control?.symbol || control?.label || path.split(".").at(-1);
      return `${name} = ${typeof value === "number" ? show(value) : shortened(value)}`;
    })
    .join(", ");
}

function shortened(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}

/** Return `{requests, answers, show}`: pins along the present axis, asked for once each. */
export function createPins({ onAnswer, onRemove }) {
  const known = new Map();
  const stateOf = (pin, state) => ({ ...state, base: pin.base, problem: pin.problem, models: pin.models });
  const keyOf = (pin, state) => JSON.stringify(forServer(stateOf(pin, state)));
  return {
    /** Return the requests for curves of pins that are not known yet. */
    requests(state, points) {
      return state.pins
        .filter((pin) => !known.has(keyOf(pin, state)))
        .map((pin) => ({
          path: "/api/curve",
          body: { state: forServer(stateOf(pin, state)), points, draft: false },
          take: (answer) => {
            known.set(keyOf(pin, state), answer);
            onAnswer();
          },
          fail: () => known.set(keyOf(pin, state), null),
        }));
    },
    /** Remember the answer of a state that is about to be pinned. */
    remember(state, answer) {
      known.set(JSON.stringify(forServer(state)), answer);
    },
    /** Return the pins whose curves are known along the present axis. */
    answers(state) {
      return state.pins
        .map((pin) => ({ ...pin, answer: known.get(keyOf(pin, state)) ?? null }))
        .filter((pin) => pin.answer !== null);
    },
    /** Show the pins as a list with a button each. */
    show(state) {
      const list = byId("pins");
      list.hidden = state.pins.length === 0;
      list.replaceChildren(...state.pins.map((pin, index) =>
        make("li", {}, make("span", {}, pin.name),
          make("button", { type: "button", class: "plain", "aria-label": `Unpin ${pin.name}`,
            onclick: () => onRemove(index) }, "×"))));
    },
  };
}
