"""Gaussian expectations of losses: adaptive integration is the reference."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from onegrad.calculus.loss_expectations import gaussian_losses, gaussian_response
from onegrad.calculus.losses import NamedLoss, get_loss


class HalfLogistic:
    """max(log(1 + e^{−yu}), log 2): convex, curved on one side of a jump of ℓ' at 0."""

    needs_signs = True
    smooth = False

    def value(self, y, u):
        return np.maximum(np.logaddexp(0, -y * u), np.log(2))

    def derivative(self, y, u):
        return np.where(y * u < 0, -y / (1 + np.exp(np.minimum(y * u, 0.0))), 0.0)

    def corners(self, y):
        return [0 * y]


LOSSES = [get_loss(t) for t in ("square", "logistic", "squared_hinge", "hinge", "huber:0.3")]
LOSSES.append(NamedLoss("half_logistic", HalfLogistic()))


def reference(loss, y, mean, variance, gamma):
    """Return E f, E f_u, E f², E ℓ(u), E ℓ(prox u), E(y − prox u)² by adaptive quadrature."""
    deviation = np.sqrt(variance)
    places = [*loss.kinks(y, gamma), *loss.kinks(y, 0.0), 0.0, -40.0, 40.0, -gamma - 40]
    cuts = {float(np.clip((place - mean) / deviation, -8.5, 8.5)) for place in places}
    edges = sorted(cuts | {-8.5, 0.0, 8.5})

    def mean_of(function):
        def integrand(z):
            return float(function(mean + deviation * z)) * norm.pdf(z)

        options = {"epsabs": 1e-11, "epsrel": 1e-9, "limit": 200}
        parts = pairwise(edges)
        return sum(quad(integrand, a, b, **options)[0] for a, b in parts)

    return [
        mean_of(lambda u: loss.response(y, u, gamma)[0]),
        mean_of(lambda u: loss.response(y, u, gamma)[1]),
        mean_of(lambda u: loss.response(y, u, gamma)[0] ** 2),
        mean_of(lambda u: loss.value(y, u)),
        mean_of(lambda u: loss.value(y, loss.prox(y, u, gamma))),
        mean_of(lambda u: (y - loss.prox(y, u, gamma)) ** 2),
    ]


@pytest.mark.parametrize("variance", [1e-4, 1.0, pytest.param(1e2, marks=pytest.mark.slow), 1e4])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_expectations_are_those_of_adaptive_integration(loss, variance):
    for y, mean, gamma in [(1.0, 0.3, 0.05), (-1.0, 0.8, 20.0)]:
        response = gaussian_response(loss, y, mean, variance=variance, gamma=gamma)
        losses = gaussian_losses(loss, y, mean, variance=variance, gamma=gamma)
        found = [*response, losses.test_loss, losses.train_loss, losses.train_mse]
        expected = reference(loss, y, mean, variance, gamma)
        # ℓ'' of the half logistic is a difference of ℓ', good to 1e−6.
        rtol = 1e-5 if loss.name == "half_logistic" else 1e-7
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_errors_and_misclassification_are_those_of_samples(loss):
    rng = np.random.default_rng(3)
    y, mean, variance, gamma = -1.0, 0.4, 2.0, 1.5
    u = mean + np.sqrt(variance) * rng.standard_normal(200_000)
    x = loss.prox(y, u, gamma)
    found = gaussian_losses(loss, y, mean, variance=variance, gamma=gamma)
    # 4 standard errors of 200,000 samples: a rate to 0.0045, squared errors to 0.04.
    assert found.test_misclassification == pytest.approx(np.mean(y * u < 0), abs=0.0045)
    assert found.train_misclassification == pytest.approx(np.mean(y * x < 0), abs=0.0045)
    assert found.test_mse == pytest.approx(np.mean((y - u) ** 2), abs=0.04)
    assert found.train_mse == pytest.approx(np.mean((y - x) ** 2), abs=0.04)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_types_of_one_call_are_those_of_their_own(loss):
    y, mean = np.array([-1.0, 1.0, 1.0]), np.array([0.1, -0.5, 2.0])
    variance, gamma = np.array([[0.5], [3.0]]), np.array([0.2, 1.0, 5.0])
    together = gaussian_response(loss, y, mean, variance=variance, gamma=gamma)
    assert together.mean.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        alone = gaussian_response(loss, y[j], mean[j], variance=variance[i, 0], gamma=gamma[j])
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[i, j], b, rtol=1e-6, atol=1e-9)


def test_the_slope_of_the_hinge_moves_smoothly_as_its_kinks_pass_nodes():
    means = np.linspace(0, 1, 2001)
    slope = gaussian_response(get_loss("hinge"), 1.0, means, variance=0.25, gamma=0.3).slope
    exact = (norm.cdf((1 - means) / 0.5) - norm.cdf((0.7 - means) / 0.5)) / 0.3
    np.testing.assert_allclose(slope, exact, atol=1e-10)


def test_an_output_without_variance_is_its_mean():
    found = gaussian_response(get_loss("hinge"), 1.0, 0.5, variance=0.0, gamma=1.0)
    np.testing.assert_allclose(found, [-0.5, 1.0, 0.25], atol=1e-9)
