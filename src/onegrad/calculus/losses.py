"""Losses of the readout: convex ℓ(y, u) of a label y and an output u, by name or your own.

`get_loss("logistic")` is one of onegrad's (`convex_losses.py` has their formulas), `register_loss`
adds one of your own, of which only ℓ and ℓ' are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.convex_losses import (
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SquaredHingeLoss,
    SquareLoss,
)
from onegrad.calculus.proximal import solve_prox
from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown, text
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.families import Families, NamedFamily, spelled_number
from onegrad.describe.registry import mark_of_source

FIELD = "readout.loss"  # what error messages call the field that names a loss
DELTA = 1.0  # of `huber` alone
Truths = NDArray[np.bool_]

ROUNDING = 1e-14  # of 1 + |u|
DIFFERENCE = 1e-5  # of 1 + |u|: the step of ℓ'' where a loss has none


class Loss(Protocol):
    """What a loss must have: ℓ and ℓ' of float64 arrays that broadcast, convex in u.

    What it may have, and what stands in for it, is said by `NamedLoss`.
    """

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ℓ(y, u)."""

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return ℓ'(y, u) = ∂ℓ/∂u."""


@dataclass(frozen=True)
class NamedLoss:
    """A loss under its canonical name, with everything that its class left out.

    x = prox(u) = argmin ℓ(y, x) + (x − u)²/(2γ), f(u) = ℓ'(y, x) = (u − x)/γ, f_u = ∂f/∂u.
    """

    name: str
    loss: Loss

    @property
    def needs_signs(self) -> bool:
        """Whether labels must be ±1; no where the class does not say."""
        return bool(getattr(self.loss, "needs_signs", False))

    @property
    def smooth(self) -> bool:
        """Whether ℓ' is continuous in u; yes where the class does not say."""
        return bool(getattr(self.loss, "smooth", True))

    @property
    def scale(self) -> float:
        """The length in u over which ℓ' turns between its corners; infinite for polynomials.

        Expectations take steps of this size. 1 where the class does not say.
        """
        return float(getattr(self.loss, "scale", 1.0))

    @cached_property
    def of_residual(self) -> bool:
        """Whether ℓ depends on y − u alone, seen on a few points."""
        y, u = np.meshgrid([-1.3, -0.4, 0.7, 2.1], [-1.9, -0.6, 0.2, 0.9, 2.4])
        return bool(np.allclose(self.value(y, u), self.value(0.0, u - y), rtol=1e-12, atol=1e-12))

    def value(self, y: Any, u: Any) -> Floats:
        """Return ℓ(y, u)."""
        return np.asarray(self.loss.value(*_floats(y, u)), dtype=np.float64)

    def derivative(self, y: Any, u: Any) -> Floats:
        """Return ℓ'(y, u)."""
        return np.asarray(self.loss.derivative(*_floats(y, u)), dtype=np.float64)

    def curvature(self, y: Any, u: Any) -> Floats:
        """Return ℓ''(y, u): the class's own, or a central difference of ℓ'.

        Beside a corner, the smaller of the differences to either side: that which does not cross.
        """
        label, point = _floats(y, u)
        own = getattr(self.loss, "curvature", None)
        if own is not None:
            return np.asarray(own(label, point), dtype=np.float64)
        step = DIFFERENCE * (1 + np.abs(point))
        slope = self.derivative(label, point)
        above = (self.derivative(label, point + step) - slope) / step
        below = (slope - self.derivative(label, point - step)) / step
        between = np.minimum(above, below) if self.corners(label) else (above + below) / 2
        return np.maximum(between, 0.0)

    def prox(self, y: Any, u: Any, gamma: Any) -> Floats:
        """Return x = argmin ℓ(y, x) + (x − u)²/(2γ): the class's own, or by Newton's method."""
        label, point, reach = _floats(y, u, gamma)
        own = getattr(self.loss, "prox", None)
        if own is not None:
            return np.asarray(own(label, point, reach), dtype=np.float64)
        label, point, reach = np.broadcast_arrays(label, point, reach)
        low, high = np.full(point.shape, -np.inf), np.full(point.shape, np.inf)
        for corner, held in self._held(label, point, reach):
            beyond = point > corner + reach * self._sides(label, corner)[1]
            low = np.where(held | beyond, np.maximum(low, corner), low)
            high = np.where(held | ~beyond, np.minimum(high, corner), high)
        x, free = low, low < high  # elsewhere a corner holds x
        x[free] = solve_prox(
            self.derivative,
            self.curvature,
            label[free],
            point[free],
            reach[free],
            within=(low[free], high[free]),
        )
        return x

    def response(self, y: Any, u: Any, gamma: Any) -> tuple[Floats, Floats]:
        """Return f(u) and f_u: the class's own, or ℓ'(x) and ℓ''(x)/(1 + γℓ''(x)).

        Where ℓ' jumps at a corner c that holds x, f = (u − c)/γ and f_u = 1/γ.
        """
        label, point, reach = _floats(y, u, gamma)
        own = getattr(self.loss, "response", None)
        if own is not None:
            f, slope = own(label, point, reach)
            return np.asarray(f, dtype=np.float64), np.asarray(slope, dtype=np.float64)
        x = self.prox(label, point, reach)
        bend = self.curvature(label, x)
        f, slope = self.derivative(label, x), bend / (1 + reach * bend)
        for corner, held in self._held(label, point, reach):
            with np.errstate(divide="ignore", invalid="ignore"):  # nothing is held where γ = 0
                f = np.where(held, (point - corner) / reach, f)
                slope = np.where(held, 1 / reach, slope)
        return f, slope

    def corners(self, y: Any) -> list[Floats]:
        """Return where in x, for each label, ℓ' or ℓ'' jumps; none where the class has none."""
        own = getattr(self.loss, "corners", None)
        (label,) = _floats(y)
        return [] if own is None else [np.asarray(c, dtype=np.float64) for c in own(label)]

    def kinks(self, y: Any, gamma: Any) -> list[Floats]:
        """Return where in u, for each label and γ, f has kinks: c + γℓ'(y, c ∓ 0) for corners c."""
        label, reach = _floats(y, gamma)
        found: list[Floats] = []
        for corner in self.corners(label):
            below, above = self._sides(label, corner)
            found.append(corner + reach * below)
            if not self.smooth:
                found.append(corner + reach * above)
        return found

    def _held(self, y: Floats, u: Floats, gamma: Floats) -> Iterator[tuple[Floats, Truths]]:
        """Yield corners where ℓ' jumps, and which points u have them as proximal points."""
        for corner in () if self.smooth else self.corners(y):
            first, last = (corner + gamma * side for side in self._sides(y, corner))
            blur = ROUNDING * (1 + np.abs(corner) + np.abs(u))
            yield corner, (u >= first - blur) & (u <= last + blur) & (gamma > 0)

    def _sides(self, y: Floats, corner: Floats) -> tuple[Floats, Floats]:
        """Return ℓ' just below and just above a corner; far enough that rounding does not tell."""
        step = 1e-12 * (1 + np.abs(corner)) * (not self.smooth)
        return self.derivative(y, corner - step), self.derivative(y, corner + step)


def _floats(*values: Any) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _huber(delta: str) -> HuberLoss:
    return HuberLoss(float(delta))


LOSSES: Families[Loss] = Families(
    "losses",
    "loss",
    {
        "square": NamedFamily(SquareLoss),
        "logistic": NamedFamily(LogisticLoss),
        "squared_hinge": NamedFamily(SquaredHingeLoss),
        "hinge": NamedFamily(HingeLoss),
        "huber": NamedFamily(_huber, "DELTA", spelled_number("DELTA", DELTA)),
    },
    home=__name__,
)


def get_loss(text: str, *, field: str = FIELD) -> NamedLoss:
    """Return the loss of a text, `name` or `name:argument`; `field` is what an error calls it."""
    return NamedLoss(*LOSSES.made(text, field=field))


def loss_name(text: str) -> str:
    """Return the one text of a loss, as `huber:1` for `huber`; for validators of fields."""
    return get_loss(text, field="loss").name


def loss_mark(text: str) -> str | None:
    """Return what a user's loss is known by in keys of rows; None for what comes with onegrad."""
    return LOSSES.mark_of(text, field=FIELD)


def register_loss(name: str, make: type, *, argument: str | None = None) -> None:
    """Make a convex loss known under `name`: a class with `value` and `derivative` of (y, u).

    `NamedLoss` says what else it may have. The class is made without arguments, or, where
    `argument` is the word for what may follow a colon as in huber:DELTA, with that text.
    """
    if argument is not None:
        text("argument", argument)
    if not isinstance(make, type):
        raise InvalidInput(f"make={shown(make)}: must be a class; pass one")
    needed = ("value", "derivative")
    missing = [method for method in needed if not callable(getattr(make, method, None))]
    if missing:
        raise InvalidInput(f"make={shown(make)}: must have {', '.join(missing)}; add it")
    LOSSES.add(name, NamedFamily(make, argument), mark=mark_of_source(make))
