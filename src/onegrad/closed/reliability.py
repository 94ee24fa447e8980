"""How far a prediction without draws may be off, and where it is known to be.

Indicators are by-products of the equations. benchmarks/agreement.py measures deviations on
random problems and fits the constants below to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, log

import numpy as np

from onegrad.calculus.prediction import Note, NoteKind, Prediction
from onegrad.closed.equivalent import Equivalent
from onegrad.describe.numbers import Floats

# log error = constant + Σ slope · log(indicator), so that nine in ten deviations are smaller.
CONSTANT = 1.27
SLOPES = {
    "amplification": 1.0,
    "size": 0.528,
    "step_noise": 0.246,
    "modes": 0.274,
    "spread": 0.138,
}
FLOORS = {"step_noise": 0.02, "modes": 0.02, "spread": 0.05}
COARSER = 2.0  # times the error where types are coarser than they should be
SMALLEST, LARGEST = 0.005, 1.0

CONVEX_FACTOR = 1.3  # of other losses than the square, by benchmarks/agreement.py

AMPLIFIED = 5.0  # test error over what is left of it without the variance of ŵ
LOUD, LOUD_FEW, FEW = 2.0, 0.3, 0.5  # step noise, and step samples per dimension
MODES = 0.1  # share of a neuron's resistance that a few modes make
SPREAD = 1.5  # of the features' power over types
OVERLAP = 0.1  # θ·spikes/n for a random teacher


@dataclass(frozen=True)
class LossReliability:
    """What a convex loss adds: notes, and the least error."""

    notes: tuple[Note, ...]
    least_error: float


@dataclass(frozen=True)
class ClosedIndicators:
    """What the error of a prediction is estimated from."""

    amplification: float
    size: float  # 1/min(n, m, k)
    step_noise: float
    modes: float
    spread: float
    step_ratio: float  # m̃/n
    coarse: bool
    random_overlap: float = 0.0
    loss: LossReliability | None = None  # of another loss than the square

    @property
    def theory_error(self) -> float:
        """The relative error of test errors that nine in ten do not exceed."""
        value = CONSTANT
        for name, slope in SLOPES.items():
            value += slope * log(getattr(self, name) + FLOORS.get(name, 0.0))
        error = exp(value) * (COARSER if self.coarse else 1.0)
        if self.loss is not None:
            error = max(CONVEX_FACTOR * error, self.loss.least_error)
        return min(max(error, SMALLEST), LARGEST)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is known to fail here."""
        few_samples = self.step_ratio < FEW
        known = [
            (self.amplification > AMPLIFIED, Note(NoteKind.AMPLIFIED, self.amplification)),
            (
                self.step_noise > (LOUD_FEW if few_samples else LOUD),
                Note(NoteKind.LOUD_STEP, self.step_noise, f"{self.step_ratio:.2g}"),
            ),
            (self.modes > MODES, Note(NoteKind.FEW_NEURONS, self.modes)),
            (self.spread > SPREAD, Note(NoteKind.UNEVEN, self.spread)),
            (self.random_overlap > OVERLAP, Note(NoteKind.OVERLAP, self.random_overlap)),
            (self.coarse, Note(NoteKind.COARSE)),
        ]
        own = () if self.loss is None else self.loss.notes
        return (*(note for fails, note in known if fails), *own)

    def predicted(self, metrics: Mapping[str, float]) -> Prediction:
        """Return the prediction with these metrics."""
        return Prediction(metrics, self.theory_error, self.notes)


@dataclass(frozen=True)
class PointIndicators:
    """Indicators that the equations give at every point of a solution."""

    amplification: Floats
    modes: Floats
    spread: Floats

    @classmethod
    def of(cls, solution: Equivalent, test_mse: Floats, bias: Floats) -> PointIndicators:
        """Return the indicators at every point; `bias` is the error of the mean weights."""
        grid = solution.grid
        alpha, left = grid.mode_neurons, solution.matrices.mode_left
        own = np.sum((alpha @ left) * alpha, axis=-1) * solution.tau
        modes = np.maximum(np.sum(own * grid.neuron_weights, axis=1), 0.0)
        amplification = np.maximum(test_mse / np.maximum(bias, 1e-300), 1.0)
        return cls(amplification, modes, np.broadcast_to(grid.spread, modes.shape))

    @classmethod
    def joined(cls, parts: Sequence[PointIndicators]) -> PointIndicators:
        """Return the indicators at the points of all parts."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def chosen(self, points: slice) -> PointIndicators:
        """Return the indicators at some of the points."""
        return PointIndicators(*(getattr(self, field.name)[points] for field in fields(self)))
