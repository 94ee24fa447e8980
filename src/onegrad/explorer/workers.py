"""Worker processes of the explorer: the most urgent call first, one call in flight each.

The processes are the package's own workers. A call that nobody waits for any more gets a moment to
end; then its worker is replaced, so that nothing abandoned keeps a processor busy.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.registry import Snapshot, adopt, snapshot
from onegrad.machine.cost import machine_bytes
from onegrad.machine.pool import Worker

GRACE_SECONDS = 1.0  # for a call that nobody waits for any more
LEAST_BYTES, SHARE = 2e9, 0.5  # of the machine's memory, for one worker
LOGGER = logging.getLogger(__name__)


class WorkerDied(Failure):
    """A worker ended before it answered."""


@dataclass(order=True)
class Call:
    """A function to run in a worker; smaller urgency runs first."""

    urgency: int
    place: int
    function: Callable[..., Any] = field(compare=False)
    arguments: tuple[Any, ...] = field(compare=False)
    future: asyncio.Future[Any] = field(compare=False)


class Workers:
    """Workers and the calls that wait for them."""

    def __init__(self, count: int, *, niceness: int = 0, seconds: float = 120.0) -> None:
        self.count, self._niceness, self._seconds = count, niceness, seconds
        self._waiting: asyncio.PriorityQueue[Call] = asyncio.PriorityQueue()
        self._places = itertools.count()
        self._loops: list[asyncio.Task[None]] = []
        self._asked: set[asyncio.Future[Any]] = set()  # calls that are not answered
        self._closing: Exception | None = None

    def start(self) -> None:
        """Start the workers; calls may be made at once."""
        if not self._loops:
            self._loops = [asyncio.create_task(self._serve()) for _ in range(self.count)]

    def leave(self, error: Exception) -> None:
        """Answer all calls, and later ones, with an error."""
        self._closing = error
        for future in self._asked:
            if not future.done():
                future.set_exception(error)

    async def close(self) -> None:
        """End all workers, whatever they do."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    async def call(self, function: Callable[..., Any], *arguments: Any, urgency: int = 0) -> Any:
        """Return function(*arguments), computed by a worker; cancel the caller to give it up."""
        if self._closing is not None:
            raise self._closing
        self.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait(Call(urgency, next(self._places), function, arguments, future))
        self._asked.add(future)
        try:
            return await future
        finally:
            self._asked.discard(future)

    async def _serve(self) -> None:
        """Answer calls with one worker, replaced when it dies or has to be given up."""
        while True:
            worker = None
            try:
                worker = self._started()
                while await self._answer(worker, await self._waiting.get()):
                    pass
            except OSError as error:
                LOGGER.warning("cannot start a worker (%s); trying again", error.strerror)
                await asyncio.sleep(GRACE_SECONDS)
            finally:
                if worker is not None:
                    await asyncio.to_thread(worker.kill, wait=True)

    def _started(self) -> Worker:
        """Return a worker whose process starts now, before a call needs it."""
        worker = Worker()
        with _interrupts_blocked():
            _observed(worker.submit(_prepared, (self._niceness, snapshot())))
        return worker

    async def _answer(self, worker: Worker, call: Call) -> bool:
        """Settle a call; return whether the worker can take another."""
        if call.future.done():
            return True
        try:
            answer = _observed(worker.submit(_computed, (call.function, call.arguments)))
        except BrokenProcessPool:  # it died while it was idle: another takes the call
            self._waiting.put_nowait(call)
            return False
        await asyncio.wait(
            {answer, call.future}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if call.future.done() and not answer.done():  # nobody waits for it any more
            await asyncio.wait({answer}, timeout=GRACE_SECONDS)
        died = answer.done() and isinstance(answer.exception(), BrokenProcessPool)
        if not call.future.done():
            if not answer.done():
                line = f"time: this setting takes more than {self._seconds:g} s"
                call.future.set_exception(Failure(f"{line}; lower dimension, samples or width"))
            elif died:
                call.future.set_exception(
                    WorkerDied("worker: died at this setting; is memory short? lower it")
                )
            elif (error := answer.exception()) is not None:
                call.future.set_exception(error)
            else:
                call.future.set_result(answer.result())
        return answer.done() and not died


def _observed(future: Any) -> asyncio.Future[Any]:
    """Return a worker's future for this loop, whose error may stay unread."""
    wrapped = asyncio.wrap_future(future)
    wrapped.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return wrapped


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let a process that is started meanwhile not receive Ctrl-C, which the server handles."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepared(niceness: int, known: Snapshot) -> None:
    """Prepare a worker process: its priority, its memory, and what users have registered."""
    if niceness:
        os.nice(niceness)
    _limit_memory()
    adopt(known)


def _limit_memory() -> None:
    """Let a setting that needs too much memory fail by itself, not the machine."""
    try:
        import resource
    except ImportError:  # another system than Unix: the server's time limit remains
        return
    limit = max(LEAST_BYTES, SHARE * machine_bytes())
    if limit < float("inf"):
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), most))


def _computed(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return function(*arguments) in a worker; raise InvalidInput or Failure with one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)
    except (InvalidInput, Failure):
        raise
    except MemoryError:
        raise Failure(
            "memory: is not enough for this setting; lower dimension or samples"
        ) from None
    except Exception as error:
        # The server stays up whatever a setting meets; the terminal has the traceback.
        traceback.print_exc(file=sys.stderr)
        line = " ".join(str(error).split())
        raise Failure(f"{type(error).__name__}: {line}; see the terminal") from None
