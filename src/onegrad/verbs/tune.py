"""`tune`: step size, penalty and width that minimise the predicted test error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.calculus.prediction import Note, warn_of, worst_notes
from onegrad.closed.problem import ClosedProblem
from onegrad.closed.solve import solve
from onegrad.core.draw_cache import Shared
from onegrad.core.models import NETWORK
from onegrad.core.problem import Problem, require_problem
from onegrad.core.scaling import EXPONENTS, RATES
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import Floats, callback, shown, whole_number
from onegrad.machine.pool import Progress, run_jobs
from onegrad.machine.progress import shown_progress
from onegrad.results.best_constant import best_constant
from onegrad.results.errors import standard_error
from onegrad.results.tuned import Tuned, contrast_of
from onegrad.theory.methods import DEFAULT_METHOD, Method, Need, require
from onegrad.verbs.cost import check_memory
from onegrad.verbs.fit_check import CHECK_TRIALS, check_theory, preparation_notes, require_metric
from onegrad.verbs.predict import (
    DEFAULT_DRAWS,
    check_counts,
    check_method,
    checked_start,
    predict_draw,
)

if TYPE_CHECKING:
    import pandas as pd

COARSE = 8  # every eighth penalty first: a decade
FINEST_DRAFT = 2  # places, a quarter of a decade: drafts are no better
PROMISING = 1.1  # times the lowest of all, up to which a problem's own lowest is looked for
RISES = 2  # decades in a row above the lowest, after which smaller penalties are not tried


def penalty_curves(
    problem: Problem,
    *,
    ridges: Sequence[float],
    metric: str,
    method: Method,
    seed: int,
    trials: Sequence[int],
) -> tuple[Floats, tuple[Note, ...]]:
    """Return the metric after the last step, a row per draw, for all penalties; and the notes.

    The search goes down from the largest penalty by decades until the mean over draws has risen
    twice, then halves the distance around the lowest. The metric is NaN at penalties that it skips
    and infinite where theory does not converge.
    """
    curves = np.full((len(trials), len(ridges)), np.nan)
    kept = [Shared() for _ in trials]  # a draw is reduced once for all penalties
    notes: list[Note] = []

    def look(place: int) -> None:
        asked = problem.replace(readout__ridge=(ridges[place],))
        for row, trial in enumerate(trials):
            try:
                found = predict_draw(
                    asked, [NETWORK], method=method, seed=seed, trial=trial, shared=kept[row]
                )
            except NotConverged:
                curves[row, place] = np.inf
            else:
                curves[row, place] = np.ravel(found.metrics[NETWORK.name][metric])[-1]
                notes.extend(found.notes)

    search_lowest(curves, look)
    return curves, worst_notes(notes)


def closed_curves(
    problems: Sequence[Problem],
    ridges: Sequence[float],
    *,
    metric: str,
    draft: bool,
    lowest: float = np.inf,
) -> tuple[Floats, tuple[Note, ...]]:
    """Return the network's metric without draws, a row per problem, NaN if not computed; notes.

    All problems are computed at every eighth penalty, then those that may be the best of them, and
    better than `lowest`, at penalties around their lowest: of drafts half as far in every round.
    """
    curves = np.full((len(problems), len(ridges)), np.nan)
    last = len(ridges) - 1
    closed = [ClosedProblem.of(problem, draft=draft) for problem in problems]
    theories = [own.theories() for own in closed]
    notes: list[Note] = []

    def look(places: Mapping[int, Sequence[int]]) -> None:
        asked = []
        for row, own in places.items():
            count, penalties = float(problems[row].samples), [ridges[place] for place in own]
            asked += closed[row].curves(
                theories[row], NETWORK, np.array([count]), np.array(penalties)
            )
        solved = iter(solve(asked))
        for row, own in places.items():
            points = closed[row].mean([next(solved) for _ in theories[row]])
            curves[row, own] = [point.metrics[metric] for point in points]
            notes.extend(note for point in points for note in point.notes)

    look(dict.fromkeys(range(len(problems)), range(0, last + 1, COARSE)))
    distance = COARSE // 2
    while distance and last:
        own_lowest = np.nanmin(curves, axis=1)
        lowest = min(lowest, float(own_lowest.min()))
        fresh = {}
        for row in np.flatnonzero(own_lowest <= PROMISING * lowest):
            low = int(np.nanargmin(curves[row]))
            places = {low - distance, low + distance} if draft else set(range(low - 4, low + 5))
            own = sorted(p for p in places if 0 <= p <= last and np.isnan(curves[row, p]))
            if own:
                fresh[int(row)] = own
        look(fresh)
        distance = distance // 2 if draft and distance > FINEST_DRAFT else 0
    return curves, worst_notes(notes)


def search_lowest(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at places of `curves` (rows × penalties, NaN at first) until the lowest mean is found.

    `look` writes a column. It is called from the largest penalty down, then around the lowest.
    """
    _descend(curves, look)
    _halve(curves, look)


def _descend(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at every eighth place from the last down to where the mean has risen twice.

    Small penalties cost most: a convex loss on separable samples diverges as they vanish.
    """
    rises = 0
    for place in range(curves.shape[1] - 1, -1, -COARSE):
        look(place)
        mean = curves.mean(axis=0)
        rises = rises + 1 if mean[place] > np.nanmin(mean) else 0
        if rises == RISES:
            return


def _halve(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at half the distance around the lowest mean, again and again down to 1."""
    last, distance = curves.shape[1] - 1, COARSE // 2
    while distance:
        low = int(np.nanargmin(curves.mean(axis=0)))
        for place in (max(low - distance, 0), min(low + distance, last)):
            if np.isnan(curves[0, place]):
                look(place)
        distance //= 2


TUNABLE = ("ridge", "learning_rate", "width")
CLOSED_TUNING_NEEDS = (
    Need(  # whose equations have a solution at every penalty
        "readout.loss",
        lambda problem: problem.readout.loss == "square",
        "method='closed' tunes the square loss alone; use method='types'",
    ),
)
ROUNDING = 1e-6  # of a rate
Point = tuple[int, float]  # width, learning rate


def candidate(problem: Problem, width: int, rate: float) -> Problem:
    """Return the problem with this width and step size; spread and step samples stay."""
    scaling = problem.scaling.model_dump(exclude={*RATES, *EXPONENTS, "spread"})
    spread = problem.scaling.spread_at(problem.dimension)
    return problem.replace(
        network__width=width,
        training__samples=problem.samples_per_step,
        scaling={**scaling, "learning_rate": rate, "spread": spread},
    )


def _same(first: Point, second: Point) -> bool:
    """Return whether two points are one but for rounding, of which a refined grid has some."""
    return first[0] == second[0] and math.isclose(first[1], second[1], rel_tol=ROUNDING)


class Search:
    """Points (width, rate) that were evaluated: the curves over penalties of every draw."""

    def __init__(
        self,
        problem: Problem,
        ridges: Sequence[float],
        *,
        metric: str,
        method: Method,
        draws: int,
        seed: int,
    ) -> None:
        self.problem, self.ridges = problem, tuple(ridges)
        self.metric, self.method = metric, method
        self.draws, self.seed = draws, seed
        self.curves: dict[Point, Floats] = {}
        self.notes: dict[Point, tuple[Note, ...]] = {}
        self._whole: Point | None = None  # the best of all drafts, computed with all types

    def evaluate(
        self,
        widths: list[float],
        rates: list[float],
        *,
        workers: int,
        progress: Progress | None,
    ) -> None:
        """Evaluate what is new on the grid of widths and rates."""
        todo = [
            (k, r)
            for k in sorted({round(w) for w in widths})
            for r in sorted({float(f"{rate:.10g}") for rate in rates})
            if not any(_same((k, r), point) for point in self.curves)
        ]
        if self.method == "closed":
            self._evaluate_drafts(todo)
            if progress is not None:
                progress(len(todo), len(todo))
            return
        how = {"metric": self.metric, "method": self.method, "seed": self.seed}
        how |= {"ridges": self.ridges, "trials": tuple(range(self.draws))}
        jobs = [{"problem": candidate(self.problem, *point), **how} for point in todo]
        results = []
        for result in run_jobs(penalty_curves, jobs, workers=workers):
            results.append(result)
            if progress is not None:
                progress(len(results), len(jobs))
        for point, (curves, notes) in zip(todo, results, strict=True):
            self.curves[point], self.notes[point] = curves, notes

    def _evaluate_drafts(self, todo: list[Point]) -> None:
        """Evaluate drafts of theory without draws, all together."""
        if not todo:
            return
        problems = [candidate(self.problem, *point) for point in todo]
        lowest = self._lowest(self.best)[1] if self.curves else np.inf
        with threadpool_limits(limits=1):
            curves, _ = closed_curves(
                problems, self.ridges, metric=self.metric, draft=True, lowest=lowest
            )
        self.curves |= {point: curve[None] for point, curve in zip(todo, curves, strict=True)}

    def compute_best_whole(self) -> None:
        """Replace the draft of the best point by all types, where theory draws nothing."""
        point = self.best
        problems = [candidate(self.problem, *point)]
        self.curves[point], self.notes[point] = closed_curves(
            problems, self.ridges, metric=self.metric, draft=False
        )
        self._whole = point

    @property
    def best(self) -> Point:
        """The point whose best penalty has the lowest mean."""
        if self._whole is not None:
            return self._whole
        return min(self.curves, key=lambda point: self._lowest(point)[1])

    def _lowest(self, point: Point) -> tuple[int, float]:
        """Return the place of the best penalty and the mean there."""
        mean = self.curves[point].mean(axis=0)
        place = int(np.nanargmin(mean))
        return place, float(mean[place])

    def result(self, names: Sequence[str]) -> Tuned:
        """Return the best point with everything that was evaluated and converged."""
        import pandas as pd

        place, lowest = self._lowest(self.best)
        if not np.isfinite(lowest):
            raise NotConverged(
                f"tune: theory by {self.method!r} did not converge at any penalty; use other values"
            )
        curves, ridge = self.curves[self.best], self.ridges[place]
        values = {"width": self.best[0], "learning_rate": self.best[1], "ridge": ridge}
        by_ridge = pd.DataFrame({"ridge": self.ridges, self.metric: curves.mean(axis=0)})
        return Tuned(
            problem=candidate(self.problem, *self.best).replace(readout__ridge=ridge),
            values={name: values[name] for name in TUNABLE if name in names},
            metric=self.metric,
            best=lowest,
            stderr=float(standard_error(curves[:, place])),
            curve=self._best_of_each(),
            ridge_curve=by_ridge[np.isfinite(by_ridge[self.metric])].reset_index(drop=True),
            method=self.method,
            draws=self.draws,
            seed=self.seed,
            constant=best_constant(self.problem, seed=self.seed, trials=self.draws).get(
                self.metric, float("nan")
            ),
            contrast=contrast_of(self._candidates(), self.curves[self.best][:, place]),
        )

    def _candidates(self) -> dict[str, Floats]:
        """Return the draws of every other candidate that was evaluated whole, by its name.

        They are the points at their best penalties, or the penalties where there is one point.
        """
        place = self._lowest(self.best)[0]
        if len(self.curves) == 1:
            columns = {
                f"ridge = {ridge:.3g}": self.curves[self.best][:, i]
                for i, ridge in enumerate(self.ridges)
                if i != place
            }
        else:
            columns = {
                self._said(point): curves[:, self._lowest(point)[0]]
                for point, curves in self.curves.items()
                if point != self.best
            }
        return {name: draws for name, draws in columns.items() if np.all(np.isfinite(draws))}

    def _said(self, point: Point) -> str:
        """Return a point in words: what differs from point to point."""
        several = [len({p[i] for p in self.curves}) > 1 for i in (0, 1)]
        words = (f"width = {point[0]}", f"learning_rate = {point[1]:.4g}")
        return ", ".join(word for word, differs in zip(words, several, strict=True) if differs)

    def _best_of_each(self) -> pd.DataFrame:
        """Return a row per width and rate with its best penalty."""
        import pandas as pd

        rows = []
        for point in sorted(self.curves):
            place, mean = self._lowest(point)
            if np.isfinite(mean):
                rows.append((*point, self.ridges[place], mean))
        return pd.DataFrame(rows, columns=["width", "learning_rate", "ridge", self.metric])


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
    warn_of(preparation_notes(problem))
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
    warn_of(search.notes[search.best], method=method)
    tuned = search.result(names)
    _warn_of_edges(tuned)
    return _checked_on_rows(tuned, check_trials, workers)


def require_tunable(problem: Problem, method: Method) -> None:
    """Raise InvalidInput if theory without draws cannot search the penalties of a problem."""
    if method == "closed":
        ClosedProblem.of(problem)  # which may refuse it
        require(problem, CLOSED_TUNING_NEEDS)


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
