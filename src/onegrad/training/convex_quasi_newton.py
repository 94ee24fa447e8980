"""L-BFGS for the objective of `convex_objective.py`: two products with φ a step."""

from __future__ import annotations

from collections import deque

from onegrad.describe.arrays import Floats
from onegrad.training.convex_objective import Minimum, PenalisedSum, relative_error

PAIRS = 20


def quasi_newton_minimum(
    objective: PenalisedSum, start: Floats, *, accuracy: float, most_steps: int
) -> Minimum:
    """Return where L-BFGS ends: as near to the minimum as asked, or not converged."""
    weights, pairs = start, deque[tuple[Floats, Floats, float]](maxlen=PAIRS)
    u = objective.outputs(weights)
    gradient = objective.gradient(u, weights)
    for steps in range(most_steps + 1):
        error = relative_error(gradient, weights, objective.ridge)
        if error <= accuracy or steps == most_steps:
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
        bend = gradient - before
        pairs.append((move, bend, float(move @ bend)))
    # What is said of the weights is of their own outputs, not of the sum of changes.
    gradient = objective.gradient(objective.outputs(weights), weights)
    error = relative_error(gradient, weights, objective.ridge)
    return Minimum(weights, steps, error, error <= accuracy)


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
