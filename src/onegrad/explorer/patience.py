"""A server that nobody keeps waiting: slow heads, slow readers, too many at once, long work."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 5.0  # for the head of a request, and for what follows a refused body
READ_SECONDS = 10.0  # for a client that does not read its answer
MOST_CONNECTIONS = 200


class PatientProtocol(H11Protocol):
    """HTTP by uvicorn, with limits on how long and how often a client may make others wait."""

    _impatience: asyncio.TimerHandle | None = None
    _blocked: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; one that waits for its client makes room where there are many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            idle = [c for c in self.connections if isinstance(c, PatientProtocol) and c.waits]
            (idle or [self])[0].transport.abort()
        self._limit()

    @property
    def waits(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Read data; a client that breaks the protocol loses its connection."""
        try:
            super().data_received(data)
        except h11.ProtocolError:
            self.transport.abort()
        self._limit()

    def _limit(self) -> None:
        """Run the clock while a request is incomplete, stop it while one is answered."""
        if not self.waits:
            self._stop("_impatience")
        elif self._impatience is None:
            self._impatience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def on_response_complete(self) -> None:
        """Let the next request come; the clock of keep-alive connections is uvicorn's."""
        super().on_response_complete()
        self._stop("_impatience")

    def _give_up(self) -> None:
        self._impatience = None
        if self.waits and self.timeout_keep_alive_task is None:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Start the clock of a client that does not read."""
        super().pause_writing()
        self._blocked = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop it."""
        super().resume_writing()
        self._stop("_blocked")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        super().connection_lost(exc)
        self._stop("_impatience")
        self._stop("_blocked")

    def _stop(self, name: str) -> None:
        timer: Any = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)


class PatientServer(uvicorn.Server):
    """A server that gives up its work before it closes, so that no client is cut off."""

    def __init__(self, config: uvicorn.Config, *, leave: Callable[[], None]) -> None:
        super().__init__(config)
        self._leave = leave

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer those who wait, then close."""
        self._leave()
        await super().shutdown(sockets)
