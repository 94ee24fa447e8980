"""Rows of theory without draws beside a sweep's own: computed when they are drawn, not stored."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.machine.pool import run_jobs
from onegrad.running.driver import setting_records
from onegrad.running.jobs import Job, finished_rows
from onegrad.running.store import Contents
from onegrad.running.sweeps import Setting, Sweep
from onegrad.running.table import Results
from onegrad.verbs.closed_draw import (
    Predicted,
    predict_closed,
    predict_closed_together,
    require_closed_models,
)
from onegrad.verbs.prediction import require_theory

POINTS_TOGETHER = 32  # that are solved together, in a tenth of a second or more


def with_closed(results: Results, sweep: Sweep, *, workers: int) -> Results:
    """Return the results with rows by method "closed" at every setting of the sweep beside them.

    A point costs milliseconds, and stored it would be two kilobytes that every later run reads.
    Points that this theory refuses have no row; its doubts are in the metric `theory_error`.
    """
    return _beside(results, sweep, sweep.settings(), workers)


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
            results = _beside(results, asked, settings, 1)
    return results


def _known(setting: Setting) -> list[Setting]:
    """Return the setting with the models that theory without draws knows, nothing where none."""
    models = []
    for model in setting.models:
        try:
            require_theory(setting.problem, "closed")
            require_closed_models([model])
        except InvalidInput:
            continue
        models.append(model)
    return [replace(setting, models=tuple(models))] if models else []


def _beside(results: Results, sweep: Sweep, settings: Sequence[Setting], workers: int) -> Results:
    """Return the results with rows of these settings beside them."""
    jobs = [Job("predict", s.problem, s.models, sweep.seed, 0, "closed") for s in settings]
    starts = range(0, len(jobs), POINTS_TOGETHER)
    parts = [{"jobs": jobs[start : start + POINTS_TOGETHER]} for start in starts]
    closed: dict[str, dict[str, Any]] = {}
    for rows in run_jobs(_rows, parts, workers=workers):
        closed |= {row["key"]: row for row in rows}
    drawn = results.contents
    records = setting_records(sweep, settings)
    return Results(
        results.directory, Contents([*drawn.settings, *records], {**drawn.rows, **closed})
    )


def _rows(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Return the rows of all jobs that theory without draws does not refuse."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts are in the rows
        try:
            predicted: list[Predicted | None] = [
                *predict_closed_together([(job.problem, job.models) for job in jobs])
            ]
        except (InvalidInput, Failure):  # at some of the points
            predicted = [_predicted(job) for job in jobs]
    share = (time.perf_counter() - start) / len(jobs)
    return [
        row
        for job, answer in zip(jobs, predicted, strict=True)
        if answer is not None
        for row in finished_rows(job, answer[0], seconds=share)
    ]


def _predicted(job: Job) -> Predicted | None:
    """Return the metrics of one point and its notes, None where they are refused."""
    try:
        return predict_closed(job.problem, job.models)
    except (InvalidInput, Failure):
        return None
