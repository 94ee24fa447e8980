"""The engine on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import re
import socket
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

from onegrad.core.streams import NUMERICS
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import shown
from onegrad.describe.registry import snapshot
from onegrad.machine.pool import RETRY_SECONDS
from onegrad.machine.signals import interrupts_ignored
from onegrad.sweeps.driver import Engine, lost_outcome
from onegrad.sweeps.plan import Outcome, Task, run_task

CONNECT_SECONDS = 10
PROTOCOLS, LAST_PORT = ("tcp", "tls", "ws", "wss"), 65535
MAIN_GUARD = 'put what a script does under if __name__ == "__main__":'
IN_FLIGHT_PER_THREAD = 3  # so that no worker waits for the driver
DEATHS_ALLOWED = 4  # of workers before the scheduler drops a task (its allowed-failures + 1)
POLL_SECONDS, LOOK_SECONDS, NO_WORKERS_SECONDS = 0.01, 2.0, 600
# How long a local cluster waits for a dead worker to return: for ever, because its nanny starts
# another one, and Dask checks only once, when that one may have died too.
LOST_SECONDS = 30 * 24 * 3600
FETCH_SECONDS = 10  # for a finished outcome; then its worker counts as lost


class EngineLost(Failure):
    """The cluster is gone; stored rows are safe."""


def dask_engine(address: str, *, workers: int, needed: float) -> Engine:
    """Return the engine of a Dask cluster: a scheduler's address, or "local" to start one.

    `needed` is the peak memory of a trial, which every worker must be allowed.
    """
    distributed = _distributed(address)
    from dask.config import set as dask_settings

    client = _client(distributed, address, workers)
    try:
        _check_memory(client, address, needed)
    except InvalidInput:
        client.close()
        raise

    def run(tasks: list[Task]) -> Iterator[Outcome]:
        kept = (
            {"distributed.deploy.lost-worker-timeout": LOST_SECONDS} if address == "local" else {}
        )
        with dask_settings(kept), client:
            yield from _outcomes(distributed, client, tasks)

    return run


def try_address(address: str) -> None:
    """Raise InvalidInput unless a scheduler answers at the address."""
    distributed = _distributed(address)
    if address == "local":
        _require_no_import()
    else:
        _connected(distributed, address).close()


def check_address(address: str) -> None:
    """Raise InvalidInput unless this is "local" or can be a scheduler's address."""
    if address == "local":
        return
    parts = re.fullmatch(r"(?:([a-z]+)://)?(?:[^\s/:\[\]]+|\[[0-9a-fA-F:.]+\]):0*([0-9]*)", address)
    if parts is None:
        raise InvalidInput(
            f"dask={shown(address)}: must be local or a scheduler's address; try tcp://HOST:8786"
        )
    protocol, port = parts[1] or "tcp", parts[2]
    is_port = 0 < len(port) <= len(str(LAST_PORT)) and int(port) <= LAST_PORT
    if protocol not in PROTOCOLS or not is_port:
        raise InvalidInput(
            f"dask={shown(address)}: must have one of the protocols {', '.join(PROTOCOLS)} and a "
            f"port up to {LAST_PORT}; try tcp://HOST:8786"
        )


def _distributed(address: str) -> Any:
    require_extra(f"dask={shown(address)}", "dask")
    import distributed

    return distributed


def _client(distributed: Any, address: str, workers: int) -> Any:
    if address != "local":
        return _connected(distributed, address)
    _require_no_import()
    _require_guard()
    try:
        with interrupts_ignored():
            return distributed.Client(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0"
            )
    except (OSError, RuntimeError, TimeoutError) as error:
        reason = shown(str(error)).strip("'\"") or type(error).__name__
        raise InvalidInput(f"dask='local': no workers start ({reason}); {MAIN_GUARD}") from None


def _require_no_import() -> None:
    """Exit if this process is a new worker that imports a script without a main guard.

    Such a script would start workers in every worker.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.exit(f"onegrad: dask='local': this script is imported by a worker; {MAIN_GUARD}")


def _require_guard() -> None:
    """Raise InvalidInput if a new process cannot import the script that is running.

    Many releases of Dask replace a worker that cannot start, and go on for ever.
    """
    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    with interrupts_ignored():
        process.start()
    process.join()
    if process.exitcode:
        raise InvalidInput(f"dask='local': no workers start; {MAIN_GUARD}")


def _nothing() -> None:
    """Do nothing, in a process that has imported the script."""


def _connected(distributed: Any, address: str) -> Any:
    """Return a client of the scheduler at an address."""
    check_address(address)
    protocol, _, place = address.rpartition("://")
    secured = protocol in ("tls", "wss")
    if secured and not distributed.Security().get_connection_args("client")["ssl_context"]:
        raise InvalidInput(
            f"dask={shown(address)}: needs certificates; name them in Dask's configuration, under "
            "distributed.comm.tls"
        )
    try:
        # Without a known host, a client needs twenty seconds to give up: look the host up first.
        host, _, port = place.rpartition(":")
        socket.getaddrinfo(host.strip("[]"), int(port))
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InvalidInput(
            f"dask={shown(address)}: no scheduler answers ({reason}); check the address"
        ) from None


def _check_memory(client: Any, address: str, needed: float) -> None:
    limits = [w["memory_limit"] for w in client.scheduler_info(n_workers=-1)["workers"].values()]
    least = min((limit for limit in limits if limit), default=float("inf"))
    if needed > least:
        raise InvalidInput(
            f"dask={address!r}: a worker is allowed {least / 1e9:.3g} GB, a trial needs "
            f"{needed / 1e9:.3g} GB; give workers more memory, or lower dimension, samples or width"
        )
    if not limits:
        warnings.warn(f"dask={address}: has no workers yet; waiting for them", stacklevel=2)


def _outcomes(distributed: Any, client: Any, tasks: list[Task]) -> Iterator[Outcome]:
    known = snapshot()
    waiting = deque(tasks)
    suspects: deque[Task] = deque()  # tasks on workers that died; each is tried alone
    in_flight: dict[Any, Task] = {}
    completed = distributed.as_completed(loop=client.loop)

    def submit(task: Task) -> None:
        future = client.submit(run_task, task, known, numerics=NUMERICS, pure=False)
        in_flight[future] = task
        completed.add(future)

    def fill() -> None:
        threads = sum(client.nthreads().values())
        while waiting and len(in_flight) < max(IN_FLIGHT_PER_THREAD * threads, 2):
            submit(waiting.popleft())
        if suspects and not in_flight:
            time.sleep(RETRY_SECONDS)
            submit(suspects.popleft())

    fill()
    while in_flight:
        _wait_for_one(client, completed)
        future = next(completed)
        task = in_flight.pop(future)
        outcome = _outcome(distributed, future, task, waiting, suspects)
        future.release()
        fill()
        if outcome is not None:
            yield outcome


def _wait_for_one(client: Any, completed: Any) -> None:
    """Wait until a future is done; raise if the cluster has had no workers for too long."""
    alone_since = None
    looked = time.monotonic()
    while not completed.has_ready():
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        if now - looked < LOOK_SECONDS:
            continue
        looked = now
        if client.status != "running" or client.nthreads():
            alone_since = None
        else:
            alone_since = alone_since or now
            if now - alone_since > NO_WORKERS_SECONDS:
                raise EngineLost(
                    f"dask: no workers for {NO_WORKERS_SECONDS} s; finished rows are stored; start "
                    "workers, then the command again"
                )


def _outcome(
    distributed: Any, future: Any, task: Task, waiting: deque[Task], suspects: deque[Task]
) -> Outcome | None:
    """Return the outcome of a task; None if it goes back into a queue."""
    error = future.exception() if future.status == "error" else None
    if future.status == "finished":
        try:
            outcome: Outcome = future.result(timeout=FETCH_SECONDS)
        except distributed.KilledWorker as killed:
            error = killed
        except (OSError, TimeoutError, distributed.client.FutureCancelledError):
            waiting.append(task)  # its worker was lost before the outcome was fetched
            return None
        else:
            return outcome
    elif error is None and future.client.status == "running":
        waiting.append(task)  # its worker was lost as soon as the task had ended
        return None
    if isinstance(error, distributed.KilledWorker):
        # The scheduler blames every task on a worker that dies. A job is to blame only if its
        # worker dies again with nothing else in flight.
        if task.deaths:
            task.deaths += DEATHS_ALLOWED
            return lost_outcome(task)
        task.deaths = DEATHS_ALLOWED
        suspects.extend(task.alone())
        return None
    if error is not None:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise EngineLost(
            f"dask: a worker cannot run trials ({reason[:120]}); install the same onegrad there, "
            "then start the command again"
        )
    raise EngineLost(
        "dask: the scheduler is gone; finished rows are stored; start the command again"
    )
