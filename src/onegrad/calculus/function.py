"""Function: an activation σ or a link σ_*, with what is known of it exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from onegrad.describe.arrays import Floats, holds_masked
from onegrad.describe.checks import real_numbers, shown
from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import InvalidInput

Map = Callable[[Floats], Floats]

REACH = 12.0  # beyond ±12 the normal density is below 1e−32
GRID = np.linspace(-REACH, REACH, 4801)  # all that a quadrature sees, ten points for each of its
GRID.flags.writeable = False
SLOPE_STEP, SLOPE_TOLERANCE = 1e-6, 1e-4


@dataclass(frozen=True)
class Function:
    """A function σ with derivative σ', and what is known about it exactly.

    A link needs no derivative. `kinks` are the points where σ is not smooth: quadrature is split
    there. `both` returns (σ, σ') from one evaluation. The closed forms replace quadrature and
    series where present: `coefficients` and `second_moment` for any mean, `pair` for pairs of zero
    mean.
    """

    name: str
    function: Map
    derivative: Map | None = None
    kinks: tuple[float, ...] = ()
    both: Callable[[Floats], tuple[Floats, Floats]] | None = None
    coefficients: Callable[[Floats, Floats, int], Floats] | None = None
    second_moment: Callable[[Floats, Floats], Floats] | None = None
    pair: Callable[[Floats, Floats, Floats], Floats] | None = None

    def __call__(self, points: Floats) -> Floats:
        """Return σ(points)."""
        return self.function(points)

    def slope(self, points: Floats) -> Floats:
        """Return σ'(points)."""
        return self.required_derivative()(points)

    def required_derivative(self) -> Map:
        """Return σ'; raise InvalidInput where there is none."""
        if self.derivative is None:
            raise InvalidInput(
                f"activation={shown(self.name)}: has no derivative, it can be a link only; "
                "register it with one"
            )
        return self.derivative

    def value_and_derivative(self, points: Floats) -> tuple[Floats, Floats]:
        """Return σ(points) and σ'(points)."""
        if self.both is not None:
            return self.both(points)
        return self.function(points), self.slope(points)

    def fingerprint(self) -> str:
        """Return a digest of values and slopes: what the function computes, whatever its name."""
        maps = [self.function] if self.derivative is None else [self.function, self.derivative]
        tables = [np.asarray(function(GRID), dtype=float).tobytes() for function in maps]
        return digest_of_bytes(*tables, repr(self.kinks).encode())


@dataclass(frozen=True)
class Typed:
    """A user's function: real values of its argument's type, computed on a copy of it."""

    function: Map

    def __call__(self, points: Floats) -> Floats:
        """Return the values."""
        returned = self.function(np.array(points))
        if holds_masked(returned):
            raise TypeError("its values are masked")
        values = np.asarray(returned)
        if np.iscomplexobj(values):
            raise TypeError("its values are complex")
        return values.astype(points.dtype, copy=False)


def checked_kinks(kinks: object) -> tuple[float, ...]:
    """Return the kinks as sorted finite numbers."""
    try:
        places = tuple(sorted(real_numbers(kinks)))
    except ValueError as error:
        raise InvalidInput(f"kinks={shown(kinks)}: {error}") from None
    if not np.all(np.isfinite(places)):
        raise InvalidInput(f"kinks={shown(kinks)}: must be finite numbers; correct them")
    return places


def checked(function: Function, *, field: str) -> Function:
    """Return the function if it maps arrays to finite arrays wherever expectations look.

    `field` is what an error message calls it. A derivative must be the function's slope.
    """
    _require_finite_values(function.name, function.function, field)
    if function.derivative is not None:
        _require_finite_values(function.name, function.derivative, f"derivative of {field}")
        _require_slope(function)
    return function


def with_finite_values(function: Function, *, field: str) -> Function:
    """Return the function if its values are finite; a slope that is not finite is left out."""
    _require_finite_values(function.name, function.function, field)
    if function.derivative is not None:
        with np.errstate(all="ignore"):
            if not np.all(np.isfinite(function.derivative(GRID))):
                return replace(function, derivative=None)
    return function


def _require_finite_values(name: str, function: Map, field: str) -> None:
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(function(GRID), dtype=float)
    except Exception as error:  # whatever somebody's function raises
        raise InvalidInput(
            f"{field}={shown(name)}: must map arrays to arrays ({shown(str(error))}); use numpy "
            "functions"
        ) from None
    if values.shape != GRID.shape:
        raise InvalidInput(
            f"{field}={shown(name)}: must map an array to values of its shape; correct it"
        )
    if not np.all(np.isfinite(values)):
        where = float(GRID[~np.isfinite(values)][0])
        raise InvalidInput(
            f"{field}={shown(name)}: is not a finite number at z = {where:g}; change it"
        )


def _require_slope(function: Function) -> None:
    """Raise InvalidInput where the derivative differs from differences of the function."""
    points = np.linspace(-3.0, 3.0, 61) + 0.0123
    apart = [all(abs(point - kink) > 1e-3 for kink in function.kinks) for point in points]
    points = points[apart]
    above, below = function(points + SLOPE_STEP), function(points - SLOPE_STEP)
    given = function.slope(points)
    error = np.max(np.abs((above - below) / (2 * SLOPE_STEP) - given), initial=0.0)
    if error > SLOPE_TOLERANCE * (1 + np.max(np.abs(given), initial=0.0)):
        raise InvalidInput(
            f"derivative of {function.name!r}: differs from the function's slope; correct it or "
            "name kinks"
        )
