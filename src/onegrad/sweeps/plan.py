"""The jobs of a sweep: which are missing, how they are grouped into tasks, and their rows."""

from __future__ import annotations

import functools
import platform
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from threadpoolctl import threadpool_info, threadpool_limits

from onegrad import __version__
from onegrad.calculus.prediction import warn_of
from onegrad.core.draw_cache import Shared
from onegrad.core.models import MODELS, Model
from onegrad.core.problem import Problem, registered_marks
from onegrad.core.streams import NUMERICS
from onegrad.core.trial import run_trial
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.files import digest
from onegrad.describe.numbers import Floats, shown, whole_number
from onegrad.describe.registry import Snapshot, adopt
from onegrad.describe.value import complete_str
from onegrad.machine.cost import Rates, measure_rates, require_memory
from onegrad.machine.pool import begin
from onegrad.sweeps.store import Contents, check_writable, has_changed, read
from onegrad.sweeps.sweep import Setting, Sweep
from onegrad.theory.methods import DEFAULT_METHOD, Method
from onegrad.verbs.cost import peak_bytes, seconds, theory_bytes
from onegrad.verbs.observe import observed_trial
from onegrad.verbs.predict import predict_draw, predict_or_refuse

SHORT_MARK = 12
PACKAGES = ("numpy", "scipy")


@dataclass(frozen=True)
class Job:
    """What one trial needs: a verb, a problem, models, and the numbers that fix its draws."""

    verb: Literal["simulate", "predict"]
    problem: Problem
    models: tuple[Model, ...]
    seed: int
    trial: int
    method: Method = DEFAULT_METHOD
    observe: Literal["no", "steps", "neurons"] = "no"

    def identity(self, model: Model) -> dict[str, Any]:
        """Return everything that determines the model's numbers in this job."""
        fields: dict[str, Any] = {
            "verb": self.verb,
            "problem": self.problem.digest,
            "model": stored_key(model),
            "precision": self.problem.precision,
            "trial": self.trial,
            "seed": self.seed,
            "numerics": NUMERICS,
        }
        if self.verb == "predict":
            fields["method"] = self.method
        if self.observe != "no":
            fields["observe"] = self.observe
        functions = registered_marks(self.problem)
        return {**fields, "functions": functions} if functions else fields

    def key(self, model: Model) -> str:
        """Return the digest under which the model's row is stored."""
        return digest(self.identity(model))


@dataclass
class Task:
    """Jobs of one kind that one worker runs in turn, sharing draws and products.

    `deaths` counts the workers that died while they ran it, `rank` is the place of the sweep that
    asks for it, and `cost` is the estimated time in seconds. Rows of a task that is not `kept` are
    not stored: rows of the closed theory, whose jobs are solved together.
    """

    jobs: list[Job]
    deaths: int = 0
    rank: int = 0
    cost: float = 0.0
    kept: bool = True

    @property
    def kind(self) -> str:
        """The kind of its jobs, on which the error of a cost estimate depends."""
        return self.jobs[0].verb if self.kept else "closed"

    def alone(self) -> list[Task]:
        """Return one task per job, to find out which one kills workers."""
        cost = self.cost / len(self.jobs)
        return [replace(self, jobs=[job], cost=cost) for job in self.jobs]


@dataclass(frozen=True)
class Outcome:
    """The rows of a task, and warnings for the driver to show once."""

    task: Task
    rows: list[dict[str, Any]]
    failed: int
    notes: list[str] = field(default_factory=list)


class OtherNumerics(RuntimeError):
    """The versions of the numerics of a worker and of the driver differ."""


def run_task(task: Task, known: Snapshot, *, numerics: int = NUMERICS) -> Outcome:
    """Return the rows of the task's jobs, computed with one BLAS thread.

    A job that raises gives rows with its error.
    """
    if numerics != NUMERICS:
        raise OtherNumerics(
            f"numerics={numerics}: a worker has version {NUMERICS}; install the same onegrad there"
        )
    adopt(known)
    if not task.kept:
        begin()
        with threadpool_limits(limits=1):
            return Outcome(task, closed_rows(task.jobs), 0)
    shared = Shared() if len(task.jobs) > 1 else None
    rows, failed = [], 0
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for job in task.jobs:
            begin()
            job_rows = _rows(job, shared)
            failed += any(row["status"] == "failed" for row in job_rows)
            rows += job_rows
    notes = list(dict.fromkeys(str(w.message) for w in caught))
    return Outcome(task, rows, failed, notes)


def closed_rows(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Return the rows of all jobs by the closed theory, solved together.

    Rows of points that it refuses have the status "refused"; its doubts are in `theory_error`.
    """
    start = time.perf_counter()
    found = predict_or_refuse([(job.problem, job.models) for job in jobs], method="closed")
    share = (time.perf_counter() - start) / len(jobs)
    rows = []
    for job, own in zip(jobs, found, strict=True):
        if isinstance(own, InvalidInput | Failure):
            rows += [{**_common(job, m, share), "status": "refused"} for m in job.models]
        else:
            found_metrics = own[0].metrics.items()
            metrics = {
                model.name: {name: values[0, i] for name, values in found_metrics}
                for i, model in enumerate(own[0].models)
            }
            rows += finished_rows(job, metrics, seconds=share)
    return rows


def _rows(job: Job, shared: Shared | None) -> list[dict[str, Any]]:
    """Return the rows of one job, finished or failed."""
    start = time.perf_counter()
    where: dict[str, Any] = {"seed": job.seed, "trial": job.trial}
    observed = None
    try:
        if job.verb == "predict":
            drawn = predict_draw(job.problem, job.models, method=job.method, shared=shared, **where)
            warn_of(drawn.notes, method=drawn.method)
            metrics = drawn.metrics
        elif job.observe == "no":
            metrics = run_trial(job.problem, job.models, shared=shared, **where)
        else:
            metrics, seen = observed_trial(job.problem, job.models, **where)
            observed = seen.to_dict(neurons=job.observe == "neurons")
    except Exception as error:  # a trial may fail in any way; the sweep records it and continues
        if len(job.models) > 1:
            # Find the model that fails: the numbers of each do not depend on the others.
            return [row for m in job.models for row in _rows(replace(job, models=(m,)), shared)]
        return [failed_row(job, job.models[0], error, time.perf_counter() - start)]
    return finished_rows(job, metrics, seconds=time.perf_counter() - start, observed=observed)


def finished_rows(
    job: Job,
    metrics: Mapping[str, Mapping[str, Floats]],
    *,
    seconds: float,
    observed: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a job with the metrics of its models, which took `seconds` together."""
    share = seconds / len(job.models)
    return [
        {
            **_common(job, model, share),
            "status": "ok",
            "metrics": {name: values.tolist() for name, values in metrics[model.name].items()},
            # Observations belong to the trial: one of its rows has them.
            **({"observed": observed} if observed is not None and index == 0 else {}),
        }
        for index, model in enumerate(job.models)
    ]


def failed_row(job: Job, model: Model, error: BaseException, seconds: float) -> dict[str, Any]:
    """Return the row of a trial that raised."""
    return {
        **_common(job, model, seconds),
        "status": "failed",
        "error": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
    }


def _common(job: Job, model: Model, seconds: float) -> dict[str, Any]:
    identity = job.identity(model)
    return {
        "kind": "row",
        "key": digest(identity),
        **identity,
        "seconds": seconds,
        "versions": versions(),
        "blas": blas_kernel(),
    }


def stored_key(model: Model) -> str:
    """Return the model's key in stored rows, with a digest of the code of a user's model."""
    mark = MODELS.mark(model.name)
    return model.key if mark is None else f"{model.key} {mark[:SHORT_MARK]}"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute the numbers."""
    packages = {name: metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "onegrad": __version__, **packages}


@functools.cache
def blas_kernel() -> str:
    """Return library, version and kernel of BLAS in this process."""
    libraries = {
        f"{info['internal_api']} {info['version']} {info.get('architecture', '')}".strip()
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return ", ".join(sorted(libraries))


TASK_SECONDS = 0.5  # of a task of several small trials, at most about
TASKS_PER_WORKER = 4  # at least, so that all workers end together


@dataclass(frozen=True)
class Plan:
    """The trials of sweeps, and those that are still missing in the folder.

    `seconds` is the estimated time of the missing trials on one core, `bytes` the estimated peak
    memory of the largest trial, and `keys` are the keys of every row of each sweep.
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
    keys: tuple[tuple[str, ...], ...]
    retry_failed: bool = False

    @property
    def settings(self) -> list[Setting]:
        """The settings of all sweeps."""
        return [setting for _, settings in self.sweeps for setting in settings]

    @property
    def stored(self) -> int:
        """Trials that are in the folder already."""
        return self.total - len(self.missing)


def plan_sweep(sweep: Sweep, directory: str | Path, *, retry_failed: bool = False) -> Plan:
    """Return the plan of a sweep into a folder; nothing is written."""
    return plan_sweeps([sweep], directory, retry_failed=retry_failed)


def plan_sweeps(
    sweeps: Sequence[Sweep], directory: str | Path, *, retry_failed: bool = False
) -> Plan:
    """Return one plan of several sweeps into a folder; their common trials run once."""
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
    all_keys: list[tuple[str, ...]] = []
    for sweep, settings in expanded:
        of_sweep: dict[str, None] = {}
        for job in (job for setting in settings for job in _jobs(sweep, setting)):
            keys = {}
            for model in job.models:
                key = job.key(model)
                of_sweep[key] = None
                if key not in asked:
                    keys[model] = key
                    asked.add(key)
            total += bool(keys)
            status = {m: contents.rows.get(key, {}).get("status") for m, key in keys.items()}
            failed += "failed" in status.values()
            again = (None, "failed") if retry_failed else (None,)
            wanted = [model for model, known in status.items() if known in again]
            if wanted:
                missing.append(replace(job, models=tuple(wanted)))
        all_keys.append(tuple(of_sweep))
    rates = measure_rates()
    needed = [0.0]
    for sweep, settings in expanded:
        if "simulate" in sweep.verbs:
            needed += [peak_bytes(setting.problem, setting.models) for setting in settings]
        if "predict" in sweep.verbs:
            needed += [theory_bytes(setting.problem) for setting in settings]
    return Plan(
        expanded,
        folder,
        tuple(missing),
        total,
        failed,
        seconds=sum(seconds(job.problem, job.models, rates, verb=job.verb) for job in missing),
        bytes=max(needed),
        contents=contents,
        rates=rates,
        keys=tuple(all_keys),
        retry_failed=retry_failed,
    )


def renewed(plan: Plan) -> Plan:
    """Return the plan for the folder's present contents: others may have stored rows since."""
    if not has_changed(plan.directory, plan.contents):
        return plan
    sweeps = [sweep for sweep, _ in plan.sweeps]
    return plan_sweeps(sweeps, plan.directory, retry_failed=plan.retry_failed)


def check_plan(plan: Plan, *, workers: int) -> None:
    """Raise InvalidInput when the workers together need more memory than this machine has."""
    whole_number("workers", workers, least=1)
    require_memory(plan.bytes, workers=workers)


def _jobs(sweep: Sweep, setting: Setting) -> Iterator[Job]:
    for verb in sweep.verbs:
        problem, models, count = setting.problem.for_training, setting.models, sweep.trials
        if verb == "predict" and not setting.problem.has_theory:
            continue
        if verb == "predict":
            models = tuple(m for m in models if m.no_theory is None)
            problem, count = setting.problem, sweep.draws_of_theory
        if models:
            for trial in range(count):
                observe = sweep.observe if verb == "simulate" else "no"
                yield Job(verb, problem, models, sweep.seed, trial, sweep.method, observe)


def make_tasks(plan: Plan, workers: int) -> list[Task]:
    """Return the missing jobs in tasks, sweep by sweep and trial by trial.

    Jobs that share draws and products are together. Within a trial, problems that differ in the
    network alone follow each other, the widest first. Runs that differ in the number of steps alone
    stay together: the longer one continues the shorter one.
    """
    longest = min(TASK_SECONDS, plan.seconds / (workers * TASKS_PER_WORKER))
    ranks: dict[str, int] = {}  # by problem, the first sweep that asks for it
    places: dict[str, tuple[Any, ...]] = {}
    for rank, (_, settings) in enumerate(plan.sweeps):
        for problem in (p for s in settings for p in (s.problem.for_training, s.problem)):
            ranks.setdefault(problem.digest, rank)
            places[problem.digest] = _place(problem)
    tasks: list[Task] = []
    last: tuple[Any, ...] = ()

    def place_of(job: Job) -> tuple[Any, ...]:
        mark = job.problem.digest
        return ranks[mark], job.trial, job.verb, *places[mark]

    for job in sorted(plan.missing, key=place_of):
        place = place_of(job)
        cost = seconds(job.problem, job.models, plan.rates, verb=job.verb)
        shorter = place[:-2] == last[:-2]
        if place[:3:2] != last[:3:2] or (tasks[-1].cost + cost > longest and not shorter):
            tasks.append(Task([], rank=place[0]))
        tasks[-1].jobs.append(job)
        tasks[-1].cost += cost
        last = place
    return tasks


def _place(problem: Problem) -> tuple[Any, ...]:
    """Return a problem's place in a trial; without the last two entries, the place of its run."""
    fields = problem.to_dict()
    network, readout, training = (fields.pop(n) for n in ("network", "readout", "training"))
    steps = training.pop("steps")
    rest = digest([fields, training, {k: v for k, v in readout.items() if k != "samples"}])
    others = digest([network, readout])
    width, samples = problem.width, problem.samples
    return rest, -width, samples, network["activation"], others, steps, problem.digest


def setting_records(sweep: Sweep, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Return the record of each setting of a sweep, from which results make tables."""
    mark = sweep.digest
    plain = (int, float, str, bool)
    return [
        {
            "kind": "setting",
            "sweep": mark,
            "coordinates": {
                name: value if isinstance(value, plain) else complete_str(value)
                for name, value in setting.coordinates.items()
            },
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
