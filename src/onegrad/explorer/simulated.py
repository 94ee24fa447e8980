"""Simulated points of a curve: real networks, trained in worker processes, one point at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.controls import SAMPLES, axis_of, problem_at
from onegrad.explorer.crew import Crew
from onegrad.explorer.state import ExplorerState
from onegrad.models.resolve import resolve_models
from onegrad.problem.problem import Problem
from onegrad.verbs.cost import check_memory
from onegrad.verbs.errors import standard_error
from onegrad.verbs.trial import run_trial

MOST_SIMULATED_POINTS, MOST_TRIALS = 24, 32
DEFAULT_POINTS, DEFAULT_TRIALS = 7, 4

Row = dict[str, dict[str, float]]  # by model and metric


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


def checked_size(points: Any, trials: Any) -> tuple[int, int]:
    """Return points and trials; raise InvalidInput where they are no small whole numbers."""
    for name, value, most in (
        ("points", points, MOST_SIMULATED_POINTS),
        ("trials", trials, MOST_TRIALS),
    ):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 2 <= value <= most:
            raise InvalidInput(f"{name}={shown(value)}: must lie in [2, {most}]; change it")
    return points, trials


async def simulate_points(
    crew: Crew,
    state: ExplorerState,
    put: Callable[[dict[str, Any]], None],
    *,
    points: int,
    trials: int,
) -> None:
    """Put a line per point and model as soon as its trials are done, then {"done": true}.

    Points come in an order that fills the axis evenly. Who cancels gives up the rest.
    """
    axis = axis_of(state, points)
    places = _spread_out(len(axis.values))
    problems = {i: _problem(state, axis.path, axis.values[i]) for i in places}
    calls = [
        (i, crew.call(simulated_trial, problems[i], state.models, t, urgency=rank))
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
                        put(line)
            put({"progress": len(calls) - len(pending), "total": len(calls)})
        put({"done": True})
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _problem(state: ExplorerState, path: str, value: float) -> Problem:
    """Return the problem of a point; along m width and step samples stay, as in theory."""
    if path != SAMPLES:
        return problem_at(state, value)
    p = state.problem
    return p.replace(
        network__width=p.width, training__samples=p.samples_per_step, readout__samples=int(value)
    )


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
