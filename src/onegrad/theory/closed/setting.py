"""What theory without draws is told: the numbers of one network, its data, teacher and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from onegrad.calculus.function import Function
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.label_law import LabelLaw


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

    @property
    def entry(self) -> float:
        """The deviation of an entry of F."""
        return float(np.sqrt(self.row_variance))

    @property
    def step(self) -> float:
        """η/k, what the step is multiplied with for a second layer of ω/√k."""
        return self.learning_rate / self.neurons
