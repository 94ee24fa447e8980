"""A pool of worker processes with one BLAS thread and at most one task each.

Each worker is a loky executor of one process. When a process dies, the pool therefore knows the
task that it ran and, by a semaphore that outlives it, how many of the task's trials had begun. The
task is tried again; a death before the first trial does not count against it. Idle workers wait a
minute for the next call.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from onegrad.describe.exceptions import Failure
from onegrad.describe.registry import Snapshot, adopt, snapshot
from onegrad.machine.progress import listening
from onegrad.machine.signals import HANGUP, interrupts_ignored

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]  # done, total
# From a task whose worker died and the number of its trials that had begun: the tasks to run in its
# place, and a result to report at once or None.
AfterDeath = Callable[[T, int], tuple[list[T], R | None]]

IDLE_SECONDS = 60
MOST_DEATHS = 3
LOOK_SECONDS = 0.5  # between looks at how far running tasks are
RETRY_SECONDS = 0.5  # before a dead worker's task is tried again: memory may be free by then
MOST_FALSE_STARTS = 20  # workers in a row that die before they have begun a trial
LONGEST_REST_SECONDS = 5.0  # before such a worker is replaced
TICKS = 50  # into which a worker divides the progress of a call
LOOK_FOR_PARENT_SECONDS = 1.0

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
# A trial allocates and frees the same few arrays again and again. By default glibc returns their
# pages each time, which costs an eighth of a small trial's time; other C libraries ignore this.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27)}

LOGGER = logging.getLogger(__name__)


def run_jobs(
    function: Callable[..., T],
    jobs: Sequence[dict[str, Any]],
    *,
    workers: int,
    within: Callable[[float], None] | None = None,
) -> Iterator[T]:
    """Yield function(**job) for every job, in order, with one BLAS thread per worker.

    One worker is this process, whose own thread setting is restored afterwards. A job whose worker
    dies is tried again, MOST_DEATHS times in all. `within` is called with the number of jobs done,
    fractions of running jobs included.
    """
    LOGGER.info("jobs: %d, workers: %d", len(jobs), workers)
    if workers == 1:
        for index, job in enumerate(jobs):
            with threadpool_limits(limits=1), listening(_from(index, within)):
                result = function(**job)
            yield result
        return
    known, seen = snapshot(), set[str]()
    outcomes = run_tasks(
        _run_job,
        [_Job(index, job) for index, job in enumerate(jobs)],
        arguments=lambda task: (function, task.arguments, task.index, known),
        workers=workers,
        after_death=_try_again,
        within=within,
    )
    done: dict[int, T] = {}
    next_index = 0
    for index, result, notes in outcomes:
        for note in notes:
            if note not in seen:
                seen.add(note)
                warnings.warn(note, stacklevel=2)
        done[index] = result
        while next_index in done:
            yield done.pop(next_index)
            next_index += 1


def _from(start: int, within: Callable[[float], None] | None) -> Callable[[float], None] | None:
    return None if within is None else lambda share: within(start + share)


class _Job:
    """The arguments of a job, its place, and the number of workers that died while they ran it."""

    def __init__(self, index: int, arguments: dict[str, Any]) -> None:
        self.index, self.arguments, self.deaths = index, arguments, 0


def _try_again(job: _Job, _begun: int) -> tuple[list[_Job], None]:
    job.deaths += 1
    if job.deaths >= MOST_DEATHS:
        raise Failure(
            f"workers: {job.deaths} died while they ran job {job.index}; is memory short? use "
            "fewer workers"
        )
    return [job], None


def _run_job(
    function: Callable[..., T], arguments: dict[str, Any], index: int, known: Snapshot
) -> tuple[int, T, list[str]]:
    """Return the job's place, result and warnings, from inside a worker."""
    begin()
    adopt(known)
    with (
        threadpool_limits(limits=1),
        listening(_tick),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        return index, function(**arguments), [str(w.message) for w in caught]


def run_tasks(
    function: Callable[..., R],
    tasks: Sequence[T],
    *,
    arguments: Callable[[T], tuple[Any, ...]],
    workers: int,
    after_death: AfterDeath[T, R],
    within: Callable[[float], None] | None = None,
) -> Iterator[R]:
    """Yield function(*arguments(task)) as tasks end, in any order, on worker processes.

    The function calls `begin` before each trial of a task.
    """
    pool: _Pool[T, R] = _Pool(function, arguments, deque(tasks), within)
    healthy = False
    try:
        for _ in range(min(workers, len(tasks))):
            pool.add(_IDLE.take() or Worker())
        while pool.has_work:
            pool.start_idle()
            for future in pool.finished():
                outcome = pool.settle(future, after_death)
                pool.start_idle()
                if outcome is not None:
                    yield outcome
        healthy = True
    finally:
        if healthy:
            _IDLE.rest(pool.workers)
        else:
            for worker in pool.workers:
                worker.kill(wait=True)


class _Pool(Generic[T, R]):
    """Workers with at most one task each, the tasks that wait, and those to be tried again."""

    def __init__(
        self,
        function: Callable[..., R],
        arguments: Callable[[T], tuple[Any, ...]],
        waiting: deque[T],
        within: Callable[[float], None] | None = None,
    ) -> None:
        self._within, self._settled = within, 0
        self._function, self._arguments, self._waiting = function, arguments, waiting
        self._retries: deque[tuple[float, T]] = deque()  # after all others, at this time or later
        self.workers: list[Worker] = []
        self._free_from: dict[int, float] = {}  # by index of an idle worker, when it may start
        self._in_flight: dict[Future[R], tuple[int, T]] = {}
        self._false_starts = 0

    @property
    def has_work(self) -> bool:
        """Whether a task runs or waits."""
        return bool(self._in_flight or self._waiting or self._retries)

    def add(self, worker: Worker) -> None:
        """Take a worker into the pool."""
        self._free_from[len(self.workers)] = 0.0
        self.workers.append(worker)

    def start_idle(self) -> None:
        """Give idle workers the next tasks, tasks to be tried again last."""
        now = time.monotonic()
        for index in [index for index, when in self._free_from.items() if when <= now]:
            if self._waiting:
                self._start(index, self._waiting.popleft())
            elif self._retries and self._retries[0][0] <= now:
                self._start(index, self._retries.popleft()[1])

    def _start(self, index: int, task: T) -> None:
        del self._free_from[index]
        arguments = self._arguments(task)
        try:
            future = self.workers[index].submit(self._function, arguments)
        except BrokenProcessPool:  # died while it was idle
            self._replace(index)
            future = self.workers[index].submit(self._function, arguments)
        self._in_flight[future] = (index, task)

    def finished(self) -> list[Future[R]]:
        """Return futures that are done; an empty list if a task may start before one is."""
        pause = None
        if self._free_from and (self._waiting or self._retries):
            soonest = 0.0 if self._waiting else self._retries[0][0]
            pause = max(0.0, soonest, min(self._free_from.values())) - time.monotonic()
            pause = max(0.0, pause)
        if not self._in_flight:
            time.sleep(pause or 0.0)
            return []
        if self._within is not None:
            pause = LOOK_SECONDS if pause is None else min(pause, LOOK_SECONDS)
            running = (self.workers[index].share() for index, _ in self._in_flight.values())
            self._within(self._settled + sum(running))
        return list(wait(self._in_flight, timeout=pause, return_when=FIRST_COMPLETED).done)

    def settle(self, future: Future[R], after_death: AfterDeath[T, R]) -> R | None:
        """Return the result of a task; None if it is to be tried again."""
        index, task = self._in_flight.pop(future)
        begun = self.workers[index].take_begun()
        now = time.monotonic()
        self._free_from[index] = now
        if not isinstance(future.exception(), BrokenProcessPool):
            self._false_starts = 0
            self._settled += 1
            LOGGER.debug("tasks done: %d", self._settled)
            return future.result()
        LOGGER.info("worker %d died; trials of its task that had begun: %d", index, begun)
        self._replace(index)
        if not begun:
            self._free_from[index] = now + self._rest_after_false_start()
            self._retries.append((now + RETRY_SECONDS, task))
            return None
        self._false_starts = 0
        again, outcome = after_death(task, begun)
        not_before = time.monotonic() + RETRY_SECONDS
        self._retries.extend((not_before, part) for part in again)
        return outcome

    def _rest_after_false_start(self) -> float:
        """Return how long to wait before the next start; raise Failure after too many deaths."""
        self._false_starts += 1
        if self._false_starts >= MOST_FALSE_STARTS:
            raise Failure(
                f"workers: {self._false_starts} in a row died before they began a trial; is "
                "memory short? use fewer workers, then start the command again"
            )
        return min(0.1 * 2**self._false_starts, LONGEST_REST_SECONDS)

    def _replace(self, index: int) -> None:
        """Put a new worker in the place of one that died."""
        self.workers[index].kill(wait=False)
        self.workers[index] = Worker()


class _Idle:
    """Idle workers, which wait IDLE_SECONDS for the next call.

    loky's own time-out is not used: it can miss the death of a worker that replaced another one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._timer: threading.Timer | None = None

    def take(self) -> Worker | None:
        """Return an idle worker, or None."""
        with self._lock:
            return self._workers.pop() if self._workers else None

    def rest(self, workers: list[Worker]) -> None:
        """Add workers; all that wait are ended after IDLE_SECONDS without a call."""
        with self._lock:
            self._workers.extend(workers)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE_SECONDS, self._end_all)
            self._timer.daemon = True
            self._timer.start()

    def _end_all(self) -> None:
        with self._lock:
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill(wait=True)


_IDLE = _Idle()


class Worker:
    """A process that is started by its first call and lives until it is killed."""

    def __init__(self) -> None:
        # loky's workers do not import the caller's script again, as multiprocessing's would.
        from joblib.externals.loky.backend import get_context, resource_tracker
        from joblib.externals.loky.process_executor import ProcessPoolExecutor

        with interrupts_ignored(*HANGUP):  # the tracker cleans up after a closed terminal
            resource_tracker.ensure_running()
        self._begun = get_context().Semaphore(0)
        self._ticks, self._counted = get_context().Semaphore(0), 0
        self._is_started = False
        self._executor = ProcessPoolExecutor(
            max_workers=1,
            initializer=_prepare,
            initargs=(os.getpid(), self._begun, self._ticks),
            env={**ONE_THREAD, **KEEP_PAGES},
        )

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        """Return the future of a call; raise BrokenProcessPool if the process has died."""
        if self._is_started:
            return self._executor.submit(function, *arguments)
        with interrupts_ignored():
            future: Future[Any] = self._executor.submit(function, *arguments)
        self._is_started = True
        return future

    def share(self) -> float:
        """Return the share of the running call that is done, as far as it reports."""
        while self._ticks.acquire(False):
            self._counted += 1
        return min(self._counted / TICKS, 1.0)

    def take_begun(self) -> int:
        """Return how many trials have begun since the last call of this method."""
        self.share()
        self._counted = 0
        count = 0
        while self._begun.acquire(False):
            count += 1
        return count

    def kill(self, *, wait: bool) -> None:
        """End the process at once."""
        # loky's manager thread would raise KeyError for a call that it finds in this queue after
        # the shutdown has dropped it.
        with suppress(queue.Empty):
            while True:
                self._executor._work_ids.get_nowait()
        self._executor.shutdown(wait=wait, kill_workers=True)


class _InWorker:
    """State of a worker process: its semaphores, which are None in the driver."""

    begun: Any = None
    ticks: Any = None
    ticked: int = 0


def _prepare(parent: int, begun: Any, ticks: Any) -> None:
    """Set a worker process up; it exits soon after the driver has died, however that died."""
    from joblib.externals.loky import process_executor

    # loky takes a worker that grew by 300 MB for a leak, replaces it and warns. A large trial grows
    # as much, and its pages stay.
    process_executor._USE_PSUTIL = False
    _InWorker.begun, _InWorker.ticks = begun, ticks

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_FOR_PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def begin() -> None:
    """Count a trial that begins in this worker process; a no-op in the driver."""
    _InWorker.ticked = 0
    if _InWorker.begun is not None:
        _InWorker.begun.release()


def _tick(share: float) -> None:
    """Count every fiftieth of a call that is done in this worker process."""
    while _InWorker.ticks is not None and _InWorker.ticked < int(TICKS * share):
        _InWorker.ticked += 1
        _InWorker.ticks.release()
