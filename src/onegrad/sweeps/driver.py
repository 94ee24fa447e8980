"""The driver of a sweep: run a plan on an engine and store every row as it comes.

An engine runs tasks somewhere and yields their outcomes in any order. Every engine replaces a lost
worker and retries its task, first job by job, so that one bad trial does not take others along; a
trial that keeps killing its workers is reported as failed.
"""

from __future__ import annotations

import logging
import re
import signal
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.files import digest
from onegrad.describe.numbers import callback, path_of, text, truth, whole_number
from onegrad.describe.registry import snapshot
from onegrad.machine.pool import MOST_DEATHS, run_tasks
from onegrad.machine.progress import shown_progress
from onegrad.machine.signals import Stopped, stops_deferred
from onegrad.sweeps.folder_lock import Heartbeat, StoreBusy, hold, require_free
from onegrad.sweeps.plan import (
    Outcome,
    Plan,
    Task,
    check_plan,
    failed_row,
    make_tasks,
    plan_sweep,
    renewed,
    run_task,
    setting_records,
)
from onegrad.sweeps.results import Results
from onegrad.sweeps.store import Writer, mend, prepare
from onegrad.sweeps.sweep import Sweep

Engine = Callable[[list[Task]], Iterator[Outcome]]
LOGGER = logging.getLogger(__name__)


class WorkerLost(RuntimeError):
    """A worker process ended while it ran a trial: killed, or out of memory."""


class SweepInterrupted(Stopped):
    """The sweep was stopped by the user or the system; the message says how much is stored."""


@dataclass(frozen=True)
class Done:
    """The progress of a run: trials done in this run, trials to do, failed ones among the done.

    Theory points count as trials. `left` is the estimated time to the end in seconds, and `rows`
    are the latest ones.
    """

    done: int
    goal: int
    failed: int
    left: float = 0.0
    rows: Sequence[dict[str, Any]] = ()


def run_sweep(
    sweep: Sweep,
    directory: str | Path,
    *,
    workers: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[Done], None] | bool | None = None,
) -> Results:
    """Return all results in the folder after running the trials that are missing there.

    Trials run on `workers` processes of this machine, or on a Dask cluster: give the address of its
    scheduler, or "local". Rows do not depend on where they were computed. `progress` is called with
    a `Done`; True shows a bar.
    """
    path_of("out", directory)
    truth("retry_failed", retry_failed)
    whole_number("workers", workers, least=1)
    callback("progress", progress, arguments=("done",))
    if dask is not None:
        from onegrad.sweeps.dask import try_address

        try_address(text("dask", dask))
    plan = plan_sweep(sweep, directory, retry_failed=retry_failed)
    if not isinstance(progress, bool):
        return run_plan(plan, workers=workers, dask=dask, progress=progress)
    with shown_progress(progress, "trials") as update:
        show = None if update is None else lambda done: update(done.done, done.goal)
        return run_plan(plan, workers=workers, dask=dask, progress=show)


def run_plan(
    plan: Plan,
    *,
    workers: int = 1,
    dask: str | None = None,
    beside: Sequence[Task] = (),
    progress: Callable[[Done], None] | None = None,
) -> Results:
    """Return all results in the folder after running the plan's missing trials.

    Tasks `beside` them run in the order of rank; `progress` gets their rows, which are not stored.
    """
    if dask is None:
        check_plan(plan, workers=workers)
    if plan.missing:
        require_free(plan.directory)  # refuses before workers start
    engine = _engine(plan, workers, dask)  # a cluster that does not answer leaves nothing behind
    prepare(plan.directory)
    with ExitStack() as stack:
        beat = _lock(plan, stack)
        if beat is not None:
            plan = renewed(plan)
            for note in mend(plan.directory, plan.contents.damaged):
                warnings.warn(note, stacklevel=2)
        writer = stack.enter_context(Writer(plan.directory))
        for sweep, _ in plan.sweeps:  # saved beside their rows
            path = plan.directory / f"sweep-{sweep.digest[:12]}.toml"
            if not path.exists():
                sweep.save(path)
        stored = {digest(setting) for setting in plan.contents.settings}
        asked = (s for pair in plan.sweeps for s in setting_records(*pair))
        new = [setting for setting in asked if digest(setting) not in stored]
        if new:
            writer.append(new)
        tasks = make_tasks(plan, workers) if beat is not None else []
        tasks = sorted([*tasks, *beside], key=lambda task: task.rank)
        LOGGER.info("trials: %d, missing: %d, tasks: %d", plan.total, len(plan.missing), len(tasks))
        if tasks:
            _run(plan, writer, tasks, engine, beat, progress)
    return Results.load(plan.directory)


def _lock(plan: Plan, stack: ExitStack) -> Heartbeat | None:
    """Return the folder's lock, held by the stack; None if nothing needs it."""
    if not plan.missing and not plan.contents.damaged:
        return None
    try:
        return stack.enter_context(hold(plan.directory))
    except StoreBusy:
        if plan.missing:
            raise
        return None  # nothing to compute; the next driver that computes sets damaged files aside


def _run(
    plan: Plan,
    writer: Writer,
    tasks: list[Task],
    engine: Engine,
    beat: Heartbeat | None,
    progress: Callable[[Done], None] | None,
) -> None:
    """Run the tasks, store their rows, and report warnings and progress."""
    clock, stored = _Clock(tasks), 0
    state = Done(0, sum(len(task.jobs) for task in tasks), 0)
    shown: set[str] = set()
    try:
        with closing(engine(tasks)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                count, left = len(outcome.task.jobs), clock.left(outcome)
                done, failed = state.done + count, state.failed + outcome.failed
                with stops_deferred():  # a stop comes after both writing and counting
                    if outcome.task.kept:
                        writer.append(outcome.rows)
                        stored += count
                    state = Done(done, state.goal, failed, left, outcome.rows)
                LOGGER.debug("trials done: %d of %d, failed: %d", done, state.goal, failed)
                for note in outcome.notes:
                    kind = re.sub(r"\d[\d.e+-]*", "#", note)  # notes that differ in numbers alone
                    if kind not in shown:
                        shown.add(kind)
                        warnings.warn(note, stacklevel=4)
                if progress is not None:
                    progress(state)
                if beat is not None and beat.lost:
                    raise StoreBusy(
                        f"out={str(plan.directory)!r}: another driver took the folder over "
                        "without a sign of this one; finished rows are stored; let that one finish"
                    )
    except KeyboardInterrupt as stop:
        raise SweepInterrupted(
            getattr(stop, "number", signal.SIGINT),
            f"{plan.stored + stored} of {plan.total} trials are stored; start the same command "
            "again to continue",
        ) from None


class _Clock:
    """The time to the end: estimates of each kind of task, corrected by finished tasks."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._began = time.monotonic()
        self._ahead: dict[str, float] = defaultdict(float)
        self._ended: dict[str, float] = defaultdict(float)  # estimates of the finished tasks
        self._taken: dict[str, float] = defaultdict(float)
        for task in tasks:
            self._ahead[task.kind] += task.cost

    def left(self, outcome: Outcome) -> float:
        """Return how many seconds are left after this outcome."""
        kind, cost = outcome.task.kind, outcome.task.cost
        self._ahead[kind] -= cost
        self._ended[kind] += cost
        self._taken[kind] += sum(row["seconds"] for row in outcome.rows)
        taken = sum(self._taken.values())
        usual = taken / max(sum(self._ended.values()), 1e-9)
        ahead = 0.0
        for kind, cost in self._ahead.items():
            ended = self._ended[kind]
            ahead += max(cost, 0.0) * (self._taken[kind] / ended if ended else usual)
        return (time.monotonic() - self._began) * ahead / max(taken, 1e-9)


def _engine(plan: Plan, workers: int, dask: str | None) -> Engine:
    """Return the engine for a plan: this process, worker processes, or a Dask cluster."""
    if dask is not None and plan.missing:
        from onegrad.sweeps.dask import dask_engine

        return dask_engine(dask, workers=workers, needed=plan.bytes)
    known = snapshot()
    if workers == 1:
        return lambda tasks: (run_task(task, known) for task in tasks)
    return lambda tasks: run_tasks(
        run_task,
        tasks,
        arguments=lambda task: (task, known),
        workers=workers,
        after_death=_after_death,
    )


def _after_death(task: Task, begun: int) -> tuple[list[Task], Outcome | None]:
    """Return the task's jobs as single tasks; report a job that has killed too many workers.

    The worker died while it ran the job that was begun last.
    """
    apart = task.alone()
    suspect = apart[min(begun, len(apart)) - 1]
    suspect.deaths += 1
    if suspect.deaths < MOST_DEATHS:
        return apart, None
    return [part for part in apart if part is not suspect], lost_outcome(suspect)


def lost_outcome(task: Task) -> Outcome:
    """Return the failed rows of a task whose workers all died."""
    error = WorkerLost(f"{task.deaths} workers died while they ran this trial; is memory short?")
    rows = [failed_row(job, m, error, 0.0) for job in task.jobs for m in job.models]
    return Outcome(task, rows, len(task.jobs))
