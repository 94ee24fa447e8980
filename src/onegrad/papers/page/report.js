// The report's page: every panel's picture becomes curves and maps to touch.

import { drawPlot, swatch } from "../../plotting/page/chart.js";
import { COLOURS } from "../../plotting/page/colours.js";
import { element, make, picture, toNode } from "../../plotting/page/elements.js";
import { show } from "../../plotting/page/numbers.js";
import { buildMap, colourBar } from "./heat_map.js";

const REACH = 60; // pixels from a point at which a pointer still means it
const HELP = "Point at the picture, or press Tab and the arrow keys, to read values and errors.";

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = () => COLOURS[dark.matches ? "dark" : "light"];
const nameOf = (curve) => [curve.series, curve.role].filter(Boolean).join(", ");

// Buttons that show and hide curves by one property (series or role); `off` has the hidden names.
function switches(curves, property, off, redraw) {
  const buttons = [...new Set(curves.map((c) => c[property]))].filter(Boolean).map((name) => {
    const curve = curves.find((c) => c[property] === name);
    const series = property === "series";
    const mark = series || curve.mark === "joined" ? "points" : curve.mark;
    const sample = { ...curve, mark, colour: series ? curve.colour : -1 };
    const button = make("button", { type: "button", "aria-pressed": true, [`data-${property}`]: name });
    const draw = () => button.replaceChildren(toNode(swatch(sample, colours())), name);
    draw();
    dark.addEventListener("change", draw);
    button.addEventListener("click", () => {
      const hidden = !off.delete(name);
      if (hidden) off.add(name);
      button.setAttribute("aria-pressed", !hidden);
      redraw();
    });
    return button;
  });
  const label = property === "series" ? "Series shown" : "Kinds of curves shown";
  return make("div", { class: "switches", role: "group", "aria-label": label }, ...buttons);
}

function pointWords(plot, p) {
  const error = Number.isFinite(p.stderr) ? ` ± ${show(p.stderr, 4)}` : "";
  const trials = p.trials > 1 ? ` (${p.trials} trials)` : "";
  return `${nameOf(p.curve)}: ${show(p.y, 4)}${error}${trials} at ${plot.x_label} ${show(p.x, 4)}`;
}

function nearestPoint(points, x, y) {
  let [best, least] = [null, REACH];
  for (const p of points) {
    const far = Math.hypot(p.px - x, p.py - y);
    if (far < least) [best, least] = [p, far];
  }
  return best;
}

// The point that an arrow key leads to: along a curve, or to the curve above or below at this x.
function neighbour(points, present, key) {
  if (!present) return points[0] ?? null;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const own = points.filter((p) => p.curve === present.curve).sort((a, b) => a.px - b.px);
    const next = own.indexOf(present) + (key === "ArrowRight" ? 1 : -1);
    return own[Math.min(own.length - 1, Math.max(0, next))];
  }
  const curves = [...new Set(points.map((p) => p.curve))];
  const step = key === "ArrowDown" ? 1 : curves.length - 1;
  const curve = curves[(curves.indexOf(present.curve) + step) % curves.length];
  const far = (p) => Math.abs(p.px - present.px);
  return points.filter((p) => p.curve === curve).reduce((a, b) => (far(b) < far(a) ? b : a));
}

// One plot: drawn again when its width or what is visible changes.
function buildPlot(plot, visible, say) {
  const title = plot.title ? `${plot.title}: ` : "";
  const words = `${title}${plot.y_label} against ${plot.x_label}; arrow keys read points`;
  const holder = make("div", { class: "holder", tabindex: 0, role: "group", "aria-label": words });
  const ring = toNode(element("circle", { r: 9, class: "ring", visibility: "hidden" }));
  let points = [];
  let present = null;
  const visit = (point) => {
    present = point;
    ring.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    ring.setAttribute("cx", point.px);
    ring.setAttribute("cy", point.py);
    say(pointWords(plot, point));
  };
  const draw = (space) => {
    const width = Math.max(260, Math.round(space));
    const height = plot.square ? width : Math.round(Math.min(380, Math.max(240, 0.62 * width)));
    const drawn = drawPlot(plot, plot.curves.filter(visible), { width, height, colours: colours() });
    const svg = toNode(picture(width, height, { "aria-hidden": "true" }, ...drawn.parts));
    points = drawn.points;
    visit(null);
    svg.append(ring);
    holder.replaceChildren(svg);
  };
  const point = (event) => {
    const area = holder.getBoundingClientRect();
    visit(nearestPoint(points, event.clientX - area.left, event.clientY - area.top));
  };
  holder.addEventListener("pointermove", point);
  holder.addEventListener("pointerdown", point);
  holder.addEventListener("pointerleave", () => visit(null));
  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape") visit(null);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    visit(neighbour(points, present, event.key));
  });
  const box = make("div", { class: "plot" }, plot.title ? make("h3", {}, plot.title) : null, holder);
  return { box, draw, holder };
}

function valueTable(view) {
  const row = (kind, cells) => make("tr", {}, ...cells.map((cell) => make(kind, kind === "th" ? { scope: "col" } : {}, cell)));
  const curves = view.plots.flatMap((plot) => plot.curves.filter((c) => c.mark !== "dots").map((curve) => [plot, curve]));
  const rows = curves.flatMap(([plot, curve]) => curve.x.map((x, i) => row("td", [
    plot.title, nameOf(curve), show(x, 4), show(curve.y[i], 4),
    Number.isFinite(curve.stderr[i]) ? show(curve.stderr[i], 4) : "", curve.trials[i] ?? "",
  ])));
  const head = row("th", ["plot", "curve", "x", "value", "± error", "trials"]);
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

// The numbers of all curves, made when a reader asks for them.
function numbers(view) {
  const name = "Numbers of these curves";
  const details = make("details", { class: "numbers" }, make("summary", {}, `${name} as a table`));
  details.addEventListener("toggle", () => {
    details.append(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, valueTable(view)));
  }, { once: true });
  return details;
}

// Widths are read together, before anything is drawn: the browser arranges the page once.
function drawAll(plots) {
  const spaces = plots.map((plot) => plot.holder.clientWidth);
  plots.forEach((plot, i) => plot.draw(spaces[i]));
}

function buildPanel(data) {
  const view = JSON.parse(data.textContent);
  const said = make("output", { class: "said", "aria-live": "polite" }, HELP);
  const say = (words) => { said.textContent = words; };
  const off = { series: new Set(), role: new Set() };
  const visible = (curve) => !off.series.has(curve.series) && !off.role.has(curve.role);
  const plots = view.plots.map((plot) => buildPlot(plot, visible, say));
  const curves = view.plots.flatMap((plot) => plot.curves);
  const grid = make("div", { class: view.plots.length > 1 || view.maps.length > 1 ? "plots several" : "plots" },
    ...view.maps.map((map) => buildMap(map, say)), ...plots.map((plot) => plot.box));
  const chart = make("div", { class: "chart" });
  if (curves.length) {
    chart.append(...["series", "role"].map((property) =>
      switches(curves, property, off[property], () => drawAll(plots))));
  }
  chart.append(grid);
  const [map] = view.maps;
  if (map) {
    const words = `Colours: ${map.value_label}${map.levels ? "; orange: none of these" : ""}`;
    chart.append(make("p", { class: "axis-words" }, words), colourBar(map));
  }
  chart.append(said);
  if (curves.length) chart.append(numbers(view));
  const figure = data.closest("figure");
  figure.prepend(chart);
  figure.querySelector("img").hidden = true;
  return { grid, plots };
}

// All at once, before the page is first shown: links lead to where panels stay.
function buildPanels() {
  const panels = [...document.querySelectorAll("figure script[type='application/json']")].map(buildPanel);
  const drawEvery = () => drawAll(panels.flatMap((panel) => panel.plots));
  drawEvery();
  dark.addEventListener("change", drawEvery);
  const widths = new Map(panels.map((panel) => [panel.grid, panel.grid.clientWidth]));
  const watch = new ResizeObserver((entries) => {
    const changed = new Set(entries.map((e) => e.target).filter((g) => g.clientWidth !== widths.get(g)));
    changed.forEach((grid) => widths.set(grid, grid.clientWidth));
    drawAll(panels.filter((panel) => changed.has(panel.grid)).flatMap((panel) => panel.plots));
  });
  panels.forEach((panel) => watch.observe(panel.grid));
}

// The list of panels marks the one that is read.
function markPresent() {
  const links = new Map([...document.querySelectorAll("nav a[href^='#panel-']")]
    .map((link) => [link.getAttribute("href").slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("section.panel").forEach((section) => watch.observe(section));
}

// Beside wide pages the list stays open; above narrow ones it closes when a panel is chosen.
function openList() {
  const list = document.querySelector("nav details");
  const wide = matchMedia("(min-width: 68rem)");
  const follow = () => { list.open = wide.matches; };
  follow();
  wide.addEventListener("change", follow);
  list.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) list.open = false;
  });
}

openList();
buildPanels();
markPresent();
