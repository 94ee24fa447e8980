"""How much memory this machine has, and what does not fit into it."""

from __future__ import annotations

import os
from pathlib import Path

from onegrad.describe.exceptions import InvalidInput

INTERPRETER_BYTES = 200e6


def machine_bytes() -> float:
    """Return the memory of this machine, or of its control group where that is smaller.

    Infinite where the system does not tell: then nothing is refused.
    """
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return float("inf")
    total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists():
        text = limit.read_text().strip()
        if text.isdigit():
            total = min(total, float(text))
    return total


def require_memory(each: float, *, workers: int) -> None:
    """Raise InvalidInput when workers of `each` bytes do not fit the machine together."""
    need, have = workers * each, machine_bytes()
    if need > have:
        fewer = (
            f"use at most {int(have // (need / workers))} workers"
            if need / workers <= have
            else ("lower dimension, samples or width")
        )
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: the machine has {have / 1e9:.3g} GB for {workers} "
            f"worker{'s' if workers > 1 else ''} of {need / workers / 1e9:.3g} GB; {fewer}"
        )
