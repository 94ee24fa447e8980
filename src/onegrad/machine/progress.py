"""Progress reporting from inside a computation; a no-op without a listener.

A computation calls `report(share)` in its loops, and wraps a part of its work in
`section(low, high)`: the shares reported inside count from `low` to `high` of the whole. Reports
never change a number.
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
class _Section:
    """The part of the whole work that is running, and the function to call with the share done."""

    listener: Callable[[float], None]
    low: float = 0.0
    high: float = 1.0

    def at(self, share: float) -> float:
        """Return the share of the whole work at a share of this section."""
        return self.low + share * (self.high - self.low)


_CURRENT: ContextVar[_Section | None] = ContextVar("onegrad_progress", default=None)


@contextmanager
def listening(listener: Callable[[float], None] | None) -> Iterator[None]:
    """Call `listener` with the share that is done, from 0 to 1, at every report inside."""
    token = _CURRENT.set(None if listener is None else _Section(listener))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def section(low: float, high: float) -> Iterator[None]:
    """Map shares reported inside to the range from `low` to `high`."""
    outer = _CURRENT.get()
    if outer is None:
        yield
        return
    token = _CURRENT.set(_Section(outer.listener, outer.at(low), outer.at(high)))
    try:
        yield
    finally:
        _CURRENT.reset(token)
    report(high)


def report(share: float) -> None:
    """Report that this share of the current section is done."""
    current = _CURRENT.get()
    if current is not None:
        current.listener(current.at(min(max(share, 0.0), 1.0)))


Update = Callable[[float, float], None]  # done, total


@dataclass(frozen=True)
class Bar:
    """A progress callback that also accepts fractions of a job, through `within`."""

    within: Update

    def __call__(self, done: float, total: float) -> None:
        """Show that `done` of `total` jobs are done."""
        self.within(done, total)


def within_total(callback: object, start: int, total: int) -> Callable[[float], None] | None:
    """Return a callback for jobs done after `start`; None if `callback` counts whole jobs alone."""
    within = getattr(callback, "within", None)
    return None if within is None else lambda done: within(start + done, total)


@contextmanager
def shown_progress(progress: Callable[..., None] | bool | None, unit: str) -> Iterator[Any]:
    """Yield the callback for done and total: a bar for True, None for False, else the given one.

    The bar is removed at the end, also if the work fails.
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


def _bar(unit: str) -> tuple[Update, Callable[[], None]]:
    """Return how to move a bar and how to close it: by tqdm in notebooks, by rich elsewhere."""
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


def _rich_bar(unit: str) -> tuple[Update, Callable[[], None]]:
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


def _tqdm_bar(unit: str) -> tuple[Update, Callable[[], None]]:
    from tqdm.auto import tqdm

    bar = tqdm(total=1, unit=f" {unit}", desc=unit)

    def update(done: float, total: float) -> None:
        bar.total, bar.n = total, done
        bar.refresh()

    return update, bar.close
