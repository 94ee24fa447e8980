"""Expectations of one function at very many (mean, deviation), from rows kept between calls.

D_q(m, v) = E σ^{(q)}(m + √(2v) z) obeys ∂D_q/∂m = D_{q+1} and, because Gaussians solve the heat
equation, ∂D_q/∂v = D_{q+2}. So a row D_0, D_1, …, D_6 at one place gives every D_q near it by
Taylor's series in both arguments. Rows lie at deviations in a geometric series and at means a
eighth of a deviation apart; they are integrated once, when they are first needed.
"""

from __future__ import annotations

import functools
from math import factorial, log

import numpy as np

from onegrad.calculus.built_in import BUILT_IN, STEP
from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.calculus.leaky_relu import slope_of_leaky
from onegrad.describe.arrays import Floats, Ints

RATIO = 1.02  # of neighbouring deviations
SPACING = 0.125  # of means, in deviations
LAST = 6  # order of a row
FARTHEST = 60.0  # mean, in its own deviations: beyond, entries are integrated one by one
SMALLEST = 1e-3  # deviation
BLOCK = 64  # means per block of rows


def smoothed_derivatives(
    function: Function, means: Floats, deviations: Floats, order: int
) -> Floats:
    """Return E σ^{(q)}(m + s z) for q = 0 … order ≤ 3, shape (order + 1, …).

    Times s^q they are right to 1e−6 of σ's size for q ≤ 1, to 1e−5 and 2e−4 for q = 2 and 3.
    """
    m, s = np.broadcast_arrays(np.asarray(means, float), np.asarray(deviations, float))
    if function.coefficients is not None or _is_outside(m, s):
        return _exact(function, m, s, order)
    flat_m, flat_s = m.ravel(), s.ravel()
    places = np.rint(np.log(flat_s) / log(RATIO)).astype(int)
    first = int(places.min())
    scale = RATIO ** np.arange(first, int(places.max()) + 1.0)[places - first]
    relative = flat_m / scale
    nearest = np.rint(relative / SPACING).astype(int)
    rows = _gathered(function, places, nearest)
    shift = relative - nearest * SPACING  # in deviations
    growth = 0.5 * ((flat_s / scale) ** 2 - 1)  # of v, in squared deviations
    out = _taylor(rows, shift, growth, order)
    for q in range(1, order + 1):
        out[q] /= scale**q
    return out.reshape(order + 1, *m.shape)


def smoothed_square(function: Function, means: Floats, deviations: Floats) -> Floats:
    """Return E σ(m + s z)², to about 1e−7."""
    if function.second_moment is not None:
        return second_moment(function, means, deviations)
    return smoothed_derivatives(_squared(function), means, deviations, 0)[0]


@functools.lru_cache(maxsize=64)
def slope_of(function: Function) -> Function:
    """Return σ' as a function of its own."""
    if function == BUILT_IN["relu"]:
        return STEP
    leaky = slope_of_leaky(function)
    if leaky is not None:
        return leaky
    return Function(f"{function.name}'", function.required_derivative(), kinks=function.kinks)


@functools.lru_cache(maxsize=64)
def _squared(function: Function) -> Function:
    return Function(f"{function.name}²", lambda u: function(u) ** 2, kinks=function.kinks)


def _is_outside(m: Floats, s: Floats) -> bool:
    """Return whether rows would not cover these places."""
    return float(s.min()) < SMALLEST or float(np.max(np.abs(m) / s)) > FARTHEST


def _exact(function: Function, m: Floats, s: Floats, order: int) -> Floats:
    values = hermite_coefficients(function, m, s, order=order)
    scale = np.ones_like(s)
    for q in range(1, order + 1):
        scale = scale * np.sqrt(q) / np.maximum(s, 1e-12)
        values[q] *= scale
    return values


def _gathered(function: Function, places: Ints, nearest: Ints) -> Floats:
    """Return the row of every entry."""
    first = int(places.min())
    own = places - first
    count = int(own.max()) + 1
    low, high = np.full(count, np.iinfo(int).max), np.full(count, np.iinfo(int).min)
    np.minimum.at(low, own, nearest)
    np.maximum.at(high, own, nearest)
    starts, blocks, rows = np.zeros(count, dtype=int), [], 0
    for i in np.flatnonzero(high >= low):
        begin, end = int(low[i]) // BLOCK, int(high[i]) // BLOCK
        starts[i] = rows - begin * BLOCK
        blocks += [_block(function, first + int(i), b) for b in range(begin, end + 1)]
        rows += (end - begin + 1) * BLOCK
    return np.concatenate(blocks)[starts[own] + nearest]


def _taylor(rows: Floats, shift: Floats, growth: Floats, order: int) -> Floats:
    """Return s^q D_q = Σ_{a,b} shift^a/a! · growth^b/b! · row_{q+a+2b}, by Horner's scheme."""
    columns = np.ascontiguousarray(rows.T)
    parts = [shift / a for a in range(1, LAST + 1)]
    moved = {}  # s^q D_q at the new mean, and at the row's deviation; D_0 needs even orders alone
    for q in range(0, LAST + 1, 1 if order else 2):
        value = columns[LAST]
        for a in range(LAST - q, 0, -1):
            value = value * parts[a - 1] + columns[q + a - 1]
        moved[q] = value
    out = np.zeros((order + 1, len(shift)))
    for q in range(order + 1):
        for b in range((LAST - q) // 2, -1, -1):
            out[q] = out[q] * (growth / (b + 1)) + moved[q + 2 * b]
    return out


@functools.lru_cache(maxsize=20_000)
def _block(function: Function, place: int, block: int) -> Floats:
    """Return rows s^q E σ^{(q)}(m + s z), q ≤ 6, at the means of one block."""
    scale = RATIO**place
    means = SPACING * scale * np.arange(block * BLOCK, (block + 1) * BLOCK)
    values = hermite_coefficients(function, means, np.full(BLOCK, scale), order=LAST)
    roots = np.sqrt([float(factorial(q)) for q in range(LAST + 1)])
    return np.ascontiguousarray(values.T * roots)
