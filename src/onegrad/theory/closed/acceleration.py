"""Anderson's acceleration of many fixed points at once: x = g(x), one per row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onegrad.describe.arrays import Floats, Ints

DEPTH = 6
LARGEST_STEP = 5.0
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
        images = [part[going] for part in [*images[-DEPTH + 1 :], value]]
        residuals = [part[going] for part in [*residuals[-DEPTH + 1 :], residual]]
        active = active[going]
        if len(images) > 1:
            x[active] = _next(images, residuals)
    return x, most, float(np.max(left))


def _next(images: list[Floats], residuals: list[Floats]) -> Floats:
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
        trusted &= np.max(np.abs(following - value), axis=1, initial=0.0) < LARGEST_STEP
    return np.where(trusted[:, None], following, value)
