"""What theory predicts at one point: errors, how far they may be off, and notes about both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np

from onegrad.calculus.losses import NamedLoss
from onegrad.describe.exceptions import require_finite
from onegrad.describe.numbers import Metrics


class TheoryWarning(UserWarning):
    """A prediction may be off by more than usual; the message gives the reason."""


class NoteKind(Enum):
    """What can be known about a prediction; the value is a template of the sentence."""

    AMPLIFIED = (
        "noise is amplified {size:.1f} times, as near k = m at a small ridge, where every such "
        "theory is off by several per cent"
    )
    LOUD_STEP = (
        "the step adds {size:.2g} times the initial length in noise, from {detail} samples per "
        "dimension"
    )
    FEW_NEURONS = "few neurons: modes make {percent:.0f} % of their resistance"
    UNEVEN = "features of a few samples or neurons are far larger than those of others"
    OVERLAP = (
        "one random overlap of teacher and spikes decides: single draws differ by tens of per cent"
    )
    COARSE = "several strong directions: types are coarser than they should be"
    CORNER = (
        "few margins lie at the corner of loss={detail!r}, where misclassification may be 5 to "
        "12 % off; lower the ridge, or simulate"
    )
    SEPARABLE = (
        "outputs are very large, as near separability: training sets differ by orders of "
        "magnitude; raise the ridge, or compare with medians"
    )
    SMALL_RATE = "train_misclassification below 1 % may be 10 to 40 % off; take it as small"
    GRID = (
        "a grid of {detail} types gives E y² of a component with an error of {percent:.1f} %; "
        "compare with a simulation"
    )
    SEVERAL_STEPS = (
        "training: the Hermite theorem covers one gradient step; the prediction is computed all "
        "the same"
    )
    STRONG_STEP = (
        "strength={size:.3g}: the Hermite theorem covers strengths below 1; the prediction is "
        "computed all the same"
    )
    PREPARED_BY_CLASS = (
        "data.{detail}: prepares a test point by its own class, which needs its label; for errors "
        "on new data use centring='midpoint' without equal_traces"
    )
    TYPES_INSTEAD = "theory: method='auto' takes types: {detail}"

    @property
    def level(self) -> Literal["info", "doubt"]:
        """Whether the prediction itself is in doubt."""
        return "info" if self in _INFO else "doubt"


_INFO = {
    NoteKind.SEVERAL_STEPS,
    NoteKind.STRONG_STEP,
    NoteKind.PREPARED_BY_CLASS,
    NoteKind.TYPES_INSTEAD,
}


@dataclass(frozen=True)
class Note:
    """One note with its size, by which notes of the same kind are compared."""

    kind: NoteKind
    size: float = 0.0
    detail: str = ""

    def __str__(self) -> str:
        return self.kind.value.format(size=self.size, percent=100 * self.size, detail=self.detail)


def worst_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the worst note of every kind, so that the points of a curve do not repeat it."""
    worst: dict[NoteKind, Note] = {}
    for note in notes:
        if note.kind not in worst or note.size > worst[note.kind].size:
            worst[note.kind] = note
    return tuple(worst.values())


def warn_of(notes: Iterable[Note], *, method: str | None = None, stacklevel: int = 3) -> None:
    """Warn of every note: of doubts with a TheoryWarning that names the method."""
    named = "theory: method='closed':" if method == "closed" else "theory:"
    for note in notes:
        if note.kind.level == "doubt":
            warnings.warn(f"{named} {note}", TheoryWarning, stacklevel=stacklevel)
        else:
            warnings.warn(str(note), stacklevel=stacklevel)


@dataclass(frozen=True)
class Prediction:
    """The errors of one model at one point (step, m, λ).

    `theory_error` is how far test errors may be off, relative; nine in ten are not.
    """

    metrics: Mapping[str, float]
    theory_error: float
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class PredictedModels:
    """The predictions of every model for one problem: metrics by model name, and notes."""

    metrics: dict[str, Metrics]
    notes: tuple[Note, ...]
    method: Literal["types", "closed"]

    @classmethod
    def of(
        cls,
        models: Iterable[Any],
        predictions: Mapping[str, Sequence[Prediction]],
        shape: tuple[int, ...],
        method: Literal["types", "closed"],
    ) -> PredictedModels:
        """Return the predictions of models by their keys as arrays of a shape.

        Raise InvalidInput if a number is not finite.
        """
        tables = {}
        for model in models:
            points = predictions[model.key]
            table = {
                name: np.array([point.metrics[name] for point in points]).reshape(shape)
                for name in points[0].metrics
            }
            errors = np.array([point.theory_error for point in points])
            tables[model.name] = {**table, "theory_error": errors.reshape(shape)}
            require_finite(model.name, tables[model.name])
        every = (note for own in predictions.values() for point in own for note in point.notes)
        return cls(tables, worst_notes(every), method)


FEW_BENT = (1e-3, 0.1)  # shares of margins at a corner for which ŵ does not answer linearly
CORNER_ERROR = 0.12  # there, of misclassification
SEPARABLE = 12.0  # deviation of outputs
NEARLY_NONE, SMALL_RATE = 1e-4, 0.01


def few_margins_bend(loss: NamedLoss, bent: float) -> bool:
    """Return whether a loss jumps in slope where few margins lie; `bent` is their share."""
    return not loss.smooth and FEW_BENT[0] < bent < FEW_BENT[1]


def loss_notes(loss: NamedLoss, *, bent: float, largest_variance: float) -> list[Note]:
    """Return what is known to fail for a loss; the largest variance is that of outputs."""
    notes = []
    if few_margins_bend(loss, bent):
        notes.append(Note(NoteKind.CORNER, bent, loss.name))
    if largest_variance > SEPARABLE**2:
        notes.append(Note(NoteKind.SEPARABLE, largest_variance))
    return notes


def small_rate_notes(metrics: Mapping[str, float]) -> list[Note]:
    """Return what is known to fail if hardly a training sample is misclassified."""
    rate = metrics.get("train_misclassification", 1.0)
    return [Note(NoteKind.SMALL_RATE, rate)] if NEARLY_NONE < rate < SMALL_RATE else []
