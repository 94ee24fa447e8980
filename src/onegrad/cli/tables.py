"""How tables and numbers are printed."""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table


def print_rich(table: Table) -> None:
    """Print a table; in a pipe 120 columns wide."""
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def with_error(mean: float, stderr: float) -> str:
    """Return a number with its standard error, where there is one."""
    if not np.isfinite(stderr):
        return f"{mean:.4g}"
    if 1e-3 <= abs(mean) < 1e4:
        return f"{mean:.5f} ± {stderr:.5f}"
    return f"{mean:.3e} ± {stderr:.1e}"


def percent(gap: float, error: float) -> str:
    """Return a relative gap in per cent with its standard error, where there is one."""
    mean, stderr = 100 * gap, 100 * error
    if not np.isfinite(mean):
        return "undefined"
    return f"{mean:+.2f} %" if not np.isfinite(stderr) else f"{mean:+.2f} ± {stderr:.2f} %"
