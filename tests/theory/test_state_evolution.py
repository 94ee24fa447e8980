"""The published state evolution of logistic regression as an oracle: nothing of ours in it.

One Gaussian component, features that are the inputs, labels by the sign of one direction: equations
of Loureiro et al., Learning curves of generic features maps (2021), for identity covariances.
"""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from onegrad import Problem
from onegrad.calculus.label_responses import TypeLabels
from onegrad.core.instance import draw
from onegrad.theory.algebra import SharedCovariance, TypeMoments
from onegrad.theory.equations import solve_by_types

WIDTH = 100_000  # theirs is the limit of many features
NODES = np.linspace(-9, 9, 1501)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.sum(np.exp(-(NODES**2) / 2))


def prox(y, omega, response):
    """Return argmin log(1 + e^{-yx}) + (x - omega)²/2V by halving an interval."""
    low, high = omega - response, omega + response
    for _ in range(80):
        middle = (low + high) / 2
        rises = (middle - omega) / response - y * expit(-y * middle) > 0
        low, high = np.where(rises, low, middle), np.where(rises, middle, high)
    return (low + high) / 2


def channel(overlap, square, response):
    """Return E f², E f_ω and E Z_ω f/Z over outputs and labels, and both losses."""
    eta = overlap**2 / square
    omega, teacher, rest = np.sqrt(square) * NODES, np.sqrt(eta) * NODES, np.sqrt(1 - eta)
    total = np.zeros(5)
    for y in (1.0, -1.0):
        share = ndtr(y * teacher / rest)
        turn = y * np.exp(-((teacher / rest) ** 2) / 2) / np.sqrt(2 * np.pi) / rest
        x = prox(y, omega, response)
        f = (x - omega) / response
        curvature = expit(x) * expit(-x)
        slope = -curvature / (1 + response * curvature)
        losses = [np.logaddexp(0, -y * z) for z in (omega, x)]
        values = (share * f**2, share * slope, turn * f, *(share * loss for loss in losses))
        total += [np.sum(WEIGHTS * value) for value in values]
    return total


def oracle(alpha, penalty):
    """Return test loss, train loss, misclassification and ‖w‖² of α = samples/features."""
    point = np.array([0.5, 1.0, 1.0])  # overlap, square, response
    for _ in range(1000):
        f2, slope, turn, *_ = channel(*point)
        stiff = penalty - alpha * slope
        squares = (alpha * turn) ** 2 + alpha * f2
        following = np.array([alpha * turn / stiff, squares / stiff**2, 1 / stiff])
        change, point = np.max(np.abs(following - point)), following
        if change < 1e-10:
            break
    assert change < 1e-10
    overlap, square, response = point
    *_, test, train = channel(overlap, square, response)
    return test, train, np.arccos(overlap / np.sqrt(square)) / np.pi, square


def predicted(samples, ridge):
    """Return the same numbers by types."""
    direction = np.zeros((1, WIDTH))
    direction[0, 0] = 1.0
    almost_nothing = np.zeros((WIDTH, 1))
    almost_nothing[1] = 1e-6  # Σ̄ = I + AAᵀ
    labels = TypeLabels(
        weights=np.ones(1),
        components=np.zeros(1),
        means=np.zeros(1),
        variances=np.ones(1),
        binary=True,
        centres=np.zeros(1),
        deviations=np.ones(1),
        teacher=draw(Problem(dimension=20, teacher={"kind": "sign"})).teacher,
    )
    types = TypeMoments(
        labels=labels,
        means=np.zeros((1, WIDTH)),
        traces=np.full(1, float(WIDTH)),
        rests=np.zeros(1),
        covariance=almost_nothing,
        label_cross=np.sqrt(2 / np.pi) * direction,
        projection_cross=direction,
        level=1.0,
    )
    found = solve_by_types(SharedCovariance(types), samples, ridge, loss="logistic").errors()
    names = ("test_loss", "train_loss", "misclassification", "squared_weight_norm")
    return [found[name] for name in names]


@pytest.mark.parametrize(("alpha", "ridge"), [(1.5, 0.05), (0.5, 0.2), (3.0, 1e-3)])
def test_logistic_regression_on_gaussian_inputs_is_the_published_one(alpha, ridge):
    """λ of the mean loss is α times theirs of the sum, whose inputs are over √features."""
    ours = predicted(round(alpha * WIDTH), ridge)
    assert ours == pytest.approx(oracle(alpha, alpha * ridge), rel=1e-4)
    assert ours != pytest.approx(oracle(alpha, 1.01 * alpha * ridge), rel=1e-4)  # the control
