"""Fixed points by Anderson's acceleration: x = g(x) in as few evaluations as possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onegrad.describe.arrays import Floats

DEPTH = 6
LARGEST_STEP = 3.0  # in units of the residual: larger ones are not trusted
DAMPING = 0.7  # of steps before the residual is small
PATIENCE, MORE_DAMPING = 40, 0.2  # steps after which they are a cycle, and what ends it


def fixed_point(
    image: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    *,
    tolerance: float,
    most: int,
) -> tuple[Floats, int, float]:
    """Return x with g(x) = x, the iterations, and the last residual.

    `image` returns g(x) and the units of every coordinate, in which residuals are measured. A
    caller compares the residual with its tolerance: it may be larger where `most` was reached.
    """
    x = start
    history: list[tuple[Floats, Floats]] = []
    size = np.inf
    for iteration in range(1, most + 1):
        value, units = image(x)
        residual = value - x
        size = float(np.max(np.abs(residual / units)))
        if not np.isfinite(size):
            return x, iteration, np.inf
        if size < tolerance:
            return value, iteration, size
        history = [*history[-DEPTH:], (value, residual)]
        damping = DAMPING if iteration < PATIENCE else MORE_DAMPING
        x = _next(x, history, units, size, damping)
    return x, most, size


def _next(
    x: Floats, history: list[tuple[Floats, Floats]], units: Floats, size: float, damping: float
) -> Floats:
    value, residual = history[-1]
    if size > 1 or len(history) < 2:
        limit = LARGEST_STEP * units
        history[:-1] = []
        factor = damping if size > 1 else 1.0
        return x + np.clip(factor * residual, -limit, limit)
    residuals = np.array([r / units for _, r in history])
    steps = np.diff(residuals, axis=0)
    weights = np.linalg.lstsq(steps.T, residuals[-1], rcond=1e-10)[0]
    following = value - weights @ np.diff(np.array([v for v, _ in history]), axis=0)
    step = np.abs((following - x) / units)
    if not np.all(np.isfinite(following)) or np.max(step) > LARGEST_STEP:
        history.clear()
        return x + 0.5 * residual
    return following
