// Elements of the page, made without a word of HTML in strings.

const SVG = "http://www.w3.org/2000/svg";

function attach(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (value === false && !name.startsWith("aria-")) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an HTML element; `onclick` and the like are listeners, true is an empty attribute. */
export function make(name, attributes = {}, ...children) {
  return attach(document.createElement(name), attributes, children);
}

/** Return an SVG element. */
export function draw(name, attributes = {}, ...children) {
  return attach(document.createElementNS(SVG, name), attributes, children);
}

/** Return the element of this id; the page must have it. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return element;
}

/** Return a short sample of a line as a picture for legends. */
export function lineSample({ colour, dash }, faded = false) {
  return draw(
    "svg",
    { class: "sample", viewBox: "0 0 30 8", "aria-hidden": "true" },
    draw("line", {
      x1: 1, x2: 29, y1: 4, y2: 4, stroke: colour,
      "stroke-width": faded ? 1.5 : 3,
      "stroke-dasharray": dash.join(" ") || null,
      opacity: faded ? 0.7 : null,
    }),
  );
}

/** Return a name and its symbol as parts of a label, apart for eyes and for screen readers. */
export function named(label, symbol) {
  return symbol ? [label, " ", make("i", { class: "symbol" }, symbol)] : [label];
}

let saying = 0;

/** Tell screen readers a result, once the hands are still. */
export function announce(text) {
  clearTimeout(saying);
  saying = setTimeout(() => {
    byId("live").textContent = text;
  }, 700);
}
