// What is asked of the server, in which order, and what a newer state supersedes.
//
// A change asks for a draft at once; when the hands rest, for the refined curve, then for what
// stands beside it. Every change counts as one turn and cancels all but the draft under way.

import { delayed, latest } from "./latest.js";
import { superseded } from "./server.js";
import { forServer } from "./state.js";

export const DRAFT_POINTS = 8;
export const REFINED_POINTS = 60;
const REST = 70; // milliseconds without a change before the refined curve is asked for
const CROWDED = 429;
const STUCK = 1000; // milliseconds after which a newer state no longer waits for an older draft

/**
 * Return `{change, turn, signal}`. `on` has: curve(answer, {draft, job}), error(error, job),
 * busy(flag), and `beside`, a list of [path, body(state), take(answer, state), fail(error)].
 */
export function createEngine(on) {
  let server = null;
  let turn = 0;
  let drawn = 0;
  let rest = new AbortController();
  let under = { control: new AbortController(), since: 0 }; // the draft under way
  const later = delayed();

  const draft = latest(async (job) => {
    on.busy(true);
    under = { control: new AbortController(), since: performance.now() };
    try {
      const body = { state: forServer(job.state), points: DRAFT_POINTS, draft: true };
      const answer = await server.post("/api/curve", body, under.control.signal);
      if (job.turn < drawn || answer.axis !== on.axis()) return;
      drawn = job.turn;
      on.curve(answer, { draft: true, job });
    } catch (error) {
      failed(error, job);
      return;
    } finally {
      if (job.turn === turn) on.busy(false);
    }
    if (job.turn === turn) later(REST, () => refine(job));
  });

  function failed(error, job) {
    if (superseded(error) || job.turn !== turn) return;
    if (error.status === CROWDED) later(4 * REST, () => draft(job));
    else on.error(error, job);
  }

  async function refine(job) {
    const { signal } = rest;
    on.busy(true);
    try {
      const body = { state: forServer(job.state), points: REFINED_POINTS, draft: false };
      const answer = await server.post("/api/curve", body, signal);
      if (job.turn !== turn) return;
      on.curve(answer, { draft: false, job });
    } catch (error) {
      failed(error, job);
      return;
    } finally {
      if (job.turn === turn) on.busy(false);
    }
    await askBeside(job, signal);
  }

  async function askBeside(job, signal) {
    for (const { path, body, take, fail } of on.beside(job.state)) {
      if (signal.aborted) return;
      try {
        const answer = await server.post(path, body, signal);
        if (job.turn !== turn) return;
        take(answer);
      } catch (error) {
        if (superseded(error) || job.turn !== turn) return;
        fail(error);
      }
    }
  }

  return {
    use: (connection) => {
      server = connection;
    },
    turn: () => turn,
    /** Ask for everything of a new state; `at` is when the hand moved. */
    change(state, at = performance.now()) {
      turn += 1;
      rest.abort();
      rest = new AbortController();
      later.cancel();
      if (performance.now() - under.since > STUCK) under.control.abort();
      draft({ turn, state, at });
    },
    /** Ask for what stands beside the curve again, as after a new pin. */
    refresh(state) {
      askBeside({ turn, state }, rest.signal);
    },
  };
}
