"""Engines: run tasks somewhere and yield their reports as they come, in any order.

Every engine replaces a lost worker and retries what it held, first job by job, so that one bad
trial does not take others along; a trial that keeps killing its workers is reported as failed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from onegrad.describe.registry import snapshot
from onegrad.running.jobs import Report, Task, failed_row, run_in_worker, run_task

Engine = Callable[[list[Task]], Iterator[Report]]

MOST_DEATHS = 3
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
# A trial makes and frees the same few arrays over and over. glibc would give their pages back each
# time and take new ones, at an eighth of a small trial's time; other C libraries ignore this.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27)}
WORKER_ENVIRONMENT = {**ONE_THREAD, **KEEP_PAGES}
LOOK_FOR_PARENT_SECONDS = 1.0


class WorkerLost(RuntimeError):
    """A worker process ended while it ran a trial: killed, or out of memory."""


def in_this_process(tasks: list[Task]) -> Iterator[Report]:
    """Run the tasks here, one after the other, with one BLAS thread."""
    known = snapshot()
    for task in tasks:
        with threadpool_limits(limits=1):
            report = run_task(task.jobs, known)
        yield report


def local_processes(workers: int) -> Engine:
    """Return the engine of `workers` processes on this machine.

    Each worker is a pool of one process with one task in flight: when it dies, it is known which
    task it held.
    """

    def run(tasks: list[Task]) -> Iterator[Report]:
        known = snapshot()
        waiting = deque(tasks)
        pools = [_new_pool() for _ in range(min(workers, len(tasks)))]
        held: dict[Future[Report], tuple[int, Task]] = {}

        def start(slot: int) -> None:
            if waiting:
                task = waiting.popleft()
                with interrupts_ignored():
                    future = pools[slot].submit(run_in_worker, task.jobs, known)
                held[future] = (slot, task)

        try:
            for slot in range(len(pools)):
                start(slot)
            while held:
                for future in wait(held, return_when=FIRST_COMPLETED).done:
                    slot, task = held.pop(future)
                    lost = isinstance(future.exception(), BrokenProcessPool)
                    if lost:
                        pools[slot].shutdown(wait=False, kill_workers=True)
                        pools[slot] = _new_pool()
                        report = _after_a_death(task, waiting)
                    else:
                        report = future.result()
                    start(slot)
                    if report is not None:
                        yield report
        finally:
            with _late_work_ignored():
                for pool in pools:
                    pool.shutdown(wait=True, kill_workers=True)

    return run


def _after_a_death(task: Task, waiting: deque[Task]) -> Report | None:
    """Queue the task again, its jobs apart; report a job that has killed too many workers."""
    task.deaths += 1
    if len(task.jobs) > 1:
        waiting.extendleft(reversed(task.alone()))
        return None
    if task.deaths < MOST_DEATHS:
        waiting.appendleft(task)
        return None
    return lost_report(task)


def lost_report(task: Task) -> Report:
    """Return the failed rows of a task whose workers all died."""
    error = WorkerLost(f"{task.deaths} workers died while they ran this trial; is memory short?")
    rows = [failed_row(job, m, error, 0.0) for job in task.jobs for m in job.models]
    return Report(rows, len(task.jobs), len(task.jobs))


def _new_pool() -> Any:
    # loky's workers do not import the caller's script again, as multiprocessing's would.
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=1, initializer=_watch_parent, initargs=(os.getpid(),), env=WORKER_ENVIRONMENT
    )


@contextmanager
def _late_work_ignored() -> Iterator[None]:
    """Keep loky's managers quiet about work that they look for after they have dropped it.

    A task that was handed over just before its pool is killed raises KeyError in the pool's thread.
    """
    before = threading.excepthook

    def hook(found: threading.ExceptHookArgs) -> None:
        managed = type(found.thread).__name__ == "_ExecutorManagerThread"
        if not (managed and isinstance(found.exc_value, KeyError)):
            before(found)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def _watch_parent(parent: int) -> None:
    """Leave soon after the driver has died, however it died."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_FOR_PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, which is the driver's to handle."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
