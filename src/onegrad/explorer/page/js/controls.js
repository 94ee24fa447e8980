// Controls made from the server's description of the problem: no field is named here.

import { make } from "../../../plotting/page/elements.js";
import { show } from "../../../plotting/page/numbers.js";
import { byId, named } from "./page.js";
import { applies, fieldValue, same } from "./state.js";

const OWN = "own"; // a string that is not among those offered
export const PLACES = 200; // of a slider, from its low to its high end

/** Return the value at a slider's place, rounded to what one would write. */
export function valueAt(place, { low, high, scale, kind }) {
  const t = place / PLACES;
  const raw = scale === "log" ? low * (high / low) ** t : low + (high - low) * t;
  if (kind === "count") return Math.round(Number(raw.toPrecision(3)));
  if (place <= 0) return low;
  if (place >= PLACES) return high;
  const cell = scale === "log" ? raw * Math.log(high / low) / PLACES : (high - low) / PLACES;
  const digits = Math.max(0, Math.ceil(-Math.log10(cell)));
  return Number(raw.toFixed(Math.min(digits, 12)));
}

/** Return the place of a value on a slider, inside its ends. */
export function placeOf(value, { low, high, scale }) {
  const t =
    scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(PLACES * Math.min(1, Math.max(0, Number.isFinite(t) ? t : 0)));
}

/**
 * Return `{describe, update, mark}` of the panel of controls. `onSet(control, value)` is called by every
 * input event.
 */
export function createControls(onSet) {
  const parts = new Map(); // path → {control, row, update}
  let outline = "";
  let described = [];

  function rebuild() {
    const focused = document.activeElement?.id;
    parts.clear();
    const main = described.filter((control) => control.main);
    byId("main-controls").replaceChildren(...main.map(row));
    const groups = new Map();
    for (const control of described) {
      if (control.main) continue;
      if (!groups.has(control.group)) groups.set(control.group, []);
      groups.get(control.group).push(control);
    }
    const open = new Set(
      [...document.querySelectorAll("#more-controls details[open]")].map((d) => d.dataset.group),
    );
    byId("more-controls").replaceChildren(
      ...[...groups].map(([group, controls]) =>
        make(
          "details",
          { "data-group": group, open: open.has(group) },
          make("summary", {}, group, make("span", { class: "changed", "aria-hidden": "true" })),
          ...controls.map(row),
        ),
      ),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  function row(control) {
    const twin = control.main && described.some((other) =>
      other !== control && other.main && other.label === control.label);
    const name = twin ? `${control.label}, ${control.group.toLowerCase()}` : control.label;
    const part = createRow({ ...control, label: name }, (value) => onSet(part.control, value));
    parts.set(control.path, part);
    return part.row;
  }

  return {
    /** Take a description: rebuild where it has other controls, else take new values. */
    describe(controls) {
      described = controls;
      const text = JSON.stringify(controls.map(shape));
      if (text !== outline) {
        outline = text;
        rebuild();
      }
      for (const control of controls) parts.get(control.path).control = control;
    },
    /** Show the values of a state; what does not apply in it is hidden. */
    update(state) {
      const byPath = new Map(described.map((control) => [control.path, control]));
      for (const { control, row: element, update } of parts.values()) {
        element.hidden = !applies(state, control, byPath);
        const set = control.path in state.problem;
        element.classList.toggle("set", set);
        update(fieldValue(state, control), set, control);
      }
      for (const group of document.querySelectorAll("#more-controls details")) {
        const count = group.querySelectorAll(".control.set:not([hidden])").length;
        group.querySelector(".changed").textContent = count ? `${count} set` : "";
        group.hidden = !group.querySelector(".control:not([hidden])");
      }
    },
    /** Mark the control whose field an error names, and no other. */
    mark(message) {
      const field = message ? message.split("=")[0].trim() : null;
      for (const [path, { row: element }] of parts) {
        const wrong = field !== null && (path === field || path.endsWith(`.${field}`));
        element.classList.toggle("wrong", wrong);
      }
    },
  };
}

function shape({ path, kind, label, low, high, scale, choices, main, group }) {
  return [path, kind, label, low, high, scale, choices, main, group];
}

function createRow(control, set) {
  const id = `field-${control.path.replaceAll(".", "-")}`;
  const reset = make("button", {
    type: "button",
    class: "reset",
    "aria-label": `Reset ${control.label}`,
    title: `Back to ${control.default === null ? "what follows" : show(control.default)}`,
    onclick: () => set(control.default),
  }, "↺");
  const kind = KINDS[control.kind] ?? KINDS.text;
  const { entry, wide, update } = kind(control, id, set);
  const label = make("label", { for: id }, ...named(control.label, control.symbol));
  const row = make("div", { class: `control ${control.kind}`, "data-path": control.path },
    make("div", { class: "head" }, label, make("span", { class: "entry" }, reset, entry)),
    wide,
    make("p", { class: "sentence", id: `${id}-says` }, control.sentence));
  return {
    control,
    row,
    update(value, isSet, now) {
      reset.hidden = !isSet;
      update(value, now);
    },
  };
}

function numberRow(control, id, set) {
  const typed = make("input", {
    type: "text", inputmode: "decimal", class: "number", autocomplete: "off",
    "aria-label": `${control.label}, typed value`,
    onchange: () => {
      const text = typed.value.trim();
      if (text === "" && control.nullable) set(null);
      else set(Number.isNaN(Number(text)) || text === "" ? text : Number(text));
    },
  });
  const unit = control.unit ? make("span", { class: "unit" }, control.unit) : null;
  const ranged = Number.isFinite(control.low) && Number.isFinite(control.high);
  const slider = make("input", {
    type: "range", id, min: 0, max: PLACES, step: 1, "aria-describedby": `${id}-says`,
    oninput: () => set(valueAt(Number(slider.value), control)),
  });
  if (!ranged) typed.id = id;
  return {
    entry: make("span", { class: "typed" }, typed, unit),
    wide: ranged ? slider : null,
    update(value, now) {
      const known = typeof value === "number";
      if (document.activeElement !== typed) typed.value = known ? plain(value) : (value ?? "");
      typed.placeholder = now.follows ? "follows" : "not set";
      const text = known ? plain(value) : (now.follows ?? "follows from the rest");
      slider.setAttribute("aria-valuetext", text);
      slider.classList.toggle("unset", !known);
      if (document.activeElement !== slider || !same(valueAt(Number(slider.value), control), value)) {
        slider.value = known ? placeOf(value, control) : PLACES / 2;
      }
      slider.style.setProperty("--share", `${(100 * slider.value) / PLACES}%`);
    },
  };
}

/** Return a number as one would type it. */
function plain(value) {
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e7)) return Number(value.toPrecision(4)).toExponential();
  return String(Number(value.toPrecision(6)));
}

function choiceRow(control, id, set) {
  const entries = (control.choices ?? []).map((choice) =>
    choice !== null && typeof choice === "object" ? choice : { value: choice, label: String(choice) });
  const select = make("select", {
    id, "aria-describedby": `${id}-says`,
    onchange: () => set(entries[Number(select.value)]?.value ?? null),
  });
  if (control.nullable && !entries.some((entry) => entry.value === null)) {
    entries.unshift({ value: null, label: control.follows ?? "follows" });
  }
  select.append(...entries.map((entry, i) => make("option", { value: i }, entry.label)));
  return {
    entry: select,
    wide: null,
    update(value) {
      select.value = String(entries.findIndex((entry) => same(entry.value, value)));
    },
  };
}

function switchRow(control, id, set) {
  const box = make("input", {
    type: "checkbox", role: "switch", id, "aria-describedby": `${id}-says`,
    onchange: () => set(box.checked),
  });
  return { entry: box, wide: null, update: (value) => { box.checked = value === true; } };
}

function textRow(control, id, set) {
  const known = (control.choices ?? []).map((choice) => choice?.value ?? choice);
  const input = make("input", {
    type: "text", id: known.length ? null : id, class: "formula", spellcheck: "false",
    autocomplete: "off", "aria-label": `${control.label}, as text`,
    onchange: () => set(input.value.trim() === "" ? control.default : input.value.trim()),
  });
  const select = make("select", {
    id, "aria-describedby": `${id}-says`,
    onchange: () => {
      input.hidden = select.value !== OWN;
      if (select.value === OWN) input.focus();
      else set(known[Number(select.value)]);
    },
  }, ...known.map((value, i) => make("option", { value: i }, String(value))),
  make("option", { value: OWN }, "write one…"));
  return {
    entry: known.length ? select : input,
    wide: known.length ? input : null,
    update(value) {
      const place = known.findIndex((entry) => same(entry, value));
      if (document.activeElement !== select || place >= 0) select.value = place < 0 ? OWN : place;
      if (document.activeElement === input) return;
      input.hidden = known.length > 0 && select.value !== OWN;
      input.value = typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
    },
  };
}

const KINDS = {
  number: numberRow, count: numberRow, choice: choiceRow, switch: switchRow, text: textRow,
};
