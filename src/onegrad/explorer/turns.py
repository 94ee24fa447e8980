"""Whose turn it is: a newer state of a view overtakes work for older ones, and few may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from onegrad.explorer.guard import Refused

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
