"""The driver: run a plan on an engine and store every row as it comes.

Engines: run tasks somewhere and yield their outcomes as they come, in any order.

Every engine replaces a lost worker and retries what it held, first job by job, so that one bad
trial does not take others along; a trial that keeps killing its workers is reported as failed.
"""

from __future__ import annotations

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

from threadpoolctl import threadpool_limits

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
    run_in_worker,
    run_task,
    setting_records,
)
from onegrad.sweeps.results import Results
from onegrad.sweeps.store import Writer, mend, prepare
from onegrad.sweeps.sweep import Sweep

Engine = Callable[[list[Task]], Iterator[Outcome]]


class WorkerLost(RuntimeError):
    """A worker process ended while it ran a trial: killed, or out of memory."""


def in_this_process(tasks: list[Task]) -> Iterator[Outcome]:
    """Run the tasks here, one after the other, with one BLAS thread."""
    known = snapshot()
    for task in tasks:
        with threadpool_limits(limits=1):
            outcome = run_task(task, known)
        yield outcome


def worker_processes(workers: int) -> Engine:
    """Return the engine of `workers` processes on this machine."""

    def run(tasks: list[Task]) -> Iterator[Outcome]:
        known = snapshot()
        return run_tasks(
            run_in_worker,
            tasks,
            arguments=lambda task: (task, known),
            workers=workers,
            after_death=_after_death,
        )

    return run


def _after_death(task: Task, begun: int) -> tuple[list[Task], Outcome | None]:
    """Return the task again, its jobs apart; report a job that has killed too many workers.

    The job that was begun last is the one that the worker died with.
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


class SweepInterrupted(Stopped):
    """The sweep was stopped by the user or the system; the message tells what is stored."""


@dataclass(frozen=True)
class Done:
    """How far a run is: trials done in this run, trials to do, failed ones among the done.

    Theory points count as trials. `left` is the estimated time in seconds to the end, and `rows`
    are those that came last.
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
    """Return all results in the folder after running what the sweep misses there.

    `workers` processes on this machine, or a Dask cluster: the address of its scheduler, or
    "local". Rows do not depend on where they were computed. `progress` is called with what is
    done; True shows a bar.
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
    with shown_progress(progress, "trials") as told:
        tell = None if told is None else lambda done: told(done.done, done.goal)
        return run_plan(plan, workers=workers, dask=dask, progress=tell)


def run_plan(
    plan: Plan,
    *,
    workers: int = 1,
    dask: str | None = None,
    beside: Sequence[Task] = (),
    progress: Callable[[Done], None] | None = None,
) -> Results:
    """Return all results in the folder after running what the plan misses.

    Tasks `beside` it take their turn by rank; their rows are told to `progress` and not stored.
    """
    if dask is None:
        check_plan(plan, workers=workers)
    if plan.missing:
        require_free(plan.directory)  # said before workers start
    engine = _engine(plan, workers, dask)  # a cluster that does not answer leaves nothing behind
    prepare(plan.directory)
    with ExitStack() as stack:
        beat = _lock(plan, stack)
        if beat is not None:
            plan = renewed(plan)
            for note in mend(plan.directory, plan.contents.damaged):
                warnings.warn(note, stacklevel=2)
        writer = stack.enter_context(Writer(plan.directory))
        _keep_sweeps(plan)
        stored = {digest(setting) for setting in plan.contents.settings}
        asked = (s for pair in plan.sweeps for s in setting_records(*pair))
        new = [setting for setting in asked if digest(setting) not in stored]
        if new:
            writer.append(new)
        tasks = make_tasks(plan, workers) if beat is not None else []
        tasks = sorted([*tasks, *beside], key=lambda task: task.rank)
        if tasks:
            _run(plan, writer, tasks, engine, beat, progress)
    return Results.load(plan.directory)


def _lock(plan: Plan, stack: ExitStack) -> Heartbeat | None:
    """Return the folder's lock, held by the stack; None where there is nothing to do under it."""
    if not plan.missing and not plan.contents.damaged:
        return None
    try:
        return stack.enter_context(hold(plan.directory))
    except StoreBusy:
        if plan.missing:
            raise
        return None  # nothing to compute; who computes there next sets aside what is damaged


class _Clock:
    """The time to the end: estimates of each kind of task, corrected by those that have ended."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._began = time.monotonic()
        self._ahead: dict[str, float] = defaultdict(float)
        self._ended: dict[str, float] = defaultdict(float)  # what they were estimated to take
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


def _run(
    plan: Plan,
    writer: Writer,
    tasks: list[Task],
    engine: Engine,
    beat: Heartbeat | None,
    progress: Callable[[Done], None] | None,
) -> None:
    clock, stored = _Clock(tasks), 0
    state = Done(0, sum(len(task.jobs) for task in tasks), 0)
    said: set[str] = set()
    try:
        with closing(engine(tasks)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                count, left = len(outcome.task.jobs), clock.left(outcome)
                done, failed = state.done + count, state.failed + outcome.failed
                with stops_deferred():  # what is written is counted
                    if outcome.task.kept:
                        writer.append(outcome.rows)
                        stored += count
                    state = Done(done, state.goal, failed, left, outcome.rows)
                for note in outcome.notes:
                    kind = re.sub(r"\d[\d.e+-]*", "#", note)  # one of a kind, whatever its numbers
                    if kind not in said:
                        said.add(kind)
                        warnings.warn(note, stacklevel=4)
                if progress is not None:
                    progress(state)
                if beat is not None and beat.lost:
                    raise StoreBusy(
                        f"out={str(plan.directory)!r}: another driver took the folder over, which "
                        "heard nothing of this one; finished rows are stored; let that one finish"
                    )
    except KeyboardInterrupt as stop:
        raise SweepInterrupted(
            getattr(stop, "number", signal.SIGINT),
            f"{plan.stored + stored} of {plan.total} trials are stored; start the same command "
            "again to continue",
        ) from None


def _engine(plan: Plan, workers: int, dask: str | None) -> Engine:
    if dask is not None and plan.missing:
        from onegrad.sweeps.dask import dask_engine

        return dask_engine(dask, workers=workers, needed=plan.bytes)
    return in_this_process if workers == 1 else worker_processes(workers)


def _keep_sweeps(plan: Plan) -> None:
    """Keep the sweeps beside their rows as TOML files; an equal one is left alone."""
    for sweep, _ in plan.sweeps:
        path = plan.directory / f"sweep-{sweep.digest[:12]}.toml"
        if not path.exists():
            sweep.save(path)
