"""The predicted metrics of all models without a draw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats, Metrics
from onegrad.describe.exceptions import Failure, InvalidInput, require_finite
from onegrad.models.model import Model
from onegrad.models.resolve import models_named
from onegrad.problem.problem import Problem
from onegrad.theory.closed.closed_errors import Answer, ClosedTheory, Question, answers
from onegrad.theory.closed.doubts import Note, worst_notes
from onegrad.verbs.closed_setting import closed_problem
from onegrad.verbs.methods import Method

KNOWN = ("network@trained", "network@initial")
TOGETHER = 64  # problems whose grids are kept at once

Predicted = tuple[dict[str, Metrics], tuple[Note, ...]]  # by model's name, and notes


def require_closed_models(models: Sequence[Model]) -> None:
    """Raise InvalidInput where theory without draws does not know a model."""
    for model in models:
        if model.degree is None and model.key not in KNOWN:
            raise InvalidInput(
                f"models={model.name!r}: method='closed' knows network, hermite, linear and "
                "untrained; use method='types'"
            )


def closed_models(
    problem: Problem, names: Sequence[str] | str, *, method: Method
) -> list[Model] | None:
    """Return the models by name; None where "auto" meets what theory without draws is not told."""
    try:
        degree = closed_problem(problem).degree
    except InvalidInput as error:
        if method == "closed":
            raise
        warnings.warn(f"theory: method='auto' takes types: {error}", stacklevel=4)
        return None
    return models_named(problem, names, theorem_degree=degree)


def answer_without_draws(
    problem: Problem,
    models: Sequence[Model],
    *,
    method: Method,
    samples: tuple[int, ...] | None = None,
) -> dict[str, Metrics] | None:
    """Return the metrics by "closed" with its doubts as warnings; None where "auto" has any."""
    if method == "closed":
        metrics, notes = predict_closed(problem, models, samples=samples)
        for note in notes:
            warnings.warn(f"theory: {note}", stacklevel=3)
        return metrics
    doubt: str | None
    try:
        metrics, notes = predict_closed(problem, models, samples=samples)
        doubt = notes[0] if notes else None
    except (InvalidInput, Failure) as error:
        doubt = str(error)
    if doubt is None:
        return metrics
    warnings.warn(f"theory: method='auto' takes types: {doubt}", stacklevel=3)
    return None


def predict_closed(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    draft: bool = False,
) -> Predicted:
    """Return every model's metrics, over (samples ×) penalties, and notes on where it may fail.

    A draft is several times faster at strong steps, and a per cent or two less exact there.
    """
    return predict_closed_together([(problem, models)], samples=samples, draft=draft)[0]


def predict_closed_together(
    asked: Sequence[tuple[Problem, Sequence[Model]]],
    *,
    samples: tuple[int, ...] | None = None,
    draft: bool = False,
) -> list[Predicted]:
    """Return what `predict_closed` does for every problem and its models, in less time."""
    for _, models in asked:
        require_closed_models(models)
    predicted: list[Predicted] = []
    for start in range(0, len(asked), TOGETHER):
        predicted += _predicted(asked[start : start + TOGETHER], samples, draft=draft)
    return predicted


def _predicted(
    asked: Sequence[tuple[Problem, Sequence[Model]]],
    samples: tuple[int, ...] | None,
    *,
    draft: bool,
) -> list[Predicted]:
    curves = []
    for problem, models in asked:
        told = ToldProblem.of(problem, draft=draft)
        counts = np.array((problem.samples,) if samples is None else samples, float)
        ridges = np.array(problem.ridges)
        distinct = {model.key: model for model in models}.values()
        curves += [ModelCurve(told, model, counts, ridges) for model in distinct]
    metrics = iter(metrics_along(curves))
    return [
        _by_name(models, {key: next(metrics) for key in {m.key: m for m in models}}, samples)
        for _, models in asked
    ]


def _by_name(
    models: Sequence[Model],
    by_key: dict[str, tuple[Metrics, tuple[Note, ...]]],
    samples: tuple[int, ...] | None,
) -> Predicted:
    """Return the metrics of every model of one problem, and all notes once."""
    out = {}
    for model in models:
        metrics = by_key[model.key][0]
        if samples is None:
            metrics = {name: values[0] for name, values in metrics.items()}
        require_finite(model.name, metrics)
        out[model.name] = metrics
    return out, worst_notes(note for _, notes in by_key.values() for note in notes)


@dataclass(frozen=True)
class ToldProblem:
    """A problem's theories with their weights; what they share is computed once."""

    theories: tuple[tuple[float, ClosedTheory], ...]
    overlap: float

    @classmethod
    def of(cls, problem: Problem, *, draft: bool = False) -> ToldProblem:
        """Return the theories of a problem."""
        closed = closed_problem(problem, draft=draft)
        theories = tuple((own.weight, ClosedTheory(own.setting)) for own in closed.settings)
        return cls(theories, closed.overlap)


@dataclass(frozen=True)
class ModelCurve:
    """One model of a told problem over numbers of samples × penalties."""

    told: ToldProblem
    model: Model
    counts: Floats
    ridges: Floats

    def questions(self) -> list[Question]:
        """Return what is asked of each of the problem's theories."""
        m = np.repeat(self.counts, len(self.ridges))
        penalty = np.tile(self.ridges, len(self.counts))
        degree, layer = self.model.degree, self.model.first_layer
        return [
            Question(theory, m, penalty, degree, layer, self.told.overlap)
            for _, theory in self.told.theories
        ]

    def metrics(self, parts: Sequence[Answer]) -> tuple[Metrics, tuple[Note, ...]]:
        """Return the mean over theories, samples × penalties, and notes on where it may fail."""
        shape = len(self.counts), len(self.ridges)
        weighted: list[tuple[float, Metrics]] = []
        notes: list[Note] = []
        for (weight, _), (metrics, sure) in zip(self.told.theories, parts, strict=True):
            errors = np.array([point.theory_error for point in sure])
            values = {**metrics, "theory_error": errors}
            weighted.append((weight, {name: v.reshape(shape) for name, v in values.items()}))
            notes += [note for point in sure for note in point.notes]
        return _averaged(weighted), worst_notes(notes)


def metrics_along(curves: Sequence[ModelCurve]) -> list[tuple[Metrics, tuple[Note, ...]]]:
    """Return the metrics of every curve and its notes; all are solved together."""
    questions = [curve.questions() for curve in curves]
    solved = iter(answers([question for own in questions for question in own]))
    return [
        curve.metrics([next(solved) for _ in own])
        for curve, own in zip(curves, questions, strict=True)
    ]


def _averaged(parts: Sequence[tuple[float, Metrics]]) -> Metrics:
    """Return the weighted mean over settings; of the estimated error the largest."""
    if len(parts) == 1:
        return parts[0][1]
    averaged = {}
    for name in parts[0][1]:
        values = np.stack([metrics[name] for _, metrics in parts])
        weights = np.array([weight for weight, _ in parts])
        averaged[name] = (
            values.max(axis=0) if name == "theory_error" else np.tensordot(weights, values, 1)
        )
    return averaged
