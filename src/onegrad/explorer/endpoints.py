"""Endpoints: a request read, answered in turn, and refused in one line where it must be."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.explorer.answers import ANSWERS, MOST_SIMULATIONS, ExplorerDesk
from onegrad.explorer.controls import axis_of
from onegrad.explorer.curves import DEFAULT_POINTS, DEFAULT_TRIALS, checked_size, simulate_points
from onegrad.explorer.guard import Refused
from onegrad.explorer.strict_json import read_json
from onegrad.explorer.turns import LONGEST_VIEW, VIEW, Overtaken

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
