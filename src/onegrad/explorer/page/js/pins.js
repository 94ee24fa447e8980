// Pinned curves: settings that stay on the chart while the present one changes.

import { byId, make } from "./page.js";
import { forServer } from "./state.js";
import { show } from "./numbers.js";

/** Return a short name of a state: the newest changes of its problem. */
export function pinName(state, byPath) {
  const entries = Object.entries(state.problem).slice(-2);
  if (!entries.length) return "start";
  return entries
    .map(([path, value]) => {
      const control = byPath.get(path);
      const name = control?.symbol || control?.label || path.split(".").at(-1);
      return `${name} = ${typeof value === "number" ? show(value) : shortened(value)}`;
    })
    .join(", ");
}

function shortened(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}

/** Return `{requests, answers, show}`: pins along the present axis, asked for once each. */
export function createPins({ onAnswer, onRemove }) {
  const known = new Map();
  const stateOf = (pin, state) => ({ ...state, base: pin.base, problem: pin.problem, models: pin.models });
  const keyOf = (pin, state) => JSON.stringify(forServer(stateOf(pin, state)));
  return {
    /** Return the requests for curves of pins that are not known yet. */
    requests(state, points) {
      return state.pins
        .filter((pin) => !known.has(keyOf(pin, state)))
        .map((pin) => ({
          path: "/api/curve",
          body: { state: forServer(stateOf(pin, state)), points, draft: false },
          take: (answer) => {
            known.set(keyOf(pin, state), answer);
            onAnswer();
          },
          fail: () => known.set(keyOf(pin, state), null),
        }));
    },
    /** Remember the answer of a state that is about to be pinned. */
    remember(state, answer) {
      known.set(JSON.stringify(forServer(state)), answer);
    },
    /** Return the pins whose curves are known along the present axis. */
    answers(state) {
      return state.pins
        .map((pin) => ({ ...pin, answer: known.get(keyOf(pin, state)) ?? null }))
        .filter((pin) => pin.answer !== null);
    },
    /** Show the pins as a list with a button each. */
    show(state) {
      const list = byId("pins");
      list.hidden = state.pins.length === 0;
      list.replaceChildren(...state.pins.map((pin, index) =>
        make("li", {}, make("span", {}, pin.name),
          make("button", { type: "button", class: "plain", "aria-label": `Unpin ${pin.name}`,
            onclick: () => onRemove(index) }, "×"))));
    },
  };
}
