"""The driver of a sweep: plan what is missing, run it on an engine, store every row as it comes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onegrad.cost import Rates, measure_rates, seconds
from onegrad.engines import Engine, in_this_process, local_processes
from onegrad.jobs import Job, Task, registered_functions
from onegrad.randomness import NUMERICS
from onegrad.resources import peak_bytes, require_memory, theory_bytes
from onegrad.store import Contents, Writer, check_writable, digest, read
from onegrad.sweep import Setting, Sweep
from onegrad.sweep_results import Results
from onegrad.validation import InvalidInput, shown, whole_number

TASK_SECONDS = 0.5  # small trials travel together up to about this long
TASKS_PER_WORKER = 4  # but each worker gets several tasks, so that all end together


class SweepInterrupted(KeyboardInterrupt):
    """The sweep was stopped by the user; the message tells what is stored."""


@dataclass(frozen=True)
class Plan:
    """What sweeps ask for and what is still missing in the folder.

    `seconds` is the estimated time of the missing trials on one core, `bytes` the estimated peak
    memory of the largest trial.
    """

    sweeps: tuple[tuple[Sweep, tuple[Setting, ...]], ...]
    directory: Path
    missing: tuple[Job, ...]
    total: int
    failed: int
    seconds: float
    bytes: float
    contents: Contents
    rates: Rates

    @property
    def settings(self) -> list[Setting]:
        """The settings of all sweeps."""
        return [setting for _, settings in self.sweeps for setting in settings]

    @property
    def stored(self) -> int:
        """Trials that are in the folder already."""
        return self.total - len(self.missing)


@dataclass(frozen=True)
class Progress:
    """How far the run is: trials done in this run, trials to do, failed ones among the done."""

    done: int
    goal: int
    failed: int


def plan_sweep(sweep: Sweep, directory: str | Path, *, retry_failed: bool = False) -> Plan:
    """Return the plan of a sweep into a folder; nothing is written but a missing folder."""
    return plan_sweeps([sweep], directory, retry_failed=retry_failed)


def plan_sweeps(
    sweeps: Sequence[Sweep], directory: str | Path, *, retry_failed: bool = False
) -> Plan:
    """Return one plan of several sweeps into a folder; what they have in common is run once."""
    if not isinstance(directory, str | Path) or not str(directory):
        raise InvalidInput(f"out={directory!r}: must be a folder; name one")
    for sweep in sweeps:
        if not isinstance(sweep, Sweep):
            raise InvalidInput(f"sweep={shown(sweep)}: must be a Sweep; load one with Sweep.load")
    folder = Path(directory)
    check_writable(folder)
    expanded = tuple((sweep, tuple(sweep.settings())) for sweep in sweeps)
    contents = read(folder)
    missing, total, failed = [], 0, 0
    asked: set[str] = set()
    for sweep, settings in expanded:
        for job in (job for setting in settings for job in _jobs(sweep, setting)):
            keys = {}
            for model in job.models:
                key = job.key(model)
                if key not in asked:
                    keys[model] = key
                    asked.add(key)
            total += bool(keys)
            lost = [m for m, key in keys.items() if _is_failed(contents, key)]
            failed += bool(lost)
            wanted = [
                m
                for m, key in keys.items()
                if key not in contents.rows or (retry_failed and m in lost)
            ]
            if wanted:
                missing.append(replace(job, models=tuple(wanted)))
    rates = measure_rates()
    spent = sum(seconds(job.problem, job.models, rates, verb=job.verb) for job in missing)
    every = (_bytes(sweep, setting) for sweep, settings in expanded for setting in settings)
    needed = max(every, default=0.0)
    return Plan(expanded, folder, tuple(missing), total, failed, spent, needed, contents, rates)


def _bytes(sweep: Sweep, setting: Setting) -> float:
    """Return the peak memory of one worker on this setting, over what it does there."""
    simulated = peak_bytes(setting.problem, setting.models) if "simulate" in sweep.verbs else 0.0
    return max(simulated, theory_bytes(setting.problem) if "predict" in sweep.verbs else 0.0)


def check_plan(plan: Plan, *, workers: int) -> None:
    """Raise InvalidInput when the workers together need more memory than this machine has."""
    whole_number("workers", workers, least=1)
    require_memory(plan.bytes, workers=workers)


def _is_failed(contents: Contents, key: str) -> bool:
    return key in contents.rows and contents.rows[key]["status"] == "failed"


def _jobs(sweep: Sweep, setting: Setting) -> Iterator[Job]:
    for verb in sweep.verbs:
        problem, models, count = setting.problem.trained, setting.models, sweep.trials
        if verb == "predict":
            # The conditional model has no theory of its own: its errors are the network's.
            models = tuple(m for m in models if m.kind != "conditional")
            problem, count = setting.problem, sweep.draws
        if models:
            for trial in range(count):
                yield Job(verb, problem, models, sweep.seed, trial, sweep.method)


def run_sweep(
    sweep: Sweep,
    directory: str | Path,
    *,
    workers: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[Progress], None] | None = None,
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
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Return all results in the folder after running what the plan misses."""
    if dask is None:
        check_plan(plan, workers=workers)
    engine = _engine(plan, workers, dask)  # a cluster that does not answer leaves nothing behind
    with Writer(plan.directory) as writer:
        _keep_sweeps(plan)
        held = {digest(setting) for setting in plan.contents.settings}
        new = [s for s in _setting_records(plan) if digest(s) not in held]
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
    progress: Callable[[Progress], None] | None,
) -> None:
    state = Progress(0, len(plan.missing), 0)
    said: set[str] = set()
    reports = engine(tasks)
    try:
        with closing(reports):  # type: ignore[type-var]
            for report in reports:
                writer.append(report.rows)
                done, failed = state.done + report.jobs, state.failed + report.failed
                state = Progress(done, state.goal, failed)
                for note in report.notes:
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
        from onegrad.engine_dask import dask_engine

        return dask_engine(dask, workers=workers, needed=plan.bytes)
    return in_this_process if workers == 1 else local_processes(workers)


def make_tasks(plan: Plan, workers: int) -> list[Task]:
    """Return the missing jobs in tasks, trial by trial, what shares draws and products together.

    Within a trial problems that differ in the network alone come in turn, the widest first.
    """
    longest = min(TASK_SECONDS, plan.seconds / (workers * TASKS_PER_WORKER))
    places = {
        mark: _place(s)
        for s in plan.settings
        for mark in (s.problem.trained.digest, s.problem.digest)
    }
    ordered = sorted(
        plan.missing, key=lambda job: (job.trial, job.verb, *places[job.problem.digest])
    )
    tasks: list[Task] = []
    held = 0.0
    for job in ordered:
        cost = seconds(job.problem, job.models, plan.rates, verb=job.verb)
        if not tasks or held + cost > longest:
            tasks.append(Task([]))
            held = 0.0
        tasks[-1].jobs.append(job)
        held += cost
    return tasks


def _place(setting: Setting) -> tuple[Any, ...]:
    fields = setting.problem.to_dict()
    network = fields.pop("network")
    samples = fields.pop("samples")
    rest = digest(fields)
    return rest, -setting.problem.width, samples, network["activation"], setting.problem.digest


def _setting_records(plan: Plan) -> list[dict[str, Any]]:
    """Return what the results need to know of each setting."""
    return [
        {
            "kind": "setting",
            "sweep": sweep.digest,
            "coordinates": {n: _plain(v) for n, v in setting.coordinates.items()},
            "problem": setting.problem.digest,
            "trained": setting.problem.trained.digest,
            "fields": setting.problem.to_dict(),
            "models": [{"name": m.name, "key": m.key, "degree": m.degree} for m in setting.models],
            "seed": sweep.seed,
            "method": sweep.method,
            "numerics": NUMERICS,
            "functions": registered_functions(setting.problem),
        }
        for sweep, settings in plan.sweeps
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
