"""Rows of theory without draws beside a study's own: computed when panels are drawn, not stored."""

from __future__ import annotations

from onegrad.running.driver import setting_records
from onegrad.running.engines import in_this_process, worker_processes
from onegrad.running.jobs import Job, Task
from onegrad.running.store import Contents
from onegrad.running.sweeps import Sweep
from onegrad.running.table import Results

POINTS_TOGETHER = 20  # in one task of a worker, a few tenths of a second


def with_closed(results: Results, sweep: Sweep, *, workers: int) -> Results:
    """Return the results with rows by method "closed" at every setting of the sweep beside them.

    A point costs milliseconds, and stored it would be two kilobytes that every later run reads.
    Points that this theory refuses have no row; its doubts are in the metric `theory_error`.
    """
    settings = sweep.settings()
    jobs = [Job("predict", s.problem, s.models, sweep.seed, 0, "closed") for s in settings]
    starts = range(0, len(jobs), POINTS_TOGETHER)
    tasks = [Task(jobs[start : start + POINTS_TOGETHER]) for start in starts]
    engine = in_this_process if workers == 1 else worker_processes(workers)
    rows = (row for outcome in engine(tasks) for row in outcome.rows)
    closed = {row["key"]: row for row in rows if row["status"] == "ok"}
    drawn = results.contents
    records = setting_records(sweep, settings)
    return Results(
        results.directory, Contents([*drawn.settings, *records], {**drawn.rows, **closed})
    )
