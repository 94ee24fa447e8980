"""The cost of work on this machine: rates of one core, and memory."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dsytrd, dsytrd_lwork
from threadpoolctl import threadpool_limits

from onegrad.describe.exceptions import InvalidInput

REPEATS = 6  # of a timing; the shortest counts

Resource = Literal["product", "single", "factor", "reduction", "normal", "element"]


@dataclass(frozen=True)
class Stage:
    """A part of the work: the rate that limits it, and its amount in units of that rate."""

    name: str
    resource: Resource
    amount: float


@dataclass(frozen=True)
class Rates:
    """Units per second on one core: floating-point operations, normals, elements."""

    product: float
    single: float
    factor: float
    reduction: float
    normal: float
    element: float


@functools.cache
def measure_rates(size: int = 384) -> Rates:
    """Return the rates of one core of this machine, measured once in a fifth of a second."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((size, size))
    single, spread = a.astype(np.float32), a @ a.T + size * np.eye(size)
    work = int(dsytrd_lwork(size, lower=1)[0])
    with threadpool_limits(limits=1):
        return Rates(
            product=2 * size**3 / _best(lambda: a @ a),
            single=2 * size**3 / _best(lambda: single @ single),
            factor=size**3 / 3 / _best(lambda: cholesky(spread, lower=True, check_finite=False)),
            reduction=4 / 3 * size**3 / _best(lambda: dsytrd(spread, lower=1, lwork=work)),
            normal=size**2 / _best(lambda: rng.standard_normal((size, size))),
            element=size**2 / _best(lambda: np.tanh(a)),
        )


def _best(run: Callable[[], object]) -> float:
    """Return the shortest of a few timings."""
    timings = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        timings.append(time.perf_counter() - start)
    return min(timings)


INTERPRETER_BYTES = 200e6


def machine_bytes() -> float:
    """Return the memory of this machine, or of its control group if that is smaller.

    Infinite if the system does not provide it; then nothing is refused.
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
    """Raise InvalidInput if so many workers of `each` bytes exceed the machine's memory."""
    need, have = workers * each, machine_bytes()
    if need > have:
        remedy = "lower dimension, samples or width"
        if each <= have:
            remedy = f"use at most {int(have // each)} workers"
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: the machine has {have / 1e9:.3g} GB for {workers} "
            f"worker{'s' if workers > 1 else ''} of {each / 1e9:.3g} GB; {remedy}"
        )
