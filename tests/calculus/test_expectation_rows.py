"""Expectations from rows: those of direct integration, for any places, shapes and functions."""

import numpy as np
import pytest

from onegrad.calculus import functions
from onegrad.calculus.expectations import (
    _is_outside,
    hermite_coefficients,
    second_moment,
    slope_of,
    smoothed_derivatives,
    smoothed_square,
)

NAMES = ["tanh", "sigmoid", "max(u, 0.1*u)", "relu", "erf"]


def direct(function, means, deviations, order):
    """Return E σ^{(q)}(m + s z) = √q! â_q/s^q, integrated at every place."""
    values = hermite_coefficients(function, means, deviations, order=order)
    scale = 1.0
    for q in range(1, order + 1):
        scale = scale * np.sqrt(q) / deviations
        values[q] *= scale
    return values


@pytest.fixture
def places(rng):
    """Means up to six deviations away, deviations from .3 to 20: rows cover all of them."""
    deviations = np.exp(rng.uniform(np.log(0.3), np.log(20), 300))
    means, deviations = deviations * rng.uniform(-6, 6, 300), deviations
    assert not _is_outside(means, deviations)
    return means, deviations


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_direct_integration(name, places):
    """Rows end at order 6, so D_q errs by about row_7·(1/16)^{7−q}/(7−q)!, in deviations.

    Each order of q costs a factor of 16·(7 − q)/√(q + 1) < 60; the mean over shifts and places is
    smaller. 1e−6 holds for D_0 and D_1, and twenty times more for every further order.
    """
    sigma = functions.get_activation(name)
    means, deviations = places
    order = 3
    found = smoothed_derivatives(sigma, means, deviations, order)
    exact = direct(sigma, means, deviations, order)
    size = np.abs(exact[0]) + deviations  # of σ around the place
    for q in range(order + 1):
        off = np.abs(found[q] - exact[q]) * deviations**q / size
        assert off.max() < 1e-6 * 20.0 ** max(q - 1, 0), (q, off.max())


@pytest.mark.parametrize("name", NAMES)
def test_squares_are_those_of_direct_integration(name, places):
    sigma = functions.get_activation(name)
    means, deviations = places
    for function in (sigma, slope_of(sigma)):
        found = smoothed_square(function, means, deviations)
        exact = second_moment(function, means, deviations)
        size = np.maximum(np.abs(exact), 1e-2)
        assert np.max(np.abs(found - exact) / size) < 1e-6


def test_the_slope_of_relu_is_the_step():
    slope = slope_of(functions.get_activation("relu"))
    assert slope(np.array([-1.0, 2.0])).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(smoothed_square(slope, np.zeros(2), np.array([0.5, 3.0])), 0.5)


def test_an_odd_function_has_odd_means_and_even_slopes(places):
    sigma = functions.get_activation("tanh")
    means, deviations = places
    plus = smoothed_derivatives(sigma, means, deviations, 3)
    minus = smoothed_derivatives(sigma, -means, deviations, 3)
    signs = np.array([-1, 1, -1, 1])[:, None]
    np.testing.assert_allclose(minus, signs * plus, rtol=1e-9, atol=1e-9)


def test_relu_scales_with_its_argument(places):
    sigma = functions.get_activation("max(u, 0)")
    means, deviations = places
    once = smoothed_derivatives(sigma, means, deviations, 2)
    thrice = smoothed_derivatives(sigma, 3 * means, 3 * deviations, 2)
    for q, factor in enumerate((3.0, 1.0, 1 / 3)):
        off = np.abs(thrice[q] - factor * once[q]) * deviations**q / (factor * deviations)
        assert off.max() < 2e-5


def test_order_shape_and_company_do_not_matter(places):
    sigma = functions.get_activation("tanh")
    means, deviations = places
    whole = smoothed_derivatives(sigma, means.reshape(20, 15), deviations.reshape(20, 15), 2)
    assert whole.shape == (3, 20, 15)
    alone = [smoothed_derivatives(sigma, means[i], deviations[i], 2) for i in range(0, 300, 37)]
    np.testing.assert_allclose(
        np.array(alone), whole.reshape(3, -1)[:, ::37].T, rtol=1e-12, atol=1e-14
    )
    one = smoothed_derivatives(sigma, means, deviations, 0)
    assert np.array_equal(one[0], whole[0].ravel())
    column = smoothed_derivatives(sigma, means[:, None], np.array([[1.0, 2.0]]), 1)
    assert column.shape == (2, 300, 2)


def test_places_that_rows_do_not_cover_are_integrated():
    sigma = functions.get_activation("tanh")
    for means, deviations in (
        (np.array([0.3, -1.0]), np.array([1e-5, 2.0])),  # hardly any noise
        (np.array([-4e3, 4e3]), np.array([1.0, 1.0])),  # too far apart
    ):
        found = smoothed_derivatives(sigma, means, deviations, 1)
        np.testing.assert_allclose(found, direct(sigma, means, deviations, 1), rtol=1e-9)


def test_a_derivative_of_the_mean_is_the_next_one(rng):
    """∂D_q/∂m = D_{q+1}, by differences across rows: no jump where the nearest row changes."""
    sigma = functions.get_activation("sigmoid")
    means, deviations = rng.uniform(-3, 3, 200), rng.uniform(0.5, 2, 200)
    h = 1e-2
    up, down = (smoothed_derivatives(sigma, means + d, deviations, 1)[0] for d in (h, -h))
    slope = smoothed_derivatives(sigma, means, deviations, 1)[1]
    # h² σ'''/6 of truncation, and rounding of rows (1e−6 at the most) over h.
    np.testing.assert_allclose((up - down) / (2 * h), slope, atol=h**2 / 40 + 1e-6 / h)
