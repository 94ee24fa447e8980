"""How numbers stand in tables: with their standard errors, in per cent."""

from __future__ import annotations

import math


def with_error(mean: float, stderr: float) -> str:
    """Return a number with its standard error, where there is one."""
    if not math.isfinite(stderr):
        return f"{mean:.4g}"
    if 1e-3 <= abs(mean) < 1e4:
        return f"{mean:.5f} ± {stderr:.5f}"
    return f"{mean:.3e} ± {stderr:.1e}"


def percent(gap: float, error: float) -> str:
    """Return a relative gap in per cent with its standard error, where there is one."""
    mean, stderr = 100 * gap, 100 * error
    if not math.isfinite(mean):
        return "undefined"
    return f"{mean:+.2f} %" if not math.isfinite(stderr) else f"{mean:+.2f} ± {stderr:.2f} %"


def duration(seconds: float) -> str:
    """Return a length of time as a person says it."""
    if seconds < 9.5:
        return f"{seconds:.1g} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
