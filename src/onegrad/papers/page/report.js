// The report's page: every panel's picture becomes curves and maps to touch, one after the other.
function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// A small sample of how a curve is drawn, for its switch.
function swatch(curve) {
  const svg = node("svg", { viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true" });
  const places = [...MARKED, "dots"].includes(curve.mark)
    ? [{ px: 15, py: 7 }] : [{ px: 1, py: 7 }, { px: 29, py: 7 }];
  svg.append(drawCurve(curve, places));
  return svg;
}

// Switches for one property of curves (series or role): a button for each of its values.
function switches(curves, property, off, redraw) {
  const names = [...new Set(curves.map((c) => c[property]))].filter(Boolean);
  const group = element("div", "switches");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", property === "series" ? "Series shown" : "Kinds of curves shown");
  for (const name of names) {
    const button = element("button");
    button.type = "button";
    button.dataset[property] = name;
    button.setAttribute("aria-pressed", "true");
    const curve = curves.find((c) => c[property] === name);
    const mark = property === "series" || curve.mark === "joined" ? "points" : curve.mark;
    const sample = { ...curve, mark, colour: property === "series" ? curve.colour : -1 };
    button.append(swatch(sample), name);
    button.addEventListener("click", () => {
      const hidden = !off.delete(name);
      if (hidden) off.add(name);
      button.setAttribute("aria-pressed", String(!hidden));
      redraw();
    });
    group.append(button);
  }
  return group;
}

// One plot: drawn again when its width or what is visible changes.
function buildPlot(plot, visible, say) {
  const box = element("div", plot.square ? "plot square" : "plot");
  if (plot.title) box.append(element("h3", "", plot.title));
  const holder = element("div", "holder");
  holder.tabIndex = 0;
  holder.setAttribute("role", "group");
  const name = plot.title ? `${plot.title}: ` : "";
  holder.setAttribute("aria-label", `${name}${plot.y_label} against ${plot.x_label}; arrow keys read points`);
  box.append(holder);
  let drawn = null;
  let present = null;
  const show = (point) => {
    present = point;
    drawn.ring.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    drawn.ring.setAttribute("cx", point.px);
    drawn.ring.setAttribute("cy", point.py);
    say(pointWords(plot, point));
  };
  const draw = (space) => {
    drawn = drawPlot(holder, plot, visible, space);
    present = null;
  };
  const point = (event) => {
    const area = drawn.svg.getBoundingClientRect();
    show(nearestPoint(drawn.points, event.clientX - area.left, event.clientY - area.top));
  };
  holder.addEventListener("pointermove", point);
  holder.addEventListener("pointerdown", point);
  holder.addEventListener("pointerleave", () => show(null));
  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(null);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    show(neighbour(drawn.points, present, event.key));
  });
  return { box, draw, holder };
}

function valueTable(view) {
  const table = element("table");
  const head = table.createTHead().insertRow();
  for (const name of ["plot", "curve", "x", "value", "± error", "trials"]) {
    const cell = element("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const plot of view.plots) {
    for (const curve of plot.curves.filter((c) => c.mark !== "dots")) {
      curve.x.forEach((x, i) => {
        const row = body.insertRow();
        const name = [curve.series, curve.role].filter(Boolean).join(", ");
        const error = curve.stderr[i] === undefined || curve.stderr[i] === null ? "" : short(curve.stderr[i]);
        for (const text of [plot.title, name, short(x), short(curve.y[i]), error, curve.trials[i] ?? ""]) {
          row.insertCell().textContent = text;
        }
      });
    }
  }
  return table;
}

// The numbers of all curves, made when a reader asks for them.
function numbers(view) {
  const details = element("details", "numbers");
  details.append(element("summary", "", "Numbers of these curves as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const scroll = element("div", "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Numbers of these curves");
    scroll.append(valueTable(view));
    details.append(scroll);
  });
  return details;
}

// Widths are read together, before anything is drawn: the browser arranges the page once.
function drawAll(plots) {
  const spaces = plots.map((plot) => plot.holder.clientWidth);
  plots.forEach((plot, i) => plot.draw(spaces[i]));
}

function buildPanel(figure) {
  const view = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const chart = element("div", "chart");
  const said = element("output", "said", "Point at the picture, or press Tab and the arrow keys, to read values and errors.");
  said.setAttribute("aria-live", "polite");
  const say = (words) => { said.textContent = words; };
  const off = { series: new Set(), role: new Set() };
  const visible = (curve) => !off.series.has(curve.series) && !off.role.has(curve.role);
  const plots = view.plots.map((plot) => buildPlot(plot, visible, say));
  const redraw = () => drawAll(plots);
  const curves = view.plots.flatMap((plot) => plot.curves);
  if (curves.length) {
    chart.append(switches(curves, "series", off.series, redraw), switches(curves, "role", off.role, redraw));
  }
  const grid = element("div", view.plots.length > 1 || view.maps.length > 1 ? "plots several" : "plots");
  grid.append(...view.maps.map((map) => buildMap(map, say)), ...plots.map((plot) => plot.box));
  chart.append(grid);
  if (view.maps.length) {
    const label = element("p", "axis-words", `Colours: ${view.maps[0].value_label}`);
    if (view.maps[0].levels) label.textContent += "; orange: none of these";
    chart.append(label, colourBar(view.maps[0]));
  }
  chart.append(said);
  if (curves.length) chart.append(numbers(view));
  figure.prepend(chart);
  figure.querySelector("img").hidden = true;
  return { grid, plots };
}

// All at once, before the page is first shown: links lead to where panels stay.
function buildPanels() {
  const figures = [...document.querySelectorAll("figure.panel-figure")]
    .filter((figure) => figure.querySelector("script[type='application/json']"));
  const panels = figures.map((figure) => buildPanel(figure));
  drawAll(panels.flatMap((panel) => panel.plots));
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
      const link = links.get(entry.target.id);
      if (link) link.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("section.panel").forEach((section) => watch.observe(section));
}

// Beside wide pages the list stays open; above narrow ones it closes when a panel is chosen.
function openList() {
  const list = document.querySelector("nav details");
  const wide = window.matchMedia("(min-width: 68rem)");
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
