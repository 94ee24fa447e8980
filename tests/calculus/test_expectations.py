"""Gaussian expectations against independent integration."""

import numpy as np
import pytest
from scipy.integrate import quad

from onegrad.calculus import function as closed_forms
from onegrad.calculus import functions
from onegrad.calculus.expectations import (
    LocalExpectations,
    expand,
    hermite_coefficients,
    second_moment,
    theorem_degree,
)
from onegrad.calculus.function import Function, horner, orthonormal_hermite, power_basis

SMOOTH = ["tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "sin", "hermite:3"]
MEANS = np.array([-1.3, 0.0, 0.4, 2.0])
DEVIATIONS = np.array([0.3, 1.0, 2.5, 4.0])


def by_quad(function, mean, deviation, degree):
    def integrand(z):
        hermite = orthonormal_hermite(np.array([z]), degree)[degree, 0]
        return float(function(np.array([mean + deviation * z]))[0]) * hermite * np.exp(-z * z / 2)

    kink = -mean / deviation
    parts = quad(integrand, -12, kink, limit=400, epsabs=1e-13)[0]
    parts += quad(integrand, kink, 12, limit=400, epsabs=1e-13)[0]
    return parts / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("name", ["relu", *SMOOTH])
def test_coefficients_equal_adaptive_integration(name):
    activation = functions.get(name)
    ours = hermite_coefficients(activation, MEANS, DEVIATIONS, order=6)
    for i, (mean, deviation) in enumerate(zip(MEANS, DEVIATIONS, strict=True)):
        for degree in (0, 1, 2, 3, 6):
            reference = by_quad(activation, mean, deviation, degree)
            assert ours[degree, i] == pytest.approx(reference, abs=1e-10)


def test_gauss_hermite_would_fail_where_the_trapezoid_rule_holds():
    tanh = functions.get("tanh")
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    reference = by_quad(tanh, 0.0, 4.0, 1)
    assert abs(np.sum(weights * np.tanh(4 * nodes) * nodes) - reference) > 5e-5
    ours = hermite_coefficients(tanh, np.zeros(1), np.array([4.0]), order=1)[1, 0]
    assert ours == pytest.approx(reference, abs=1e-11)


def test_relu_closed_forms_equal_quadrature_split_at_the_kink():
    plain = Function("plain", lambda u: np.maximum(u, 0), lambda u: u > 0, kinks=(0.0,))
    relu = functions.get("relu")
    np.testing.assert_allclose(
        hermite_coefficients(relu, MEANS, DEVIATIONS, order=12),
        hermite_coefficients(plain, MEANS, DEVIATIONS, order=12),
        atol=1e-11,
    )
    np.testing.assert_allclose(
        second_moment(relu, MEANS, DEVIATIONS), second_moment(plain, MEANS, DEVIATIONS), rtol=1e-11
    )


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "sin", "gelu"])
def test_parseval_holds(name):
    activation = functions.get(name)
    means, deviations = np.array([0.2]), np.array([0.8])
    coefficients = hermite_coefficients(activation, means, deviations, order=60)
    total = second_moment(activation, means, deviations)
    assert np.sum(coefficients**2) == pytest.approx(float(total[0]), rel=1e-10)


def test_interpolation_over_deviations_equals_direct_quadrature():
    tanh = functions.get("tanh")
    deviations = np.linspace(0.7, 2.3, 1000)
    many = hermite_coefficients(tanh, np.zeros(1000), deviations, order=8)
    few = hermite_coefficients(tanh, np.zeros(20), deviations[::50], order=8)
    np.testing.assert_allclose(many[:, ::50], few, atol=1e-12)


@pytest.mark.parametrize("name", ["relu", "erf", "sin"])
def test_pair_closed_form_equals_its_series(name):
    activation = functions.get(name)
    left, right, correlation = np.array([0.7]), np.array([1.2]), 0.4
    zero = np.zeros(1)
    a = hermite_coefficients(activation, zero, left, order=40)[:, 0]
    b = hermite_coefficients(activation, zero, right, order=40)[:, 0]
    series = np.sum(a * b * correlation ** np.arange(41))
    assert activation.pair is not None
    assert activation.pair(np.array([correlation]), left, right)[0] == pytest.approx(
        series, abs=1e-12
    )


def test_vanishing_deviation_gives_the_function_itself():
    for name in ("relu", "tanh"):
        activation = functions.get(name)
        values = hermite_coefficients(activation, MEANS, np.zeros(4), order=1)
        np.testing.assert_allclose(values[0], activation(MEANS), atol=1e-9)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "relu", "softplus"])
def test_local_expectations_equal_direct_ones(name, rng):
    activation = functions.get(name)
    deviations = rng.uniform(0.8, 1.3, 30)
    centre, reach = 0.1 * rng.standard_normal(30), rng.uniform(0.05, 0.6, 30)
    local = LocalExpectations.build(activation, deviations, centre=centre, reach=reach)
    means = centre + reach * rng.standard_normal((50, 30))
    values, moment = local(means)
    direct = hermite_coefficients(activation, means, np.broadcast_to(deviations, (50, 30)), order=2)
    np.testing.assert_allclose(values, direct, atol=1e-8)
    np.testing.assert_allclose(
        moment, second_moment(activation, means, np.broadcast_to(deviations, (50, 30))), atol=1e-8
    )


def test_hermite_expansion_is_the_polynomial_of_its_coefficients(rng):
    expansion = expand(functions.get("sigmoid"), 0.8, degree=4)
    points = rng.standard_normal(50)
    direct = expansion.coefficients @ orthonormal_hermite(points / 0.8, 4)
    np.testing.assert_allclose(expansion(points), direct, atol=1e-12)


def test_hermite_residual_is_the_variance_of_what_is_left_out():
    relu = functions.get("relu")
    expansion = expand(relu, 1.0, degree=2)
    # E ReLU² = 1/2, h_0²= 1/2π, h_1² = 1/4, h_2²/2 = 1/4π
    assert expansion.noise_variance == pytest.approx(0.25 - 1 / (2 * np.pi) - 1 / (4 * np.pi))


def test_polynomial_activation_leaves_no_residual():
    assert expand(functions.get("hermite:3"), 0.9, degree=3).noise_variance < 1e-10
    assert expand(functions.get("hermite:3"), 0.9, degree=2).noise_variance > 1


@pytest.mark.parametrize(
    ("strength", "degree"), [(0, 1), (0.49, 1), (0.51, 2), (0.66, 2), (0.74, 3), (0.76, 4), (1, 4)]
)
def test_degree_follows_the_theorem_up_to_its_cap(strength, degree):
    assert theorem_degree(strength) == degree


def test_degree_cap_is_a_parameter():
    assert theorem_degree(0.89, cap=20) == 9


def test_horner_keeps_single_precision():
    points = np.linspace(-1, 1, 5, dtype=np.float32)
    assert horner(power_basis(np.array([1.0, 2.0, 3.0]), 1.0), points).dtype == np.float32


@pytest.mark.parametrize("name", ["relu", *SMOOTH, "identity", "hermite:0"])
def test_derivative_is_the_slope_of_the_function(name):
    activation = functions.get(name)
    points = np.linspace(-3, 3, 40) + 0.01
    slope = (activation(points + 1e-6) - activation(points - 1e-6)) / 2e-6
    value, derivative = activation.value_and_derivative(points)
    np.testing.assert_allclose(derivative, slope, atol=1e-6)
    np.testing.assert_allclose(value, activation(points))
    np.testing.assert_allclose(activation.derivative(points), slope, atol=1e-6)


@pytest.mark.parametrize("name", ["relu", *SMOOTH, "identity"])
def test_activations_keep_single_precision(name):
    points = np.linspace(-3, 3, 7, dtype=np.float32)
    value, derivative = functions.get(name).value_and_derivative(points)
    assert value.dtype == derivative.dtype == np.float32


def test_erf_pair_limits():
    unit = np.ones(1)
    assert closed_forms.erf_pair(0 * unit, unit, unit)[0] == 0
