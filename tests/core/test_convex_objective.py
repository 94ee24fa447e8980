"""The objective of convex readouts: Newton's directions on either side, lengths of steps."""

import numpy as np
import pytest

from onegrad.calculus.losses import get_loss
from onegrad.core.convex_readout import LossTerms, PenalisedSum, Sample

SHAPES = [(60, 20), (40, 40), (30, 70)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=["narrow", "square", "wide"])


def objective(shape, loss, ridge=1e-2):
    rng = np.random.default_rng(shape)
    phi = rng.standard_normal(shape) / np.sqrt(shape[1])
    labels = np.sign(rng.standard_normal(shape[0]))
    return PenalisedSum(Sample(phi), LossTerms(get_loss(loss), labels), ridge)


def point(target, *, size=1.0):
    weights = size * np.random.default_rng(1).standard_normal(target.sample.phi.shape[1])
    return weights, target.outputs(weights)


# All samples of the logistic loss are curved, half of the squared hinge's, few of a narrow Huber's.
@shapes
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber:0.05"])
def test_the_direction_of_newton_solves_the_dense_system(shape, loss):
    target = objective(shape, loss)
    weights, u = point(target)
    gradient = target.gradient(u, weights)
    phi, (_, curvatures) = target.sample.phi, target.terms.bends(u)
    hessian = phi.T @ (curvatures[:, None] * phi) / len(u) + target.ridge * np.eye(shape[1])
    found = target.newton_direction(u, gradient)
    np.testing.assert_allclose(found, -np.linalg.solve(hessian, gradient), rtol=1e-9, atol=1e-10)


def test_without_curvature_the_direction_is_that_of_the_penalty():
    target = objective((30, 70), "squared_hinge")
    u = 2 * target.terms.labels  # all beyond the margin
    gradient = np.ones(70)
    np.testing.assert_allclose(target.newton_direction(u, gradient), -gradient / target.ridge)


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "huber:0.05"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_step_leaves_a_tenth_of_the_slope_whatever_the_length_of_the_direction(loss, size):
    target = objective((40, 40), loss)
    weights, u = point(target)
    gradient = target.gradient(u, weights)
    direction = -size * gradient
    change = target.outputs(direction)
    length = target.step_length(u, weights, change=change, direction=direction)
    moved = weights + length * direction
    slope = target.gradient(target.outputs(moved), moved) @ direction
    assert abs(slope) <= 0.1 * abs(gradient @ direction) * (1 + 1e-9)


def test_there_is_no_step_uphill():
    target = objective((40, 40), "logistic")
    weights, u = point(target)
    gradient = target.gradient(u, weights)
    change = target.outputs(gradient)
    assert target.step_length(u, weights, change=change, direction=gradient) is None
