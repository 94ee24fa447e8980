// Requests to the server that the page came from: what is asked, in which order, newest first.

import { forServer } from "./state.js";

const GONE = "server: does not answer; start onegrad explore again and open its new address";

/** An answer that is no success: `status`, and the server's line as message. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Return whether an error only says that the page gave a request up for a newer one. */
export function superseded(error) {
  return error.name === "AbortError";
}

/** Return `get`, `post` and `stream`, all with the token; the server gives up what is aborted. */
export function connect(token) {
  const headers = { "X-Onegrad-Token": token };

  async function send(path, options) {
    const response = await fetch(path, { cache: "no-store", ...options }).catch((error) => {
      throw error.name === "AbortError" ? error : new Refusal(0, GONE);
    });
    if (!response.ok) throw new Refusal(response.status, await reason(response));
    return response;
  }

  const posted = (body, signal) => ({
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

  return {
    get: async (path) => (await send(path, { headers })).json(),
    post: async (path, body, signal) => (await send(path, posted(body, signal))).json(),
    stream: async (path, body, signal, onLine) => {
      const response = await send(path, posted(body, signal));
      await readLines(response.body, onLine);
    },
  };
}

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `status ${response.status}`;
  }
}

/** Call `onLine` with the value of every line of a stream of JSON lines. */
export async function readLines(body, onLine) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) onLine(JSON.parse(line));
    if (done) return;
  }
}

/**
 * Return `ask(job)`: it runs `run(job)` at once, or when the one under way has ended; a job that
 * waits is replaced by a newer one.
 */
export function latest(run) {
  let busy = false;
  let next = null;
  return async function ask(job) {
    next = job;
    if (busy) return;
    busy = true;
    try {
      while (next !== null) {
        const newest = next;
        next = null;
        await run(newest);
      }
    } finally {
      busy = false;
    }
  };
}

/** Return `later(milliseconds, action)`, which replaces an action that has not run yet. */
export function delayed() {
  let timer = 0;
  const later = (milliseconds, action) => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

const DRAFT_POINTS = 8;
export const REFINED_POINTS = 60;
const REST = 70; // milliseconds without a change before the refined curve is asked for
const CROWDED = 429;
const STUCK = 1000; // milliseconds after which a newer state no longer waits for an older draft

/**
 * Return `{change, turn}`. A change asks for a draft at once; when the hands rest, for the refined
 * curve, then for the views beside it. Every change counts as one turn and aborts all older
 * requests but the draft under way. `on` has: curve(answer, {draft, job}), error(error, job),
 * busy(flag), and beside(state), a list of {path, body, take(answer), fail(error)}.
 */
export function createEngine(server, on) {
  let turn = 0;
  let drawn = 0;
  let rest = new AbortController();
  let under = { control: new AbortController(), since: 0 }; // the draft under way
  const later = delayed();

  const draft = latest((job) => {
    under = { control: new AbortController(), since: performance.now() };
    return ask(job, true, under.control.signal);
  });

  async function ask(job, isDraft, signal) {
    on.busy(true);
    try {
      const points = isDraft ? DRAFT_POINTS : REFINED_POINTS;
      const body = { state: forServer(job.state), points, draft: isDraft };
      const answer = await server.post("/api/curve", body, signal);
      const old = isDraft ? job.turn < drawn : job.turn !== turn;
      if (old || answer.axis !== on.axis()) return;
      drawn = job.turn;
      on.curve(answer, { draft: isDraft, job });
    } catch (error) {
      if (superseded(error) || job.turn !== turn) return;
      if (error.status === CROWDED) later(4 * REST, () => draft(job));
      else on.error(error, job);
      return;
    } finally {
      if (job.turn === turn) on.busy(false);
    }
    if (job.turn !== turn) return;
    if (isDraft) later(REST, () => ask(job, false, rest.signal));
    else await askBeside(job, signal);
  }

  async function askBeside(job, signal) {
    for (const { path, body, take, fail } of on.beside(job.state)) {
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
    turn: () => turn,
    /** Ask for everything of a new state; `at` is when the hand moved. */
    change(state, at) {
      turn += 1;
      rest.abort();
      rest = new AbortController();
      later.cancel();
      const { control, since } = under;
      setTimeout(() => control.abort(), Math.max(0, STUCK - (performance.now() - since)));
      draft({ turn, state, at });
    },
  };
}
