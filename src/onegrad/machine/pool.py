"""Worker processes with one task in flight each; the task of a dead worker is tried again.

One worker process with one BLAS thread: it runs a call, tells what it has begun, and ends.

Each worker is a pool of one process: when it dies, it is known which task it held, and by a count
that outlives it, which of the task's trials it had begun.

A worker that dies before it has begun a trial does not count against the trial. Idle workers stay
for a minute, so that the next call does not start others.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from onegrad.describe.exceptions import Failure
from onegrad.describe.registry import Snapshot, adopt, snapshot
from onegrad.machine.progress import listening
from onegrad.machine.signals import HANGUP, interrupts_ignored

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/pid")
_GONE = ("Z", "X")  # states of a process that has ended and waits to be noticed


def this_machine() -> str:
    """Return what tells this machine, boot and space of process numbers from others."""
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    space = str(NAMESPACE.readlink()) if NAMESPACE.exists() else ""
    return " ".join(part for part in (socket.gethostname(), boot, space) if part)


def start_of(process: int) -> str | None:
    """Return when a process began, in the system's ticks; None where the system does not say."""
    fields = _state_fields(process)
    return None if fields is None else fields[19]


def is_running(process: int, start: str | None) -> bool | None:
    """Return whether the process of that number and start runs here; None when unknown."""
    if os.name != "posix":
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, and there
        pass
    fields = _state_fields(process)
    if fields is None or start is None:
        return None
    return fields[0] not in _GONE and fields[19] == start


def _state_fields(process: int) -> list[str] | None:
    """Return the fields of /proc/N/stat from the state on, which is the third; None without."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


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


T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]  # done, total
# What to run in place of a task whose worker died when it had begun so many of the task's trials,
# and what to report at once, if anything.
AfterDeath = Callable[[T, int], tuple[list[T], R | None]]

IDLE_SECONDS = 60
MOST_DEATHS = 3
LOOK_SECONDS = 0.5  # between looks at how far running tasks are
RETRY_SECONDS = 0.5  # until what a dead worker held is tried again: memory may be free by then
MOST_FALSE_STARTS = 20  # workers in a row that die before they have begun anything
LONGEST_REST_SECONDS = 5.0  # of a place whose workers die so


def run_jobs(
    function: Callable[..., T],
    jobs: Sequence[dict[str, Any]],
    *,
    workers: int,
    within: Callable[[float], None] | None = None,
) -> Iterator[T]:
    """Yield function(**job) for every job, in order, with one BLAS thread per worker.

    One worker is this process, whose own thread setting is restored afterwards. A job whose worker
    dies is tried again, MOST_DEATHS times in all. `within` is told how many jobs are done, with the
    shares of those that run.
    """
    if workers == 1:
        for index, job in enumerate(jobs):
            with threadpool_limits(limits=1), listening(_after(index, within)):
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
        within=within,
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


def _after(done: int, within: Callable[[float], None] | None) -> Callable[[float], None] | None:
    """Return what a job tells its share to, after so many are done."""
    return None if within is None else lambda share: within(done + share)


class _Numbered:
    """A job with its place, and how many workers died with it."""

    def __init__(self, index: int, job: dict[str, Any]) -> None:
        self.index, self.job, self.deaths = index, job, 0


def _try_again(task: _Numbered, _begun: int) -> tuple[list[_Numbered], None]:
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
    begin()
    adopt(known)
    with (
        threadpool_limits(limits=1),
        listening(tick),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        return index, function(**job), [str(w.message) for w in caught]


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
    team: _Team[T, R] = _Team(function, arguments, deque(tasks), within)
    healthy = False
    try:
        for _ in range(min(workers, len(tasks))):
            team.add(_IDLE.take() or Worker())
        while team.has_work:
            team.start_idle()
            for future in team.finished():
                outcome = team.settle(future, after_death)
                team.start_idle()
                if outcome is not None:
                    yield outcome
        healthy = True
    finally:
        if healthy:
            _IDLE.rest(team.workers)
        else:
            kill_all(team.workers)


class _Team(Generic[T, R]):
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
        self._retries: deque[tuple[float, T]] = deque()  # not before a time, after all others
        self.workers: list[Worker] = []
        self._free_from: dict[int, float] = {}  # places without a task, and since or from when
        self._in_flight: dict[Future[R], tuple[int, T]] = {}
        self._false_starts = 0

    @property
    def has_work(self) -> bool:
        """Whether a task runs or waits."""
        return bool(self._in_flight or self._waiting or self._retries)

    def add(self, worker: Worker) -> None:
        """Take a worker into the team."""
        self._free_from[len(self.workers)] = 0.0
        self.workers.append(worker)

    def start_idle(self) -> None:
        """Give free workers the next tasks, those to be tried again last."""
        now = time.monotonic()
        for slot in [slot for slot, when in self._free_from.items() if when <= now]:
            if self._waiting:
                self._start(slot, self._waiting.popleft())
            elif self._retries and self._retries[0][0] <= now:
                self._start(slot, self._retries.popleft()[1])

    def _start(self, slot: int, task: T) -> None:
        del self._free_from[slot]
        arguments = self._arguments(task)
        try:
            future = self.workers[slot].submit(self._function, arguments)
        except BrokenProcessPool:  # died while it was idle
            self._replace(slot)
            future = self.workers[slot].submit(self._function, arguments)
        self._in_flight[future] = (slot, task)

    def finished(self) -> list[Future[R]]:
        """Return futures that are done, none when a task may start before one is."""
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
            running = (self.workers[slot].share() for slot, _ in self._in_flight.values())
            self._within(self._settled + sum(running))
        return list(wait(self._in_flight, timeout=pause, return_when=FIRST_COMPLETED).done)

    def settle(self, future: Future[R], after_death: AfterDeath[T, R]) -> R | None:
        """Return what a task brought; None when it is to be tried again."""
        slot, task = self._in_flight.pop(future)
        begun = self.workers[slot].take_begun()
        now = time.monotonic()
        self._free_from[slot] = now
        if not isinstance(future.exception(), BrokenProcessPool):
            self._false_starts = 0
            self._settled += 1
            return future.result()
        self._replace(slot)
        if not begun:
            self._free_from[slot] = now + self._rest_after_false_start()
            self._retries.append((now + RETRY_SECONDS, task))
            return None
        self._false_starts = 0
        again, outcome = after_death(task, begun)
        not_before = time.monotonic() + RETRY_SECONDS
        self._retries.extend((not_before, part) for part in again)
        return outcome

    def _rest_after_false_start(self) -> float:
        """Return how long a place rests whose worker died early; raise when too many did."""
        self._false_starts += 1
        if self._false_starts >= MOST_FALSE_STARTS:
            raise Failure(
                f"workers: {self._false_starts} in a row died before they began a trial; is "
                "memory short? use fewer workers, then start the command again"
            )
        return min(0.1 * 2**self._false_starts, LONGEST_REST_SECONDS)

    def _replace(self, slot: int) -> None:
        """Put a new worker in the place of one that died."""
        self.workers[slot].kill(wait=False)
        self.workers[slot] = Worker()


class _Idle:
    """Workers without work, which wait a while for the next call.

    loky's own time-out is not used: it can miss the death of a worker that took the place of one
    that had left.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._timer: threading.Timer | None = None

    def take(self) -> Worker | None:
        """Return a waiting worker, None when there is none."""
        with self._lock:
            return self._workers.pop() if self._workers else None

    def rest(self, workers: list[Worker]) -> None:
        """Let workers wait; after IDLE_SECONDS without a call they are ended."""
        with self._lock:
            self._workers.extend(workers)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE_SECONDS, self._dismiss)
            self._timer.daemon = True
            self._timer.start()

    def _dismiss(self) -> None:
        with self._lock:
            workers, self._workers = self._workers, []
        kill_all(workers)


_IDLE = _Idle()
