"""What theory without draws is told: the numbers of one network, its data, teacher and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from onegrad.calculus.function import Function
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.label_law import LabelLaw

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
