"""Activation and link functions by name, with their derivatives.

`get("tanh")` returns a built-in one, `get("hermite:3")` the polynomial H_3, and
`register_activation` adds a function of your own under a name that problem files can then use.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import erf, expit, log_expit, ndtr

from onegrad import closed_forms
from onegrad.arrays import Floats
from onegrad.validation import InvalidInput

Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Activation:
    """A function σ with derivative σ', and what is known about it exactly.

    `kinks` are the points where σ is not smooth: quadrature is split there. `both` returns
    (σ, σ') from one evaluation. The closed forms replace quadrature and series where present:
    `coefficients` and `second_moment` for any mean, `pair` for pairs of zero mean.
    """

    name: str
    function: Function
    derivative: Function
    kinks: tuple[float, ...] = ()
    both: Callable[[Floats], tuple[Floats, Floats]] | None = None
    coefficients: Callable[[Floats, Floats, int], Floats] | None = None
    second_moment: Callable[[Floats, Floats], Floats] | None = None
    pair: Callable[[Floats, Floats, Floats], Floats] | None = None

    def __call__(self, points: Floats) -> Floats:
        """Return σ(points)."""
        return self.function(points)

    def value_and_derivative(self, points: Floats) -> tuple[Floats, Floats]:
        """Return σ(points) and σ'(points)."""
        if self.both is not None:
            return self.both(points)
        return self.function(points), self.derivative(points)


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


_BUILT_IN = {
    a.name: a
    for a in (
        Activation(
            "relu",
            _relu,
            _step,
            kinks=(0.0,),
            coefficients=closed_forms.relu_coefficients,
            second_moment=closed_forms.relu_second_moment,
            pair=closed_forms.relu_pair,
        ),
        Activation("tanh", np.tanh, lambda u: _tanh_both(u)[1], both=_tanh_both),
        Activation("sigmoid", expit, lambda u: _sigmoid_both(u)[1], both=_sigmoid_both),
        Activation("erf", erf, _gaussian_slope, pair=closed_forms.erf_pair),
        Activation("softplus", _softplus, expit),
        Activation("gelu", _gelu, _gelu_slope),
        Activation("silu", _silu, _silu_slope),
        Activation(
            "sin",
            np.sin,
            np.cos,
            coefficients=closed_forms.sine_coefficients,
            second_moment=closed_forms.sine_second_moment,
            pair=closed_forms.sine_pair,
        ),
        Activation("identity", _identity, np.ones_like),
    )
}
_ALIASES = {"sine": "sin", "swish": "silu", "linear": "identity"}
_REGISTERED: dict[str, Activation] = {}


def hermite_activation(degree: int) -> Activation:
    """Return the probabilists' Hermite polynomial H_degree with H' = degree·H_{degree−1}."""
    basis = [0.0] * degree + [1.0]
    slope = hermite_e.hermeder(basis)
    return Activation(
        f"hermite:{degree}",
        lambda u: hermite_e.hermeval(u, basis).astype(u.dtype, copy=False),
        lambda u: hermite_e.hermeval(u, slope).astype(u.dtype, copy=False) + np.zeros_like(u),
    )


def names() -> list[str]:
    """Return the names that `get` knows, without the family hermite:DEGREE."""
    return [*_BUILT_IN, *_REGISTERED]


def get(name: str, *, field: str = "activation") -> Activation:
    """Return the activation of this name; `field` is what an error message calls it."""
    key = _ALIASES.get(name.lower(), name.lower())
    if key in _BUILT_IN:
        return _BUILT_IN[key]
    if name in _REGISTERED:
        return _REGISTERED[name]
    family, _, degree = key.partition(":")
    if family == "hermite" and degree.isdigit() and int(degree) <= 30:
        return hermite_activation(int(degree))
    near = difflib.get_close_matches(key, names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "choose one, or register your own"
    known = ", ".join([*names(), "hermite:DEGREE (up to 30)"])
    raise InvalidInput(f"{field}={name!r}: must be one of {known}; {hint}")


@dataclass(frozen=True)
class _Typed:
    """A user's function whose values have the type of its argument."""

    function: Function

    def __call__(self, points: Floats) -> Floats:
        return np.asarray(self.function(points)).astype(points.dtype, copy=False)


def register_activation(
    name: str, function: Function, derivative: Function, *, kinks: tuple[float, ...] = ()
) -> Activation:
    """Return your own σ, after making it known under `name` to problems and problem files.

    Both callables take and return arrays. Give the points where σ has a kink or a jump, so that
    expectations stay exact. The derivative is checked against differences of the function.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInput(f"name={name!r}: must be a word of letters, digits and _; rename it")
    if name.lower() in {*_BUILT_IN, *_ALIASES}:
        raise InvalidInput(f"name={name!r}: is built in; choose another name")
    where = tuple(float(k) for k in np.atleast_1d(np.asarray(kinks, dtype=float)))
    if not np.all(np.isfinite(where)):
        raise InvalidInput(f"kinks={kinks!r}: must be finite numbers; correct them")
    activation = Activation(name, _Typed(function), _Typed(derivative), kinks=where)
    points = np.linspace(-3.0, 3.0, 61) + 0.0123
    points = points[[all(abs(p - kink) > 1e-3 for kink in where) for p in points]]
    step = 1e-6
    try:
        value, given = activation(points), activation.derivative(points)
        slope = (activation(points + step) - activation(points - step)) / (2 * step)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"function of {name!r}: must map arrays to arrays ({error}); use numpy functions"
        ) from None
    for label, values in (("function", value), ("derivative", given)):
        if np.shape(values) != points.shape or not np.all(np.isfinite(values)):
            raise InvalidInput(
                f"{label} of {name!r}: must map an array to finite values of its shape; correct it"
            )
    if np.max(np.abs(slope - given)) > 1e-4 * (1 + np.max(np.abs(given))):
        raise InvalidInput(
            f"derivative of {name!r}: differs from the function's slope; correct it or name kinks"
        )
    _REGISTERED[name] = activation
    return activation


def registered() -> dict[str, Activation]:
    """Return the activations that were registered in this process."""
    return dict(_REGISTERED)


def fingerprint(name: str) -> str | None:
    """Return a digest of a registered activation's values and slopes; None for built-in ones.

    A name does not tell what somebody's function computes: stored results are keyed by this too.
    """
    if name not in _REGISTERED:
        return None
    points = np.linspace(-8.0, 8.0, 129) + 0.0123
    values = np.stack([_REGISTERED[name](points), _REGISTERED[name].derivative(points)])
    return hashlib.sha256(values.tobytes()).hexdigest()


def adopt(activations: dict[str, Activation]) -> None:
    """Make activations of another process known here (used by worker processes)."""
    _REGISTERED.update(activations)
