"""The inputs of the closed theory: the numbers of one network, its data, teacher and step.

Theory keeps a span S whole: spikes, means, and later the direction of the step. Only coordinates
in S enter. Off S inputs are isotropic, with the component's level as variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from onegrad.calculus.function import Function
from onegrad.closed.label_law import LabelLaw
from onegrad.describe.numbers import Floats


@dataclass(frozen=True)
class Part:
    """One component of the mixture, seen in S: x | c has this covariance and mean there."""

    weight: float  # ρ_c
    level: float  # l_c, the variance of every coordinate off S
    covariance: Floats  # d × d
    mean: Floats  # d
    label: float | None = None

    @cached_property
    def root(self) -> Floats:
        """The square root of the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    @property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        arrays = self.covariance.tobytes(), self.mean.tobytes()
        return self.weight, self.level, self.label, *arrays


@dataclass(frozen=True)
class Frame:
    """All components in S, and what the label reads: ξ = (reads in S, and `reads_off` off it)."""

    parts: tuple[Part, ...]
    reads: Floats  # ξ_S, d numbers
    reads_off: float  # |ξ_e| ≥ 0
    bulk: int  # N = n − d, the dimensions off S

    @property
    def size(self) -> int:
        """d, the dimension of S."""
        return len(self.reads)

    @property
    def level(self) -> float:
        """The mean level Σ_c ρ_c l_c."""
        return float(sum(part.weight * part.level for part in self.parts))

    @property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        parts = tuple(part.key for part in self.parts)
        return parts, self.reads.tobytes(), self.reads_off, self.bulk

    def with_direction(self, reads: float, reads_off: float) -> Frame:
        """Return the frame with one more direction off S, of which the label reads `reads`."""
        parts = []
        for part in self.parts:
            covariance = part.level * np.eye(self.size + 1)
            covariance[:-1, :-1] = part.covariance
            extended = replace(part, covariance=covariance, mean=np.append(part.mean, 0.0))
            root = np.sqrt(part.level) * np.eye(self.size + 1)
            root[:-1, :-1] = part.root
            extended.__dict__["root"] = root  # known without another decomposition
            parts.append(extended)
        return Frame(tuple(parts), np.append(self.reads, reads), reads_off, self.bulk - 1)


MOST_SAMPLES, MOST_NEURONS = 300, 1200
MOST_OF_LOSSES = 1200  # types of samples for losses other than the square
DRAFT_SAMPLES, DRAFT_NEURONS = 96, 128


@dataclass(frozen=True)
class ClosedSetting:
    """One network after its step; samples and penalty of the readout are said when it is solved.

    `frame` is S before the step: the span of spikes and means.
    """

    frame: Frame
    law: LabelLaw
    activation: Function
    dimension: int  # n
    neurons: int  # k
    step_samples: int  # m̃
    learning_rate: float  # η
    row_variance: float  # of an entry of F: 1/Tr Σ, or 1/n where rows have norm 1
    bulk_deviation: float  # b, at which Hermite models expand σ
    second_layer: Literal["gaussian", "sign", "constant"] = "gaussian"
    exact_counts: bool = True
    binary: bool = False  # whether labels are signs, with or without noise
    loss: str = "square"  # of the readout, by name
    draft: bool = (
        False  # fewer types: a per cent less exact at strong steps, and several times faster
    )

    @property
    def most_samples(self) -> int:
        """Types of samples, at about the most."""
        return DRAFT_SAMPLES if self.draft else MOST_SAMPLES

    @property
    def most_readout_samples(self) -> int:
        """Types of the readout's samples, at about the most."""
        if self.loss == "square":
            return self.most_samples
        return MOST_SAMPLES if self.draft else MOST_OF_LOSSES

    @property
    def most_neurons(self) -> int:
        """Types of neurons, at about the most."""
        return DRAFT_NEURONS if self.draft else MOST_NEURONS

    @property
    def entry(self) -> float:
        """The deviation of an entry of F."""
        return float(np.sqrt(self.row_variance))

    @property
    def step(self) -> float:
        """η/k, what the step is multiplied with for a second layer of ω/√k."""
        return self.learning_rate / self.neurons
