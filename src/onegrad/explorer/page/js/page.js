// The page's elements by their ids, its light or dark theme, and what screen readers hear.

import { swatch } from "../../../plotting/page/chart.js";
import { COLOURS } from "../../../plotting/page/colours.js";
import { make, toNode } from "../../../plotting/page/elements.js";

/** Return the element of this id; the page must have it. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return element;
}

/** Return a short sample of a model's line for legends. */
export function lineSample(style) {
  return toNode(swatch(style, colours()));
}

/** Return a name and its symbol as parts of a label, apart for eyes and for screen readers. */
export function named(label, symbol) {
  return symbol ? [label, " ", make("i", { class: "symbol" }, symbol)] : [label];
}

let saying = 0;

/** Tell screen readers a result after a short pause. */
export function announce(text) {
  clearTimeout(saying);
  saying = setTimeout(() => { byId("live").textContent = text; }, 700);
}

const THEME = "onegrad-theme"; // in the browser's storage, which may be forbidden
const systemTheme = () => matchMedia("(prefers-color-scheme: dark)");

/** Return whether the page is dark: as chosen, else as the system says. */
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemTheme().matches;
}

/** Return the colours of pictures in the present theme. */
export function colours() {
  return COLOURS[isDark() ? "dark" : "light"];
}

/** Take the theme that was chosen before; first of all, so that nothing flashes. */
export function takeSavedTheme() {
  try {
    const chosen = localStorage.getItem(THEME);
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    // the system's theme stays
  }
}

/** Wire the switch; `onChange` redraws what has colours of its own. */
export function createTheme(onChange) {
  const button = byId("theme");
  const show = () => {
    button.setAttribute("aria-pressed", isDark());
    button.textContent = isDark() ? "☀" : "☾";
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(THEME, next);
    } catch {
      byId("live").textContent = "The theme cannot be saved: storage is forbidden";
    }
    show();
    onChange();
  });
  systemTheme().addEventListener("change", () => {
    show();
    onChange();
  });
  show();
}
