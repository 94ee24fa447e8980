"""Teachers of labels ±1 by one direction: a sign with flips, and logistic labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from onegrad.calculus import functions
from onegrad.calculus.closed_forms import sign_coefficients
from onegrad.calculus.expectations import hermite_coefficients, trapezoid_rule
from onegrad.calculus.function import Function
from onegrad.calculus.polynomials import orthonormal_hermite
from onegrad.data.index_teacher import IndexTeacher, OneDirection
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population
from onegrad.data.source import Source
from onegrad.data.teacher import FLIPS_CONTROL, TEACHERS, Teacher
from onegrad.describe.arrays import Floats
from onegrad.describe.fields import Half, Positive, control

# tanh(m + sz) has poles at distance π/(2s): a step of 0.3/s leaves e^{−π²/0.3} = 5e−15. Theory asks
# for few degrees very often.
TANH_STEP, LARGEST_STEP, FEW_DEGREES, MODERATE = 0.3, 0.35, 2, 20.0
SEEN = 8.5  # deviations, beyond which tanh adds less than rounding


@dataclass(frozen=True)
class SignTeacher:
    """y = ±1 with E[y | x] = g(ξᵀx): y is +1 with probability (1 + g)/2.

    `expected` is the teacher of g itself, whose link has `coefficients`. Moments with functions of
    x are those of g; E[y²] = 1.
    """

    expected: IndexTeacher
    noise: float = 0.0
    link: Function | None = None  # y is no function of ξᵀx: no closed form of a link applies

    @property
    def directions(self) -> Floats:
        """ξ as a column."""
        return self.expected.directions

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return ξᵀΣ_cξ."""
        return self.expected.projected_variance(gaussian)

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return g(projections)."""
        return self.expected.link(projections[:, 0])

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return signs, +1 with probability (1 + g)/2; one uniform number is drawn for each."""
        share = 0.5 + 0.5 * self.expected_labels(projections, component)
        return np.where(rng.random(len(share)) < share, 1.0, -1.0)

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return E[g(m + s z) H_l(z)]/√l!."""
        return self.coefficients_at(*self.expected.law(gaussian), order)[:, 0]

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return 1."""
        return 1.0

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return ĝ_0 and ĝ_1/s, s the deviation of ξᵀx; a ξᵀx that is constant has no slope."""
        deviation = self.expected.law(gaussian)[1]
        constant, linear = self.coefficients(gaussian, 1)
        slope = np.divide(linear, deviation, out=np.zeros(1), where=deviation > 0)
        return float(constant), slope

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Labels are ±1."""
        return True

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[g(m + s z) H_l(z)]/√l!; g(m) and zeros where the deviation is 0."""
        m, s = np.broadcast_arrays(np.asarray(means, float), np.asarray(deviations, float))
        link, fixed = self.expected.link, s == 0
        assert link.coefficients is not None
        out = link.coefficients(m, np.where(fixed, 1.0, s), order)
        out[:, fixed] = 0.0
        out[0, fixed] = link(m[fixed])
        return out

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return ones."""
        return np.ones(np.broadcast_shapes(np.shape(means), np.shape(deviations)))


def flipped_sign(flips: float) -> Function:
    """Return g(s) = (1 − 2·flips)·sign(s), with sign(0) = 1."""
    size = 1 - 2 * flips

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        return size * sign_coefficients(means, deviations, order)

    return Function(
        "sign", lambda s: np.where(s < 0, -size, size), kinks=(0.0,), coefficients=coefficients
    )


def logistic_mean(slope: float) -> Function:
    """Return g(s) = tanh(slope·s/2) = 2/(1 + e^{−slope·s}) − 1."""
    half, tanh = slope / 2, functions.get("tanh")

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        m, s = half * means, half * deviations
        widest = float(np.max(s, initial=0.0))
        if order > FEW_DEGREES or widest > MODERATE:
            return hermite_coefficients(tanh, m, s, order=order)
        step = LARGEST_STEP if widest == 0 else min(LARGEST_STEP, TANH_STEP / widest)
        nodes, weights = trapezoid_rule(s, largest_step=step)
        near = np.abs(nodes) <= SEEN
        nodes, weights = nodes[near], weights[near]
        values = np.tanh(m[..., None] + s[..., None] * nodes)
        return np.moveaxis(values @ (orthonormal_hermite(nodes, order) * weights).T, -1, 0)

    return Function("logistic", lambda s: np.tanh(half * s), coefficients=coefficients)


class _Signs(OneDirection):
    """What teachers of signs share."""

    def is_binary(self, source: Source) -> bool:
        """Labels are ±1 on any data."""
        return True

    def expected_label(self) -> Function:
        """Return g with E[y | x] = g(ξᵀx)."""
        raise NotImplementedError(f"a teacher of kind {self.kind!r} must define expected_label")

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher with ξ drawn; `norm` is ‖Σ‖."""
        xi = self.draw_direction(population, norm, rng)
        return SignTeacher(IndexTeacher(xi, self.expected_label()))


@TEACHERS.built_in
class SignIndex(_Signs):
    """Classification: y = sign(ξᵀx), wrong with probability `flips`; sign(0) is +1."""

    kind: Literal["sign"] = Field(default="sign", description="Labels by the sign of ξᵀx.")
    flips: Half = Field(
        default=0.0,
        description="Probability of a label of the wrong sign.",
        json_schema_extra=FLIPS_CONTROL,
    )

    def expected_label(self) -> Function:
        """Return (1 − 2·flips)·sign."""
        return flipped_sign(self.flips)


@TEACHERS.built_in
class LogisticIndex(_Signs):
    """Classification: y = ±1, +1 with probability 1/(1 + e^{−slope·ξᵀx})."""

    kind: Literal["logistic"] = Field(
        default="logistic", description="Labels ±1 by a logistic probability of ξᵀx."
    )
    slope: Positive = Field(
        default=1.0,
        description="Slope of the logistic probability.",
        json_schema_extra=control(
            label="Slope",
            sentence="How surely a label follows the sign.",
            low=0.1,
            high=30,
            scale="log",
            main=True,
        ),
    )

    def expected_label(self) -> Function:
        """Return tanh(slope·s/2)."""
        return logistic_mean(self.slope)
