"""What a field amounts to in a problem where it is not said but follows from others."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from onegrad.problem.problem import Problem
from onegrad.problem.scaling import RATES

RATE_FIELDS = tuple(f"scaling.{name}" for name in RATES)


def _rate(problem: Problem) -> float | None:
    return problem.scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )


def _spread(problem: Problem) -> float:
    return problem.scaling.spread_at(problem.dimension)


def _strength(problem: Problem) -> float | None:
    """Return β of η‖Σ‖ = n^β with ‖Σ‖ ≈ θ."""
    rate = _rate(problem)
    if problem.scaling.strength is not None:
        return problem.scaling.strength
    size = (rate or 0.0) * max(_spread(problem), 1.0)
    return min(max(log(size) / log(max(problem.dimension, 2)), 0.0), 1.0) if size > 0 else None


def _weighting(problem: Problem) -> float | None:
    """Return α of η = n^{βα}."""
    if problem.scaling.weighting is not None:
        return problem.scaling.weighting
    rate, strength = _rate(problem), _strength(problem)
    if not rate or not strength:
        return None
    return min(max(log(rate) / (strength * log(max(problem.dimension, 2))), 0.0), 1.0)


# Fields of which one is said and the others follow.
FOLLOWING: dict[str, Callable[[Problem], float | None]] = {
    "network.width": lambda p: p.width,
    "network.width_ratio": lambda p: p.width / p.samples,
    "readout.samples": lambda p: p.samples,
    "training.samples": lambda p: p.samples_per_step,
    "training.samples_exponent": lambda p: log(p.samples_per_step) / log(max(p.dimension, 2)),
    "test_samples": lambda p: p.samples_in_test,
    "readout.ridge": lambda p: p.ridges[0],
    "readout.penalty": lambda p: p.ridges[0] * p.samples,
    "scaling.learning_rate": _rate,
    "scaling.per_width": lambda p: None if _rate(p) is None else (_rate(p) or 0.0) / p.width,
    "scaling.per_root": lambda p: (
        None if _rate(p) is None else (_rate(p) or 0.0) / (p.samples_per_step * p.width) ** 0.5
    ),
    "scaling.spread": _spread,
    "scaling.strength": _strength,
    "scaling.weighting": _weighting,
}


def value_at(problem: Problem, path: str) -> Any:
    """Return what a field holds, or what it follows to where it is not said; None if unknown."""
    said = _held(problem, path.split("."))
    if path == "readout.ridge":
        said = problem.ridges[0]
    if said is None and path in FOLLOWING:
        said = FOLLOWING[path](problem)
    return said if isinstance(said, bool | int | float | str) else _plain_list(said)


def _held(value: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(value, tuple):
            within = name.isdigit() and int(name) < len(value)
            value = value[int(name)] if within else None
        else:
            value = getattr(value, name, None)
    return value


def _plain_list(value: Any) -> list[float] | None:
    numbers = isinstance(value, tuple) and all(isinstance(v, float | int) for v in value)
    return list(value) if numbers else None


def companions_of(path: str, problem: Problem) -> tuple[str, ...]:
    """Return the fields that must be said with this one: a step size needs the spread."""
    if path in RATE_FIELDS:
        return ("scaling.spread",) if problem.scaling.spread is None else ()
    rated = problem.scaling.rate_field is not None
    return ("scaling.learning_rate",) if path == "scaling.spread" and not rated else ()
