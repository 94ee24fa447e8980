"""Fixed points x = g(x) by Anderson's acceleration: one vector, or many rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onegrad.describe.numbers import Floats, Ints

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
        x = _next_vector(x, history, units, size, damping)
    return x, most, size


def _next_vector(
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


ROWS_DEPTH = 6
ROWS_LARGEST_STEP = 5.0
REGULARISED = 1e-12

Image = Callable[[Floats, Ints], Floats]  # of rows, and which rows they are


def accelerated(
    image: Image, start: Floats, *, tolerance: float, most: int
) -> tuple[Floats, int, float]:
    """Return the rows with g(x) = x, the iterations, and the largest residual left.

    A row that has converged is not computed again. Steps that are too large or not finite are
    replaced by the plain image.
    """
    x = start.copy()
    left = np.full(len(x), np.inf)
    active = np.arange(len(x))
    images: list[Floats] = []
    residuals: list[Floats] = []
    for iteration in range(1, most + 1):
        value = image(x[active], active)
        residual = value - x[active]
        left[active] = np.max(np.abs(residual), axis=1)
        x[active] = value
        going = ~(left[active] < tolerance)
        if not np.any(going):
            return x, iteration, float(np.max(left))
        images = [part[going] for part in [*images[-ROWS_DEPTH + 1 :], value]]
        residuals = [part[going] for part in [*residuals[-ROWS_DEPTH + 1 :], residual]]
        active = active[going]
        if len(images) > 1:
            x[active] = _next_rows(images, residuals)
    return x, most, float(np.max(left))


def _next_rows(images: list[Floats], residuals: list[Floats]) -> Floats:
    """Return the combination of images whose residuals are smallest together."""
    value, residual = images[-1], residuals[-1]
    steps = np.diff(np.stack(residuals, axis=1), axis=1)
    moves = np.diff(np.stack(images, axis=1), axis=1)
    gram = steps @ steps.transpose(0, 2, 1)
    size = np.trace(gram, axis1=1, axis2=2)
    gram += (REGULARISED * size + 1e-300)[:, None, None] * np.eye(gram.shape[1])
    weights = np.linalg.solve(gram, np.einsum("bhd,bd->bh", steps, residual)[..., None])
    following = value - np.einsum("bh,bhd->bd", weights[..., 0], moves)
    with np.errstate(invalid="ignore"):
        trusted = np.all(np.isfinite(following), axis=1)
        trusted &= np.max(np.abs(following - value), axis=1, initial=0.0) < ROWS_LARGEST_STEP
    return np.where(trusted[:, None], following, value)
