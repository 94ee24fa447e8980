"""Curves of a state: the axis cut into calls for the crew, and their answers put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.controls import BATCHED, SAMPLES, CurveAxis, axis_of, problem_at
from onegrad.explorer.crew import Crew
from onegrad.explorer.curve_points import (
    CLOSED,
    TYPES,
    CurvePoints,
    batched_points,
    closed_refusal,
    models_with_theory,
    points_along,
    unknown_to_closed,
)
from onegrad.explorer.metrics import task_metrics
from onegrad.explorer.state import ExplorerState
from onegrad.problem.problem import Problem

MOST_POINTS, LEAST_POINTS = 120, 2
DRAFT_TYPES_POINTS, TYPES_POINTS = 5, 12  # by types a point takes a second or more
TYPES_TOGETHER = 24  # samples and penalties share the draw, not the solution
MOST_TYPED_NEURONS = 2000
DRAFT, REFINED = 0, 20  # urgencies
REFINED_TOGETHER = 3  # points of a refined curve in one call, which a newer draft may wait for
NETWORK = "network"


@dataclass(frozen=True)
class Work:
    """The calls of one curve, the values of the axis that they answer for, and notes."""

    calls: list[tuple[Callable[..., CurvePoints], tuple[Any, ...]]]
    values: list[float]
    notes: list[str]


async def curve(crew: Crew, state: ExplorerState, *, points: int, draft: bool) -> dict[str, Any]:
    """Return the errors of a state's models along its axis."""
    if not LEAST_POINTS <= points <= MOST_POINTS:
        raise InvalidInput(
            f"points={shown(points)}: must lie in [{LEAST_POINTS}, {MOST_POINTS}]; change it"
        )
    axis = axis_of(state, points)
    known, without_theory = models_with_theory(state.problem, state.models)
    shown_models, state = state.models, replace(state, models=known)
    refusal = _refusal(state, axis)
    method = CLOSED if refusal is None else TYPES
    if method == TYPES:
        most = TYPES_TOGETHER if axis.path in BATCHED else TYPES_POINTS
        axis = axis_of(state, min(points, DRAFT_TYPES_POINTS if draft else most))
    work = _work(state, axis, method=method, draft=draft, workers=crew.workers)
    urgency = DRAFT if draft else REFINED
    parts = await together(
        [crew.call(function, *given, urgency=urgency) for function, given in work.calls]
    )
    notes = [*work.notes, *_method_notes(state.problem, refusal), *without_theory]
    joined = _joined(parts, shown_models)
    return {
        "axis": axis.path,
        "x": work.values,
        **joined,
        "current": axis.current,
        "shown": task_metrics({metric for own in joined["curves"].values() for metric in own}),
        "notes": notes,
        "method": method,
    }


def _method_notes(problem: Problem, refusal: str | None) -> list[str]:
    """Return what to know of curves that are not theory without draws."""
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
    """Return why theory without draws does not know some point of a curve; None where it does."""
    problems = [state.problem] if axis.path in BATCHED else _problems(state, axis)[0]
    refusals = (closed_refusal(problem, state.models) for problem in problems)
    return next((said for said in refusals if said is not None), None)


async def together(calls: Sequence[Any]) -> list[Any]:
    """Return all answers; the first that fails, or whoever cancels, gives up the others."""
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
    values = list(axis.values)
    chunks = _cut(values, -(-len(values) // workers))
    if axis.path == SAMPLES:
        problem, note = _with_fixed_sizes(state.problem)
        calls = [
            (batched_points, (problem, state.models, tuple(chunk), method, draft))
            for chunk in chunks
        ]
        return Work(calls, values, [note])
    calls = [
        (
            batched_points,
            (problem_at(state, list(chunk)), state.models, None, method, draft),
        )
        for chunk in chunks
    ]
    return Work(calls, values, [])


def _with_fixed_sizes(problem: Problem) -> tuple[Problem, str]:
    """Return the problem with width and step samples that do not follow m, and a note of it."""
    k, step = problem.width, problem.samples_per_step
    fixed = problem.replace(network__width=k, training__samples=step)
    return fixed, f"along m the width k = {k} and the step's N = {step} samples stay as they are"


def _problems(
    state: ExplorerState, axis: CurveAxis, most_neurons: int | None = None
) -> tuple[list[Problem], list[float], list[str]]:
    """Return the problem at every value that is allowed; raise InvalidInput where none is."""
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


def _joined(parts: Sequence[CurvePoints], models: Sequence[str]) -> dict[str, Any]:
    """Return curves, gaps to the network and flags of consecutive chunks."""
    metrics = list(dict.fromkeys(k for p in parts for own in p.curves.values() for k in own))
    curves = {
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
    out: dict[str, Any] = {"curves": curves}
    if NETWORK in curves:
        out["gap"] = {
            model: relative_gap(curves[NETWORK], own)
            for model, own in curves.items()
            if model != NETWORK
        }
    return {**out, "flags": [list(flags) for part in parts for flags in part.flags]}


def relative_gap(network: dict[str, Any], model: dict[str, Any]) -> list[float | None]:
    """Return the relative gap of test_mse to the network."""
    pairs = zip(network.get("test_mse", []), model.get("test_mse", []), strict=True)
    return [
        None if a is None or b is None or a == 0 else float(f"{(b - a) / a:.5g}") for a, b in pairs
    ]
