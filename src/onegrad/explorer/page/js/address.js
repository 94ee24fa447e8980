// The state in the address: readable key=value pairs after the #.
//
// A field of the problem stands under its own path, what is shown under `show.`:
//   #some.field=0.9&show.axis=other.field&show.models=network,linear&show.metrics=test_mse

const SHOW = "show.";

/** Return the text of a field's value: as it reads, quoted only where it would be misread. */
export function writeValue(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return readsAsJson(value) ? JSON.stringify(value) : value;
}

/** Return the value of a text: JSON where it is JSON, else the text itself. */
export function readValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readsAsJson(text) {
  return readValue(text) !== text;
}

function encode(text) {
  // What an address may hold as it is stays readable.
  return encodeURIComponent(text).replace(/%(2C|3A|2F|40|24|3B|28|29|2A|21|27|5B|5D)/g, (code) =>
    decodeURIComponent(code),
  );
}

function decode(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

function pairsOf(fields) {
  return Object.entries(fields).map(([path, value]) => [path, writeValue(value)]);
}

/** Return the fragment of a state, without the #. */
export function writeState(state) {
  const pairs = pairsOf(state.problem);
  if (state.base) pairs.push([`${SHOW}source`, state.base]);
  pairs.push([`${SHOW}axis`, state.axis]);
  pairs.push([`${SHOW}models`, state.models.join(",")]);
  if (state.metrics) pairs.push([`${SHOW}metrics`, state.metrics.join(",")]);
  if (state.log) pairs.push([`${SHOW}log`, "true"]);
  if (state.automatic) pairs.push([`${SHOW}simulate`, "true"]);
  if (state.preset) pairs.push([`${SHOW}preset`, state.preset]);
  for (const pin of state.pins) pairs.push([`${SHOW}pin`, writePin(pin)]);
  return pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join("&");
}

/** Return the state of a fragment, what it does not say taken from `start`. */
export function readState(fragment, start) {
  const text = fragment.replace(/^#/, "");
  if (!text) return start;
  const state = { ...start, problem: {}, log: false, automatic: false, preset: null, pins: [] };
  for (const pair of text.split("&")) {
    const [key, ...rest] = pair.split("=");
    const value = decode(rest.join("="));
    const name = decode(key);
    if (!name) continue;
    if (name.startsWith(SHOW)) readShown(state, name.slice(SHOW.length), value);
    else state.problem[name] = readValue(value);
  }
  return state;
}

function readShown(state, name, text) {
  const names = text.split(",").filter(Boolean);
  if (name === "source" && text) state.base = text;
  else if (name === "axis" && text) state.axis = text;
  else if (name === "models" && names.length) state.models = names;
  else if (name === "metrics" && names.length) state.metrics = names;
  else if (name === "log") state.log = text === "true";
  else if (name === "simulate") state.automatic = text === "true";
  else if (name === "preset") state.preset = text;
  else if (name === "pin") state.pins.push(readPin(text));
}

function writePin(pin) {
  const pairs = pairsOf(pin.problem);
  if (pin.base) pairs.push([`${SHOW}source`, pin.base]);
  pairs.push([`${SHOW}models`, pin.models.join(",")], [`${SHOW}name`, pin.name]);
  return pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join("&");
}

function readPin(text) {
  const pin = { base: null, problem: {}, models: [], name: "" };
  for (const pair of text.split("&")) {
    const [key, ...rest] = pair.split("=");
    const [name, value] = [decode(key), decode(rest.join("="))];
    if (name === `${SHOW}source`) pin.base = value;
    else if (name === `${SHOW}models`) pin.models = value.split(",").filter(Boolean);
    else if (name === `${SHOW}name`) pin.name = value;
    else if (name) pin.problem[name] = readValue(value);
  }
  return pin;
}
