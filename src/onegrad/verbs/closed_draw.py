"""The predicted metrics of all models without a draw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import Failure, InvalidInput, require_finite
from onegrad.models.model import Model
from onegrad.models.resolve import models_named
from onegrad.problem.problem import Problem
from onegrad.theory.closed.closed_errors import ClosedTheory, Layer
from onegrad.verbs.closed_setting import closed_problem
from onegrad.verbs.methods import Method
from onegrad.verbs.step_axis import Metrics

KNOWN = ("network@trained", "network@initial")


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
    try:
        metrics, notes = predict_closed(problem, models, samples=samples)
    except (InvalidInput, Failure) as error:
        notes = (str(error),)
    if not notes:
        return metrics
    warnings.warn(f"theory: method='auto' takes types: {notes[0]}", stacklevel=3)
    return None


def predict_closed(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    draft: bool = False,
) -> tuple[dict[str, Metrics], tuple[str, ...]]:
    """Return every model's metrics, over (samples ×) penalties, and notes on where it may fail.

    A draft is several times faster at strong steps, and a per cent or two less exact there.
    """
    require_closed_models(models)
    told = ToldProblem.of(problem, draft=draft)
    counts = np.array((problem.samples,) if samples is None else samples, float)
    ridges = np.array(problem.ridges)
    by_key = {m.key: told.metrics(m, counts, ridges) for m in {m.key: m for m in models}.values()}
    out = {}
    for model in models:
        metrics = by_key[model.key][0]
        if samples is None:
            metrics = {name: values[0] for name, values in metrics.items()}
        require_finite(model.name, metrics)
        out[model.name] = metrics
    return out, tuple(dict.fromkeys(note for _, notes in by_key.values() for note in notes))


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

    def metrics(
        self, model: Model, counts: Floats, ridges: Floats
    ) -> tuple[Metrics, tuple[str, ...]]:
        """Return a model's metrics over samples × penalties, and notes on where they may fail."""
        parts, notes = [], []
        for weight, theory in self.theories:
            metrics, said = _metrics(theory, model, counts, ridges, self.overlap)
            parts.append((weight, metrics))
            notes += said
        return _averaged(parts), tuple(dict.fromkeys(notes))


def _averaged(parts: Sequence[tuple[float, Metrics]]) -> Metrics:
    """Return the weighted mean over settings; of the estimated error the largest."""
    averaged = {}
    for name in parts[0][1]:
        values = np.stack([metrics[name] for _, metrics in parts])
        weights = np.array([weight for weight, _ in parts])
        averaged[name] = (
            values.max(axis=0) if name == "theory_error" else np.tensordot(weights, values, 1)
        )
    return averaged


def _metrics(
    theory: ClosedTheory,
    model: Model,
    counts: Floats,
    ridges: Floats,
    overlap: float,
) -> tuple[Metrics, list[str]]:
    """Return the metrics of one model in one setting, samples × penalties, and notes."""
    m, penalty = np.repeat(counts, len(ridges)), np.tile(ridges, len(counts))
    layer: Layer = model.first_layer
    metrics, sure = theory.errors(
        m, penalty, degree=model.degree, layer=layer, random_overlap=overlap
    )
    metrics["theory_error"] = np.array([point.theory_error for point in sure])
    notes = [note for point in sure for note in point.notes]
    shape = len(counts), len(ridges)
    return {name: values.reshape(shape) for name, values in metrics.items()}, notes
