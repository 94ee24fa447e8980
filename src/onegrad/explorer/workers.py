"""Worker processes of the explorer: the most urgent call first, one call in flight each.

A call whose caller has gone is given a moment to end; then its worker is replaced, so that nothing
abandoned keeps a processor busy.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.registry import snapshot
from onegrad.explorer.worker_loop import LENGTH, packed
from onegrad.machine.workers import WORKER_ENVIRONMENT

GRACE_SECONDS = 1.0  # for a call that nobody waits for any more
ANSWER_LIMIT = 2**26  # bytes


@dataclass(order=True)
class Call:
    """A function to run in a worker; smaller urgency runs first."""

    urgency: int
    place: int
    function: Callable[..., Any] = field(compare=False)
    arguments: tuple[Any, ...] = field(compare=False)
    future: asyncio.Future[Any] = field(compare=False)


class WorkerProcess:
    """One process with one BLAS thread that answers calls."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, niceness: int) -> WorkerProcess:
        """Return a new process; it has a group of its own, so that Ctrl-C reaches it not."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "onegrad.explorer.worker_loop",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                **os.environ,
                **WORKER_ENVIRONMENT,
                "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
            },
            start_new_session=True,
            limit=ANSWER_LIMIT,
        )
        worker = cls(process)
        worker._send((niceness, snapshot()))
        return worker

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(packed(message))

    async def answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return the function's result; raise what it raised, or Failure where the worker died."""
        assert self.process.stdout is not None
        try:
            self._send((function, arguments))
            head = await self.process.stdout.readexactly(LENGTH.size)
            content = await self.process.stdout.readexactly(LENGTH.unpack(head)[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerDied("worker: died at this setting; is memory short? lower it") from None
        how, result = pickle.loads(content)
        if how == "value":
            return result
        raise InvalidInput(result) if how == "invalid" else Failure(result)

    async def end(self) -> None:
        """End the process at once and wait until it has gone."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


class WorkerDied(Failure):
    """A worker ended before it answered."""


class Crew:
    """Workers and the calls that wait for them."""

    def __init__(self, workers: int, *, niceness: int = 0, seconds: float = 120.0) -> None:
        self.workers, self._niceness, self._seconds = workers, niceness, seconds
        self._waiting: list[Call] = []
        self._places = itertools.count()
        self._wake = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the workers; calls may be made at once."""
        if not self._loops:
            self._loops = [asyncio.create_task(self._serve()) for _ in range(self.workers)]

    async def close(self) -> None:
        """End all workers; calls that wait are cancelled."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops = []
        for call in self._waiting:
            call.future.cancel()
        self._waiting.clear()

    async def call(self, function: Callable[..., Any], *arguments: Any, urgency: int = 0) -> Any:
        """Return function(*arguments) of a worker; cancel the caller to give it up."""
        self.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        heapq.heappush(
            self._waiting, Call(urgency, next(self._places), function, arguments, future)
        )
        self._wake.set()
        return await future

    async def _next(self) -> Call:
        while True:
            while self._waiting:
                call = heapq.heappop(self._waiting)
                if not call.future.done():
                    return call
            self._wake.clear()
            await self._wake.wait()

    async def _serve(self) -> None:
        """Answer calls with one worker, replaced when it dies or has to be given up."""
        worker: WorkerProcess | None = None
        try:
            while True:
                if worker is None:
                    worker = await self._started()
                call = await self._next()
                if not await self._run(worker, call):
                    await worker.end()
                    worker = None
        finally:
            if worker is not None:
                await worker.end()

    async def _started(self) -> WorkerProcess:
        """Return a new worker, as soon as the system lets one start."""
        while True:
            try:
                return await WorkerProcess.start(self._niceness)
            except OSError as error:
                print(f"onegrad: worker: {error.strerror}; trying again", file=sys.stderr)
                await asyncio.sleep(GRACE_SECONDS)

    async def _run(self, worker: WorkerProcess, call: Call) -> bool:
        """Settle a call; return whether the worker can take another."""
        answer = asyncio.create_task(worker.answer(call.function, call.arguments))
        try:
            await asyncio.wait(
                {answer, call.future},
                timeout=self._seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if call.future.done() and not answer.done():  # nobody waits for it any more
                await asyncio.wait({answer}, timeout=GRACE_SECONDS)
        finally:
            if not answer.done():
                answer.cancel()
        if answer.cancelled() or not answer.done():
            if not call.future.done():
                call.future.set_exception(
                    Failure(
                        f"time: this setting takes more than {self._seconds:g} s; lower dimension, "
                        "samples or width"
                    )
                )
            return False
        error = answer.exception()
        if not call.future.done():
            if error is None:
                call.future.set_result(answer.result())
            else:
                call.future.set_exception(error)
        return not isinstance(error, WorkerDied)
