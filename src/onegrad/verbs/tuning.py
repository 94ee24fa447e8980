"""`tune`: step size, penalty and width that minimise the predicted test error, nothing trained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onegrad.describe.checks import callback, shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.machine.bars import shown_progress
from onegrad.machine.pool import Progress
from onegrad.problem.problem import Problem, require_problem
from onegrad.verbs.closed_setting import closed_problem
from onegrad.verbs.compared_metric import require_metric
from onegrad.verbs.cost import check_memory
from onegrad.verbs.fit_check import CHECK_TRIALS, check_theory
from onegrad.verbs.methods import DEFAULT_METHOD, Method
from onegrad.verbs.prediction import DEFAULT_DRAWS, check_counts, check_method, checked_start
from onegrad.verbs.preparation_note import note_preparation
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
    check_trials: int = CHECK_TRIALS,
    progress: Progress | bool | None = None,
) -> Tuned:
    """Return the ridge, learning rate and width that minimise a predicted metric of the network.

    `over` names what may change; widths stay within `budget` neurons. Widths and rates are searched
    on a logarithmic grid that is refined around its best point; at each, one reduction serves
    every penalty. The same draws serve all candidates. `metric` is "test_mse", "misclassification"
    or "test_loss". On real data the best is trained as well, in `check_trials` trials on rows that
    the fitted mixture has not seen; 0 leaves it out.
    """
    require_extra("tune", "frames")
    names = checked_names(problem, over)
    note_preparation(problem)
    check_method(method)
    callback("progress", progress, arguments=("done", "total"))
    check_counts(draws=draws, seed=seed, workers=workers)
    require_metric(problem, metric)
    whole_number("check_trials", check_trials, least=0)
    largest = checked_budget(problem, names, budget)
    widest = problem.replace(network__width=max(largest, problem.width))
    require_tunable(widest, method)
    if method == "closed":
        draws, workers = 1, 1
    else:
        checked_start(widest, draws=draws, seed=seed, workers=workers)
        # All draws of a candidate stay in memory until its penalty is found.
        check_memory(widest, [], workers=workers * draws, theory=True)
    ridges = RIDGES if "ridge" in names else problem.ridges[:1]
    search = Search(problem, ridges, metric=metric, method=method, draws=draws, seed=seed)
    widths, rates = first_grid(problem, names, largest)
    reach = refined_reach(method)
    with shown_progress(progress, "predictions") as told:
        for _ in range(1 + (REFINEMENTS if len(widths) > 1 or len(rates) > 1 else 0)):
            search.evaluate(widths, rates, workers=workers, progress=told)
            widths = _around(search.best[0], widths, 1.0, largest, reach=reach)
            rates = _around(search.best[1], rates, 0.0, np.inf, reach=reach)
    if method == "closed":
        search.compute_best_whole()
    for note in dict.fromkeys(search.notes[search.best]):
        warnings.warn(note, stacklevel=2)
    tuned = search.result(names)
    _warn_of_edges(tuned)
    return _checked_on_rows(tuned, check_trials, workers)


def require_tunable(problem: Problem, method: Method) -> None:
    """Raise InvalidInput where theory without draws cannot search the penalties of a problem."""
    if method != "closed":
        return
    closed_problem(problem)  # which may refuse it
    if problem.readout.loss != "square":  # whose equations have a solution at every penalty
        raise InvalidInput(
            f"readout.loss={problem.readout.loss!r}: method='closed' tunes the square loss alone; "
            "use method='types'"
        )


def _checked_on_rows(tuned: Tuned, trials: int, workers: int) -> Tuned:
    """Return the result with its best trained on rows that the fit has not seen, on real data."""
    if tuned.problem.data.exact_moments or not trials:
        return tuned
    check = check_theory(
        tuned.problem,
        metric=tuned.metric,
        predicted=tuned.best,
        stderr=tuned.stderr,
        trials=trials,
        seed=tuned.seed,
        workers=workers,
    )
    if check.poor:
        warnings.warn(str(check), stacklevel=3)
    return replace(tuned, check=check)


def checked_names(problem: Problem, over: Sequence[str] | str) -> Sequence[str]:
    """Return what is searched; raise InvalidInput where it cannot be."""
    require_problem(problem)
    names = [over] if isinstance(over, str) else over
    known = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
    if not known or not names or not set(names) <= set(TUNABLE):
        raise InvalidInput(
            f"over={shown(names)}: must name some of {', '.join(TUNABLE)}; correct it"
        )
    if "ridge" not in names and len(problem.ridges) > 1:
        raise InvalidInput(
            f"ridge={list(problem.ridges)}: must be one number when it is not tuned; choose one"
        )
    return names


def checked_budget(problem: Problem, names: Sequence[str], budget: int | None) -> int:
    """Return the largest width that is tried."""
    largest = whole_number("budget", problem.width if budget is None else budget, least=1)
    if "width" not in names and largest < problem.width:
        raise InvalidInput(
            f"budget={largest}: is below width={problem.width}, which is not tuned; add width to "
            "over, or raise it"
        )
    return largest


def _warn_of_edges(tuned: Tuned) -> None:
    """Warn where the best value is the last one tried, so that a better one may lie beyond.

    Not where all are alike within noise: then any value is the last one at times.
    """
    if tuned.contrast is not None and tuned.contrast.flat:
        return
    tried = {"ridge": tuned.ridge_curve["ridge"], "learning_rate": tuned.curve["learning_rate"]}
    for name, values in tried.items():
        best = tuned.values.get(name)
        if best is not None and len(values) > 1 and best in (values.min(), values.max()):
            warnings.warn(
                f"{name}={best:.3g}: lies at the edge of the searched range; better values may lie "
                "beyond",
                stacklevel=3,
            )


def first_grid(
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


def refined_reach(method: Method) -> int:
    """Return how many places around the best are refined: more where draws have noise."""
    return 1 if method == "closed" else 2


def _around(
    best: float, grid: list[float], least: float, largest: float, *, reach: int
) -> list[float]:
    """Return points up to `reach` places around `best`, half as far apart as the grid was."""
    if len(grid) == 1:
        return grid
    values = np.sort(np.asarray(grid, float))
    step = np.sqrt(values[1] / values[0]) if values[0] > 0 else 1.1
    return [float(max(min(best * step**j, largest), least)) for j in range(-reach, reach + 1)]
