"""The explorer's server: the checks that every request passes, the endpoints, the page."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import os
import secrets
import signal
import socket
import threading
import time
import webbrowser
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onegrad.core.problem import Problem, require_problem
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import truth, whole_number
from onegrad.explorer.controls import axis_of
from onegrad.explorer.curves import (
    CLOSED,
    SIMULATED,
    closed_refusal,
    curve,
    points_along,
    simulated_lines,
)
from onegrad.explorer.export import exported
from onegrad.explorer.presets import explorer_document, first_problems, real_problems
from onegrad.explorer.state import (
    DEFAULT_MODELS,
    START,
    ExplorerState,
    read_state,
    whole_within,
)
from onegrad.explorer.views import DRAWN, degrees, plane, step_view
from onegrad.explorer.workers import Workers

PACKAGE = Path(__file__).parents[1]
LARGEST_BODY = 65_536
DEEPEST = 12  # tables and lists inside each other
MOST_CONNECTIONS = 200
CLOSING_SECONDS = 2
MOST_AT_WORK, MOST_SIMULATIONS = 32, 4
MOST_ANSWERS = 512  # in the cache
THEORY_SECONDS, TRIAL_SECONDS = 120.0, 300.0
SIMULATION_NICENESS = 10
STEP = 10  # urgency
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def server_on(listening: socket.socket, problem: Problem, token: str) -> uvicorn.Server:
    """Return the server of an explorer, which has not started."""
    port = listening.getsockname()[1]
    hosts = frozenset({f"{LOOPBACK}:{port}", f"localhost:{port}"})
    app = ExplorerApp(first_problems(problem), workers=worker_count())
    config = uvicorn.Config(
        Guard(application(app), token=token, hosts=hosts),
        http="h11",
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    return _Server(config, app)


class _Server(uvicorn.Server):
    """A server that gives up its work before it closes, so that nobody waits for an answer."""

    def __init__(self, config: uvicorn.Config, app: ExplorerApp) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give up all work, then close."""
        self._app.leave()
        await super().shutdown(sockets)


class Refused(Exception):
    """A request that is not answered: a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Guard:
    """The application behind its checks of host, origin and token.

    Loopback alone does not keep out other pages in the same browser. Their requests have a foreign
    Host (a name that was made to point here) or Origin, and lack the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)  # lifespan

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self._app
        try:
            self._check(HTTPConnection(scope))
        except Refused as error:
            app = refusal(error)
        return await app(scope, receive, send_with_headers)

    def _check(self, request: HTTPConnection) -> None:
        """Raise Refused unless host, origin and token are those of this explorer."""
        remedy = "open the address that was printed"
        headers = request.headers
        if len(headers.getlist("host")) != 1 or headers["host"] not in self._hosts:
            raise Refused(403, f"Host: is not this explorer's; {remedy}")
        if any(o.removeprefix("http://") not in self._hosts for o in headers.getlist("origin")):
            raise Refused(403, f"Origin: is not this explorer's; {remedy}")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, f"Sec-Fetch-Site: is foreign; {remedy}")
        path = request.scope["path"]
        if path.startswith("/static/"):
            return
        in_address = path == "/"
        given = request.query_params.get("token") if in_address else headers.get("x-onegrad-token")
        if not hmac.compare_digest((given or "").encode(), self._token):
            raise Refused(403, f"token: is wrong or missing; {remedy}")


def refusal(error: Exception) -> Response:
    """Return one line that says what is wrong."""
    status = error.status if isinstance(error, Refused) else 422
    return JSONResponse({"error": " ".join(str(error).split())}, status)


async def read_json(request: Request) -> dict[str, Any]:
    """Return the table in a request's body; raise Refused if it is too large or no table."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise Refused(413, f"body: must have at most {LARGEST_BODY} bytes; send less")
    except ClientDisconnect:
        raise Refused(400, "body: ended early; send it again") from None
    too_deep = Refused(400, f"body: must be nested at most {DEEPEST} deep; flatten it")
    try:
        document = json.loads(bytes(body), parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise Refused(400, f"body: is not JSON ({str(error)[:80]}); send a JSON table") from None
    if not isinstance(document, dict):
        raise Refused(400, "body: must be a table; send {…}")
    if _is_deeper(document, DEEPEST):
        raise too_deep
    return document


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether tables and lists are nested in more levels."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(entry, levels - 1) for entry in inner)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:20]} is too large")
    return value


class AnswerCache:
    """The latest answers by their requests: a slider that moves back finds them again."""

    def __init__(self, most: int = MOST_ANSWERS) -> None:
        self._most = most
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def answer(
        self, name: str, document: dict[str, Any], work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Return the answer to a request, computed if it is not in the cache."""
        key = json.dumps([name, document], sort_keys=True)
        if key not in self._answers:
            self._answers[key] = await work()
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        self._answers.move_to_end(key)
        return self._answers[key]


class ExplorerApp:
    """What requests share: starting problems, workers, and the cache of answers."""

    def __init__(self, bases: dict[str, Problem], *, workers: int) -> None:
        self.bases = dict(bases)
        self.workers = Workers(workers, seconds=THEORY_SECONDS)
        # Trained networks give way to theory: the page stays live.
        self.trainers = Workers(
            max(1, workers - 1), niceness=SIMULATION_NICENESS, seconds=TRIAL_SECONDS
        )
        self.cache = AnswerCache()
        self.at_work, self.simulations = 0, 0

    async def open(self) -> None:
        """Warm the workers, then see which real data are available."""
        self.workers.start()
        problem = self.bases[START]
        if closed_refusal(problem, DEFAULT_MODELS) is None:
            warm = [
                self.workers.call(points_along, [problem], DEFAULT_MODELS, CLOSED, True)
                for _ in range(2 * self.workers.count)
            ]
            await asyncio.gather(*warm, return_exceptions=True)
        self.bases |= await asyncio.to_thread(real_problems)

    def leave(self) -> None:
        """Give up all work, so that every waiting client is answered at once."""
        for workers in (self.workers, self.trainers):
            workers.leave(Failure("server: is closing; start onegrad explore again"))

    async def close(self) -> None:
        """End all work and all workers."""
        self.leave()
        await asyncio.gather(self.workers.close(), self.trainers.close())

    def state(self, document: dict[str, Any]) -> ExplorerState:
        """Return the state of a request."""
        return read_state(document.get("state", {}), self.bases)

    async def run(self, request: Request, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the work returns; give it up when the client goes.

        A page cancels its own older requests: the newest state wins there.
        """
        if self.at_work >= MOST_AT_WORK:
            work.close()
            raise Refused(429, f"work: {MOST_AT_WORK} requests wait already; try again soon")
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_disconnected(request))
        self.at_work += 1
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Refused(499, "client: has gone")  # nobody reads it
            return task.result()
        finally:
            self.at_work -= 1
            for part in (task, gone):
                part.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _controls(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    return explorer_document(app.state(document), app.bases)


async def _copy(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    return dict(exported(app.state(document), document.get("as")))


async def _curve(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    points, draft = document.get("points", 8), truth("draft", document.get("draft", True))
    return await curve(app.workers, app.state(document), points=points, draft=draft)


async def _map(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    return await plane(app.workers, app.state(document), document.get("size", 9))


async def _degree(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    return await degrees(app.workers, app.state(document))


async def _step(app: ExplorerApp, document: dict[str, Any]) -> dict[str, Any]:
    problem = app.state(document).problem
    method = CLOSED if closed_refusal(problem, ("network",)) is None else DRAWN
    answer: dict[str, Any] = await app.workers.call(step_view, problem, method, urgency=STEP)
    return answer


Answer = Callable[[ExplorerApp, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
ANSWERS: dict[str, Answer] = {
    "controls": _controls,
    "copy": _copy,
    "curve": _curve,
    "map": _map,
    "degree": _degree,
    "step": _step,
}
CACHED = ("curve", "map", "degree", "step")


def application(app: ExplorerApp) -> Starlette:
    """Return the page, its files, and the endpoints that it asks."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        opening = asyncio.create_task(app.open())
        try:
            yield
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            await app.close()

    async def page(_request: Request) -> Response:
        return FileResponse(PACKAGE / "explorer" / "page" / "index.html")

    async def http_error(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        line = {"error": f"path: {error.detail}; ask the page"}
        return JSONResponse(line, error.status_code, headers=error.headers)

    return Starlette(
        routes=[
            Route("/", page),
            *(
                Route(
                    f"/api/{name}",
                    _endpoint(app, name),
                    methods=["GET", "POST"] if name == "controls" else ["POST"],
                )
                for name in ANSWERS
            ),
            Route("/api/simulate", _simulation(app), methods=["POST"]),
            Mount(
                "/static",
                routes=[
                    Mount(f"/{name}/page", StaticFiles(directory=PACKAGE / name / "page"))
                    for name in ("explorer", "plotting")
                ],
            ),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: http_error},
    )


def _endpoint(app: ExplorerApp, name: str) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers a JSON table with another."""

    async def endpoint(request: Request) -> Response:
        started = time.perf_counter()
        try:
            document = await read_json(request) if request.method == "POST" else {}
            if name in CACHED:
                work = app.cache.answer(name, document, lambda: ANSWERS[name](app, document))
            else:
                work = ANSWERS[name](app, document)
            result = await app.run(request, work)
        except (Refused, InvalidInput, Failure) as error:
            return refusal(error)
        milliseconds = round(1000 * (time.perf_counter() - started), 2)
        return JSONResponse({**result, "milliseconds": milliseconds})

    return endpoint


def _simulation(app: ExplorerApp) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of simulations: one JSON line per point, as they come."""

    async def endpoint(request: Request) -> Response:
        try:
            document = await read_json(request)
            state = app.state(document)
            points, trials = (
                whole_within(name, document.get(name, default), 2, most)
                for name, (default, most) in SIMULATED.items()
            )
            axis_of(state, points)
            if app.simulations >= MOST_SIMULATIONS:
                line = f"simulate: {MOST_SIMULATIONS} run already; cancel one, or wait"
                raise Refused(429, line)
        except (Refused, InvalidInput, Failure) as error:
            return refusal(error)
        return StreamingResponse(lines(state, points, trials), media_type="application/x-ndjson")

    async def lines(state: ExplorerState, points: int, trials: int) -> AsyncIterator[str]:
        app.simulations += 1
        work = simulated_lines(app.trainers, state, points=points, trials=trials)
        try:
            async with aclosing(work):  # a client that stops reading ends it
                async for line in work:
                    yield json.dumps(line) + "\n"
        except (InvalidInput, Failure) as error:
            yield json.dumps({"error": " ".join(str(error).split())}) + "\n"
        finally:
            app.simulations -= 1

    return endpoint


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
    require_extra("explorer", "explore")
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
