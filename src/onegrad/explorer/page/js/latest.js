// Overtaking: one request in flight, the newest waits, whatever lies between is dropped.

/**
 * Return `ask(job)`: it runs `run(job)` at once, or when the one under way has ended; a job that
 * waits is replaced by a newer one. `ask.waiting()` tells whether one waits.
 */
export function latest(run) {
  let busy = false;
  let next = null;
  async function start(job) {
    busy = true;
    try {
      await run(job);
    } finally {
      busy = false;
      if (next !== null) {
        const newest = next;
        next = null;
        start(newest);
      }
    }
  }
  const ask = (job) => {
    if (busy) next = job;
    else start(job);
  };
  ask.waiting = () => next !== null;
  return ask;
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
