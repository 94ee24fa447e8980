"""Teachers of several directions: sums, products and staircases of links.

Under one component v = Wᵀx ~ N(m, S), S = LLᵀ, and ṽ = L⁻¹(v − m) is standard normal. All moments
follow from E[y²] and the coefficients c_α = E[y H_α(ṽ)]/√α!.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod, sqrt
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PlainValidator, Strict

from onegrad.calculus import functions
from onegrad.calculus.expectations import decays, hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.calculus.joint_expectations import MOST_ORDERS, orders_for, product_coefficients
from onegrad.data.mixture import Gaussian
from onegrad.data.mixture_source import Component, MixtureSource, orthonormal_directions
from onegrad.data.source import Population, Source
from onegrad.data.teachers import (
    TEACHERS,
    IndexTeacher,
    OneProjection,
    Teacher,
    TeacherDescription,
    projection_coefficients,
    reads_one_projection,
    scaled_to,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, Floats
from onegrad.describe.value import NUMPY, Positive, control

ROUNDING = 1e-13  # smaller correlations of directions count as 0
MOST_CORRELATED = 3  # directions whose expectations are integrated together


@dataclass(frozen=True)
class JointTeacher:
    """y = s_1 ⋯ s_r or s_1 + s_1 s_2 + … + s_1 ⋯ s_r with s_j = link_j(w_jᵀx), plus δ·noise."""

    directions: Floats
    links: tuple[Function, ...]
    combine: Literal["product", "staircase"]
    noise: float = 0.0
    link: Function | None = None

    def law(self, gaussian: Gaussian) -> tuple[Floats, Floats]:
        """Return mean m and factor L of v = Wᵀx, diagonal where S is so to rounding."""
        mean = self.directions.T @ gaussian.mean if gaussian.mean is not None else None
        covariance = self.directions.T @ gaussian.covariance_times(self.directions)
        deviations = np.sqrt(np.diagonal(covariance))
        apart = np.abs(covariance - np.diag(deviations**2))
        if np.all(apart <= ROUNDING * np.outer(deviations, deviations)):
            factor = np.diag(deviations)
        else:
            factor = np.linalg.cholesky(covariance)
        return np.zeros(len(factor)) if mean is None else mean, factor

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return the links' values multiplied, or their products added up, plus δ·noise."""
        parts = [link(projections[:, j]) for j, link in enumerate(self.links)]
        total = product = parts[0]
        for part in parts[1:]:
            product = product * part
            total = total + product
        clean = product if self.combine == "product" else total
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def joint_coefficients(self, gaussian: Gaussian, indices: NDArray[np.intp]) -> Floats:
        """Return c_α = E[y H_α(ṽ)]/√α! for every row α of `indices`.

        A product s_1 ⋯ s_k has no coefficient with α_j > 0 for a j > k. Independent directions have
        products of the links' own coefficients, others are integrated together.
        """
        mean, factor = self.law(gaussian)
        order = int(np.max(indices, initial=0))
        places = np.arange(1, len(self.links) + 1)
        last = np.max(np.where(indices > 0, places, 1), axis=1)  # the last direction that α names
        total = np.zeros(len(indices))
        for count in self._counts():
            rows = last <= count
            values = self._product(count, mean, factor, order, indices[rows, :count])
            total[rows] += values
        return total

    def _counts(self) -> range:
        """Return how many links each product of the label has."""
        rank = len(self.links)
        return range(rank if self.combine == "product" else 1, rank + 1)

    def _product(
        self, count: int, mean: Floats, factor: Floats, order: int, indices: NDArray[np.intp]
    ) -> Floats:
        """Return the coefficients of s_1 ⋯ s_count."""
        if _is_diagonal(factor):
            deviations = np.diagonal(factor)
            tables = [
                hermite_coefficients(link, mean[j], deviations[j], order=order)
                for j, link in enumerate(self.links[:count])
            ]
            return np.prod([table[indices[:, j]] for j, table in enumerate(tables)], axis=0)
        _require_few(len(self.links))
        table = product_coefficients(
            self.links[:count], mean[:count], factor[:count, :count], order
        )
        return table[tuple(indices.T)]

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return c_0 and L⁻ᵀ(c_{e_1}, …, c_{e_r})."""
        rank = len(self.links)
        units = np.concatenate([np.zeros((1, rank), dtype=np.intp), np.eye(rank, dtype=np.intp)])
        constant, *linear = self.joint_coefficients(gaussian, units)
        factor = self.law(gaussian)[1]
        return float(constant), np.linalg.solve(factor.T, np.array(linear))

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return Σ_j E[P_j²] + 2 Σ_{j<k} E[P_j P_k] + δ², P_j the products of the label."""
        law = self.law(gaussian)
        total = sum(self._power(law, count, count) for count in self._counts())
        total += sum(2 * self._power(law, *pair) for pair in combinations(self._counts(), 2))
        return total + self.noise**2

    def _power(self, law: tuple[Floats, Floats], squared: int, count: int) -> float:
        """Return E[s_1² ⋯ s_squared² s_{squared+1} ⋯ s_count]."""
        mean, factor = law
        squares, others = self.links[:squared], self.links[squared:count]
        if _is_diagonal(factor):
            deviations = np.diagonal(factor)
            powers = [second_moment(f, mean[j], deviations[j]) for j, f in enumerate(squares)]
            powers += [
                hermite_coefficients(f, mean[j], deviations[j], order=0)[0]
                for j, f in enumerate(others, start=squared)
            ]
            return float(prod(powers))
        _require_few(len(self.links))
        links = [*(_squared(f) for f in squares), *others]
        return float(product_coefficients(links, mean[:count], factor[:count, :count], 0).item())

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether every link falls off faster than the component's tails rise."""
        mean, factor = self.law(gaussian)
        deviations = np.linalg.norm(factor, axis=1)
        return all(
            decays(link, mean[j : j + 1], deviations[j : j + 1])
            for j, link in enumerate(self.links)
        )


def _is_diagonal(factor: Floats) -> bool:
    return np.count_nonzero(factor) == np.count_nonzero(np.diagonal(factor))


def _squared(link: Function) -> Function:
    """Return link² with its expectation, the only coefficient that E[y²] asks of it."""
    return Function(
        link.name,
        lambda v: link(v) ** 2,
        kinks=link.kinks,
        coefficients=lambda means, deviations, _: second_moment(link, means, deviations)[None],
    )


def _require_few(rank: int) -> None:
    """Raise InvalidInput for more correlated directions than can be integrated over together."""
    if rank > MOST_CORRELATED:
        raise InvalidInput(
            f"teacher.links: {rank} directions that a component correlates, exact moments know at "
            f"most {MOST_CORRELATED}; remove links or use test='sampled'"
        )


STEP_SIZE_FIELDS = (
    *("strength", "weighting", "learning_rate", "per_width", "per_root", "change_exponent"),
    "spread",
)
PUBLISHED_RATE = 2.0  # η per neuron
LARGEST_LABEL = 1e60  # squares of squared errors must not overflow

Choice = Literal["random", "spikes", "last_spikes"]


def _links(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of at least one link; correct it")
    return tuple(functions.function_name(link) for link in value)


def _directions(value: Any) -> Choice | Array:
    if not isinstance(value, str):
        array = orthonormal_directions(value)
        assert isinstance(array, Array)
        return array
    for choice in get_args(Choice):
        if value == choice:
            return choice
    raise ValueError(
        'must be "random", "spikes", "last_spikes" or an n × r array with orthonormal columns; '
        "choose"
    )


Links = Annotated[tuple[str, ...], BeforeValidator(_links)]
LinkDirections = Annotated[
    Choice | Array,
    PlainValidator(_directions, json_schema_input_type=Choice | list[list[float]]),
]
LabelNoise = Annotated[float, Strict(), Field(ge=0, le=LARGEST_LABEL, allow_inf_nan=False), NUMPY]


@TEACHERS.built_in
class MultiIndex(TeacherDescription):
    """A teacher of r = len(links) orthogonal directions w*_i of length `norm`.

    `combine`, with s_i = σ*_i(w*_iᵀx): "mean" is (1/r) Σ s_i (Dandi et al. [5]), "sum" Σ s_i,
    "product" Π s_i, "staircase" s_1 + s_1 s_2 + s_1 s_2 s_3 + …; noise·N(0, 1) is added.
    `directions`: "random", "spikes" or "last_spikes" (the first or the last along Σ_{c,i} γ_{c,i},
    the others random), or an n × r array with orthonormal columns.
    """

    kind: Literal["indices"] = Field(
        default="indices", description="Labels by links of several directions."
    )
    links: Links = Field(
        default=("z",), description="Link of each direction: names or formulas of z, as He4/24."
    )
    combine: Literal["mean", "sum", "product", "staircase"] = Field(
        default="mean", description="How the links' values become a label."
    )
    directions: LinkDirections = Field(
        default="random",
        description='"random", "spikes" or "last_spikes" for the first or last one along their '
        "sum, or an n × r array with orthonormal columns.",
    )
    norm: Positive = Field(default=1.0, description="Length of every direction.")
    noise: LabelNoise = Field(
        default=0.0,
        description="Deviation of label noise.",
        json_schema_extra=control(label="Label noise", symbol="δ", low=0, high=1),
    )

    @property
    def rank(self) -> int:
        """r, the number of directions."""
        return len(self.links)

    @property
    def functions(self) -> tuple[str, ...]:
        """The links."""
        return self.links

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where the directions do not fit these data."""
        self.check_dimension(dimension)
        if self.directions in ("spikes", "last_spikes") and not source.has_spikes:
            raise ValueError(
                f'teacher.directions="{self.directions}": the data have no spikes; raise a rank or '
                'choose "random"'
            )

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where the directions do not fit into this dimension."""
        if self.rank > dimension:
            raise ValueError(
                f"teacher.links: {self.rank} directions, must be at most dimension={dimension}; "
                "remove links or raise the dimension"
            )
        if isinstance(self.directions, Array) and self.directions.shape != (dimension, self.rank):
            raise ValueError(
                f"teacher.directions: has shape {self.directions.shape}, must be dimension="
                f"{dimension} times {self.rank} links; change one of them"
            )

    @classmethod
    def complete(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with isotropic inputs and η = 2k where no data are said.

        So they are published (Dandi et al. [5]).
        """
        if "data" in fields:
            return dict(fields)
        isotropic = MixtureSource(components=(Component(rank=0),))
        scaling = fields.get("scaling", {})
        if isinstance(scaling, dict) and not any(
            scaling.get(name) is not None for name in STEP_SIZE_FIELDS
        ):
            scaling = {**scaling, "per_width": PUBLISHED_RATE}
        return {**fields, "data": isotropic, "scaling": scaling}

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return the teacher with its directions drawn; `norm` is ‖Σ‖, which it does not use."""
        directions = self.norm * self._draw_directions(population, rng)
        links = tuple(functions.get(name, field="link") for name in self.links)
        if self.rank == 1:
            return IndexTeacher(directions, links[0], self.noise)
        if self.combine in ("product", "staircase"):
            return JointTeacher(directions, links, self.combine, self.noise)
        parts = tuple(IndexTeacher(directions[:, i : i + 1], link) for i, link in enumerate(links))
        divisor = self.rank if self.combine == "mean" else 1
        return TeacherSum(parts, divisor=float(divisor), added_noise=self.noise)

    def _draw_directions(self, population: Population, rng: np.random.Generator) -> Floats:
        """Return orthonormal columns, those that are random drawn one after the other."""
        if isinstance(self.directions, Array):
            return self.directions.values
        columns = [] if self.directions == "random" else [self._along_spikes(population)]
        while len(columns) < self.rank:
            column = rng.standard_normal(population.dimension)
            for _ in range(2 if columns else 0):  # twice is enough for orthogonality to rounding
                column -= np.stack(columns, axis=1) @ (np.stack(columns) @ column)
            columns.append(scaled_to(column, 1.0))
        if self.directions == "last_spikes":
            columns = [*columns[1:], columns[0]]
        return np.stack(columns, axis=1)

    def _along_spikes(self, population: Population) -> Floats:
        """Return the direction of the spikes' sum."""
        if not np.linalg.norm(population.spike_sum) > 1e-6:
            raise InvalidInput(
                f'teacher.directions="{self.directions}": the sum of all spikes must not vanish; '
                "raise the rank, change the alignment or choose other directions"
            )
        return scaled_to(population.spike_sum, 1.0)


def named_links(teacher: MultiIndex) -> str:
    """Return the field and its links, as a message names them."""
    return f"teacher.links={', '.join(teacher.links)!r}"


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
        """Return the coefficients of the only part, the constant added."""
        total = self._only_part().coefficients_at(means, deviations, order) / self.divisor
        total[0] += self.constant
        return total

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] of the only part, constant and noise included."""
        part = self._only_part()
        mean = part.coefficients_at(means, deviations, 0)[0] / self.divisor
        power = part.second_moment_at(means, deviations) / self.divisor**2
        return power + self.constant * (2 * mean + self.constant) + self.added_noise**2

    def _only_part(self) -> OneProjection:
        (part,) = self.parts
        if not reads_one_projection(part):
            raise ValueError("the teacher has no single projection")
        return part


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
    if reads_one_projection(left) and reads_one_projection(right):
        return _mehler(left, right, gaussian)
    raise InvalidInput(
        "teacher: a sum has exact moments if its parts are linear or of one direction each; use "
        "test='sampled'"
    )


def _mehler(left: OneProjection, right: OneProjection, gaussian: Gaussian) -> float:
    """Return Σ_l â_l b̂_l ρ^l; what is left out is at most |ρ|^{D+1} √(tail of a · tail of b)."""
    covariance = float(left.directions[:, 0] @ gaussian.covariance_times(right.directions)[:, 0])
    variances = [gaussian.projected_variance(part.directions) for part in (left, right)]
    scale = variances[0] * variances[1]
    correlation = covariance / sqrt(scale) if scale > 0 else 0.0
    order = 0 if abs(correlation) < UNCORRELATED else orders_for(abs(correlation))
    a, b = (projection_coefficients(part, gaussian, order) for part in (left, right))
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
