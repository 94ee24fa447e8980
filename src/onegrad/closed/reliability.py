"""How far a prediction without draws may be off, and where it is known to be.

Indicators are by-products of the equations. benchmarks/agreement.py measures deviations on
random problems and fits the constants below to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import exp, log

import numpy as np

from onegrad.closed.equivalent import Equivalent
from onegrad.closed.nodes import SamplePoints
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.step import NeuronTypes
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
class LossDoubts:
    """What a convex loss adds: where it is known to fail, and the least error there."""

    notes: tuple[str, ...]
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
    loss: LossDoubts | None = None  # of another loss than the square

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
        """Where this is known to fail, a sentence each."""
        said = []
        if self.amplification > AMPLIFIED:
            text = (
                f"noise is amplified {self.amplification:.1f} times, as near k = m at a small "
                "ridge, where every such theory is off by several per cent"
            )
            said.append(Note("amplified", self.amplification, text))
        if self.step_noise > LOUD or (self.step_noise > LOUD_FEW and self.step_ratio < FEW):
            text = (
                f"the step adds {self.step_noise:.2g} times the initial length in noise, from "
                f"{self.step_ratio:.2g} samples per dimension"
            )
            said.append(Note("loud", self.step_noise, text))
        if self.modes > MODES:
            text = f"few neurons: modes make {100 * self.modes:.0f} % of their resistance"
            said.append(Note("modes", self.modes, text))
        if self.spread > SPREAD:
            text = "features of a few samples or neurons are far larger than those of others"
            said.append(Note("spread", self.spread, text))
        if self.random_overlap > OVERLAP:
            text = (
                "one random overlap of teacher and spikes decides: single draws differ by tens of "
                "per cent"
            )
            said.append(Note("overlap", self.random_overlap, text))
        if self.coarse:
            text = "several strong directions: types are coarser than they should be"
            said.append(Note("coarse", 1.0, text))
        if self.loss is not None:
            said += [Note(text, self.loss.least_error, text) for text in self.loss.notes]
        return tuple(said)


class Note(str):
    """A sentence on where a prediction may fail, with the kind and the size of the doubt."""

    kind: str
    size: float

    def __new__(cls, kind: str, size: float, text: str) -> Note:
        """Return the sentence with its kind and size."""
        note = super().__new__(cls, f"method='closed': {text}")
        note.kind, note.size = kind, size
        return note


def worst_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the worst note of every kind, so that the points of a curve do not repeat it."""
    worst: dict[str, Note] = {}
    for note in notes:
        if note.kind not in worst or note.size > worst[note.kind].size:
            worst[note.kind] = note
    return tuple(worst.values())


@dataclass(frozen=True)
class PointDoubts:
    """What the equations themselves tell of every point of a solution."""

    amplification: Floats
    modes: Floats
    spread: Floats

    @classmethod
    def of(cls, solution: Equivalent, test_mse: Floats, bias: Floats) -> PointDoubts:
        """Return the indicators at every point; `bias` is the error of the mean weights."""
        grid = solution.grid
        alpha, left = grid.mode_neurons, solution.matrices.mode_left
        own = np.sum((alpha @ left) * alpha, axis=-1) * solution.tau
        modes = np.maximum(np.sum(own * grid.neuron_weights, axis=1), 0.0)
        amplification = np.maximum(test_mse / np.maximum(bias, 1e-300), 1.0)
        return cls(amplification, modes, np.broadcast_to(grid.spread, modes.shape))

    @classmethod
    def joined(cls, parts: Sequence[PointDoubts]) -> PointDoubts:
        """Return the indicators at the points of all parts."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def chosen(self, points: slice) -> PointDoubts:
        """Return the indicators at some of the points."""
        return PointDoubts(*(getattr(self, field.name)[points] for field in fields(self)))


def indicators_of(
    setting: ClosedSetting,
    types: NeuronTypes,
    samples: SamplePoints,
    doubts: PointDoubts,
    counts: Floats,
    *,
    random_overlap: float = 0.0,
    losses: Sequence[LossDoubts] | None = None,
) -> list[ClosedIndicators]:
    """Return the indicators of one setting at every number of samples in `counts`."""
    return [
        ClosedIndicators(
            amplification=float(doubts.amplification[i]),
            size=1 / min(setting.dimension, setting.neurons, float(count)),
            step_noise=types.step_noise,
            modes=float(doubts.modes[i]),
            spread=float(doubts.spread[i]),
            step_ratio=setting.step_samples / setting.dimension,
            coarse=types.coarse or samples.coarse,
            random_overlap=random_overlap,
            loss=None if losses is None else losses[i],
        )
        for i, count in enumerate(counts)
    ]
