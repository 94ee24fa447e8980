"""The driver: run a plan on an engine and store every row as it comes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.digests import digest
from onegrad.problem.registered import registered_marks
from onegrad.running.engines import Engine, in_this_process, worker_processes
from onegrad.running.jobs import Task, stored_key
from onegrad.running.plan import Plan, check_plan, make_tasks, plan_sweep
from onegrad.running.store import Writer
from onegrad.running.sweeps import Setting, Sweep
from onegrad.running.table import Results
from onegrad.training.streams import NUMERICS


class SweepInterrupted(KeyboardInterrupt):
    """The sweep was stopped by the user; the message tells what is stored."""


@dataclass(frozen=True)
class Done:
    """How far a run is: trials done in this run, trials to do, failed ones among the done."""

    done: int
    goal: int
    failed: int


def run_sweep(
    sweep: Sweep,
    directory: str | Path,
    *,
    workers: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[Done], None] | None = None,
) -> Results:
    """Return all results in the folder after running what the sweep misses there.

    `workers` processes on this machine, or a Dask cluster: the address of its scheduler, or
    "local". Rows do not depend on where they were computed.
    """
    return run_plan(
        plan_sweep(sweep, directory, retry_failed=retry_failed),
        workers=workers,
        dask=dask,
        progress=progress,
    )


def run_plan(
    plan: Plan,
    *,
    workers: int = 1,
    dask: str | None = None,
    progress: Callable[[Done], None] | None = None,
) -> Results:
    """Return all results in the folder after running what the plan misses."""
    if dask is None:
        check_plan(plan, workers=workers)
    engine = _engine(plan, workers, dask)  # a cluster that does not answer leaves nothing behind
    with Writer(plan.directory) as writer:
        _keep_sweeps(plan)
        stored = {digest(setting) for setting in plan.contents.settings}
        asked = (s for pair in plan.sweeps for s in setting_records(*pair))
        new = [setting for setting in asked if digest(setting) not in stored]
        if new:
            writer.append(new)
        if plan.missing:
            _run(plan, writer, engine, make_tasks(plan, workers), progress)
    return Results.load(plan.directory)


def _run(
    plan: Plan,
    writer: Writer,
    engine: Engine,
    tasks: list[Task],
    progress: Callable[[Done], None] | None,
) -> None:
    state = Done(0, len(plan.missing), 0)
    said: set[str] = set()
    outcomes = engine(tasks)
    try:
        with closing(outcomes):  # type: ignore[type-var]
            for outcome in outcomes:
                writer.append(outcome.rows)
                done, failed = state.done + outcome.jobs, state.failed + outcome.failed
                state = Done(done, state.goal, failed)
                for note in outcome.notes:
                    kind = re.sub(r"\d[\d.e+-]*", "#", note)  # one of a kind, whatever its numbers
                    if kind not in said:
                        said.add(kind)
                        warnings.warn(note, stacklevel=4)
                if progress is not None:
                    progress(state)
    except KeyboardInterrupt:
        raise SweepInterrupted(
            f"interrupted; {plan.stored + state.done} of {plan.total} trials are stored; start the "
            "same command again to continue"
        ) from None


def _engine(plan: Plan, workers: int, dask: str | None) -> Engine:
    if dask is not None and plan.missing:
        from onegrad.running.dask_engine import dask_engine

        return dask_engine(dask, workers=workers, needed=plan.bytes)
    return in_this_process if workers == 1 else worker_processes(workers)


def setting_records(sweep: Sweep, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Return what the results need to know of each setting of a sweep."""
    mark = sweep.digest
    return [
        {
            "kind": "setting",
            "sweep": mark,
            "coordinates": {n: _plain(v) for n, v in setting.coordinates.items()},
            "problem": setting.problem.digest,
            "training_problem": setting.problem.for_training.digest,
            "fields": setting.problem.to_dict(),
            "ridges": list(setting.problem.ridges),
            "steps": list(setting.problem.recorded_steps),
            "models": [
                {"name": m.name, "key": stored_key(m), "degree": m.degree} for m in setting.models
            ],
            "seed": sweep.seed,
            "method": sweep.method,
            "numerics": NUMERICS,
            "functions": registered_marks(setting.problem),
        }
        for setting in settings
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool) else str(value)


def _keep_sweeps(plan: Plan) -> None:
    """Keep the sweeps beside their rows as TOML files; an equal one is left alone."""
    for sweep, _ in plan.sweeps:
        path = plan.directory / f"sweep-{sweep.digest[:12]}.toml"
        if not path.exists():
            sweep.save(path)
