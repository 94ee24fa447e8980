"""Failed trials, summarised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from onegrad.running.table import Results

SHOWN_FAILURES = 5


def tell_failures(results: Results, out: str) -> bool:
    """Summarise failed trials on stderr; return whether there are some."""
    failures = results.failures
    if failures.empty:
        return False
    click.echo(
        f"onegrad: {len(failures)} rows failed; --retry-failed computes them again", err=True
    )
    counts = failures["error"].value_counts()
    for error, count in counts.head(SHOWN_FAILURES).items():
        click.echo(f"onegrad: {count} x {' '.join(str(error).split())}", err=True)
    if len(counts) > SHOWN_FAILURES:
        click.echo(f"onegrad: and {len(counts) - SHOWN_FAILURES} other errors", err=True)
    click.echo(f"onegrad: tracebacks: Results.load({out!r}).failures", err=True)
    return True
