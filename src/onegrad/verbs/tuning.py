"""`tune`: step size, penalty and width that minimise the predicted test error, nothing trained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from onegrad.describe.checks import shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.pool import Progress
from onegrad.problem.problem import Problem, require_problem
from onegrad.verbs.closed_setting import closed_problem
from onegrad.verbs.compared_metric import require_metric
from onegrad.verbs.cost import check_memory
from onegrad.verbs.methods import AT_ONCE, DEFAULT_METHOD, Method
from onegrad.verbs.prediction import DEFAULT_DRAWS, check_method, checked_start
from onegrad.verbs.tuned import Tuned
from onegrad.verbs.tuning_search import TUNABLE, Search

RIDGES = tuple(np.logspace(-8, 2, 81).tolist())
WIDTHS, GRID_RATES, REFINEMENTS = 7, 7, 2


def tune(
    problem: Problem,
    over: Sequence[str] | str = TUNABLE,
    *,
    metric: str = "test_mse",
    method: Method = DEFAULT_METHOD,
    budget: int | None = None,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Return the ridge, learning rate and width that minimise a predicted metric of the network.

    `over` names what may change; widths stay within `budget` neurons. Widths and rates are searched
    on a logarithmic grid that is refined around its best point; at each, one reduction serves
    every penalty. The same draws serve all candidates. `metric` is "test_mse", "misclassification"
    or "test_loss".
    """
    names = _checked_names(problem, over)
    check_method(method)
    require_metric(problem, metric, method)
    largest = _checked_budget(problem, names, budget)
    widest = problem.replace(network__width=max(largest, problem.width))
    if method == "closed":
        closed_problem(widest)  # which may refuse it
        draws, workers = 1, 1
    else:
        checked_start(widest, draws=draws, seed=seed, workers=workers, method=method)
    if method not in AT_ONCE:  # which keeps all draws of a candidate until its penalty is found
        check_memory(widest, [], workers=workers * draws, theory=True)
    ridges = RIDGES if "ridge" in names else problem.ridges[:1]
    search = Search(problem, ridges, metric=metric, method=method, draws=draws, seed=seed)
    widths, rates = _first_grid(problem, names, largest)
    reach = 1 if method == "closed" else 2  # which has no noise of draws to look beyond
    for _ in range(1 + (REFINEMENTS if len(widths) > 1 or len(rates) > 1 else 0)):
        search.evaluate(widths, rates, workers=workers, progress=progress)
        widths = _around(search.best[0], widths, 1.0, largest, reach=reach)
        rates = _around(search.best[1], rates, 0.0, np.inf, reach=reach)
    if method == "closed":
        search.compute_best_whole()
    for note in dict.fromkeys(search.notes[search.best]):
        warnings.warn(note, stacklevel=2)
    tuned = search.result(names)
    _warn_of_edges(tuned)
    return tuned


def _checked_names(problem: Problem, over: Sequence[str] | str) -> Sequence[str]:
    names = [over] if isinstance(over, str) else over
    if not isinstance(names, Sequence) or not names or not set(names) <= set(TUNABLE):
        raise InvalidInput(
            f"over={shown(names)}: must name some of {', '.join(TUNABLE)}; correct it"
        )
    require_problem(problem)
    if "ridge" not in names and len(problem.ridges) > 1:
        raise InvalidInput(
            f"ridge={list(problem.ridges)}: must be one number when it is not tuned; choose one"
        )
    return names


def _checked_budget(problem: Problem, names: Sequence[str], budget: int | None) -> int:
    largest = whole_number("budget", problem.width if budget is None else budget, least=1)
    if "width" not in names and largest < problem.width:
        raise InvalidInput(
            f"budget={largest}: is below width={problem.width}, which is not tuned; add width to "
            "over, or raise it"
        )
    return largest


def _warn_of_edges(tuned: Tuned) -> None:
    """Warn where the best value is the last one tried, so that a better one may lie beyond."""
    tried = {"ridge": tuned.ridge_curve["ridge"], "learning_rate": tuned.curve["learning_rate"]}
    for name, values in tried.items():
        best = tuned.values.get(name)
        if best is not None and len(values) > 1 and best in (values.min(), values.max()):
            warnings.warn(
                f"{name}={best:.3g}: lies at the edge of the searched range; better values may lie "
                "beyond",
                stacklevel=3,
            )


def _first_grid(
    problem: Problem, over: Sequence[str], largest: int
) -> tuple[list[float], list[float]]:
    """Return the widths and rates to start from; one value each where it is not tuned."""
    n = problem.dimension
    widths = [float(problem.width)]
    if "width" in over:
        least = max(1, min(largest, n // 20))
        widths = [float(w) for w in np.geomspace(least, largest, WIDTHS)]
    if "learning_rate" not in over:
        return widths, [_rate_of(problem)]
    return widths, [float(r) for r in np.geomspace(1e-2, float(n) ** 1.5, GRID_RATES)]


def _rate_of(problem: Problem) -> float:
    """Return the problem's own step size."""
    rate = problem.scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )
    field = problem.scaling.rate_field
    if rate is None or field in ("per_width", "per_root"):
        raise InvalidInput(
            f"scaling.{field}={getattr(problem.scaling, str(field))}: the step size follows from "
            "width, samples or gradient; add learning_rate to over, or give it"
        )
    return rate


def _around(
    best: float, grid: list[float], least: float, largest: float, *, reach: int
) -> list[float]:
    """Return points up to `reach` places around `best`, half as far apart as the grid was."""
    if len(grid) == 1:
        return grid
    values = np.sort(np.asarray(grid, float))
    step = np.sqrt(values[1] / values[0]) if values[0] > 0 else 1.1
    return [float(max(min(best * step**j, largest), least)) for j in range(-reach, reach + 1)]
