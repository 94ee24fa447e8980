"""One worker process with one BLAS thread: it runs a call, tells what it has begun, and ends.

Each worker is a pool of one process: when it dies, it is known which task it held, and by a count
that outlives it, which of the task's trials it had begun.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from onegrad.machine.signals import HANGUP, interrupts_ignored

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
# A trial makes and frees the same few arrays over and over. glibc would give their pages back each
# time and take new ones, at an eighth of a small trial's time; other C libraries ignore this.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27)}
WORKER_ENVIRONMENT = {**ONE_THREAD, **KEEP_PAGES}
TICKS = 50  # of a call, told as it goes on
LOOK_FOR_PARENT_SECONDS = 1.0


class Worker:
    """A process that is started by its first call and lives until it is killed."""

    def __init__(self) -> None:
        # loky's workers do not import the caller's script again, as multiprocessing's would.
        from joblib.externals.loky.backend import get_context, resource_tracker
        from joblib.externals.loky.process_executor import ProcessPoolExecutor

        with interrupts_ignored(*HANGUP):  # a terminal that closes must not end who tidies up
            resource_tracker.ensure_running()
        self._begun = get_context().Semaphore(0)
        self._ticks, self._counted = get_context().Semaphore(0), 0
        self._is_started = False
        self._executor = ProcessPoolExecutor(
            max_workers=1,
            initializer=_prepare,
            initargs=(os.getpid(), self._begun, self._ticks),
            env=WORKER_ENVIRONMENT,
        )

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        """Return the future of a call; raise BrokenProcessPool when the process has died."""
        future: Future[Any]
        if self._is_started:
            future = self._executor.submit(function, *arguments)
        else:
            with interrupts_ignored():
                future = self._executor.submit(function, *arguments)
            self._is_started = True
        return future

    def share(self) -> float:
        """Return which share of the call that runs is done, as far as it tells."""
        while self._ticks.acquire(False):
            self._counted += 1
        return min(self._counted / TICKS, 1.0)

    def take_begun(self) -> int:
        """Return how many trials were begun since this was last asked, after a call has ended."""
        self.share()
        self._counted = 0
        count = 0
        while self._begun.acquire(False):
            count += 1
        return count

    def kill(self, *, wait: bool) -> None:
        """End the process at once."""
        self._executor.shutdown(wait=wait, kill_workers=True)


class _Marks:
    """What a worker process tells the driver through: a count, None in the driver itself."""

    begun: Any = None
    ticks: Any = None
    told: int = 0


_MARKS = _Marks()


def begin() -> None:
    """Tell the driver that a trial begins in this process; nobody is told in the driver itself."""
    _MARKS.told = 0
    if _MARKS.begun is not None:
        _MARKS.begun.release()


def tick(share: float) -> None:
    """Tell the driver of every fiftieth of a call that is done in this process."""
    while _MARKS.ticks is not None and _MARKS.told < int(TICKS * share):
        _MARKS.told += 1
        _MARKS.ticks.release()


def _prepare(parent: int, begun: Any, ticks: Any) -> None:
    """Keep the count of trials, and leave soon after the driver has died, however it died."""
    from joblib.externals.loky import process_executor

    # loky takes a worker that grew by 300 MB for a leak, replaces it and warns; a large trial grows
    # as much, and keeps its pages.
    process_executor._USE_PSUTIL = False
    _MARKS.begun, _MARKS.ticks = begun, ticks

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_FOR_PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def kill_all(workers: list[Worker]) -> None:
    """End workers at once.

    loky's managers are kept quiet about work that they look for after they have dropped it: a task
    that was handed over just before its pool is killed raises KeyError in the pool's thread.
    """
    before = threading.excepthook

    def hook(problem: threading.ExceptHookArgs) -> None:
        managed = type(problem.thread).__name__ == "_ExecutorManagerThread"
        if not (managed and isinstance(problem.exc_value, KeyError)):
            before(problem)

    threading.excepthook = hook
    try:
        for worker in workers:
            worker.kill(wait=True)
    finally:
        threading.excepthook = before
