"""The functions that come with onegrad, with closed forms where they have some."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import erf, expit, log_expit, ndtr

from onegrad.calculus import closed_forms
from onegrad.calculus.function import Function
from onegrad.calculus.leaky_relu import DEFAULT_SLOPE, leaky_relu
from onegrad.describe.arrays import Floats

LARGEST_DEGREE = 30  # of a Hermite polynomial as a function of its own


def _relu(u: Floats) -> Floats:
    return np.maximum(u, 0)


def _step(u: Floats) -> Floats:
    return (u > 0).astype(u.dtype)


def _tanh_both(u: Floats) -> tuple[Floats, Floats]:
    value = np.tanh(u)
    return value, 1 - value * value


def _sigmoid_both(u: Floats) -> tuple[Floats, Floats]:
    value = expit(u)
    return value, value * (1 - value)


def _gaussian_slope(u: Floats) -> Floats:
    slope: Floats = 2 / np.sqrt(np.pi) * np.exp(-u * u)
    return slope.astype(u.dtype, copy=False)


def _softplus(u: Floats) -> Floats:
    return -log_expit(-u)


def _gelu(u: Floats) -> Floats:
    return u * ndtr(u)


def _gelu_slope(u: Floats) -> Floats:
    slope: Floats = ndtr(u) + u * closed_forms.normal_density(u)
    return slope.astype(u.dtype, copy=False)


def _silu(u: Floats) -> Floats:
    return u * expit(u)


def _silu_slope(u: Floats) -> Floats:
    gate = expit(u)
    return gate * (1 + u * (1 - gate))


def _identity(u: Floats) -> Floats:
    return u.copy()


BUILT_IN: dict[str, Function] = {
    function.name: function
    for function in (
        Function(
            "relu",
            _relu,
            _step,
            kinks=(0.0,),
            coefficients=closed_forms.relu_coefficients,
            second_moment=closed_forms.relu_second_moment,
            pair=closed_forms.relu_pair,
        ),
        leaky_relu(DEFAULT_SLOPE),
        Function("tanh", np.tanh, lambda u: _tanh_both(u)[1], both=_tanh_both),
        Function("sigmoid", expit, lambda u: _sigmoid_both(u)[1], both=_sigmoid_both),
        Function("erf", erf, _gaussian_slope, pair=closed_forms.erf_pair),
        Function("softplus", _softplus, expit),
        Function("gelu", _gelu, _gelu_slope),
        Function("silu", _silu, _silu_slope),
        Function(
            "sin",
            np.sin,
            np.cos,
            coefficients=closed_forms.sine_coefficients,
            second_moment=closed_forms.sine_second_moment,
            pair=closed_forms.sine_pair,
        ),
        Function("identity", _identity, np.ones_like),
    )
}
# The slope of ReLU, which is no activation of its own.
STEP = Function(
    "step",
    _step,
    kinks=(0.0,),
    coefficients=closed_forms.step_coefficients,
    second_moment=lambda means, deviations: ndtr(means / deviations),
)
ALIASES = {"sine": "sin", "swish": "silu", "linear": "identity"}


def hermite_function(degree: int) -> Function:
    """Return the probabilists' Hermite polynomial H_degree with H' = degree·H_{degree−1}."""
    basis = [0.0] * degree + [1.0]
    slope = hermite_e.hermeder(basis)
    return Function(
        f"hermite:{degree}",
        lambda u: hermite_e.hermeval(u, basis).astype(u.dtype, copy=False),
        lambda u: hermite_e.hermeval(u, slope).astype(u.dtype, copy=False) + np.zeros_like(u),
    )
