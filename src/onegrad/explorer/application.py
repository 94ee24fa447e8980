"""The application: the page, its files, and what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from onegrad.explorer.answers import ANSWERS, ExplorerDesk
from onegrad.explorer.endpoints import answered, streamed
from onegrad.explorer.guard import Guard

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
