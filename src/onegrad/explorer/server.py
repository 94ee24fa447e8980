"""The explorer's application: checks of requests, endpoints, the page and its files."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.explorer.controls import axis_of
from onegrad.explorer.curves import (
    CLOSED,
    DEFAULT_POINTS,
    DEFAULT_TRIALS,
    checked_size,
    closed_refusal,
    curve,
    points_along,
    simulate_points,
)
from onegrad.explorer.export import copied
from onegrad.explorer.presets import explorer_document, real_bases
from onegrad.explorer.remembered import Remembered
from onegrad.explorer.state import DEFAULT_MODELS, START, ExplorerState, read_state
from onegrad.explorer.views import DRAWN, degrees, plane, step_view
from onegrad.explorer.workers import Workers
from onegrad.problem.problem import Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 65_536
BODY_SECONDS = 5.0
TOKEN_HEADER = b"x-onegrad-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Refused(Exception):
    """A request that is not answered: a status and one line."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class Guard:
    """The application behind its checks.

    Loopback alone does not keep other pages of the same browser out: they are foreign by Host
    (a name that was made to point here), by Origin, and do not know the token.
    """

    def __init__(self, app: App, *, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)  # lifespan
        sender = _WithHeaders(send)
        try:
            self._check(scope)
            scope["body"] = await asyncio.wait_for(_body(scope, receive), BODY_SECONDS)
        except TimeoutError:
            await _refuse(sender, 408, f"body: must arrive within {BODY_SECONDS:g} s; send it anew")
        except Refused as refused:
            await _refuse(sender, refused.status, refused.said)
        else:
            await self._app(scope, receive, sender)
        return None

    def _check(self, scope: Scope) -> None:
        """Raise Refused unless host, origin and token are those of this explorer."""
        headers = dict(scope["headers"])  # of repeated ones the last
        if _repeated(scope, b"host") or _text(headers.get(b"host")) not in self._hosts:
            raise Refused(403, "Host: is not this explorer's; open the address that it printed")
        origin = headers.get(b"origin")
        if origin is not None and _text(origin).removeprefix("http://") not in self._hosts:
            raise Refused(403, "Origin: is not this explorer's; open the address that it printed")
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Refused(403, "Sec-Fetch-Site: is foreign; open the address that was printed")
        path = scope["path"]
        if path.startswith("/static/"):
            return
        given = headers.get(TOKEN_HEADER, b"")
        if path == "/":
            asked = parse_qs(_text(scope["query_string"])).get("token", [""])
            given = asked[0].encode()
        if not hmac.compare_digest(given, self._token):
            raise Refused(403, "token: is wrong or missing; open the address that was printed")


def _repeated(scope: Scope, name: bytes) -> bool:
    return sum(key == name for key, _ in scope["headers"]) > 1


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the body; raise Refused where it is too large, at the latest when it has become so."""
    if scope["method"] in ("GET", "HEAD"):
        return b""
    announced = _text(dict(scope["headers"]).get(b"content-length"))
    too_large = Refused(413, f"body: must have at most {LARGEST_BODY} bytes; send less")
    if announced.isdigit() and int(announced[:20]) > LARGEST_BODY:
        raise too_large
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "body: ended early; send it anew")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise too_large
    return bytes(body)


class _WithHeaders:
    """A sender that adds the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await self._send(message)


async def _refuse(send: _WithHeaders, status: int, said: str) -> None:
    content = json.dumps({"error": said}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


DEEPEST = 12
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def read_json(body: bytes) -> dict[str, Any]:
    """Return the table in a body; raise Refused, status 400, where there is none."""
    if _is_deep(body):
        raise Refused(400, f"body: must be nested at most {DEEPEST} deep; flatten it")
    try:
        document = json.loads(body, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"body: is not JSON ({str(error)[:80]}); correct it") from None
    if not isinstance(document, dict):
        raise Refused(400, "body: must be a table; send {…}")
    return document


def _is_deep(body: bytes) -> bool:
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


MOST_AT_WORK = 32
LONGEST_VIEW = 64
VIEW, TURN = "x-onegrad-view", "x-onegrad-turn"


class Overtaken(Exception):
    """A newer state of the same view came."""


class Turns:
    """The requests at work, by view and turn."""

    def __init__(self, most: int = MOST_AT_WORK) -> None:
        self._most = most
        self._at_work: dict[asyncio.Task[Any], tuple[str, int]] = {}

    async def run(self, headers: Mapping[str, str], work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the work returns; raise Overtaken where a newer turn comes before it."""
        try:
            view, turn = _view(headers)
            self._overtake(view, turn)
            if len(self._at_work) >= self._most:
                raise Refused(429, f"work: {self._most} requests wait already; try again soon")
        except BaseException:
            work.close()
            raise
        task = asyncio.ensure_future(work)
        self._at_work[task] = (view, turn)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # the client has gone, or the server closes
            task.cancel()
            raise
        finally:
            self._at_work.pop(task, None)
        if task.cancelled():
            raise Overtaken
        return task.result()

    def end(self) -> None:
        """Give up all work: whoever waits is told that it was overtaken."""
        for task in list(self._at_work):
            task.cancel()

    def _overtake(self, view: str, turn: int) -> None:
        """Cancel the work of older turns of a view; raise Overtaken where this one is older."""
        own = [(task, other) for task, (name, other) in self._at_work.items() if name == view]
        if view and any(other > turn for _, other in own):
            raise Overtaken
        for task, other in own:
            if view and other < turn:
                task.cancel()
                self._at_work.pop(task, None)


def _view(headers: Mapping[str, str]) -> tuple[str, int]:
    """Return a request's view and turn; no view where it says none."""
    view, turn = headers.get(VIEW, ""), headers.get(TURN, "0")
    if len(view) > LONGEST_VIEW or len(turn) > 15 or not (turn.isascii() and turn.isdecimal()):
        raise Refused(400, f"{VIEW}: must be short, {TURN} a whole number; correct them")
    return view, int(turn)


Endpoint = Callable[[Request], Awaitable[Response]]


def answered(desk: ExplorerDesk, name: str) -> Endpoint:
    """Return the endpoint of an answer."""

    async def endpoint(request: Request) -> Response:
        started = time.perf_counter()
        try:
            document = read_json(request.scope["body"]) if request.method == "POST" else {}
            work = desk.turns.run(request.headers, ANSWERS[name](desk, document))
            result = await _while_connected(request, work)
        except Overtaken:
            return JSONResponse({"overtaken": True})
        except (Refused, InvalidInput, Failure) as error:
            return refusal(error)
        milliseconds = round(1000 * (time.perf_counter() - started), 2)
        return JSONResponse({**result, "milliseconds": milliseconds})

    return endpoint


def refusal(error: Exception) -> Response:
    """Return one line that says what is wrong."""
    if isinstance(error, Refused):
        return JSONResponse({"error": error.said}, error.status)
    return JSONResponse({"error": " ".join(str(error).split())}, 422)


async def _while_connected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Return what the work returns; give it up where the client goes."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Overtaken  # nobody reads the answer
        return task.result()
    finally:
        for part in (task, gone):
            part.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def streamed(desk: ExplorerDesk) -> Endpoint:
    """Return the endpoint of simulations: one line per point, as they come."""

    async def endpoint(request: Request) -> Response:
        try:
            document = read_json(request.scope["body"])
            state = desk.state(document)
            points, trials = checked_size(
                document.get("points", DEFAULT_POINTS), document.get("trials", DEFAULT_TRIALS)
            )
            axis_of(state, points)
            view = request.headers.get(VIEW, "")[:LONGEST_VIEW] or str(id(request))
            _make_room(desk, view)
        except (Refused, InvalidInput, Failure) as error:
            return refusal(error)
        lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        put = lines.put_nowait
        work = simulate_points(desk.trainers, state, put, points=points, trials=trials)
        desk.simulations[view] = task = asyncio.create_task(work)
        task.add_done_callback(lambda ended: _end(desk, view, ended, put))
        return StreamingResponse(_written(lines, task), media_type="application/x-ndjson")

    return endpoint


def _make_room(desk: ExplorerDesk, view: str) -> None:
    """End an older simulation of a view; raise Refused where others run already."""
    older = desk.simulations.pop(view, None)
    if older is not None:
        older.cancel()
    if len(desk.simulations) >= MOST_SIMULATIONS:
        raise Refused(429, f"simulate: {MOST_SIMULATIONS} run already; cancel one, or wait")


def _end(
    desk: ExplorerDesk,
    view: str,
    task: asyncio.Task[None],
    put: Callable[[dict[str, Any] | None], None],
) -> None:
    """Say how a simulation ended, and that it did."""
    if desk.simulations.get(view) is task:
        del desk.simulations[view]
    if task.cancelled():
        put({"overtaken": True})
    elif task.exception() is not None:
        put({"error": " ".join(str(task.exception()).split())})
    put(None)


async def _written(
    lines: asyncio.Queue[dict[str, Any] | None], task: asyncio.Task[None]
) -> AsyncIterator[str]:
    """Yield the lines of a simulation; who stops reading ends it."""
    try:
        while (line := await lines.get()) is not None:
            yield json.dumps(line) + "\n"
    finally:
        task.cancel()


THEORY_SECONDS, TRIAL_SECONDS = 120.0, 300.0
SIMULATION_NICENESS = 10
MOST_SIMULATIONS = 2
STEP = 10  # urgency


class ExplorerDesk:
    """What requests share: problems to start from, crews of workers, whose turn it is."""

    def __init__(self, bases: dict[str, Problem], *, workers: int) -> None:
        self.bases = dict(bases)
        self.workers = Workers(workers, seconds=THEORY_SECONDS)
        # Trained networks give way to theory: the page stays live.
        self.trainers = Workers(
            max(1, workers - 1), niceness=SIMULATION_NICENESS, seconds=TRIAL_SECONDS
        )
        self.turns, self.remembered = Turns(), Remembered()
        self.simulations: dict[str, asyncio.Task[None]] = {}  # by view

    async def open(self) -> None:
        """Warm the workers, then see which real data are here."""
        self.workers.start()
        problem = self.bases[START]
        if closed_refusal(problem, DEFAULT_MODELS) is None:
            warm = [
                self.workers.call(points_along, [problem], DEFAULT_MODELS, CLOSED, True)
                for _ in range(2 * self.workers.count)
            ]
            await asyncio.gather(*warm, return_exceptions=True)
        self.bases |= await asyncio.to_thread(real_bases)

    def leave(self) -> None:
        """Give up all work, so that those who wait are answered at once."""
        self.turns.end()
        for task in list(self.simulations.values()):
            task.cancel()

    async def close(self) -> None:
        """End all work and all workers."""
        self.leave()
        await asyncio.gather(self.workers.close(), self.trainers.close())

    def state(self, document: dict[str, Any]) -> ExplorerState:
        """Return the state of a request."""
        return read_state(document.get("state", {}), self.bases)


async def _controls(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return explorer_document(desk.state(document), desk.bases)


async def _curve(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    points, draft = document.get("points", 8), document.get("draft", True)
    if not isinstance(points, int) or isinstance(points, bool):
        raise InvalidInput(f"points={shown(points)}: must be a whole number; correct it")
    if not isinstance(draft, bool):
        raise InvalidInput(f"draft={shown(draft)}: must be true or false; correct it")
    return await curve(desk.workers, desk.state(document), points=points, draft=draft)


async def _map(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return await plane(desk.workers, desk.state(document), document.get("size", 9))


async def _degree(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return await degrees(desk.workers, desk.state(document))


async def _step(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    problem = desk.state(document).problem
    method = CLOSED if closed_refusal(problem, ("network",)) is None else DRAWN
    answer: dict[str, Any] = await desk.workers.call(step_view, problem, method, urgency=STEP)
    return answer


async def _copy(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return dict(copied(desk.state(document), document.get("as")))


Answer = Callable[[ExplorerDesk, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
COMPUTED: dict[str, Answer] = {"curve": _curve, "map": _map, "degree": _degree, "step": _step}


def _from_memory(name: str) -> Answer:
    async def answer(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
        work = COMPUTED[name]
        return await desk.remembered.answer(name, document, lambda: work(desk, document))

    return answer


ANSWERS: dict[str, Answer] = {
    "controls": _controls,
    "copy": _copy,
    **{name: _from_memory(name) for name in COMPUTED},
}


PAGE = Path(__file__).parent / "page"


def application(desk: ExplorerDesk, *, token: str, hosts: frozenset[str]) -> Guard:
    """Return the application of an explorer."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        opening = asyncio.create_task(desk.open())
        try:
            yield
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            await desk.close()

    app = Starlette(
        routes=[
            Route("/", _page),
            *(
                Route(f"/api/{name}", answered(desk, name), methods=_methods(name))
                for name in ANSWERS
            ),
            Route("/api/simulate", streamed(desk), methods=["POST"]),
            Mount("/static", StaticFiles(directory=PAGE)),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error},
    )
    return Guard(app, token=token, hosts=hosts)


def _methods(name: str) -> list[str]:
    return ["GET", "POST"] if name == "controls" else ["POST"]


async def _page(_request: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {"error": f"path: {error.detail}; ask the page"}
    return JSONResponse(said, error.status_code, headers=error.headers)
