"""Rows of theory without draws beside a sweep's own: computed when they are drawn, not stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.pool import run_jobs
from onegrad.problem.problem import Problem
from onegrad.running.jobs import Job, Task, closed_rows
from onegrad.running.plan import setting_records
from onegrad.running.store import Contents
from onegrad.running.sweeps import Setting, Sweep
from onegrad.running.table import Results
from onegrad.verbs.closed_draw import require_closed_models
from onegrad.verbs.closed_strengths import uniform_strengths
from onegrad.verbs.prediction import require_theory

POINTS_TOGETHER = 32  # that are solved together, in a tenth of a second or more
POINT_SECONDS = 0.015  # that a point of them takes, about
AVERAGED_SECONDS = 0.2  # that one of the settings takes which are averaged for random strengths


def closed_tasks(sweep: Sweep, settings: Sequence[Setting], *, rank: int = 0) -> list[Task]:
    """Return the tasks of theory without draws at these settings."""
    jobs = [Job("predict", s.problem, s.models, sweep.seed, 0, "closed") for s in settings]
    # A point that averages over strengths takes seconds: it is a task of its own.
    costs = [closed_seconds(job.problem) for job in jobs]
    quick = [job for job, cost in zip(jobs, costs, strict=True) if cost == POINT_SECONDS]
    parts = [quick[i : i + POINTS_TOGETHER] for i in range(0, len(quick), POINTS_TOGETHER)]
    tasks = [Task(part, rank=rank, cost=len(part) * POINT_SECONDS, kept=False) for part in parts]
    return tasks + [
        Task([job], rank=rank, cost=cost, kept=False)
        for job, cost in zip(jobs, costs, strict=True)
        if cost != POINT_SECONDS
    ]


def closed_seconds(problem: Problem) -> float:
    """Return about how many seconds closed theory takes for one of several points."""
    components = getattr(problem.data, "components", ())
    ranks = [c.rank for c in components if c.strengths == "uniform" and c.rank]
    settings = len(uniform_strengths(ranks))
    return POINT_SECONDS if settings == 1 else AVERAGED_SECONDS * settings


def with_closed_of_all(results: Results) -> Results:
    """Return the results with rows by method "closed" wherever that knows setting and model.

    The sweeps are those that are kept in the folder; one that cannot be read has no such rows.
    """
    for mark in dict.fromkeys(setting["sweep"] for setting in results.contents.settings):
        kept = results.directory / f"sweep-{mark[:12]}.toml"
        try:
            sweep = Sweep.load(kept)
            # "simulate" alone: settings without theory are no error here.
            asked = sweep.replace(verbs=("simulate",), method="closed", observe="no")
            settings = [part for whole in asked.settings() for part in _known(whole)]
        except InvalidInput as error:
            warnings.warn(f"theory: closed theory is left out: {error}", stacklevel=2)
            continue
        if settings:
            results = with_closed(results, asked, settings)
    return results


def _known(setting: Setting) -> list[Setting]:
    """Return the setting with the models that theory without draws knows, nothing where none."""
    models = []
    for model in setting.models:
        try:
            require_theory(setting.problem)
            require_closed_models([model])
        except InvalidInput:
            continue
        models.append(model)
    return [replace(setting, models=tuple(models))] if models else []


def with_closed(results: Results, sweep: Sweep, settings: Sequence[Setting]) -> Results:
    """Return the results with rows by method "closed" at these settings beside them.

    A point costs milliseconds, and stored it would be two kilobytes that every later run reads.
    Points that this theory refuses have no row; its doubts are in the metric `theory_error`.
    """
    parts = [{"jobs": task.jobs} for task in closed_tasks(sweep, settings)]
    closed = {row["key"]: row for rows in run_jobs(closed_rows, parts, workers=1) for row in rows}
    drawn = results.contents
    records = setting_records(sweep, settings)
    return Results(
        results.directory, Contents([*drawn.settings, *records], {**drawn.rows, **closed})
    )
