"""What a problem draws its samples from: a Gaussian mixture, or rows of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.describe.arrays import Floats, Normals


class Population(Protocol):
    """A drawn source of samples in parts (components or classes), with the scales of its inputs."""

    @property
    def dimension(self) -> int:
        """Input dimension n."""

    @property
    def weights(self) -> Floats:
        """Probabilities ρ_c of the parts."""

    @property
    def level(self) -> float:
        """s²: the variance per coordinate that b, the deviation of f_iᵀx, is made of."""

    @property
    def trace(self) -> float:
        """Tr Σ of Σ = Σ_c ρ_c Σ_c, without the means' contribution."""

    @property
    def norm(self) -> float:
        """‖Σ‖."""

    @property
    def labels(self) -> tuple[float | None, ...]:
        """The label of each part, where it has one."""

    @property
    def spike_sum(self) -> Floats:
        """The sum of the spikes' directions, zero where there are none."""

    @property
    def counts(self) -> Literal["exact", "sampled"]:
        """Whether every batch has the same number of rows of each part."""

    @property
    def mixture(self) -> Mixture:
        """The mixture that theory reads: the population itself, or one fitted to it."""

    def draw_counts(self, samples: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return how many of `samples` each part gets."""

    def sample(self, counts: tuple[int, ...], normals: Normals, earlier: tuple[int, ...]) -> Floats:
        """Return inputs (samples × n), parts one after the other.

        `earlier` has the sizes of the batches that the trial took before: a finite population
        gives none of their rows again.
        """

    def blocks(
        self, counts: tuple[int, ...], rng: np.random.Generator, earlier: tuple[int, ...]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (part, inputs) in blocks of at most GRANULE rows."""


@runtime_checkable
class RowLabels(Protocol):
    """A population whose rows have a number y of their own, beside the label of their part."""

    @property
    def label_deviation(self) -> float:
        """The deviation of y within the parts; 0 where labels are those of the parts."""

    def row_labels(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> Floats | None:
        """Return y of rows of a part of a batch; None where it is the label of the part."""
