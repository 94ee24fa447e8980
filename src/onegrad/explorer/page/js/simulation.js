// Real networks trained for the visible curve: points that appear one by one.

import { announce, byId } from "./page.js";
import { delayed, superseded } from "./requests.js";
import { forServer, serverKey } from "./state.js";

const PAUSE = 1000; // of the hands, before points are simulated by themselves
const POINTS = 8;
const TRIALS = 4;

/** Return `{changed, points}`; `onPoint` is called when there is a new one. */
export function createSimulation({ server, onPoint }) {
  let points = [];
  let key = null;
  let work = null;
  let share = 0; // of the trainings that are done
  const later = delayed();
  const button = byId("simulate");
  const status = byId("simulate-status");
  const bar = byId("simulate-bar");

  function show(text, done = null) {
    status.textContent = text;
    bar.hidden = done === null;
    if (done !== null) bar.value = done;
    button.textContent = work ? "Cancel" : "Simulate";
    button.classList.toggle("running", work !== null);
  }

  async function start(state) {
    cancel();
    later.cancel();
    points = [];
    key = serverKey(state);
    const mine = new AbortController();
    work = mine;
    share = 0;
    show("Training networks…", 0);
    onPoint();
    try {
      const body = { state: forServer(state), points: POINTS, trials: TRIALS };
      await server.stream("/api/simulate", body, mine.signal, (line) => {
        if (work === mine) take(line);
      });
      if (work === mine) finish(`${points.length} points simulated, bars of ± 2 standard errors`);
    } catch (error) {
      if (work === mine && !superseded(error)) finish(`Simulation: ${error.message}`);
    }
  }

  function take(line) {
    if (line.error) {
      finish(`Simulation: ${line.error}`);
      return;
    }
    if (line.metrics) {
      points = [...points.filter((p) => p.x !== line.x || p.model !== line.model), line];
      onPoint();
    }
    if (line.total) share = line.progress / line.total;
    if (!line.done) show(`${points.length} points so far`, share);
  }

  function finish(text) {
    work = null;
    show(text);
    announce(text);
  }

  function cancel() {
    later.cancel();
    if (!work) return;
    work.abort();
    work = null;
    show("Cancelled");
  }

  button.addEventListener("click", () => {
    if (work) cancel();
    else start(button.state);
  });

  return {
    /** Take a new state: its points are those of no other, and a pause may start again. */
    changed(state) {
      button.state = state;
      const other = serverKey(state) !== key;
      if (other) {
        cancel();
        if (points.length) show("");
        points = [];
        key = null;
      }
      if (state.automatic && (other || !(work || points.length))) later(PAUSE, () => start(state));
      else if (!state.automatic) later.cancel();
    },
    points: () => points,
  };
}
