"""The classes of a data set as a population, and the mixture that is fitted to them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onegrad.data.counts import exact_counts, granules
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.rows.fitting import fit_gaussians
from onegrad.data.rows.preparation import Preparation, Prepared, prepare
from onegrad.describe.arrays import Floats, Normals


@dataclass(frozen=True)
class EmpiricalPopulation:
    """The classes of a data set as one trial sees them: rows in its own order, none twice."""

    preparation: Preparation
    targets: tuple[float, ...]
    scale: float  # θ/tr S
    noise: float
    fit: tuple[int | None, int, int]  # components per class, rank, seed
    order: tuple[NDArray[np.intp], ...]
    counts: Literal["exact", "sampled"] = "exact"

    @property
    def prepared(self) -> Prepared:
        """The rows by class."""
        return prepare(self.preparation)

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.prepared.dimension

    @property
    def weights(self) -> Floats:
        """Class probabilities ρ_c."""
        return np.asarray(self.preparation.weights)

    @property
    def labels(self) -> tuple[float | None, ...]:
        """The target of each class."""
        return self.targets

    @property
    def trace(self) -> float:
        """θ + nδ²."""
        return self.scale * self.prepared.trace + self.dimension * self.noise**2

    @property
    def level(self) -> float:
        """Tr Σ/n: no few spikes dominate, so b is the total deviation, as published."""
        return self.trace / self.dimension

    @property
    def norm(self) -> float:
        """The largest eigenvalue of the mean covariance of the prepared classes."""
        return self.scale * self.prepared.norm + self.noise**2

    @property
    def spike_sum(self) -> Floats:
        """Zero: rows have no spikes."""
        return np.zeros(self.dimension)

    def draw_counts(self, samples: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return how many of `samples` each class gets, by largest remainder."""
        return exact_counts(self.weights, samples)

    def sample(self, counts: tuple[int, ...], normals: Normals, earlier: tuple[int, ...]) -> Floats:
        """Return prepared rows, class by class, that no earlier batch of the trial has."""
        inputs = np.empty((sum(counts), self.dimension))
        row = 0
        for part, start, rows in granules(counts):
            inputs[row : row + rows] = self._block(part, start, rows, normals, earlier)
            row += rows
        return inputs

    def blocks(
        self, counts: tuple[int, ...], rng: np.random.Generator, earlier: tuple[int, ...]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (class, prepared rows) in blocks of at most GRANULE rows."""
        for part, start, rows in granules(counts):
            yield part, self._block(part, start, rows, rng, earlier)

    def _block(
        self, part: int, start: int, rows: int, normals: Normals, earlier: tuple[int, ...]
    ) -> Floats:
        chosen = self.prepared.rows[part][self._places(part, start, rows, earlier)]
        block = np.sqrt(self.scale) * self.prepared.centred(part, chosen)
        if self.noise:
            block += self.noise * normals.standard_normal((rows, self.dimension))
        return block

    def _places(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> NDArray[np.intp]:
        """Return which rows of a part a block has: those after all earlier batches."""
        first = start + sum(exact_counts(self.weights, size)[part] for size in earlier)
        return self.order[part][first : first + rows]

    def row_labels(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> Floats | None:
        """Return y of rows of a part of a batch, where it is a number of each row."""
        numbers = self.prepared.parts.numbers
        if numbers is None:
            return None
        return numbers[part][self._places(part, start, rows, earlier)]

    @property
    def label_deviation(self) -> float:
        """The deviation of y within the parts, where it is a number of each row."""
        numbers = self.prepared.parts.numbers
        if numbers is None:
            return 0.0
        pairs = zip(self.weights, numbers, self.targets, strict=True)
        return float(np.sqrt(sum(w * np.mean((y - t) ** 2) for w, y, t in pairs)))

    @property
    def mixture(self) -> Mixture:
        """The mixture fitted to the rows that no network sees, prepared in the same way."""
        parts = fitted_parts(self.preparation, *self.fit)
        noise, root = self.noise**2, np.sqrt(self.scale)
        return Mixture(
            tuple(
                Gaussian(
                    weight=part.weight,
                    mean=None if part.mean is None else root * part.mean,
                    level=self.scale * part.level + noise,
                    directions=part.directions,
                    strengths=self.scale * part.strengths,
                    label=self.targets[int(part.label or 0)],
                )
                for part in parts
            )
        )


@functools.lru_cache(maxsize=8)
def fitted_parts(
    preparation: Preparation, components: int | None, rank: int, seed: int
) -> tuple[Gaussian, ...]:
    """Return Gaussians fitted to the rows kept for it, centred and scaled, before the spread.

    Their labels are the places of their classes.
    """
    prepared = prepare(preparation)
    fitting = prepared.parts.fitting
    x = np.concatenate([prepared.centred(i, rows) for i, rows in enumerate(fitting)])
    y = np.repeat(np.arange(len(fitting), dtype=float), [len(rows) for rows in fitting])
    fitted = fit_gaussians(x, y, components=components, rank=rank, seed=seed)
    shares = np.asarray(preparation.weights) / (np.unique(y, return_counts=True)[1] / len(y))
    return tuple(
        replace(part, weight=part.weight * shares[int(part.label or 0)]) for part in fitted
    )
