"""The largest of several Gaussian outputs: by formula, by Monte Carlo, where it is determined."""

import numpy as np
import pytest
from scipy.special import ndtr

from onegrad.calculus.largest_gaussian import not_largest

DRAWS = 400_000


def random_outputs(outputs, count=40, seed=0):
    """Return means, covariances and classes of outputs of which the class's tends to be larger."""
    rng = np.random.default_rng(seed)
    means, own = rng.standard_normal((count, outputs)), rng.integers(0, outputs, count)
    means[np.arange(count), own] += rng.uniform(0, 4, count)
    roots = rng.standard_normal((count, outputs, outputs))
    return means, 0.7 / outputs * roots @ roots.transpose(0, 2, 1), own


def test_two_outputs_are_a_formula():
    means, covariances, own = random_outputs(2)
    sign = np.where(own == 0, 1.0, -1.0)
    turn = np.array([1.0, -1.0])
    deviation = np.sqrt(turn @ covariances @ turn)
    wrong = ndtr(-sign * (means @ turn) / deviation)
    assert not_largest(means, covariances, own) == pytest.approx(wrong, rel=1e-9)


@pytest.mark.parametrize(("outputs", "near"), [(3, 3e-4), (4, 5e-3), (10, 5e-3)])
def test_more_outputs_are_those_of_monte_carlo(outputs, near):
    means, covariances, own = random_outputs(outputs)
    rates = not_largest(means, covariances, own)
    fine = not_largest(means, covariances, own, points=1 << 15)
    assert np.max(np.abs(rates - fine)) < near
    assert abs(np.mean(rates - fine)) < 2e-4
    rng = np.random.default_rng(1)
    for t in range(5):
        u = rng.multivariate_normal(means[t], covariances[t], DRAWS, method="cholesky")
        error = 4 * np.sqrt(0.25 / DRAWS)
        drawn = np.mean(np.argmax(u, axis=1) != own[t])
        assert abs(fine[t] - drawn) < error
        assert abs(fine[t] - drawn + 0.01) > error  # the control


def test_equal_outputs_are_guessed_and_determined_ones_known():
    equal = not_largest(np.zeros((1, 5)), np.eye(5)[None], np.zeros(1, dtype=int), points=4096)
    assert equal == pytest.approx(0.8, abs=1e-3)
    means = np.array([[1.0, 0.0, -1.0], [1.0, 0.0, -1.0]])
    nothing = not_largest(means, np.zeros((2, 3, 3)), np.array([0, 1]))
    assert nothing == pytest.approx([0.0, 1.0], abs=1e-12)
    along = np.array([1.0, -2.0, 1.0])  # of rank 1: margins are 1 + 3z and 0.5
    covariance = np.outer(along, along)[None]
    alone = not_largest(np.array([[1.0, 0.0, 0.5]]), covariance, np.zeros(1, dtype=int))
    assert alone == pytest.approx(ndtr(-1 / 3), abs=1e-6)
