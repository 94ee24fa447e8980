"""How tables are printed."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onegrad.describe.screen import OnScreen, ScreenTable


def print_rich(table: Table) -> None:
    """Print a table; in a pipe 120 columns wide."""
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def print_table(table: ScreenTable) -> None:
    """Print a table whole, then its notes."""
    drawn = Table(caption=Text(table.caption) if table.caption else None, caption_justify="left")
    for place, title in enumerate(table.columns):
        justify = "left" if place < table.left else "right"
        drawn.add_column(Text(title), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    print_rich(drawn)
    for note in table.notes:
        click.echo(note)


def print_result(result: OnScreen) -> None:
    """Print what a result shows of itself."""
    print_table(result.screen_table())
