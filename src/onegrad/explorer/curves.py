"""Curves of a state along its axis: computed by theory in workers, or simulated point by point."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.calculus.prediction import Note
from onegrad.closed.problem import CLOSED_NEEDS, require_closed_models
from onegrad.core.model_names import models_named, resolve_models
from onegrad.core.problem import Problem
from onegrad.core.trial import run_trial
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.explorer.controls import BATCHED, SAMPLES, CurveAxis, axis_of, problem_at
from onegrad.explorer.state import ExplorerState, whole_within
from onegrad.explorer.workers import Workers
from onegrad.results.errors import Errors, standard_error
from onegrad.theory.methods import require
from onegrad.verbs.cost import check_memory
from onegrad.verbs.predict import predict_or_refuse, predict_points

CLOSED, TYPES = "closed", "types"
TYPE_DRAWS = 1
MOST_POINTS, LEAST_POINTS = 120, 2
DRAFT_TYPES_POINTS, TYPES_POINTS = 5, 12  # by types a point takes a second or more
TYPES_TOGETHER = 24  # samples and penalties share the draw, not the solution
MOST_TYPED_NEURONS = 2000
DRAFT, REFINED = 0, 20  # urgencies
REFINED_TOGETHER = 3  # points of a refined curve in one call, which a newer draft may wait for
NETWORK = "network"
SIMULATED = {"points": (7, 24), "trials": (4, 32)}  # default and most

Row = dict[str, dict[str, float]]  # by model and metric
Curves = dict[str, dict[str, list[float | None]]]  # by model and metric


@dataclass(frozen=True)
class CurvePoints:
    """Metrics of models at consecutive points of an axis, and the doubts of theory at each."""

    curves: Curves
    flags: list[tuple[str, ...]]


def models_with_theory(problem: Problem, names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the models that theory covers, and a reason for each of the others.

    Raises InvalidInput if it covers no model.
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
    """Return why theory without draws does not cover a problem; None if it does."""
    require(problem)
    models = models_named(problem, list(names), theorem_degree=1)
    try:
        require(problem, CLOSED_NEEDS)
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
    asked = [(problem, list(names)) for problem in problems]
    how: dict[str, Any] = {"method": method, "draws": TYPE_DRAWS, "draft": draft}
    with np.errstate(all="ignore"):
        found = predict_or_refuse(asked, **how)
    single = [
        CurvePoints({}, [(str(own),)])
        if isinstance(own, InvalidInput | Failure)
        else _points_of(*own, names)
        for own in found
    ]
    models = dict.fromkeys(model for point in single for model in point.curves)
    return CurvePoints(joined(single, models), [point.flags[0] for point in single])


def joined(parts: Sequence[CurvePoints], models: Iterable[str]) -> Curves:
    """Return the curves of consecutive parts, with holes where a part has none."""
    metrics = list(dict.fromkeys(k for p in parts for own in p.curves.values() for k in own))
    return {
        model: {
            metric: [
                value
                for part in parts
                for value in part.curves.get(model, {}).get(metric, [None] * len(part.flags))
            ]
            for metric in metrics
        }
        for model in models
    }


def batched_points(
    problem: Problem,
    names: Sequence[str],
    samples: tuple[int, ...] | None,
    method: str,
    draft: bool,
) -> CurvePoints:
    """Return the metrics along samples or along the problem's own penalties, solved together."""
    how: dict[str, Any] = {"method": method, "draws": TYPE_DRAWS, "draft": draft}
    with np.errstate(all="ignore"):
        ((errors, notes),) = predict_points([(problem, list(names))], samples=samples, **how)
    return _points_of(errors, notes, names)


def _points_of(errors: Errors, notes: Iterable[Note], names: Sequence[str]) -> CurvePoints:
    """Return the metrics of every model by the name that was asked for."""
    curves = {given: _of_model(errors, place) for place, given in enumerate(names)}
    count = len(next(iter(next(iter(curves.values())).values())))
    return CurvePoints(curves, [tuple(str(note) for note in notes)] * count)


def _of_model(errors: Errors, place: int) -> dict[str, list[float | None]]:
    """Return a model's metrics along samples or penalties, after the last step."""
    out = {}
    for metric in errors.metrics:
        values = errors.estimate(metric).mean[place]
        if errors.steps is not None:
            values = values[-1]
        out[metric] = _rounded(values)
    return out


def _rounded(values: Any) -> list[float | None]:
    """Return numbers of six digits, null where one is not finite."""
    flat = np.ravel(values)
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in flat]


@dataclass(frozen=True)
class Work:
    """The calls of one curve, the values of the axis that they answer for, and notes."""

    calls: list[tuple[Callable[..., CurvePoints], tuple[Any, ...]]]
    values: list[float]
    notes: list[str]


async def curve(
    workers: Workers, state: ExplorerState, *, points: int, draft: bool
) -> dict[str, Any]:
    """Return the errors of a state's models along its axis."""
    whole_within("points", points, LEAST_POINTS, MOST_POINTS)
    axis = axis_of(state, points)
    known, without_theory = models_with_theory(state.problem, state.models)
    shown_models, state = state.models, replace(state, models=known)
    refusal = _refusal(state, axis)
    method = CLOSED if refusal is None else TYPES
    if method == TYPES:
        most = TYPES_TOGETHER if axis.path in BATCHED else TYPES_POINTS
        axis = axis_of(state, min(points, DRAFT_TYPES_POINTS if draft else most))
    work = _work(state, axis, method=method, draft=draft, workers=workers.count)
    urgency = DRAFT if draft else REFINED
    parts = await together(
        [workers.call(function, *given, urgency=urgency) for function, given in work.calls]
    )
    curves = joined(parts, shown_models)
    answer = {
        "axis": axis.path,
        "x": work.values,
        "curves": curves,
        "flags": [list(flags) for part in parts for flags in part.flags],
        "current": axis.current,
        "shown": task_metrics({metric for own in curves.values() for metric in own}),
        "notes": [*work.notes, *_method_notes(state.problem, refusal), *without_theory],
        "method": method,
    }
    if NETWORK in curves:
        others = {model: own for model, own in curves.items() if model != NETWORK}
        answer["gap"] = {m: relative_gap(curves[NETWORK], own) for m, own in others.items()}
    return answer


def _method_notes(problem: Problem, refusal: str | None) -> list[str]:
    """Return notes on curves that are not by theory without draws."""
    notes = []
    if refusal is not None:
        notes.append(
            f"{unknown_to_closed(refusal)}: these curves are by types, of one drawn network"
        )
    if not problem.data.exact_moments:
        notes.append(
            "theory reads a mixture fitted to the data; how far the data are from it is not in the "
            "bands, simulated points show it"
        )
    return notes


def _refusal(state: ExplorerState, axis: CurveAxis) -> str | None:
    """Return why theory without draws misses a point of a curve; None if it covers all."""
    problems = [state.problem] if axis.path in BATCHED else _problems(state, axis)[0]
    refusals = (closed_refusal(problem, state.models) for problem in problems)
    return next((refusal for refusal in refusals if refusal is not None), None)


def task_metrics(known: Collection[str]) -> list[str]:
    """Return the metrics that are shown first, of those that theory covers here.

    Test and training error; for labels ±1, the misclassification rate and the minimised loss.
    """
    if "misclassification" not in known:
        return ["test_mse", "train_mse"]
    return ["misclassification", "test_loss" if "test_loss" in known else "test_mse"]


async def together(calls: Sequence[Any]) -> list[Any]:
    """Return all answers; a failure or a cancellation gives up the rest."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _work(state: ExplorerState, axis: CurveAxis, *, method: str, draft: bool, workers: int) -> Work:
    """Return the calls of a curve: samples and penalties share one reduction per chunk."""
    if axis.path not in BATCHED:
        most = MOST_TYPED_NEURONS if method == TYPES else None
        problems, values, notes = _problems(state, axis, most)
        size = -(-len(problems) // workers) if draft else REFINED_TOGETHER
        size = 1 if method == TYPES else size
        calls: list[Any] = [
            (points_along, (chunk, state.models, method, draft)) for chunk in _cut(problems, size)
        ]
        return Work(calls, values, notes)
    values, notes = list(axis.values), []
    chunks = _cut(values, -(-len(values) // workers))
    parts: list[tuple[Problem, tuple[int, ...] | None]]
    if axis.path == SAMPLES:
        problem, notes = _with_fixed_sizes(state.problem), [_fixed_sizes_note(state.problem)]
        parts = [(problem, tuple(chunk)) for chunk in chunks]
    else:
        parts = [(problem_at(state, list(chunk)), None) for chunk in chunks]
    calls = [
        (batched_points, (problem, state.models, samples, method, draft))
        for problem, samples in parts
    ]
    return Work(calls, values, notes)


def _with_fixed_sizes(problem: Problem) -> Problem:
    """Return the problem with width and step samples that do not follow m."""
    k, step = problem.width, problem.samples_per_step
    return problem.replace(network__width=k, training__samples=step)


def _fixed_sizes_note(problem: Problem) -> str:
    k, step = problem.width, problem.samples_per_step
    return f"along m the width k = {k} and the step's N = {step} samples stay as they are"


def _problems(
    state: ExplorerState, axis: CurveAxis, most_neurons: int | None = None
) -> tuple[list[Problem], list[float], list[str]]:
    """Return the problem at every value that is allowed; raise InvalidInput if no value is."""
    problems, values, refused = [], [], []
    for value in axis.values:
        try:
            problem = problem_at(state, value)
            if most_neurons is not None and problem.width > most_neurons:
                raise InvalidInput(
                    f"width={problem.width}: theory by types takes minutes for more than "
                    f"{most_neurons} neurons; simulate there, or lower it"
                )
        except InvalidInput as error:
            refused.append(error)
        else:
            problems.append(problem)
            values.append(value)
    if not problems:
        raise refused[0]
    return problems, values, [str(error) for error in refused[:1]]


def _cut(values: Sequence[Any], size: int) -> list[Any]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def relative_gap(network: dict[str, Any], model: dict[str, Any]) -> list[float | None]:
    """Return the relative gap of test_mse to the network."""
    pairs = zip(network.get("test_mse", []), model.get("test_mse", []), strict=True)
    return [
        None if a is None or b is None or a == 0 else float(f"{(b - a) / a:.5g}") for a, b in pairs
    ]


def simulated_trial(problem: Problem, names: tuple[str, ...], trial: int) -> Row:
    """Return the metrics of every model in one trial, after the last step."""
    check_memory(problem, [], workers=1)
    models = resolve_models(problem, list(names))
    check_memory(problem, models, workers=1)
    results = run_trial(problem, models, trial=trial)
    return {
        given: {metric: float(np.ravel(values)[-1]) for metric, values in results[m.name].items()}
        for given, m in zip(names, models, strict=True)
    }


async def simulated_lines(
    workers: Workers, state: ExplorerState, *, points: int, trials: int
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield a line per point and model as soon as its trials are done, at last {"done": true}.

    Points come in an order that fills the axis evenly. Closing it gives up the rest.
    """
    axis = axis_of(state, points)
    places = _spread_out(len(axis.values))
    problems = {i: _simulated_problem(state, axis.path, axis.values[i]) for i in places}
    calls = [
        (i, workers.call(simulated_trial, problems[i], state.models, t, urgency=rank))
        for rank, i in enumerate(places)
        for t in range(trials)
    ]
    pending = {asyncio.ensure_future(call): i for i, call in calls}
    rows: dict[int, list[Row]] = {i: [] for i in places}
    try:
        while pending:
            finished, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                place = pending.pop(task)
                rows[place].append(task.result())
                if len(rows[place]) == trials:
                    for line in _lines(axis.values[place], rows[place]):
                        yield line
            yield {"progress": len(calls) - len(pending), "total": len(calls)}
        yield {"done": True}
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _simulated_problem(state: ExplorerState, path: str, value: float) -> Problem:
    """Return the problem of a point; along m width and step samples stay, as in theory."""
    if path != SAMPLES:
        return problem_at(state, value)
    return _with_fixed_sizes(state.problem).replace(readout__samples=int(value))


def _spread_out(count: int) -> list[int]:
    """Return 0 … count − 1, ends first, then halves, quarters, …"""
    places = [0, count - 1]
    parts = 1
    while len(set(places)) < count:
        parts *= 2
        places += [round(i * (count - 1) / parts) for i in range(1, parts)]
    return list(dict.fromkeys(places))


def _lines(x: float, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a line per model: means and standard errors over the trials of a point."""
    return [
        {
            "x": x,
            "model": model,
            "metrics": {
                metric: _estimate(np.array([row[model][metric] for row in rows]))
                for metric in rows[0][model]
            },
            "trials": len(rows),
        }
        for model in rows[0]
    ]


def _estimate(values: np.ndarray[Any, Any]) -> dict[str, float | None]:
    stderr = float(standard_error(values))
    return {
        "mean": float(f"{values.mean():.6g}"),
        "stderr": float(f"{stderr:.4g}") if math.isfinite(stderr) else None,
    }
