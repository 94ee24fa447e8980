"""Newton's method for the objective of `convex_objective.py`."""

from __future__ import annotations

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.training.convex_objective import Minimum, PenalisedSum, relative_error

MOST_STEPS = 100


def newton_minimum(objective: PenalisedSum, start: Floats, *, accuracy: float) -> Minimum:
    """Return the minimum by Newton steps of the best length, each one Cholesky factor."""
    weights, ridge = start, objective.ridge
    u = objective.outputs(weights)
    for steps in range(MOST_STEPS + 1):
        gradient = objective.gradient(u, weights)
        error = relative_error(gradient, weights, ridge)
        level = float(np.linalg.norm(gradient)) <= objective.rounding(u)
        if error <= accuracy or level or steps == MOST_STEPS:
            return Minimum(weights, steps, error, error <= accuracy or level)
        direction = objective.newton_direction(u, gradient)
        change = objective.outputs(direction)
        length = objective.step_length(u, weights, change=change, direction=direction)
        if length is None:
            return Minimum(weights, steps, error, converged=False)
        weights = weights + length * direction
        u = objective.outputs(weights)
    raise AssertionError("the last step returns")
