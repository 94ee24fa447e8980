"""CurvePoints of a curve, as a worker computes them: theory without draws, or by types."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.models.model import Model
from onegrad.models.resolve import models_named
from onegrad.problem.problem import Problem
from onegrad.verbs.closed_draw import (
    predict_closed,
    predict_closed_together,
    require_closed_models,
)
from onegrad.verbs.closed_setting import closed_problem, require_closed
from onegrad.verbs.errors import Errors
from onegrad.verbs.prediction import predict, predict_curve, require_theory

CLOSED, TYPES = "closed", "types"
TYPE_DRAWS = 1

Curves = dict[str, dict[str, list[float | None]]]  # by model and metric


@dataclass(frozen=True)
class CurvePoints:
    """Metrics of models at consecutive points of an axis, and what theory doubts at each."""

    curves: Curves
    flags: list[tuple[str, ...]]


def models_with_theory(problem: Problem, names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the models that theory knows, and why it does not know the others.

    Raises InvalidInput where it knows none.
    """
    models = models_named(problem, list(names), theorem_degree=1)
    reasons = {
        name: f"models={name!r}: {model.no_theory}"
        for name, model in zip(names, models, strict=True)
        if model.no_theory is not None
    }
    known = tuple(name for name in names if name not in reasons)
    if not known:
        raise InvalidInput(next(iter(reasons.values())))
    return known, list(reasons.values())


def closed_refusal(problem: Problem, names: Sequence[str]) -> str | None:
    """Return why theory without draws does not answer for a problem; None where it does."""
    require_theory(problem)
    models = models_named(problem, list(names), theorem_degree=1)
    try:
        require_closed(problem)
        require_closed_models(models)
    except InvalidInput as error:
        return str(error)
    return None


def unknown_to_closed(refusal: str) -> str:
    """Return a refusal of theory without draws in words for the page."""
    field, _, rest = refusal.partition(": ")
    if field.startswith("method="):  # more than one field together
        return f"theory without draws does not know this setting ({rest.partition(';')[0]})"
    return f"theory without draws does not know {field}"


def points_along(
    problems: Sequence[Problem], names: Sequence[str], method: str, draft: bool
) -> CurvePoints:
    """Return the metrics of models for problems that differ in the field of the axis."""
    single = _solved_together(problems, names, draft) if method == CLOSED else None
    if single is None:
        single = [_single(problem, names, method, draft) for problem in problems]
    models = list(dict.fromkeys(m for point in single for m in point.curves))
    metrics = list(dict.fromkeys(k for p in single for c in p.curves.values() for k in c))
    curves = {
        model: {
            metric: [point.curves.get(model, {}).get(metric, [None])[0] for point in single]
            for metric in metrics
        }
        for model in models
    }
    return CurvePoints(curves, [point.flags[0] for point in single])


def _solved_together(
    problems: Sequence[Problem], names: Sequence[str], draft: bool
) -> list[CurvePoints] | None:
    """Return the metrics at every point; None where one has no answer, which is said alone."""
    try:
        asked = [(problem, _models(problem, names, draft)) for problem in problems]
        with np.errstate(all="ignore"):
            predicted = predict_closed_together(asked, draft=draft)
    except (InvalidInput, Failure):
        return None
    return [
        CurvePoints(_named(metrics, models, names), [_said(notes)])
        for (_, models), (metrics, notes) in zip(asked, predicted, strict=True)
    ]


def _single(problem: Problem, names: Sequence[str], method: str, draft: bool) -> CurvePoints:
    """Return the metrics at one point; a hole with its reason where theory has no answer."""
    try:
        if method == CLOSED:
            curves, notes = _closed(problem, names, None, draft)
            return CurvePoints(curves, [_said(notes)])
        return by_types(problem, names, None)
    except (InvalidInput, Failure) as error:
        return CurvePoints({}, [(str(error),)])


def batched_points(
    problem: Problem,
    names: Sequence[str],
    samples: tuple[int, ...] | None,
    method: str,
    draft: bool,
) -> CurvePoints:
    """Return the metrics along samples or along the problem's own penalties, solved together."""
    if method == CLOSED:
        curves, notes = _closed(problem, names, samples, draft)
        count = len(problem.ridges) if samples is None else len(samples)
        return CurvePoints(curves, [_said(notes)] * count)
    return by_types(problem, names, samples)


def _closed(
    problem: Problem, names: Sequence[str], samples: tuple[int, ...] | None, draft: bool
) -> tuple[Curves, tuple[str, ...]]:
    models = _models(problem, names, draft)
    with np.errstate(all="ignore"):
        metrics, notes = predict_closed(problem, models, samples=samples, draft=draft)
    return _named(metrics, models, names), notes


def _models(problem: Problem, names: Sequence[str], draft: bool) -> list[Model]:
    """Return the models; only the default Hermite degree needs the problem to be told."""
    degree = closed_problem(problem, draft=draft).degree if "hermite" in names else 1
    return models_named(problem, list(names), theorem_degree=degree)


def _named(metrics: dict[str, Any], models: Sequence[Model], names: Sequence[str]) -> Curves:
    """Return plain numbers under the names that were asked for."""
    given = dict(zip((model.name for model in models), names, strict=True))
    return {given[m]: {k: _plain(v) for k, v in own.items()} for m, own in metrics.items()}


def by_types(
    problem: Problem, names: Sequence[str], samples: tuple[int, ...] | None
) -> CurvePoints:
    """Return the metrics by types, of one draw of the first layer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if samples is None:
            errors = predict(problem, list(names), method="types", draws=TYPE_DRAWS)
        else:
            errors = predict_curve(
                problem, samples=samples, models=list(names), method="types", draws=TYPE_DRAWS
            )
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    curves = {
        given: _of_model(errors, place) for place, given in enumerate(names[: len(errors.models)])
    }
    count = len(next(iter(next(iter(curves.values())).values())))
    return CurvePoints(curves, [_said(notes)] * count)


def _of_model(errors: Errors, place: int) -> dict[str, list[float | None]]:
    """Return a model's metrics along samples or penalties, after the last step."""
    out = {}
    for metric in errors.metrics:
        values = errors.estimate(metric).mean[place]
        if errors.steps is not None:
            values = values[-1]
        out[metric] = _plain(values)
    return out


def _said(notes: Sequence[str]) -> tuple[str, ...]:
    """Return notes of theory without the name of its method, which the page says itself."""
    return tuple(note.removeprefix("method='closed': ").removeprefix("theory: ") for note in notes)


def _plain(values: Any) -> list[float | None]:
    """Return numbers of six digits, null where one is not finite."""
    flat = np.ravel(values)
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in flat]
