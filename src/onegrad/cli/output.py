"""Output of the command line: progress and tables."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from onegrad.describe.numbers import duration

if TYPE_CHECKING:
    from onegrad.describe.tables import ShownAsTable, Table
    from onegrad.sweeps.driver import Done
    from onegrad.sweeps.plan import Plan

SHOW_AFTER_SECONDS = 2.0
LINE_SECONDS = 30.0  # between progress lines in a pipe


class _Bar:
    """A bar on the terminal; `columns` after the count replace the remaining time."""

    def __init__(self, unit: str, *columns: ProgressColumn) -> None:
        self._terminal = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn(unit),
            BarColumn(),
            MofNCompleteColumn(),
            *(columns or (TimeRemainingColumn(),)),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(unit, total=None, rate="")

    def __enter__(self) -> Self:
        self._start_bar()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end()
        if self._bar.live.is_started:
            self._bar.stop()

    def _start_bar(self) -> None:
        """Show the bar."""

    def _end(self) -> None:
        """Hide the bar."""


class WorkProgress(_Bar):
    """A progress bar on a terminal for work of more than two seconds; nothing in a pipe."""

    def __init__(self, unit: str) -> None:
        super().__init__(unit)
        self._timer = threading.Timer(SHOW_AFTER_SECONDS, self._bar.start)
        self._timer.daemon = True

    def _start_bar(self) -> None:
        if self._terminal:
            self._timer.start()

    def _end(self) -> None:
        self._timer.cancel()

    def __call__(self, done: float, total: float) -> None:
        """Show `done` of `total`."""
        self._bar.update(self._task, completed=done, total=total)

    within = __call__  # accepts fractions of a job


class SweepProgress(_Bar):
    """Trials done, rate and remaining time: a bar on a terminal, regular lines in a pipe."""

    def __init__(self, goal: int, unit: str = "trials") -> None:
        super().__init__(unit, TextColumn("{task.fields[rate]}"))
        self._goal, self._unit = goal, unit
        self._began = time.monotonic()
        self._line = ""
        self._over = threading.Event()

    def _start_bar(self) -> None:
        if not self._goal:
            self._over.set()
        elif self._terminal:
            self._bar.start()
        else:
            threading.Thread(target=self._speak, daemon=True).start()

    def _end(self) -> None:
        self._over.set()

    def _speak(self) -> None:
        """Print the latest state every LINE_SECONDS, also during long trials."""
        while not self._over.wait(LINE_SECONDS):
            elapsed = duration(time.monotonic() - self._began)
            print(f"onegrad: {self._line or f'no trial yet after {elapsed}'}", file=sys.stderr)

    def update(self, state: Done) -> None:
        """Show how many trials are done, and how many failed."""
        done, goal = state.done, state.goal
        if done == goal:
            self._over.set()
        rate = done / max(time.monotonic() - self._began, 1e-9)
        text = f"{rate:.3g}/s" + (f", {state.failed} failed" if state.failed else "")
        text += f", {duration(state.left)} left"
        self._bar.update(self._task, completed=done, total=goal, rate=text)
        self._line = f"{done} of {goal} {self._unit}, {text}"

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._terminal:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)


def print_rich(table: RichTable) -> None:
    """Print a table; in a pipe 120 columns wide."""
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def print_table(table: Table) -> None:
    """Print a table whole, then its notes."""
    drawn = RichTable(
        caption=Text(table.caption) if table.caption else None, caption_justify="left"
    )
    for place, title in enumerate(table.columns):
        justify = "left" if place < table.left else "right"
        drawn.add_column(Text(title), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    print_rich(drawn)
    for note in table.notes:
        click.echo(note)


def print_result(result: ShownAsTable) -> None:
    """Print a result as its table."""
    print_table(result.summary_table())


def announced(
    plan: Plan, workers: int, dask: str | None = None, *, beside: str = "", seconds: float = 0.0
) -> str:
    """Return the trials, time and memory of a sweep's run, and of work `beside` it that takes
    `seconds`.
    """
    from onegrad.verbs.plan import CostEstimate

    known = f", {plan.stored} stored already" if plan.stored else ""
    known += f" ({plan.failed} failed)" if plan.failed else ""
    what = f"{plan.total} trials in {len(plan.settings)} settings{known}{beside}"
    estimate = CostEstimate(what, plan.seconds + seconds, plan.bytes, shares=workers)
    return estimate.sentence(workers, place=None if dask is None else "one Dask worker")
