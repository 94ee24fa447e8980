"""Products and staircases of links: labels that several projections make together.

Under one component v = Wᵀx ~ N(m, S), S = LLᵀ, and ṽ = L⁻¹(v − m) is standard normal. All moments
follow from E[y²] and the coefficients c_α = E[y H_α(ṽ)]/√α!.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.expectations import decays, hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.calculus.joint_expectations import product_coefficients
from onegrad.data.mixture import Gaussian
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput

ROUNDING = 1e-13  # correlations of directions below this are none
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

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return Tr S."""
        return float(np.sum(self.directions * gaussian.covariance_times(self.directions)))

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

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Not defined: the label depends on several projections."""
        raise NotImplementedError("teachers of several directions have no single projection")

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Not defined: the label depends on several projections."""
        raise NotImplementedError("teachers of several directions have no single projection")

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Not defined: the label depends on several projections."""
        raise NotImplementedError("teachers of several directions have no single projection")


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
