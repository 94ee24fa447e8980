"""The search of `tune`: which widths and learning rates were evaluated, and the best of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.machine.pool import Progress, run_jobs
from onegrad.problem.problem import Problem
from onegrad.problem.scaling import EXPONENTS, RATES
from onegrad.verbs.errors import standard_error
from onegrad.verbs.methods import AT_ONCE, Method
from onegrad.verbs.penalty_search import closed_curve, penalty_curves
from onegrad.verbs.tuned import Tuned

TUNABLE = ("ridge", "learning_rate", "width")
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
            if (k, r) not in self.curves
        ]
        together = self._draws_together
        how = {"metric": self.metric, "method": self.method, "seed": self.seed}
        jobs = [
            {"problem": candidate(self.problem, *p), "ridges": self.ridges, "trials": t, **how}
            for p in todo
            for t in together
        ]
        results = []
        for result in run_jobs(penalty_curves, jobs, workers=workers):
            results.append(result)
            if progress is not None:
                progress(len(results), len(jobs))
        for index, point in enumerate(todo):
            part = results[index * len(together) : (index + 1) * len(together)]
            self.curves[point] = np.concatenate([curves for curves, _ in part])
            self.notes[point] = [note for _, notes in part for note in notes]

    def compute_best_whole(self) -> None:
        """Replace the draft of the best point by all types, where theory draws nothing."""
        point = self.best
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            problem = candidate(self.problem, *point)
            curve = closed_curve(problem, self.ridges, metric=self.metric, draft=False)
        self.curves[point] = curve[None]
        self.notes[point] = [str(warning.message) for warning in caught]
        self._whole = point

    @property
    def _draws_together(self) -> list[tuple[int, ...]]:
        """The draws of each job: one where all penalties are seen, all where the mean leads."""
        if self.method in AT_ONCE:
            return [(draw,) for draw in range(self.draws)]
        return [tuple(range(self.draws))]

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
        place, lowest = self._lowest(self.best)
        if not np.isfinite(lowest):
            raise NotConverged(
                f"tune: theory by {self.method!r} did not converge at any penalty; use "
                "method='single', or other values"
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
        )

    def _best_of_each(self) -> pd.DataFrame:
        """Return a row per width and rate with its best penalty."""
        rows = []
        for point in sorted(self.curves):
            place, mean = self._lowest(point)
            if np.isfinite(mean):
                rows.append((*point, self.ridges[place], mean))
        return pd.DataFrame(rows, columns=["width", "learning_rate", "ridge", self.metric])
