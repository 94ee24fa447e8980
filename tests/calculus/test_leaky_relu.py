"""Leaky ReLU has ReLU's closed forms: they agree with the registered function's quadratures."""

import numpy as np
import pytest

from onegrad import InvalidInput, Problem, predict
from onegrad.calculus import functions
from onegrad.calculus.expectations import hermite_coefficients, second_moment, slope_of
from onegrad.calculus.function import Function, leaky_relu

MEANS, DEVIATIONS = np.array([-1.3, 0.0, 0.4, 2.0]), np.array([0.3, 1.0, 0.8, 1.7])


def without_closed_forms(function):
    """Return the same function as quadratures see it."""
    return Function(function.name, function.function, function.derivative, kinks=function.kinks)


@pytest.mark.parametrize("slope", [0.01, 0.1, -0.5, 1.0])
def test_closed_forms_are_the_integrals(slope):
    function = leaky_relu(slope)
    for own in (function, slope_of(function)):
        plain = without_closed_forms(own)
        exact = hermite_coefficients(own, MEANS, DEVIATIONS, order=8)
        assert exact == pytest.approx(
            hermite_coefficients(plain, MEANS, DEVIATIONS, order=8), abs=1e-10
        )
        assert second_moment(own, MEANS, DEVIATIONS) == pytest.approx(
            second_moment(plain, MEANS, DEVIATIONS), rel=1e-10
        )


@pytest.mark.parametrize("slope", [0.1, -0.5])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.6])
def test_pairs_are_their_series(slope, correlation):
    """E σ(u)σ(v) = Σ_l â_l b̂_l R^l; degrees above 200 hold 0.9^200 < 1e−9 of it."""
    function, left, right = leaky_relu(slope), np.array([0.8]), np.array([1.3])
    zero = np.zeros(1)
    a = hermite_coefficients(function, zero, left, order=200)[:, 0]
    b = hermite_coefficients(function, zero, right, order=200)[:, 0]
    series = np.sum(a * b * correlation ** np.arange(201.0))
    assert function.pair(np.array([correlation]), left, right)[0] == pytest.approx(series, abs=1e-8)
    other = leaky_relu(slope + 0.05).pair(np.array([correlation]), left, right)[0]
    assert other != pytest.approx(series, abs=1e-4)


def test_names_and_slopes_are_read():
    assert functions.get("leaky_relu").name == "leaky_relu"
    assert functions.get("leaky_relu:0.01") is functions.get("Leaky_ReLU")
    assert functions.get("leaky_relu:0.10").name == "leaky_relu:0.1"
    for wrong in ("leaky_relu:x", "leaky_relu:nan", "leaky_relu:1e9", "leaky_relu:"):
        with pytest.raises(InvalidInput, match="leaky_relu:SLOPE"):
            functions.get(wrong)


def test_a_problem_gives_what_the_formula_gives():
    small = {"dimension": 30, "readout": {"samples": 40}, "network": {"width": 20}}
    problem = Problem(**small)
    named, formula = (
        predict(problem.replace(network__activation=text), ["network"], draws=1)
        for text in ("leaky_relu:0.1", "max(u, 0.1*u)")
    )
    for name, values in named.metrics.items():
        assert values == pytest.approx(formula.metrics[name], rel=1e-6)
