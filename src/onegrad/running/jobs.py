"""One job of a sweep: a trial of one setting, run in whichever process, returned as rows."""

from __future__ import annotations

import functools
import platform
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any, Literal

from threadpoolctl import threadpool_info, threadpool_limits

from onegrad import __version__
from onegrad.describe.arrays import Floats
from onegrad.describe.digests import digest
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.registry import Snapshot, adopt
from onegrad.machine.workers import begin
from onegrad.models.model import MODELS, Model
from onegrad.problem.problem import Problem
from onegrad.problem.registered import registered_marks
from onegrad.training.reuse import Shared
from onegrad.training.streams import NUMERICS
from onegrad.verbs.closed_draw import Predicted, predict_closed, predict_closed_together
from onegrad.verbs.methods import DEFAULT_METHOD, Method
from onegrad.verbs.observation import observed_trial
from onegrad.verbs.predicted_draw import predict_draw
from onegrad.verbs.trial import run_trial

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

    `deaths` counts the workers that died with it, of a single job. `rank` is the place of the sweep
    that asks for it, `cost` the estimated seconds. Rows of a task that is not `kept` are not
    stored: those of theory without draws, whose jobs are solved together.
    """

    jobs: list[Job]
    deaths: int = 0
    rank: int = 0
    cost: float = 0.0
    kept: bool = True

    @property
    def kind(self) -> str:
        """What its jobs do; how far an estimate is off depends on it."""
        return self.jobs[0].verb if self.kept else "closed"

    def alone(self) -> list[Task]:
        """Return one task per job, to find out which of them kills workers."""
        cost = self.cost / len(self.jobs)
        return [replace(self, jobs=[job], cost=cost) for job in self.jobs]


@dataclass(frozen=True)
class Outcome:
    """What a task brought: rows of its jobs, and warnings for the driver to show once."""

    task: Task
    rows: list[dict[str, Any]]
    failed: int
    notes: list[str] = field(default_factory=list)


class OtherNumerics(RuntimeError):
    """A worker has another version of the numerics than the driver."""


def run_task(task: Task, known: Snapshot, *, numerics: int = NUMERICS) -> Outcome:
    """Return the rows of the task's jobs; a job that raises gives rows with its error."""
    if numerics != NUMERICS:
        raise OtherNumerics(
            f"numerics={numerics}: a worker has version {NUMERICS}; install the same onegrad there"
        )
    adopt(known)
    if not task.kept:
        begin()
        return Outcome(task, closed_rows(task.jobs), 0)
    shared = Shared() if len(task.jobs) > 1 else None
    rows, failed = [], 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for job in task.jobs:
            begin()
            job_rows = _rows(job, shared)
            failed += any(row["status"] == "failed" for row in job_rows)
            rows += job_rows
    notes = list(dict.fromkeys(str(w.message) for w in caught))
    return Outcome(task, rows, failed, notes)


def run_in_worker(task: Task, known: Snapshot, *, numerics: int = NUMERICS) -> Outcome:
    """Return the rows in a process that is a worker: one BLAS thread from now on."""
    threadpool_limits(limits=1)
    return run_task(task, known, numerics=numerics)


def closed_rows(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Return the rows of all jobs by theory without draws, solved together.

    Rows of points that it refuses say so in their status; its doubts are in `theory_error`.
    """
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts are in the rows
        try:
            asked = [(job.problem, job.models) for job in jobs]
            answers: list[Predicted | None] = [*predict_closed_together(asked)]
        except (InvalidInput, Failure):  # at some of the points
            answers = [_closed_alone(job) for job in jobs]
    share = (time.perf_counter() - start) / len(jobs)
    return [
        row
        for job, answer in zip(jobs, answers, strict=True)
        for row in (
            finished_rows(job, answer[0], seconds=share)
            if answer is not None
            else [{**_common(job, m, share), "status": "refused"} for m in job.models]
        )
    ]


def _closed_alone(job: Job) -> Predicted | None:
    """Return the metrics of one point and its notes, None where they are refused."""
    try:
        return predict_closed(job.problem, job.models)
    except (InvalidInput, Failure):
        return None


def _rows(job: Job, shared: Shared | None) -> list[dict[str, Any]]:
    start = time.perf_counter()
    try:
        metrics, seen = _computed(job, shared)
    except Exception as error:  # a trial may fail in any way; the sweep goes on and records it
        if len(job.models) > 1:
            # Which of the models fails? The numbers of each do not depend on the others.
            return [row for m in job.models for row in _rows(replace(job, models=(m,)), shared)]
        return [failed_row(job, job.models[0], error, time.perf_counter() - start)]
    return finished_rows(job, metrics, seconds=time.perf_counter() - start, seen=seen)


def finished_rows(
    job: Job,
    metrics: Mapping[str, Mapping[str, Floats]],
    *,
    seconds: float,
    seen: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a job with the metrics of its models, which took so long together."""
    share = seconds / len(job.models)
    return [
        {
            **_common(job, model, share),
            "status": "ok",
            "metrics": {name: values.tolist() for name, values in metrics[model.name].items()},
            # What was seen belongs to the trial: one of its rows holds it.
            **({"observed": seen} if seen is not None and index == 0 else {}),
        }
        for index, model in enumerate(job.models)
    ]


def _computed(
    job: Job, shared: Shared | None
) -> tuple[dict[str, dict[str, Floats]], dict[str, Any] | None]:
    """Return the metrics of a job's models, and what was observed as plain values."""
    where: dict[str, Any] = {"seed": job.seed, "trial": job.trial}
    if job.verb == "predict":
        drawn = predict_draw(job.problem, job.models, method=job.method, shared=shared, **where)
        return drawn, None
    if job.observe == "no":
        return run_trial(job.problem, job.models, shared=shared, **where), None
    metrics, seen = observed_trial(job.problem, job.models, **where)
    return metrics, seen.to_dict(neurons=job.observe == "neurons")


def failed_row(job: Job, model: Model, error: BaseException, seconds: float) -> dict[str, Any]:
    """Return the row of a trial that gave no numbers."""
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
    """Return the model's key in stored rows: with a digest of its code where a user added it."""
    mark = MODELS.mark(model.name.partition(":")[0])
    return model.key if mark is None else f"{model.key} {mark[:SHORT_MARK]}"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that make the numbers."""
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
