// Colours of models and maps, and the light or dark theme.

import { byId } from "./page.js";

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9"];
const DARK = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00"];
const DASHES = [[], [9, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 5]];
const MARKERS = ["circle", "square", "triangle", "diamond", "cross", "circle"];
const CORNERS = {
  square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  triangle: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  cross: [[-1.2, -0.4], [-0.4, -0.4], [-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4],
    [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4]],
};
// Cividis at eleven places: brightness alone gives the order.
const CIVIDIS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120],
  [165, 156, 116], [195, 180, 107], [225, 204, 85], [244, 220, 69], [254, 232, 56],
];

/** Return {model: {colour, dash, marker}}: a model keeps its place while it is free. */
export function modelStyles(models, known, dark) {
  const palette = dark ? DARK : LIGHT;
  const taken = new Set();
  const styles = {};
  for (const model of models) {
    const base = known.findIndex((entry) => entry.name === model || isOf(entry, model));
    let place = (base < 0 ? known.length : base) % palette.length;
    for (let tries = 0; taken.has(place) && tries < palette.length; tries += 1) {
      place = (place + 1) % palette.length;
    }
    taken.add(place);
    styles[model] = { colour: palette[place], dash: DASHES[place], marker: MARKERS[place] };
  }
  return styles;
}

/** Return the outline of a marker as an SVG path, for a canvas too. */
export function markerPath(marker, x, y, r) {
  const corners = CORNERS[marker];
  if (!corners) return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  return `M${corners.map(([a, b]) => `${x + a * r} ${y + b * r}`).join("L")}Z`;
}

/** Return whether a model such as hermite:3 is one of an entry with degrees. */
export function isOf(entry, model) {
  return Boolean(entry.degrees) && model.split(":")[0] === entry.name.split(":")[0];
}

/** Return a model's name for people: the entry's label, and the degree where it has one. */
export function modelLabel(model, known) {
  const exact = known.find((entry) => entry.name === model);
  if (exact) return exact.label;
  const entry = known.find((candidate) => isOf(candidate, model));
  const degree = model.split(":")[1];
  if (!entry) return model;
  return degree ? `${entry.label}, degree ${degree}` : entry.label;
}

/** Return the colour of a share in [0, 1] as [red, green, blue]. */
export function cividis(share) {
  const place = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(place));
  return CIVIDIS[low].map((part, i) => part + (place - low) * (CIVIDIS[low + 1][i] - part));
}

/** Return whether the page is dark: as chosen, else as the system says. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const KEPT = "onegrad-theme";

function savedTheme() {
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
    byId("live").textContent = "The theme cannot be saved: storage is forbidden";
  }
}

/** Take the colours that were chosen before; first of all, so that nothing flashes. */
export function takeKeptTheme() {
  const chosen = savedTheme();
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
