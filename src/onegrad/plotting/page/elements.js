// Elements of HTML for a page, and of SVG for a page or a file; no string is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an HTML element. Attributes that start with "on" are listeners, true is an empty attribute;
 * null and false are left out, but for those of ARIA.
 */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    const aria = key.startsWith("aria-");
    if (value === null || value === undefined || (value === false && !aria)) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true && !aria ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Paint one pixel per cell; `colourAt(column, line)` is [red, green, blue, opacity]. */
export function paintCells(canvas, columns, lines, colourAt) {
  Object.assign(canvas, { width: columns, height: lines });
  const image = new ImageData(columns, lines);
  for (let line = 0; line < lines; line += 1) {
    for (let column = 0; column < columns; column += 1) {
      image.data.set(colourAt(column, line), 4 * (line * columns + column));
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Return an element of SVG as plain data; attributes that are null are left out. */
export function element(name, attributes = {}, ...children) {
  const given = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  return { name, attributes: given, children: children.filter((child) => child !== null) };
}

/** Return the node of a page. */
export function toNode({ name, attributes, children }) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of attributes) node.setAttribute(key, value);
  node.append(...children.map((child) => (typeof child === "string" ? child : toNode(child))));
  return node;
}

/** Return the text of a file. */
export function toText({ name, attributes, children }) {
  const codes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (character) => codes[character]);
  const written = attributes.map(([key, value]) => ` ${key}="${escaped(value)}"`).join("");
  const inner = children.map((child) => (typeof child === "string" ? escaped(child) : toText(child)));
  return `<${name}${written}>${inner.join("")}</${name}>`;
}

/** Return the SVG document of a size that shows these parts. */
export function picture(width, height, attributes, ...parts) {
  return element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, ...attributes }, ...parts);
}
