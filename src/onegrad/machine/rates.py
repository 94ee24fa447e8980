"""How fast this machine is: units per second of one core."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dsytrd, dsytrd_lwork
from threadpoolctl import threadpool_limits

REPEATS = 6  # of a timing; the shortest counts

Resource = Literal["product", "single", "factor", "reduction", "normal", "element"]


@dataclass(frozen=True)
class Stage:
    """Part of a piece of work: which rate limits it, and how many units of that it takes."""

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
