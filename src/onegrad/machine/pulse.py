"""How far a piece of work is, told from inside it to whoever listens; silent where nobody does.

Work says `moved(share)` where it loops, and `part(low, high)` around what is a part of it: shares
inside are those of the part. Numbers do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Stretch:
    """Who listens, and the stretch of the whole work that is going on."""

    tell: Callable[[float], None]
    low: float = 0.0
    high: float = 1.0


_NOW: ContextVar[Stretch | None] = ContextVar("onegrad_pulse", default=None)


@contextmanager
def listening(tell: Callable[[float], None] | None) -> Iterator[None]:
    """Call `tell` with the share that is done, from 0 to 1, as the work inside says it."""
    token = _NOW.set(None if tell is None else Stretch(tell))
    try:
        yield
    finally:
        _NOW.reset(token)


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """Let shares said inside be those of the part from `low` to `high`."""
    now = _NOW.get()
    if now is None:
        yield
        return
    length = now.high - now.low
    token = _NOW.set(Stretch(now.tell, now.low + low * length, now.low + high * length))
    try:
        yield
    finally:
        _NOW.reset(token)
    moved(high)


def moved(share: float) -> None:
    """Say that this share of what is going on is done."""
    now = _NOW.get()
    if now is not None:
        now.tell(now.low + min(max(share, 0.0), 1.0) * (now.high - now.low))
