"""Gaussian mixtures with structured covariance, drawn and sampled without any n×n matrix.

x | c ~ N(μ_c, Σ_c),   Σ_c = s_c² I + Σ_i θ_{c,i} γ_{c,i} γ_{c,i}ᵀ   (Demir & Dogan [1], §2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from onegrad.describe.numbers import Floats, Normals

GRANULE = 512  # rows per product; fixed, so that no result depends on how rows are chunked


def granules(counts: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield (part, first row within the part, rows) for blocks of at most GRANULE rows."""
    for index, count in enumerate(counts):
        for start in range(0, count, GRANULE):
            yield index, start, min(GRANULE, count - start)


def exact_counts(weights: Floats, samples: int) -> tuple[int, ...]:
    """Return whole numbers near weights × samples that add up to samples (largest remainder)."""
    shares = np.asarray(weights) * samples
    counts = np.floor(shares + 1e-9).astype(int)
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[: samples - int(counts.sum())]] += 1
    return tuple(int(c) for c in counts)


@dataclass(frozen=True)
class Gaussian:
    """One drawn component: N(mean, level·I + Γ diag(strengths) Γᵀ), Γ = directions (n × d)."""

    weight: float
    mean: Floats | None
    level: float
    directions: Floats
    strengths: Floats
    label: float | None = None

    def covariance_times(self, vectors: Floats) -> Floats:
        """Return Σ_c v for the columns v of `vectors`, in O(n d)."""
        spikes = (self.directions.T @ vectors).T * self.strengths
        return self.level * vectors + self.directions @ spikes.T

    def projected_variance(self, directions: Floats) -> float:
        """Return ξᵀΣ_cξ, summed over the columns ξ of `directions`."""
        return float(np.sum(directions * self.covariance_times(directions)))

    def colour(self, noise: Floats) -> Floats:
        """Return rows μ_c + Σ_c^{1/2} g for the standard normal rows g, overwriting them.

        Σ^{1/2} g = s g + Γ (√(s² + θ) − s) Γᵀ g
        """
        root = np.sqrt(self.level)
        spikes = (noise @ self.directions) * (np.sqrt(self.level + self.strengths) - root)
        if root != 1:
            noise *= root
        noise += spikes @ self.directions.T
        if self.mean is not None:
            noise += self.mean
        return noise


@dataclass(frozen=True)
class Mixture:
    """A drawn mixture: every direction and strength is a number. Its moments are exact."""

    components: tuple[Gaussian, ...]
    counts: Literal["exact", "sampled"] = "exact"

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return int(self.components[0].directions.shape[0])

    @property
    def weights(self) -> Floats:
        """Component probabilities ρ_c."""
        return np.array([c.weight for c in self.components])

    @property
    def labels(self) -> tuple[float | None, ...]:
        """The label of each component, where it has one."""
        return tuple(c.label for c in self.components)

    @property
    def mixture(self) -> Mixture:
        """The mixture itself: its moments are known."""
        return self

    @cached_property
    def level(self) -> float:
        """Isotropic part Σ_c ρ_c s_c² of the mixture covariance."""
        return float(sum(c.weight * c.level for c in self.components))

    @cached_property
    def trace(self) -> float:
        """Tr Σ of Σ = Σ_c ρ_c Σ_c, without the means' contribution."""
        spikes = sum(c.weight * float(np.sum(c.strengths)) for c in self.components)
        return self.dimension * self.level + spikes

    @cached_property
    def norm(self) -> float:
        """‖Σ‖, the spectral norm of Σ = Σ_c ρ_c Σ_c, from the small Gram matrix of the spikes."""
        stacked = np.concatenate(
            [c.directions * np.sqrt(c.weight * c.strengths) for c in self.components], axis=1
        )
        if stacked.shape[1] == 0:
            return self.level
        return self.level + float(np.linalg.eigvalsh(stacked.T @ stacked)[-1])

    @property
    def spike_sum(self) -> Floats:
        """Σ_{c,i} γ_{c,i} over components of positive weight, not normalised."""
        total = np.zeros(self.dimension)
        for c in self.components:
            if c.weight > 0:
                total += c.directions.sum(axis=1)
        return total

    def draw_counts(self, samples: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return how many of `samples` each component gets: by largest remainder, or sampled."""
        if self.counts == "sampled":
            return tuple(
                int(c) for c in rng.multinomial(samples, self.weights / self.weights.sum())
            )
        return exact_counts(self.weights, samples)

    def sample(
        self, counts: tuple[int, ...], normals: Normals, earlier: tuple[int, ...] = ()
    ) -> Floats:
        """Return inputs (samples × n), components one after the other, with these counts."""
        inputs = np.empty((sum(counts), self.dimension))
        row = 0
        for index, _, rows in granules(counts):
            block = inputs[row : row + rows]
            block[:] = normals.standard_normal((rows, self.dimension))
            self.components[index].colour(block)
            row += rows
        return inputs

    def blocks(
        self, counts: tuple[int, ...], rng: np.random.Generator, earlier: tuple[int, ...] = ()
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (component, inputs) in blocks of at most GRANULE rows; O(rows·n·d) each."""
        for index, _, rows in granules(counts):
            noise = rng.standard_normal((rows, self.dimension))
            yield index, self.components[index].colour(noise)


def draw_directions(dimension: int, rank: int, rng: np.random.Generator) -> Floats:
    """Return `rank` random orthonormal columns (QR of a Gaussian matrix)."""
    return np.linalg.qr(rng.standard_normal((dimension, rank)))[0]


def align_directions(
    reference: Floats, rank: int, cosine: float, rng: np.random.Generator
) -> Floats:
    """Return orthonormal γ_i with γ_iᵀ reference_i = cosine exactly.

    γ_i = a γ_{1,i} + √(1 − a²) γ'_i with γ' orthonormal and orthogonal to all of `reference`;
    columns beyond the reference's rank are γ' themselves. Differs: the published code leaves the
    overlap of γ' with γ_1 in and does not renormalise.
    """
    fresh = rng.standard_normal((reference.shape[0], rank))
    fresh -= reference @ (reference.T @ fresh)
    fresh = np.linalg.qr(fresh)[0]
    fresh -= reference @ (reference.T @ fresh)  # twice is enough for orthogonality to rounding
    fresh = np.linalg.qr(fresh)[0]
    shared = min(rank, reference.shape[1])
    aligned = fresh.copy()
    aligned[:, :shared] *= np.sqrt(1 - cosine**2)
    aligned[:, :shared] += cosine * reference[:, :shared]
    return aligned
