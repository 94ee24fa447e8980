"""`equivalence`: which Hermite degree matches the network, by theory alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onegrad.calculus.expectations import LARGEST_DEGREE, theorem_degree
from onegrad.calculus.prediction import Note, warn_of, worst_notes
from onegrad.core.instance import draw
from onegrad.core.problem import Problem, require_problem, resized
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import (
    LARGEST_COUNT,
    callback,
    is_list,
    real_number,
    shown,
    whole_numbers,
)
from onegrad.machine.pool import Progress
from onegrad.machine.progress import Bar, shown_progress
from onegrad.results.equivalence import Equivalence, fit_decay, reason, scale_of
from onegrad.theory.methods import DEFAULT_METHOD, Method
from onegrad.verbs.fit_check import require_metric
from onegrad.verbs.predict import DEFAULT_DRAWS, check_method, predict_points


def equivalence(
    problem: Problem,
    degrees: Sequence[int] | int = (1, 2, 3, 4, 5, 6),
    *,
    dimensions: Sequence[int] | None = None,
    metric: str = "test_mse",
    method: Method = DEFAULT_METHOD,
    tolerance: float = 0.01,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Equivalence:
    """Return the deterministic gap (hermite − network)/network of a metric per degree.

    Of several steps it is that after the last. With `dimensions` also in each of these, samples
    and width in proportion, and the exponent p of |gap| ≈ c·n^{−p} for every degree. `metric` is
    "test_mse", "misclassification" or "test_loss".
    """
    require_problem(problem)
    check_method(method)
    require_metric(problem, metric)
    wanted = _checked_degrees(degrees)
    callback("progress", progress, arguments=("done", "total"))
    if not 0 < real_number("tolerance", tolerance) < 1:
        raise InvalidInput(f"tolerance={shown(tolerance)}: must lie between 0 and 1; try 0.01")
    if len(problem.ridges) > 1:
        raise InvalidInput(f"ridge={list(problem.ridges)}: must be one number here; choose one")
    problems = [resized(problem, n) for n in _checked_dimensions(problem, dimensions)]
    how: dict[str, Any] = {"draws": draws, "seed": seed, "workers": workers, "method": method}
    sizes: list[Equivalence] = []
    notes: list[Note] = []
    with shown_progress(progress, "draws") as told:
        for place, size in enumerate(problems):
            how["progress"] = None if told is None else _part_of(told, place, len(problems))
            found, own = _gaps(size, wanted, metric=metric, tolerance=tolerance, **how)
            sizes.append(found)
            notes += own
    warn_of(worst_notes(notes), method=sizes[0].errors.method)
    return sizes[0] if dimensions is None else _with_decay(sizes[::-1])


def _checked_degrees(degrees: Sequence[int] | int) -> tuple[int, ...]:
    given = degrees if is_list(degrees) else [degrees]
    wanted = tuple(sorted(set(whole_numbers("degrees", given, least=0))))
    if wanted[-1] > LARGEST_DEGREE:
        raise InvalidInput(
            f"degrees={shown(list(wanted))}: must be numbers from 0 to {LARGEST_DEGREE}; change "
            "them"
        )
    return wanted


def _checked_dimensions(problem: Problem, dimensions: Sequence[int] | None) -> list[int]:
    """Return the dimensions, the largest first: it fails at once, if at all."""
    if dimensions is None:
        return [problem.dimension]
    sizes = sorted(set(whole_numbers("dimensions", dimensions, least=2)), reverse=True)
    if len(sizes) < 2:
        raise InvalidInput(
            f"dimensions={shown(dimensions)}: must be a list of at least two; add one"
        )
    return sizes


def _part_of(progress: Progress, place: int, sizes: int) -> Progress:
    """Return the progress of one size out of several; a bar's moves within draws, too."""

    def tell(done: float, total: float) -> None:
        progress(place * total + done, sizes * total)  # type: ignore[arg-type]

    return Bar(tell) if hasattr(progress, "within") else tell


def _gaps(
    problem: Problem,
    degrees: tuple[int, ...],
    *,
    metric: str,
    method: Method,
    tolerance: float,
    **how: Any,
) -> tuple[Equivalence, tuple[Note, ...]]:
    """Return the gaps of one problem, and the notes on the prediction."""
    names = ["network", *(f"hermite:{d}" for d in degrees)]
    ((errors, notes),) = predict_points([(problem, names)], method=method, **how)
    gap = errors.gap(metric)
    assert gap is not None
    # After the last step, for the one penalty.
    gaps, stderrs = (
        tuple(part[1:, ..., 0].reshape(len(degrees), -1)[:, -1].tolist())
        for part in (gap.mean, gap.stderr)
    )
    values = errors.metrics[metric][..., 0].reshape(errors.trials, len(names), -1)[..., -1]
    enough = [d for d, g in zip(degrees, gaps, strict=True) if abs(g) <= tolerance]
    strength = draw(problem, seed=errors.seed).scales.strength
    scale = scale_of(problem, degrees, seed=errors.seed)
    found = Equivalence(
        errors=errors,
        degrees=degrees,
        gaps=gaps,
        stderrs=stderrs,
        tolerance=tolerance,
        smallest=min(enough, default=None),
        theorem=None if strength >= 1 else theorem_degree(strength, cap=LARGEST_COUNT),
        strength=strength,
        metric=metric,
        method=method,
        scale=scale,
        reason=reason(degrees, values, scale),
    )
    return found, notes


def _with_decay(sizes: list[Equivalence]) -> Equivalence:
    """Return the largest of these, with all sizes and the fit of every degree."""
    dimensions = [size.dimension for size in sizes]
    fits = tuple(
        fit_decay(
            degree,
            dimensions,
            [size.gaps[place] for size in sizes],
            # The mean over draws itself has no error of draws.
            [0.0 if size.method == "closed" else size.stderrs[place] for size in sizes],
        )
        for place, degree in enumerate(sizes[-1].degrees)
    )
    return replace(sizes[-1], sizes=tuple(sizes), decay=fits)
