"""Sums of teachers: y = (Σ_t y_t)/divisor + constant + δ·noise, and what is left of a label."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import sqrt

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.function import Function
from onegrad.calculus.joint_expectations import MOST_ORDERS, orders_for
from onegrad.data.index_teacher import IndexTeacher
from onegrad.data.mixture import Gaussian
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput

UNCORRELATED = 1e-15
LARGEST_REMAINDER = 1e-4  # of √(E a² E b²), left out of a series


@dataclass(frozen=True)
class Term:
    """One teacher of a sum: its weight, and its columns among the sum's directions."""

    weight: float
    teacher: Teacher
    columns: slice


@dataclass(frozen=True)
class TeacherSum:
    """y = (Σ_t y_t)/divisor + constant + δ·noise; `directions` are those of the parts in turn.

    Moments are linear in the parts but for E[y²], which has a term for every pair. A part may be a
    sum itself: `terms` are those of all.
    """

    parts: tuple[Teacher, ...]
    constant: float = 0.0
    divisor: float = 1.0
    added_noise: float = 0.0

    @cached_property
    def directions(self) -> Floats:
        """The parts' directions side by side."""
        return np.concatenate([part.directions for part in self.parts], axis=1)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The teachers that the sum is made of, none of them a sum."""
        return tuple(self._terms(1.0, 0))

    def _terms(self, weight: float, start: int) -> Iterator[Term]:
        for part in self.parts:
            stop = start + part.directions.shape[1]
            if isinstance(part, TeacherSum):
                yield from part._terms(weight / self.divisor, start)
            else:
                yield Term(weight / self.divisor, part, slice(start, stop))
            start = stop

    @property
    def total_constant(self) -> float:
        """What is added to the terms, by this sum and by those among its parts."""
        nested = (p.total_constant for p in self.parts if isinstance(p, TeacherSum))
        return self.constant + sum(nested) / self.divisor

    @property
    def noise(self) -> float:
        """δ of all parts: variances add."""
        return sqrt(self.added_noise**2 + sum((p.noise / self.divisor) ** 2 for p in self.parts))

    @property
    def link(self) -> Function | None:
        """The link of a part that is alone."""
        alone = len(self.parts) == 1 and self.divisor == 1 and not self.constant
        return self.parts[0].link if alone else None

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return the sum of the parts' variances."""
        return sum(part.projected_variance(gaussian) for part in self.parts)

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return the parts' labels added up, divided, the constant and noise added."""
        ends = np.cumsum([part.directions.shape[1] for part in self.parts])[:-1]
        columns = np.split(projections, ends, axis=1)
        total, *others = (
            part.labels(own, component, rng) for part, own in zip(self.parts, columns, strict=True)
        )
        for labels in others:
            total = total + labels
        if self.divisor != 1:
            total = total / self.divisor
        if self.constant:
            total = total + self.constant
        noise = self.added_noise
        return total + noise * rng.standard_normal(len(total)) if noise else total

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return the parts' added up, where they have one direction together."""
        self._require_one_direction()
        total: Floats = sum(
            (term.weight * term.teacher.coefficients(gaussian, order) for term in self.terms),
            start=np.zeros(order + 1),
        )
        total[0] += self.total_constant
        return total

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return E[y] and the parts' q one after the other."""
        parts = [term.teacher.linear_part(gaussian) for term in self.terms]
        weights = [term.weight for term in self.terms]
        mean = sum(w * part[0] for w, part in zip(weights, parts, strict=True))
        slopes = [w * part[1] for w, part in zip(weights, parts, strict=True)]
        return mean + self.total_constant, np.concatenate(slopes)

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[y²] = Σ_t E[y_t²] + 2 Σ_{s<t} E[y_s y_t] + 2cE[Σ_t y_t] + c² + δ²."""
        total = self.noise**2
        for term in self.terms:
            total += term.weight**2 * _clean_power(term.teacher, gaussian)
        for left, right in combinations(self.terms, 2):
            pair = product_moment(left.teacher, right.teacher, gaussian)
            total += 2 * left.weight * right.weight * pair
        constant = self.total_constant
        if constant:
            total += constant * (2 * self.linear_part(gaussian)[0] - constant)
        return max(total, 0.0)

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether every part's is finite."""
        return all(part.has_finite_power(gaussian) for part in self.parts)

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return those of a part that is alone, the constant added."""
        total = self._alone().coefficients_at(means, deviations, order) / self.divisor
        total[0] += self.constant
        return total

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] there of a part that is alone, constant and noise included."""
        part = self._alone()
        mean = part.coefficients_at(means, deviations, 0)[0] / self.divisor
        power = part.second_moment_at(means, deviations) / self.divisor**2
        return power + self.constant * (2 * mean + self.constant) + self.added_noise**2

    def _alone(self) -> Teacher:
        if len(self.parts) > 1:
            raise NotImplementedError("a sum of teachers has no single projection")
        return self.parts[0]

    def _require_one_direction(self) -> None:
        if self.directions.shape[1] > 1:
            raise NotImplementedError("teachers of several directions have no single projection")


def residual(teacher: Teacher, constant: float, slope: Floats) -> TeacherSum:
    """Return the teacher of y − constant − slopeᵀx."""
    if not np.any(slope):
        return TeacherSum((teacher,), -constant)
    return TeacherSum((teacher, IndexTeacher(-slope[:, None], _identity())), -constant)


def product_moment(left: Teacher, right: Teacher, gaussian: Gaussian) -> float:
    """Return E[ab] of the labels of two teachers with independent noise, under one component.

    Exact through `linear_part` where one of them is linear or constant; for one direction each by
    Mehler's series Σ_l â_l b̂_l ρ^l in the correlation ρ of their projections.
    """
    if is_linear(left) or is_linear(right):
        (mean, slope), (other_mean, other_slope) = (
            part.linear_part(gaussian) for part in (left, right)
        )
        towards = gaussian.covariance_times((left.directions @ slope)[:, None])[:, 0]
        return mean * other_mean + float(towards @ (right.directions @ other_slope))
    if left.directions.shape[1] > 1 or right.directions.shape[1] > 1:
        raise InvalidInput(
            "teacher: a sum has exact moments where its parts are linear or of one direction each; "
            "use test='sampled'"
        )
    return _mehler(left, right, gaussian)


def _mehler(left: Teacher, right: Teacher, gaussian: Gaussian) -> float:
    """Return Σ_l â_l b̂_l ρ^l; what is left out is at most |ρ|^{D+1} √(tail of a · tail of b)."""
    covariance = float(left.directions[:, 0] @ gaussian.covariance_times(right.directions)[:, 0])
    scale = left.projected_variance(gaussian) * right.projected_variance(gaussian)
    correlation = covariance / sqrt(scale) if scale > 0 else 0.0
    order = 0 if abs(correlation) < UNCORRELATED else orders_for(abs(correlation))
    a, b = left.coefficients(gaussian, order), right.coefficients(gaussian, order)
    if order == MOST_ORDERS:
        powers = [_clean_power(part, gaussian) for part in (left, right)]
        tails = [
            max(1 - float(np.sum(c**2)) / power, 0.0) if power > 0 else 0.0
            for c, power in zip((a, b), powers, strict=True)
        ]
        bound = abs(correlation) ** (order + 1) * sqrt(tails[0] * tails[1])
        if bound > LARGEST_REMAINDER:
            warnings.warn(
                f"exact moments: two directions of the teacher have correlation {correlation:.3f}, "
                f"{order} orders leave a relative error up to {bound:.1g}; compare with "
                "test='sampled'",
                stacklevel=2,
            )
    return float(np.sum(a * b * correlation ** np.arange(order + 1)))


def _clean_power(teacher: Teacher, gaussian: Gaussian) -> float:
    """Return E[y²] without noise."""
    return teacher.second_moment(gaussian) - teacher.noise**2


def is_linear(teacher: Teacher) -> bool:
    """Return whether, given the component, the label is linear in x or constant."""
    return teacher.directions.shape[1] == 0 or teacher.link is _identity()


def _identity() -> Function:
    return functions.get("identity")
