"""`explore`: open the explorer in a browser, and serve it until it is interrupted."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onegrad.describe.checks import truth, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.problem.problem import Problem, require_problem

LOOPBACK = "127.0.0.1"
MOST_WORKERS = 4
LARGEST_PORT = 65_535
LOOK_SECONDS = 0.2


def explore(problem: Problem | None = None, *, port: int = 0, browser: bool = True) -> None:
    """Open the explorer on a problem, serve it on loopback, and return when it is interrupted.

    `port` 0 takes a free one. The address, with a random token, is printed.
    """
    problem = Problem() if problem is None else problem
    require_problem(problem)
    whole_number("port", port, least=0)
    truth("browser", browser)
    require_server()
    with listening_on(port) as listening:
        token = secrets.token_urlsafe(24)
        server = server_on(listening, problem, token)
        address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={token}"
        print(f"onegrad explorer: {address}\nCtrl-C ends it.", flush=True)
        # A thread of its own: a notebook runs a loop in this one.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        with _ended_by_signals(server):
            thread.start()
            if browser:
                webbrowser.open(address)
            while thread.is_alive():
                thread.join(LOOK_SECONDS)


def require_server() -> None:
    """Raise InvalidInput with the command that installs what is missing."""
    require_extra("explorer", "explore")


def server_on(listening: socket.socket, problem: Problem, token: str) -> Any:
    """Return the server of an explorer, a uvicorn.Server that has not started."""
    from onegrad.explorer.server import explorer_server

    port = listening.getsockname()[1]
    hosts = frozenset({f"{LOOPBACK}:{port}", f"localhost:{port}"})
    return explorer_server(problem, workers=worker_count(), token=token, hosts=hosts)


def worker_count() -> int:
    """Return how many workers compute curves: one per processor, from two to four."""
    return min(MOST_WORKERS, max(2, os.cpu_count() or 1))


@contextmanager
def listening_on(port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens on loopback; raise InvalidInput if the port is taken."""
    if not isinstance(port, int) or not 0 <= port <= LARGEST_PORT:
        raise InvalidInput(f"port={port}: must lie in [0, {LARGEST_PORT}]; 0 takes a free one")
    # If the protocol is given, asyncio sends small packets at once (TCP_NODELAY): else an answer of
    # head and body waits 40 ms for the acknowledgement of its head.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
            listening.listen()  # now, so that a browser that is quicker than the server waits
        except OSError as error:
            raise InvalidInput(
                f"port={port}: {error.strerror}; choose another, or 0 for a free one"
            ) from None
        yield listening


@contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM close the server; a second one does not wait for answers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: Any) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
