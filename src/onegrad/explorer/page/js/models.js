// The choice of models, which is the legend too; axis, metrics and scale beside it.

import { isOf, modelLabel } from "./colours.js";
import { byId, lineSample, make } from "./page.js";

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
  if (unchanged(byId("models"), [state.models, styles, description.models])) return;
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
