"""The map over (α, β), and the Hermite degrees of one setting: gaps to the network by theory."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.crew import Crew
from onegrad.explorer.curves import (
    CLOSED,
    TYPES,
    CurvePoints,
    closed_refusal,
    points_along,
    relative_gap,
    together,
    unknown_to_closed,
)
from onegrad.explorer.state import ExplorerState, changed, value_at
from onegrad.problem.problem import Problem

ALPHA, BETA = "scaling.weighting", "scaling.strength"
LEAST_SIZE, MOST_SIZE = 3, 41
MAP, DEGREES = 30, 10  # urgencies
CHUNK = 3  # points of the map in one call, which a newer draft may wait for
LARGEST_STRENGTH = 0.98  # the theorem covers strengths below 1
DEGREE_RANGE = range(7)
TOLERANCE = 0.01


async def plane(crew: Crew, state: ExplorerState, size: Any) -> dict[str, Any]:
    """Return the relative gap of a model to the network over a grid of (α, β)."""
    if not isinstance(size, int) or isinstance(size, bool) or not LEAST_SIZE <= size <= MOST_SIZE:
        raise InvalidInput(
            f"size={shown(size)}: must be a whole number in [{LEAST_SIZE}, {MOST_SIZE}]; change it"
        )
    model = _compared(state.models)
    refusal = closed_refusal(state.problem, ("network", model))
    if refusal is not None:
        raise InvalidInput(f"map: {unknown_to_closed(refusal)}; choose another setting")
    alpha = np.round(np.linspace(0, 1, size), 4).tolist()
    beta = np.round(np.linspace(0, LARGEST_STRENGTH, size), 4).tolist()
    problems = [changed(state.problem, {ALPHA: a, BETA: b}) for b in beta for a in alpha]
    parts = await together(
        [
            crew.call(
                points_along, problems[i : i + CHUNK], ("network", model), CLOSED, True, urgency=MAP
            )
            for i in range(0, len(problems), CHUNK)
        ]
    )
    gaps = [gap for part in parts for gap in _gaps(part, model)]
    at_problem = await crew.call(
        points_along, [state.problem], ("network", model), CLOSED, False, urgency=MAP
    )
    return {
        "alpha": alpha,
        "beta": beta,
        "values": [gaps[i : i + size] for i in range(0, len(gaps), size)],
        "name": _name(model),
        "models": ["network", model],
        "here": {
            "alpha": value_at(state.problem, ALPHA),
            "beta": value_at(state.problem, BETA),
            "gap": _gaps(at_problem, model)[0],
        },
        "paths": {"alpha": ALPHA, "beta": BETA},
        "method": CLOSED,
    }


def _compared(models: tuple[str, ...]) -> str:
    """Return the model that the map is about: linear where it is shown, else the first Hermite."""
    others = [name for name in models if name == "linear" or name.startswith("hermite")]
    return "linear" if "linear" in others or not others else others[0]


def _name(model: str) -> str:
    """Return what the page calls a model in a sentence."""
    degree = model.partition(":")[2]
    return f"the polynomial of degree {degree}" if degree else f"the {model} model"


def _gaps(points: CurvePoints, model: str) -> list[float | None]:
    if "network" not in points.curves or model not in points.curves:
        return [None] * len(points.flags)
    return relative_gap(points.curves["network"], points.curves[model])


async def degrees(crew: Crew, state: ExplorerState) -> dict[str, Any]:
    """Return the gap of every Hermite degree, the smallest one that is enough, and a sentence."""
    names = ("network", *(f"hermite:{d}" for d in DEGREE_RANGE))
    refusal = closed_refusal(state.problem, names)
    method = CLOSED if refusal is None else TYPES
    points = await crew.call(points_along, [state.problem], names, method, False, urgency=DEGREES)
    if not points.curves:
        said = points.flags[0] or ("degrees: have no theory here; change the setting",)
        raise InvalidInput(said[0])
    network = points.curves["network"]
    gaps = [relative_gap(network, points.curves[name])[0] for name in names[1:]]
    enough = [
        d for d, g in zip(DEGREE_RANGE, gaps, strict=True) if g is not None and abs(g) <= TOLERANCE
    ]
    smallest = min(enough, default=None)
    return {
        "degrees": list(DEGREE_RANGE),
        "gaps": gaps,
        "smallest": smallest,
        "tolerance": TOLERANCE,
        "sentence": _sentence(state.problem, gaps, smallest),
        "method": method,
        "notes": list(points.flags[0]),
    }


def _sentence(problem: Problem, gaps: list[float | None], smallest: int | None) -> str:
    """Return what the gaps say: the degree that is enough, the linear model, the theorem."""
    share = f"{TOLERANCE:.0%}".replace("%", " %")
    first = (
        f"No polynomial of degree up to {DEGREE_RANGE[-1]} comes within {share} of the network's "
        "test error."
        if smallest is None
        else f"Degree {smallest} is the smallest whose test error lies within {share} of the "
        "network's."
    )
    linear = gaps[list(DEGREE_RANGE).index(1)]
    if linear is not None and abs(linear) > TOLERANCE:
        more = "more" if linear > 0 else "less"
        first += f" The linear model makes {abs(linear):.1%} {more} error.".replace("%", " %")
    strength = value_at(problem, BETA)
    if strength is not None and strength < 1:
        theorem = max(1, ceil(strength / (1 - strength) - 1e-12))
        first += f" The theorem asks for degree {theorem} at β = {strength:.3g}."
    return first
