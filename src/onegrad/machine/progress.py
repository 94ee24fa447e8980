"""Progress reporting from inside a computation; a no-op without a listener.

How far a piece of work is, told from inside it to whoever listens; silent where nobody does.

Work says `moved(share)` where it loops, and `part(low, high)` around what is a part of it: shares
inside are those of the part. Numbers do not depend on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from onegrad.describe.exceptions import InvalidInput


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


Told = Callable[[float, float], None]  # done, total


@dataclass(frozen=True)
class Bar:
    """What moves a bar: called after every piece of work, `within` also in the midst of one."""

    within: Told

    def __call__(self, done: float, total: float) -> None:
        """Show that so many of all are done."""
        self.within(done, total)


def told_within(told: object, start: int, total: int) -> Callable[[float], None] | None:
    """Return what moves a bar from `start` on, None where pieces alone are counted."""
    within = getattr(told, "within", None)
    return None if within is None else lambda done: within(start + done, total)


@contextmanager
def shown_progress(progress: Callable[..., None] | bool | None, unit: str) -> Iterator[Any]:
    """Yield what to call with done and total: a bar's for True, None for False, else what is given.

    The bar is taken away at the end, also of work that fails.
    """
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        update, close = _bar(unit)
        try:
            yield Bar(update)
        finally:
            close()


def _bar(unit: str) -> tuple[Told, Callable[[], None]]:
    """Return how to move a bar and how to end it; notebooks prefer tqdm, terminals rich."""
    makers = (_tqdm_bar, _rich_bar) if _in_notebook() else (_rich_bar, _tqdm_bar)
    for make in makers:
        try:
            return make(unit)
        except ImportError:
            continue
    raise InvalidInput("progress=True: needs the package rich or tqdm; install one")


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return getattr(running, "kernel", None) is not None


def _rich_bar(unit: str) -> tuple[Told, Callable[[], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(TextColumn(unit), *columns, console=Console(stderr=True))
    task = bar.add_task(unit, total=None)
    bar.start()
    return lambda done, total: bar.update(task, completed=done, total=total), bar.stop


def _tqdm_bar(unit: str) -> tuple[Told, Callable[[], None]]:
    from tqdm.auto import tqdm

    bar = tqdm(total=1, unit=f" {unit}", desc=unit)

    def update(done: float, total: float) -> None:
        bar.total, bar.n = total, done
        bar.refresh()

    return update, bar.close
