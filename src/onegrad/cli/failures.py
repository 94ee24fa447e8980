"""Failed trials, summarised."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from onegrad.running.table import Results

SHOWN_FAILURES = 5


def tell_failures(results: Results, out: str) -> bool:
    """Summarise failed trials on stderr; return whether there are some."""
    errors = [str(row["error"]) for row in results.contents.failed]
    if not errors:
        return False
    click.echo(f"onegrad: {len(errors)} rows failed; --retry-failed computes them again", err=True)
    counts = Counter(errors)
    for error, count in counts.most_common(SHOWN_FAILURES):
        click.echo(f"onegrad: {count} x {' '.join(error.split())}", err=True)
    if len(counts) > SHOWN_FAILURES:
        click.echo(f"onegrad: and {len(counts) - SHOWN_FAILURES} other errors", err=True)
    click.echo(f"onegrad: tracebacks: Results.load({out!r}).failures", err=True)
    return True
