"""Worker processes with one BLAS thread each, and one task in flight each.

Each worker is a pool of one process: when it dies, it is known which task it held. Idle workers
stay for a minute, so that the next call does not start others.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from onegrad.describe.exceptions import Failure
from onegrad.describe.registry import Snapshot, adopt, snapshot

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]  # done, total
# What to run in place of a task whose worker died, and what to report at once, if anything.
AfterDeath = Callable[[T], tuple[list[T], R | None]]

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
# A trial makes and frees the same few arrays over and over. glibc would give their pages back each
# time and take new ones, at an eighth of a small trial's time; other C libraries ignore this.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27)}
WORKER_ENVIRONMENT = {**ONE_THREAD, **KEEP_PAGES}
LOOK_FOR_PARENT_SECONDS = 1.0
IDLE_SECONDS = 60
MOST_DEATHS = 3


def run_jobs(
    function: Callable[..., T], jobs: Sequence[dict[str, Any]], *, workers: int
) -> Iterator[T]:
    """Yield function(**job) for every job, in order, with one BLAS thread per worker.

    One worker is this process, whose own thread setting is restored afterwards. A job whose worker
    dies is tried again, MOST_DEATHS times in all.
    """
    if workers == 1:
        for job in jobs:
            with threadpool_limits(limits=1):
                result = function(**job)
            yield result
        return
    known, said = snapshot(), set[str]()
    numbered = [_Numbered(index, job) for index, job in enumerate(jobs)]
    done: dict[int, T] = {}
    outcomes = run_tasks(
        _run_job,
        numbered,
        arguments=lambda task: (function, task.job, task.index, known),
        workers=workers,
        after_death=_try_again,
    )
    next_index = 0
    for index, result, notes in outcomes:
        for note in notes:
            if note not in said:
                said.add(note)
                warnings.warn(note, stacklevel=2)
        done[index] = result
        while next_index in done:
            yield done.pop(next_index)
            next_index += 1


class _Numbered:
    """A job with its place, and how many workers died with it."""

    def __init__(self, index: int, job: dict[str, Any]) -> None:
        self.index, self.job, self.deaths = index, job, 0


def _try_again(task: _Numbered) -> tuple[list[_Numbered], None]:
    task.deaths += 1
    if task.deaths >= MOST_DEATHS:
        raise Failure(
            f"workers: {task.deaths} died while they ran job {task.index}; is memory short? use "
            "fewer workers"
        )
    return [task], None


def _run_job(
    function: Callable[..., T], job: dict[str, Any], index: int, known: Snapshot
) -> tuple[int, T, list[str]]:
    """Return the job's place, result and warnings, which the caller shows once."""
    adopt(known)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return index, function(**job), [str(w.message) for w in caught]


def run_tasks(
    function: Callable[..., R],
    tasks: Sequence[T],
    *,
    arguments: Callable[[T], tuple[Any, ...]],
    workers: int,
    after_death: AfterDeath[T, R],
) -> Iterator[R]:
    """Yield function(*arguments(task)) as tasks end, in any order, on worker processes."""
    team: _Team[T, R] = _Team(function, arguments, deque(tasks), workers)
    healthy = False
    try:
        while team.in_flight:
            for future in wait(team.in_flight, return_when=FIRST_COMPLETED).done:
                slot, task = team.in_flight.pop(future)
                outcome: R | None
                if isinstance(future.exception(), BrokenProcessPool):
                    team.replace(slot)
                    again, outcome = after_death(task)
                    team.waiting.extendleft(reversed(again))
                else:
                    outcome = future.result()
                team.start(slot)
                if outcome is not None:
                    yield outcome
        healthy = True
    finally:
        if healthy:
            _IDLE.rest(team.executors)
        else:
            _kill(team.executors)


class _Team(Generic[T, R]):
    """Workers with at most one task each, and the tasks that wait for one."""

    def __init__(
        self,
        function: Callable[..., R],
        arguments: Callable[[T], tuple[Any, ...]],
        waiting: deque[T],
        workers: int,
    ) -> None:
        self.function, self.arguments, self.waiting = function, arguments, waiting
        self.executors = [
            _IDLE.take() or _new_executor() for _ in range(min(workers, len(waiting)))
        ]
        self.in_flight: dict[Future[R], tuple[int, T]] = {}
        for slot in range(len(self.executors)):
            self.start(slot)

    def start(self, slot: int) -> None:
        """Give the worker of a slot the next task, if there is one."""
        if self.waiting:
            task = self.waiting.popleft()
            try:
                future = self._submit(slot, task)
            except BrokenProcessPool:  # died while it was idle
                self.replace(slot)
                future = self._submit(slot, task)
            self.in_flight[future] = (slot, task)

    def _submit(self, slot: int, task: T) -> Future[R]:
        with interrupts_ignored():
            future: Future[R] = self.executors[slot].submit(self.function, *self.arguments(task))
        return future

    def replace(self, slot: int) -> None:
        """Put a new worker in the place of one that died."""
        self.executors[slot].shutdown(wait=False, kill_workers=True)
        self.executors[slot] = _new_executor()


class _Idle:
    """Executors without work, which wait a while for the next call.

    loky's own time-out is not used: it can miss the death of a worker that took the place of one
    that had left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executors: list[Any] = []
        self._timer: threading.Timer | None = None

    def take(self) -> Any | None:
        """Return a waiting executor, None when there is none."""
        with self._lock:
            return self._executors.pop() if self._executors else None

    def rest(self, executors: list[Any]) -> None:
        """Let executors wait; after IDLE_SECONDS without a call they are ended."""
        with self._lock:
            self._executors.extend(executors)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE_SECONDS, self._dismiss)
            self._timer.daemon = True
            self._timer.start()

    def _dismiss(self) -> None:
        with self._lock:
            executors, self._executors = self._executors, []
        _kill(executors)


_IDLE = _Idle()


def _new_executor() -> Any:
    # loky's workers do not import the caller's script again, as multiprocessing's would.
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=1,
        initializer=_watch_parent,
        initargs=(os.getpid(),),
        env=WORKER_ENVIRONMENT,
    )


def _kill(executors: list[Any]) -> None:
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
        for executor in executors:
            executor.shutdown(wait=True, kill_workers=True)
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
