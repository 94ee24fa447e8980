// Light or dark: as the system says, unless one chooses.

import { byId } from "./page.js";
import { isDark } from "./colours.js";

const KEPT = "onegrad-theme";

function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null; // storage may be forbidden; the system decides then
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    byId("live").textContent = "The theme cannot be kept: storage is forbidden";
  }
}

/** Take the colours that were chosen before; first of all, so that nothing flashes. */
export function takeKeptTheme() {
  const chosen = kept();
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
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
    keep(next);
    show();
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    show();
    onChange();
  });
  show();
}
