"""The search of `tune`: which widths and learning rates were evaluated, and the best of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.machine.pool import Progress, run_jobs
from onegrad.problem.problem import Problem
from onegrad.problem.scaling import EXPONENTS, RATES
from onegrad.verbs.best_constant import best_constant
from onegrad.verbs.errors import standard_error
from onegrad.verbs.methods import Method
from onegrad.verbs.penalty_search import closed_curves, penalty_curves
from onegrad.verbs.tuned import Tuned
from onegrad.verbs.tuned_contrast import contrast_of

if TYPE_CHECKING:
    import pandas as pd

TUNABLE = ("ridge", "learning_rate", "width")
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
        self.notes: dict[Point, list[str]] = {}
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
            curves = closed_curves(
                problems, self.ridges, metric=self.metric, draft=True, lowest=lowest
            )
        self.curves |= {point: curve[None] for point, curve in zip(todo, curves, strict=True)}
        self.notes |= {point: [] for point in todo}

    def compute_best_whole(self) -> None:
        """Replace the draft of the best point by all types, where theory draws nothing."""
        point = self.best
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            problems = [candidate(self.problem, *point)]
            curves = closed_curves(problems, self.ridges, metric=self.metric, draft=False)
        self.curves[point] = curves
        self.notes[point] = [str(warning.message) for warning in caught]
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
