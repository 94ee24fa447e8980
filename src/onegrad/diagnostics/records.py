"""What was seen of a run: one record per step, the first one of the untrained network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.problem.problem import Problem

SHOWN_VALUES = 10


@dataclass(frozen=True)
class Alignment:
    """How the rows of a k × n matrix, gradients or weights, lie to the watched directions.

    `overlaps` are the cosines with them (k × r). `angle` is the median angle, in degrees, between
    the rows' parts in the teacher's span and the predicted first direction's line, None where the
    target has no such direction or the span is a line; `outside` is the fraction of rows whose part
    there is longer than the noise radius.
    """

    overlaps: Floats
    angle: float | None
    outside: float

    @property
    def strength(self) -> Floats:
        """Root mean square overlap with each direction."""
        return np.sqrt(np.mean(self.overlaps**2, axis=0))

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values; every neuron's overlaps only when asked for."""
        out: dict[str, Any] = {
            "median_angle": self.angle,
            "outside_fraction": self.outside,
            "overlap": self.strength.tolist(),
        }
        return out | ({"overlaps": self.overlaps.tolist()} if neurons else {})


@dataclass(frozen=True)
class Singular:
    """Singular values outside the bulk (`rank` of them), the leading ones, edge, stable rank.

    A `rank` of 12 means at least so many, None that there are too few values for a bulk.
    """

    rank: int | None
    values: Floats
    edge: float
    stable_rank: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rank": self.rank,
            "stable_rank": self.stable_rank,
            "edge": self.edge,
            "singular_values": self.values[:SHOWN_VALUES].tolist(),
        }


@dataclass(frozen=True)
class FeatureSpikes:
    """Spikes of the feature matrix: the degrees predicted, how many are seen, and their overlaps.

    `predicted` is None where no theorem covers the `exponent`; both are empty before a step.
    `overlaps[i][q − 1]` is the |cosine| of the i-th left singular vector with H_q(Xv).
    """

    exponent: float | None
    predicted: tuple[int, ...] | None
    observed: int | None
    values: Floats
    edge: float
    overlaps: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "exponent": self.exponent,
            "predicted_degrees": None if self.predicted is None else list(self.predicted),
            "predicted": None if self.predicted is None else len(self.predicted),
            "observed": self.observed,
            "edge": self.edge,
            "singular_values": self.values.tolist(),
            "overlaps": self.overlaps.tolist(),
        }


@dataclass(frozen=True)
class StepRecord:
    """The network after `step` steps: step 0 is the untrained one, without gradient or change."""

    step: int
    learning_rate: float | None
    low_degree: str
    gradient: Alignment | None
    weights: Alignment
    gradient_spectrum: Singular | None
    change_spectrum: Singular | None
    features: FeatureSpikes
    train_mse: float
    test_mse: float

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values."""
        gradient, values, change = self.gradient, self.gradient_spectrum, self.change_spectrum
        return {
            "step": self.step,
            "learning_rate": self.learning_rate,
            "low_degree": self.low_degree,
            "test_mse": self.test_mse,
            "train_mse": self.train_mse,
            "gradient": None if gradient is None else gradient.to_dict(neurons=neurons),
            "weights": self.weights.to_dict(neurons=neurons),
            "gradient_spectrum": None if values is None else values.to_dict(),
            "change_spectrum": None if change is None else change.to_dict(),
            "features": self.features.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class StepsResult:
    """Everything that a run found, step by step.

    `leap_index` is None where the teacher depends on directions that its Hermite tensors up to
    `leap_degree` do not show; `stairs` are the dimensions that were climbed.
    """

    problem: Problem
    seed: int
    trial: int
    noise_radius: float
    first_direction: Floats
    leap_index: int | None
    leap_degree: int
    stairs: tuple[int, ...]
    records: tuple[StepRecord, ...]

    def __repr__(self) -> str:
        head = (
            f"StepsResult: seed {self.seed}, trial {self.trial}, digest {self.problem.digest[:12]}"
        )
        return f"{head}\n{self.to_frame().to_string(index=False, float_format='%.4g')}"

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values, ready for JSON; `neurons` adds every neuron's overlaps."""
        return {
            "problem": self.problem.to_dict(),
            "digest": self.problem.digest,
            "seed": self.seed,
            "trial": self.trial,
            "noise_radius": self.noise_radius,
            "first_direction": self.first_direction.tolist(),
            "leap_index": self.leap_index,
            "leap_degree": self.leap_degree,
            "stairs": list(self.stairs),
            "steps": [record.to_dict(neurons=neurons) for record in self.records],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a line per step: errors, angles, overlaps, ranks and spikes."""
        return pd.DataFrame([_line(record) for record in self.records])


def _line(record: StepRecord) -> dict[str, Any]:
    gradient, change, spikes = record.gradient, record.change_spectrum, record.features
    line: dict[str, Any] = {
        "step": record.step,
        "learning_rate": record.learning_rate,
        "test_mse": record.test_mse,
        "train_mse": record.train_mse,
        "gradient_angle": None if gradient is None else gradient.angle,
        "gradient_outside": None if gradient is None else gradient.outside,
        "weight_angle": record.weights.angle,
        "weight_outside": record.weights.outside,
    }
    for i, overlap in enumerate(record.weights.strength, start=1):
        line[f"weight_overlap_{i}"] = float(overlap)
    line |= {
        "change_rank": None if change is None else change.rank,
        "change_norm": None if change is None else float(change.values[0]),
        "spikes": spikes.observed,
        "predicted_spikes": None if spikes.predicted is None else len(spikes.predicted),
    }
    return line
