"""Proximal points x = argmin ℓ(y, x) + (x − u)²/(2γ) of convex losses, by Newton's method.

x solves x + γℓ'(y, x) = u. The left side rises with a slope of at least 1: there is one solution,
between u and u − γℓ'(y, u).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged

TOLERANCE = 1e-14  # of 1 + |x|
MOST_STEPS = 200
MOST_DOUBLINGS = 1100  # beyond 2^1024 nothing is finite

OfPoint = Callable[[Floats, Floats], Floats]  # of (y, x)


def logistic_prox(y: Floats, u: Floats, gamma: Floats) -> Floats:
    """Return the proximal point of log(1 + e^{−yx}): x = y t with t = yu + γ/(1 + e^t).

    t − yu − γ/(1 + e^t) is convex below 0 and concave above, so that Newton from 0, clipped to
    [yu, yu + γ], is monotone. From yu it has a 2-cycle at yu = −γ/2.
    """
    margin = y * u
    t = np.clip(np.zeros(np.broadcast_shapes(margin.shape, gamma.shape)), margin, margin + gamma)
    for _ in range(MOST_STEPS):
        below, above = expit(-t), expit(t)
        step = (t - margin - gamma * below) / (1 + gamma * below * above)
        t = t - step
        # What rounding of t − yu − γ/(1 + e^t) leaves is not a step.
        size = np.abs(t) + np.abs(margin) + gamma * below
        if np.all(np.abs(step) * (1 + gamma * below * above) <= TOLERANCE * (1 + size)):
            return y * t
    raise _not_converged(float(np.max(np.abs(step))))


def solve_prox(
    derivative: OfPoint,
    curvature: OfPoint,
    y: Floats,
    u: Floats,
    gamma: Floats,
    *,
    within: tuple[Floats, Floats] = (np.array(-np.inf), np.array(np.inf)),
) -> Floats:
    """Return the proximal point of any convex loss, given by ℓ' and ℓ'', between two bounds.

    Newton's steps inside a bracket, which is halved where a step leaves it or is more than half
    the last. Where ℓ' jumps the bracket closes on the jump.
    """
    y, u, gamma = np.broadcast_arrays(y, u, gamma)

    def height(x: Floats) -> Floats:
        return x - u + gamma * derivative(y, x)

    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # far out ℓ' may be infinite: a sign is enough
        low, high = _bracket(height, u)
        low, high = np.clip(low, *within), np.clip(high, *within)
        x, last = (low + high) / 2, np.full(u.shape, np.inf)
        for _ in range(MOST_STEPS):
            h = height(x)
            low, high = np.where(h < 0, x, low), np.where(h > 0, x, high)
            newton = x - h / (1 + gamma * curvature(y, x))
            small = TOLERANCE * (1 + np.abs(x))
            close = (np.abs(newton - x) <= small) | (h == 0)
            trusted = (newton >= low) & (newton <= high) & (np.abs(newton - x) <= last / 2)
            middle = (low + high) / 2
            following = np.where(trusted | close, np.clip(newton, low, high), middle)
            if np.all(close | (high - low <= small)):
                return np.where(np.isfinite(following), following, middle)
            x, last = following, np.abs(following - x)
    raise _not_converged(float(np.max(high - low)))


def _bracket(height: Callable[[Floats], Floats], u: Floats) -> tuple[Floats, Floats]:
    """Return two points that enclose the solution: u, and one found by doubling steps from it."""
    start = height(u)  # γℓ'(y, u)
    side = -np.sign(start)
    step = np.minimum(1.0, np.abs(start))
    for _ in range(MOST_DOUBLINGS):
        end = u + side * step
        short = height(end) * side < 0
        if not np.any(short):
            return np.minimum(u, end), np.maximum(u, end)
        step = np.where(short, 2 * step, step)
    raise _not_converged(float(np.max(step)))


def _not_converged(left: float) -> NotConverged:
    return NotConverged(
        f"loss: its proximal point is not found, {left:.3g} is left after {MOST_STEPS} steps; "
        "correct its derivative, which must rise and be finite, and its curvature"
    )
