"""Workers: urgent calls first, what is given up ends, what dies is replaced."""

import asyncio
import os
import time

import numpy as np
import pytest
from explorer_cases import alive

from onegrad.calculus.functions import FUNCTIONS, register_function
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.explorer import workers
from onegrad.explorer.workers import WorkerDied, Workers


def run(work, **how):
    """Return what a coroutine of one worker returns."""

    async def main():
        pool = Workers(1, **how)
        try:
            return await asyncio.wait_for(work(pool), 60)
        finally:
            await pool.close()

    return asyncio.run(main())


def refuse():
    raise InvalidInput("x=1: must be 2; change it")


def fail():
    raise Failure("work: cannot be done; stop")


def stumble():
    raise ZeroDivisionError("by nought")


def named(name):
    return float(FUNCTIONS[name](np.array([2.0]))[0])


def test_a_call_returns_and_errors_come_back_as_what_they_were():
    async def work(pool):
        assert await pool.call(pow, 2, 5) == 32
        with pytest.raises(InvalidInput, match="must be 2"):
            await pool.call(refuse)
        with pytest.raises(Failure, match="cannot be done"):
            await pool.call(fail)
        with pytest.raises(Failure, match="ZeroDivisionError"):
            await pool.call(stumble)
        return await pool.call(os.getenv, "OPENBLAS_NUM_THREADS")

    assert run(work) == "1"


def test_urgent_calls_overtake_those_that_wait():
    async def work(pool):
        order = []

        async def ask(name, urgency):
            await pool.call(time.sleep, 0.05, urgency=urgency)
            order.append(name)

        asked = [ask("first", 5), *(ask(f"slow {i}", 5) for i in range(3))]
        tasks = [asyncio.ensure_future(a) for a in asked]
        await asyncio.sleep(0)
        await pool.call(pow, 1, 1, urgency=0)  # the worker has started
        tasks.append(asyncio.ensure_future(ask("urgent", 0)))
        await asyncio.gather(*tasks)
        return order

    order = run(work)
    assert order.index("urgent") < order.index("slow 2")


def test_a_worker_that_dies_is_named_and_replaced():
    async def work(pool):
        first = await pool.call(os.getpid)
        with pytest.raises(WorkerDied):
            await pool.call(os._exit, 3)
        return first, await pool.call(os.getpid)

    first, second = run(work)
    assert first != second
    assert not alive(first)


def begin_and_sleep(mark):
    """Say that the call has begun, and end much later."""
    mark.touch()
    time.sleep(600)


def test_a_call_that_nobody_waits_for_does_not_keep_its_worker(monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "GRACE_SECONDS", 0.1)
    mark = tmp_path / "begun"

    async def work(pool):
        first = await pool.call(os.getpid)
        abandoned = asyncio.ensure_future(pool.call(begin_and_sleep, mark))
        while not mark.exists():
            await asyncio.sleep(0.01)
        abandoned.cancel()
        second = await pool.call(os.getpid)
        assert second != first
        assert not alive(first)

    run(work)


def test_a_call_that_takes_too_long_is_refused():
    async def work(pool):
        with pytest.raises(Failure, match="more than"):
            await pool.call(time.sleep, 600)

    run(work, seconds=1.0)


def test_closing_ends_the_workers():
    pids = []

    async def work(pool):
        pids.append(await pool.call(os.getpid))
        asyncio.ensure_future(pool.call(time.sleep, 600)).add_done_callback(lambda f: f.cancelled())
        await asyncio.sleep(0.05)

    run(work)
    assert not alive(pids[0])


def test_workers_know_what_was_registered():
    register_function("twice_of_tests", lambda u: 2 * u, lambda u: 0 * u + 2)
    try:
        assert run(lambda pool: pool.call(named, "twice_of_tests")) == 4.0
    finally:
        del FUNCTIONS.entries["twice_of_tests"]
