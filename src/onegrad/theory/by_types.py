"""What the equations of all losses share: types, their algebra, and the laws of outputs.

Types t have weights p_t, features of mean ν_t and second moment M_t = Σ_t + ν_tν_tᵀ. An algebra
knows Q = (λI + Σ pull_t M_t)^{-1}, C = Cov ŵ and their traces with M_t: `shared_covariance.py`
where Σ_t = τ_tΣ̄, `own_covariances.py` where every type has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.type_labels import TypeLabels
from onegrad.data.counts import exact_counts
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged

TOLERANCE, MOST_ITERATIONS = 1e-9, 500
Places = NDArray[np.intp]


@dataclass(frozen=True)
class OutputLaw:
    """u = φᵀw of types for weights w: mean, variance without that of ŵ, ψ̃ᵀw and cᵀw.

    ψ̃_t = Cov(φ, y | t) and c_t = Cov(φ, s | t), s the teacher's projection.
    """

    mean: Floats
    variance: Floats
    label: Floats
    projection: Floats


class Response(Protocol):
    """Q = (λI + Σ pull_t M_t)^{-1}."""

    reach: Floats  # Tr(M_tQ)

    def solve(self, right: Floats) -> Floats:
        """Return Q times a vector."""

    def spread(self, samples: int, *, shares: Floats, shift: Floats) -> Spread:
        """Return C; `shift` has d_c as rows."""


class Spread(Protocol):
    """C = Cov ŵ as a function of force_t = p_tχ_t; `fixed` is what exact counts add to Tr(M_tC)."""

    fixed: Floats

    def variances(self, force: Floats) -> Floats:
        """Return Tr(M_tC) without `fixed`."""

    def trace(self, force: Floats) -> float:
        """Return Tr C."""


class TypeAlgebra(Protocol):
    """Vectors and matrices of types, in whatever basis; c is the place of a component."""

    labels: TypeLabels
    exact_counts: bool
    size: int  # length of vectors
    neurons: int  # k
    places: list[Places]  # the types of every component

    def respond(self, pull: Floats, ridge: float) -> Response:
        """Return Q."""

    def law(self, c: int, weights: Floats) -> OutputLaw:
        """Return the law of u of one component's types."""

    def combined(
        self,
        c: int,
        means: Floats,
        *,
        label: Floats | None = None,
        projection: Floats | None = None,
    ) -> Floats:
        """Return Σ means_t ν_t + label_t ψ̃_t + projection_t c_t over one component's types."""

    def covariances_times(self, c: int, factors: Floats, weights: Floats) -> Floats:
        """Return Σ factors_t Σ_t w over one component's types."""


class ByTypes:
    """Training weights, forces of exact counts and laws of u, for one m and λ."""

    def __init__(self, algebra: TypeAlgebra, samples: int, ridge: float) -> None:
        self.algebra, self.samples, self.ridge = algebra, samples, ridge
        self.labels, self.exact = algebra.labels, algebra.exact_counts
        plain = self.labels.weights
        self.weights = training_weights(self.labels, samples) if self.exact else plain
        self.places = algebra.places
        self.shares = np.array([self.weights[place].sum() for place in self.places])
        self.no_shift: Floats = np.zeros((len(self.places), algebra.size))

    def law(self, mean: Floats, shift: Floats) -> OutputLaw:
        """Return the law of u for w = w̄ + d_c; no shift is that of a test point."""
        parts = [self.algebra.law(c, mean + moved) for c, moved in enumerate(shift)]
        out = []
        for name in ("mean", "variance", "label", "projection"):
            whole = np.empty(len(self.weights))
            for place, part in zip(self.places, parts, strict=True):
                whole[place] = getattr(part, name)
            out.append(whole)
        return OutputLaw(*out)

    def total(
        self, means: Floats, *, label: Floats | None = None, projection: Floats | None = None
    ) -> Floats:
        """Return Σ means_t ν_t + label_t ψ̃_t + projection_t c_t over all types."""
        return np.sum(
            [
                self.algebra.combined(
                    c,
                    means[place],
                    label=None if label is None else label[place],
                    projection=None if projection is None else projection[place],
                )
                for c, place in enumerate(self.places)
            ],
            axis=0,
        )

    def shifts(self, response: Response, forces: Sequence[Floats]) -> Floats:
        """Return d_c = Qe_c/m for e_c times ρ_c; one for all where counts are sampled."""
        if not self.exact:
            whole = response.solve(np.sum(forces, axis=0)) / self.samples
            return np.repeat(whole[None], len(forces), axis=0)
        safe = np.where(self.shares > 0, self.shares, 1.0)
        return np.array(
            [
                response.solve(force / share) / self.samples if used else np.zeros_like(force)
                for force, share, used in zip(forces, safe, self.shares > 0, strict=True)
            ]
        )

    def pulled(self, pull: Floats, shift: Floats) -> Floats:
        """Return Σ_c Σ_{t∈c} pull_t M_t d_c."""
        total = np.zeros(self.algebra.size)
        for c, (place, moved) in enumerate(zip(self.places, shift, strict=True)):
            if np.any(moved):
                own = pull[place]
                total += self.algebra.covariances_times(c, own, moved)
                total += self.algebra.combined(c, own * self.algebra.law(c, moved).mean)
        return total


def require_converged(
    what: str, residual: float, iterations: int, *, tolerance: float = TOLERANCE
) -> None:
    """Raise NotConverged where a residual is above the tolerance."""
    if not residual <= tolerance:
        raise NotConverged(
            f"types: the {what} changes by {residual:.1e} after {iterations} iterations; raise the "
            "ridge"
        )


def training_weights(labels: TypeLabels, samples: int) -> Floats:
    """Return p_t with the components' shares rounded to whole numbers of samples."""
    names = np.unique(labels.components)
    shares = np.array([labels.weights[labels.components == c].sum() for c in names])
    counts = np.asarray(exact_counts(shares, samples)) / samples
    factor = dict(zip(names.tolist(), (counts / shares).tolist(), strict=True))
    return labels.weights * np.array([factor[c] for c in labels.components.tolist()])
