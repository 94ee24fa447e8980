"""Engines: run tasks somewhere and yield their outcomes as they come, in any order.

Every engine replaces a lost worker and retries what it held, first job by job, so that one bad
trial does not take others along; a trial that keeps killing its workers is reported as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from threadpoolctl import threadpool_limits

from onegrad.describe.registry import snapshot
from onegrad.machine.pool import MOST_DEATHS, run_tasks
from onegrad.running.jobs import Outcome, Task, failed_row, run_in_worker, run_task

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
