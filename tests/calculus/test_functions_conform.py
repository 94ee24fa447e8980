"""What every function must satisfy: built in, registered, or a formula."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from onegrad import InvalidInput, register_function
from onegrad.calculus import formulas, functions
from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import GRID

MEAN, DEVIATION = np.array([0.3]), np.array([0.8])
ORDER = 40
OWN = "leaky_own"
BUILT_IN = [name for name in functions.FUNCTIONS if functions.FUNCTIONS.mark(name) is None]
NAMES = [
    *BUILT_IN,
    "hermite:3",
    "leaky_relu:0.3",
    "leaky_relu:-0.5",
    "max(u, 0.1*u) + He2/2",
    OWN,
]


@pytest.fixture(params=NAMES)
def function(request, monkeypatch):
    """Return each function; one is registered as a user does, and forgotten afterwards."""
    monkeypatch.setattr(functions.FUNCTIONS, "entries", dict(functions.FUNCTIONS.entries))
    register_function(
        OWN, lambda u: np.maximum(u, 0.2 * u), lambda u: np.where(u > 0, 1.0, 0.2), kinks=(0.0,)
    )
    return functions.get(request.param)


def expectation(value, kinks):
    """Return E[value(z)], z ~ N(0, 1), by adaptive integration between the kinks."""
    ends = [-12.0, *sorted((k - MEAN[0]) / DEVIATION[0] for k in kinks), 12.0]
    return sum(
        quad(lambda z: value(z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), *piece, limit=200)[0]
        for piece in pairwise(ends)
    )


def of_scalar(function):
    return lambda z: float(function(MEAN + DEVIATION * z)[0])


def test_values_and_slopes_are_finite_and_of_the_argument_s_shape_and_type(function):
    for points in (GRID, np.zeros((2, 3), dtype=np.float32)):
        value, slope = function.value_and_derivative(points)
        assert value.shape == slope.shape == points.shape
        assert value.dtype == slope.dtype == points.dtype
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(slope))
        assert np.array_equal(value, function(points))
        assert np.array_equal(slope, function.slope(points))


def test_the_derivative_is_the_slope_off_the_kinks(function):
    """Central differences of step h err by h²|σ'''|/6 and by rounding over h: below 1e−6 here."""
    points = np.linspace(-3, 3, 60) + 0.0123
    points = points[[all(abs(p - kink) > 1e-3 for kink in function.kinks) for p in points]]
    difference = (function(points + 1e-5) - function(points - 1e-5)) / 2e-5
    assert function.slope(points) == pytest.approx(difference, rel=1e-6, abs=1e-6)
    assert function.slope(points) != pytest.approx(1.01 * difference, rel=1e-6, abs=1e-6)


def test_the_second_moment_is_the_integral(function):
    value = of_scalar(function)
    integral = expectation(lambda z: value(z) ** 2, function.kinks)
    assert second_moment(function, MEAN, DEVIATION)[0] == pytest.approx(integral, rel=1e-8)


def test_coefficients_satisfy_parseval_up_to_truncation(function):
    """σ' has coefficients √l â_l/s: degrees above N hold at most s²Eσ'²/(N + 1) of Eσ²."""
    a = hermite_coefficients(function, MEAN, DEVIATION, order=ORDER)[:, 0]
    slope = of_scalar(function.slope)
    bound = DEVIATION[0] ** 2 * expectation(lambda z: slope(z) ** 2, function.kinks) / (ORDER + 1)
    left_out = second_moment(function, MEAN, DEVIATION)[0] - a @ a
    assert -1e-10 < left_out < bound + 1e-10
    # Negative control: without degree 1 more is left out than any truncation does.
    assert left_out + a[1] ** 2 > bound + 1e-10


@pytest.mark.parametrize("name", [name for name in BUILT_IN if functions.FUNCTIONS[name].pair])
def test_a_closed_form_of_pairs_is_its_series(name):
    """Terms of the series are at most R^l E σ²: 0.6^200 is below 1e−40."""
    function = functions.get(name)
    correlation, left, right = np.array([-0.6, 0.1, 0.6]), np.full(3, 0.8), np.full(3, 1.7)
    a, b = (hermite_coefficients(function, np.zeros(3), s, order=200) for s in (left, right))
    terms = a * b * correlation ** np.arange(201)[:, None]
    assert function.pair(correlation, left, right) == pytest.approx(terms.sum(axis=0), abs=1e-10)
    assert function.pair(correlation, left, right) != pytest.approx(terms[:2].sum(axis=0), abs=1e-6)


def test_a_fingerprint_tells_functions_apart(function):
    assert function.fingerprint() == functions.get(function.name).fingerprint()
    others = [functions.get(name) for name in NAMES if functions.get(name).name != function.name]
    assert function.fingerprint() not in {other.fingerprint() for other in others}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("z" + "+z" * 100, "of up to 200 letters"),
        ("abs(" * 21 + "z" + ")" * 21, "has brackets 21 deep, at most 20 are allowed"),
        ("max(He30,max(He29,He28))", "kinks, at most 32 are allowed"),
        ("abs(He30*He29*He28*He27-1)", "kinks, at most 32 are allowed"),
    ],
)
def test_formulas_have_limits_that_are_said(text, reason):
    with pytest.raises(InvalidInput, match=reason):
        functions.get(text)
    functions.get("abs(" * 20 + "z" + ")" * 20)  # negative control


def test_a_formula_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(formulas, "LONGEST_EVALUATION", 0.0)
    with pytest.raises(InvalidInput, match="at 4801 points, at most 0 s is allowed"):
        functions.get("tanh(z)/17.25")
