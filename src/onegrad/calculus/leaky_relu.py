"""Leaky ReLU of any slope below zero, with ReLU's closed forms.

σ(u) = max(u, 0) + a min(u, 0) = (1 − a) ReLU(u) + a u, so that
    â_l = (1 − a) â_l(ReLU) + a (m at l = 0, s at l = 1),
    E σ² = E ReLU(u)² + a² E ReLU(−u)²,
    E σ(u)σ(v) = (1 − a)² E ReLU(u)ReLU(v) + a s_u s_v R at zero means.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from onegrad.calculus.closed_forms import (
    relu_coefficients,
    relu_pair,
    relu_second_moment,
    step_coefficients,
)
from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats
from onegrad.describe.families import number_text

NAME = "leaky_relu"
DEFAULT_SLOPE = 0.01
LARGEST_SLOPE = 1e3


def read_slope(text: str) -> float | None:
    """Return the slope of leaky_relu:SLOPE, None where the text is no such number."""
    try:
        slope = float(text)
    except ValueError:
        return None
    return slope if math.isfinite(slope) and abs(slope) <= LARGEST_SLOPE else None


@functools.lru_cache(maxsize=64)
def leaky_relu(slope: float) -> Function:
    """Return max(u, 0) + a min(u, 0), the same object for the same a: what is kept of it is too."""
    rest = 1 - slope

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        out = rest * relu_coefficients(means, deviations, order)
        out[0] += slope * means
        if order >= 1:
            out[1] += slope * deviations
        return out

    def second_moment(means: Floats, deviations: Floats) -> Floats:
        below = relu_second_moment(-means, deviations)
        return relu_second_moment(means, deviations) + slope**2 * below

    def pair(correlation: Floats, left: Floats, right: Floats) -> Floats:
        line = slope * left * right * np.clip(correlation, -1, 1)
        return rest**2 * relu_pair(correlation, left, right) + line

    return Function(
        NAME if slope == DEFAULT_SLOPE else f"{NAME}:{number_text(slope)}",
        lambda u: np.where(u > 0, u, _like(u, slope) * u),
        lambda u: np.where(u > 0, _like(u, 1.0), _like(u, slope)),
        kinks=(0.0,),
        coefficients=coefficients,
        second_moment=second_moment,
        pair=pair,
    )


@functools.lru_cache(maxsize=64)
def leaky_step(slope: float) -> Function:
    """Return the slope of leaky ReLU as a function of its own: a + (1 − a) 1(u > 0)."""

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        out = (1 - slope) * step_coefficients(means, deviations, order)
        out[0] += slope
        return out

    def second_moment(means: Floats, deviations: Floats) -> Floats:
        above: Floats = ndtr(means / deviations)
        return above + slope**2 * (1 - above)

    return Function(
        f"{leaky_relu(slope).name}'",
        lambda u: np.where(u > 0, _like(u, 1.0), _like(u, slope)),
        kinks=(0.0,),
        coefficients=coefficients,
        second_moment=second_moment,
    )


def slope_of_leaky(function: Function) -> Function | None:
    """Return the slope where a function is a leaky ReLU, None where it is not."""
    name, _, text = function.name.partition(":")
    slope = read_slope(text) if text else DEFAULT_SLOPE
    if name != NAME or slope is None or function is not leaky_relu(slope):
        return None
    return leaky_step(slope)


def _like(u: Floats, value: float) -> Any:
    """Return a number of the array's own type, so that float32 stays float32."""
    return u.dtype.type(value)
