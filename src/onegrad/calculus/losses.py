"""Losses of the readout: convex ℓ(y, u) of a label y and an output u, by name or your own.

x = prox(u) = argmin ℓ(y, x) + (x − u)²/(2γ), f(u) = ℓ'(y, x) = (u − x)/γ and f_u = ∂f/∂u. The
proximal point solves x + γℓ'(y, x) = u. The left side rises with a slope of at least 1, so there is
one solution, between u and u − γℓ'(y, u). Labels of hinges and of the logistic loss are ±1. All
arguments are arrays that broadcast.

`get_loss("logistic")` is one of onegrad's losses; `register_loss` adds one of your own, of which
only ℓ and ℓ' are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.numbers import Floats, shown, text
from onegrad.describe.registry import Registry, make_named, mark_of_source

TOLERANCE = 1e-14  # of 1 + |x|
MOST_STEPS = 200
MOST_DOUBLINGS = 1100  # beyond 2^1024 nothing is finite

OfPoint = Callable[[Floats, Floats], Floats]  # of (y, x)


def logistic_prox(y: Floats, u: Floats, gamma: Floats) -> Floats:
    """Return the proximal point of log(1 + e^{−yx}): x = y t with t = yu + γ/(1 + e^t).

    t − yu − γ/(1 + e^t) is convex below 0 and concave above, so that Newton from 0, clipped to
    [yu, yu + γ], is monotone. From yu it has a 2-cycle at yu = −γ/2.
    """
    margin = y * u
    t = np.clip(np.zeros(np.broadcast_shapes(margin.shape, gamma.shape)), margin, margin + gamma)
    for _ in range(MOST_STEPS):
        below, above = expit(-t), expit(t)
        step = (t - margin - gamma * below) / (1 + gamma * below * above)
        t = t - step
        # What rounding of t − yu − γ/(1 + e^t) leaves is not a step.
        size = np.abs(t) + np.abs(margin) + gamma * below
        if np.all(np.abs(step) * (1 + gamma * below * above) <= TOLERANCE * (1 + size)):
            return y * t
    raise _not_converged(float(np.max(np.abs(step))))


def solve_prox(
    derivative: OfPoint,
    curvature: OfPoint,
    y: Floats,
    u: Floats,
    gamma: Floats,
    *,
    within: tuple[Floats, Floats] = (np.array(-np.inf), np.array(np.inf)),
) -> Floats:
    """Return the proximal point of any convex loss, given by ℓ' and ℓ'', between two bounds.

    Newton's steps inside a bracket, which is halved where a step leaves it or is more than half
    the last. Where ℓ' jumps the bracket closes on the jump.
    """
    y, u, gamma = np.broadcast_arrays(y, u, gamma)

    def height(x: Floats) -> Floats:
        return x - u + gamma * derivative(y, x)

    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # far out ℓ' may be infinite: a sign is enough
        low, high = _bracket(height, u)
        low, high = np.clip(low, *within), np.clip(high, *within)
        x, last = (low + high) / 2, np.full(u.shape, np.inf)
        for _ in range(MOST_STEPS):
            h = height(x)
            low, high = np.where(h < 0, x, low), np.where(h > 0, x, high)
            newton = x - h / (1 + gamma * curvature(y, x))
            small = TOLERANCE * (1 + np.abs(x))
            close = (np.abs(newton - x) <= small) | (h == 0)
            trusted = (newton >= low) & (newton <= high) & (np.abs(newton - x) <= last / 2)
            middle = (low + high) / 2
            following = np.where(trusted | close, np.clip(newton, low, high), middle)
            if np.all(close | (high - low <= small)):
                return np.where(np.isfinite(following), following, middle)
            x, last = following, np.abs(following - x)
    raise _not_converged(float(np.max(high - low)))


def _bracket(height: Callable[[Floats], Floats], u: Floats) -> tuple[Floats, Floats]:
    """Return two points that enclose the solution: u, and one found by doubling steps from it."""
    start = height(u)  # γℓ'(y, u)
    side = -np.sign(start)
    step = np.minimum(1.0, np.abs(start))
    for _ in range(MOST_DOUBLINGS):
        end = u + side * step
        short = height(end) * side < 0
        if not np.any(short):
            return np.minimum(u, end), np.maximum(u, end)
        step = np.where(short, 2 * step, step)
    raise _not_converged(float(np.max(step)))


def _not_converged(left: float) -> NotConverged:
    return NotConverged(
        f"loss: its proximal point is not found, {left:.3g} is left after {MOST_STEPS} steps; "
        "correct its derivative, which must rise and be finite, and its curvature"
    )


class SquareLoss:
    """ℓ = ½(y − u)², f = (u − y)/(1 + γ)."""

    needs_signs = False
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½(y − u)²."""
        return 0.5 * (y - u) ** 2

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return u − y."""
        return u - y

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1."""
        return np.ones(np.broadcast_shapes(y.shape, u.shape))

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return (u + γy)/(1 + γ)."""
        return (u + gamma * y) / (1 + gamma)

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return (u − y)/(1 + γ) and 1/(1 + γ)."""
        f = (u - y) / (1 + gamma)
        return f, np.broadcast_to(1 / (1 + gamma), f.shape)


class LogisticLoss:
    """ℓ = log(1 + e^{−yu}), f = −y/(1 + e^{yx}), f_u = g/(1 + γg) with g = ℓ''(x)."""

    needs_signs = True
    smooth = True
    scale = 0.75  # poles at ±iπ: steps of it leave e^{−2π²/0.75} = 4e−12

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return log(1 + e^{−yu}), which does not overflow."""
        return np.logaddexp(0.0, -y * u)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y/(1 + e^{yu})."""
        return -y * expit(-y * u)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1/((1 + e^u)(1 + e^{−u})), for y = ±1."""
        return expit(y * u) * expit(-y * u)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return y t with t = yu + γ/(1 + e^t)."""
        return logistic_prox(y, u, gamma)


class SquaredHingeLoss:
    """ℓ = ½(1 − yu)₊², f = −y(1 − yu)₊/(1 + γ), with a kink at u = y."""

    needs_signs = True
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½(1 − yu)₊²."""
        return 0.5 * np.maximum(1 - y * u, 0.0) ** 2

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y(1 − yu)₊."""
        return -y * np.maximum(1 - y * u, 0.0)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1[yu < 1], for y = ±1."""
        return (y * u < 1).astype(np.float64)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u + γy(1 − yu)₊/(1 + γ)."""
        return u - gamma * self.response(y, u, gamma)[0]

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return −y(1 − yu)₊/(1 + γ) and 1[yu < 1]/(1 + γ)."""
        short = 1 - y * u
        return -y * np.maximum(short, 0.0) / (1 + gamma), (short > 0) / (1 + gamma)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y, where ℓ'' jumps."""
        return [y]


class HingeLoss:
    """ℓ = (1 − yu)₊, f = −y clip((1 − yu)/γ, 0, 1), with kinks at u = y and y(1 − γ)."""

    needs_signs = True
    smooth = False
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return (1 − yu)₊."""
        return np.maximum(1 - y * u, 0.0)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y 1[yu < 1]."""
        return -y * (y * u < 1)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 0."""
        return np.zeros(np.broadcast_shapes(y.shape, u.shape))

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u + y clip(1 − yu, 0, γ)."""
        return u + y * np.clip(1 - y * u, 0.0, gamma)

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return −y clip((1 − yu)/γ, 0, 1) and 1[0 < 1 − yu < γ]/γ."""
        short = 1 - y * u
        with np.errstate(divide="ignore", invalid="ignore"):  # γ = 0 is ℓ' itself
            share = np.where(gamma > 0, np.clip(short / gamma, 0.0, 1.0), short > 0)
            inside = (short > 0) & (short < gamma)
            return -y * share, np.where(inside, 1 / gamma, 0.0)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y, where ℓ' jumps."""
        return [y]


@dataclass(frozen=True)
class HuberLoss:
    """ℓ = ½r² for |r| ≤ Δ, Δ|r| − ½Δ² beyond, r = u − y; f = clip(r/(1 + γ), −Δ, Δ)."""

    delta: float
    needs_signs = False
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½r² or Δ|r| − ½Δ²."""
        inner = np.minimum(np.abs(u - y), self.delta)
        return inner * (np.abs(u - y) - 0.5 * inner)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return clip(r, −Δ, Δ)."""
        return np.clip(u - y, -self.delta, self.delta)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1[|r| < Δ]."""
        return (np.abs(u - y) < self.delta).astype(np.float64)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u − γ clip(r/(1 + γ), −Δ, Δ)."""
        return u - gamma * self.response(y, u, gamma)[0]

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return clip(r/(1 + γ), −Δ, Δ) and 1[|r| < Δ(1 + γ)]/(1 + γ)."""
        shrunk = (u - y) / (1 + gamma)
        inside = np.abs(shrunk) < self.delta
        return np.clip(shrunk, -self.delta, self.delta), inside / (1 + gamma)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y ± Δ, where ℓ'' jumps."""
        return [y - self.delta, y + self.delta]


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


LOSSES: Registry[Callable[..., Loss]] = Registry(
    "losses",
    {
        "square": SquareLoss,
        "logistic": LogisticLoss,
        "squared_hinge": SquaredHingeLoss,
        "hinge": HingeLoss,
    },
    home=__name__,
)
LOSSES.put("huber", HuberLoss, argument="DELTA", default=DELTA)


def get_loss(text: str, *, field: str = FIELD) -> NamedLoss:
    """Return the loss of `name` or `name:argument`; `field` is what an error calls it."""
    return NamedLoss(*make_named(LOSSES, text, field=field))


def loss_name(text: str) -> str:
    """Return the one text of a loss, as `huber:1` for `huber`; for validators of fields."""
    return get_loss(text, field="loss").name


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
    LOSSES.add(name, make, mark=mark_of_source(make), argument=argument)
