"""L-BFGS for the objective of `convex_objective.py`: two products with φ a step."""

from __future__ import annotations

from collections import deque
from math import inf, log

from onegrad.describe.arrays import Floats
from onegrad.training.convex_objective import Minimum, PenalisedSum, relative_error

PAIRS = 20
FIRST_JUDGED = 20  # the step from which on the steps to come are estimated
MOST_STEPS = 300


def quasi_newton_minimum(
    objective: PenalisedSum, start: Floats, *, accuracy: float, patience: float
) -> Minimum:
    """Return where L-BFGS ends: as near to the minimum as asked, or not converged.

    It gives up where more than `patience` steps are still to come, by the rate of those so far.
    """
    weights, pairs = start, deque[tuple[Floats, Floats, float]](maxlen=PAIRS)
    u = objective.outputs(weights)
    gradient = objective.gradient(u, weights)
    steps, worst = 0, 0.0
    while True:
        error = relative_error(gradient, weights, objective.ridge)
        worst = max(worst, error) if error < inf else worst
        if error <= accuracy or _steps_left(steps, worst, error, accuracy) > patience:
            break
        direction = _direction(pairs, gradient)
        change = objective.outputs(direction)
        length = objective.step_length(u, weights, change=change, direction=direction)
        if length is None:
            break
        move = length * direction
        weights, before = weights + move, gradient
        u = u + length * change
        gradient = objective.gradient(u, weights)
        bend, steps = gradient - before, steps + 1
        product = float(move @ bend)
        if not product > 0:  # all of it is rounding
            break
        pairs.append((move, bend, product))
    # What is said of the weights is of their own outputs, not of the sum of changes.
    gradient = objective.gradient(objective.outputs(weights), weights)
    error = relative_error(gradient, weights, objective.ridge)
    return Minimum(weights, steps, error, error <= accuracy)


def _steps_left(steps: int, worst: float, error: float, accuracy: float) -> float:
    """Return how many steps are still to come if errors go on falling as they did."""
    if steps < FIRST_JUDGED:
        return 0.0
    falling = error < worst and steps < MOST_STEPS
    return steps * log(error / accuracy) / log(worst / error) if falling else inf


def _direction(pairs: deque[tuple[Floats, Floats, float]], gradient: Floats) -> Floats:
    """Return −Hg with the inverse Hessian H that moves and changes of gradient tell."""
    direction, shares = -gradient, []
    for move, bend, product in reversed(pairs):
        shares.append(float(move @ direction) / product)
        direction -= shares[-1] * bend
    if pairs:
        _, bend, product = pairs[-1]
        direction *= product / float(bend @ bend)
    for (move, bend, product), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - float(bend @ direction) / product) * move
    return direction
