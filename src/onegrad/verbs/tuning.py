"""`tune`: step size, penalty and width that minimise the predicted test error, nothing trained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.pool import Progress, run_jobs
from onegrad.models.network import NETWORK
from onegrad.problem.problem import Problem, require_problem
from onegrad.problem.scaling import EXPONENTS, RATES
from onegrad.theory.ridge import ridge_errors
from onegrad.training.instance import draw
from onegrad.training.run import finished_run
from onegrad.verbs.errors import standard_error
from onegrad.verbs.predicted_draw import reduced_moments
from onegrad.verbs.prediction import checked_start

TUNABLE = ("ridge", "learning_rate", "width")
RIDGES = np.logspace(-8, 2, 81)
WIDTHS, GRID_RATES, REFINEMENTS = 7, 7, 2
Point = tuple[int, float]  # width, learning rate


@dataclass(frozen=True)
class Tuned:
    """The best problem found, its predicted test MSE, and everything that was evaluated.

    `curve` has one row per width and learning rate with its best penalty; `ridge_curve` the test
    MSE against the penalty at the tuned width and rate.
    """

    problem: Problem
    values: dict[str, float]
    test_mse: float
    stderr: float
    curve: pd.DataFrame
    ridge_curve: pd.DataFrame
    draws: int
    seed: int

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "problem": self.problem.to_dict(),
            "tuned": self.values,
            "test_mse": {
                "mean": self.test_mse,
                "stderr": self.stderr if np.isfinite(self.stderr) else None,
            },
            "draws": self.draws,
            "seed": self.seed,
            "curve": self.curve.to_dict(orient="list"),
            "ridge_curve": self.ridge_curve.to_dict(orient="list"),
        }


def tune(
    problem: Problem,
    over: Sequence[str] | str = TUNABLE,
    *,
    budget: int | None = None,
    draws: int = 4,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Return the ridge, learning rate and width that minimise the network's predicted test MSE.

    `over` names what may change; widths stay within `budget` neurons. Widths and rates are searched
    on a logarithmic grid that is refined around its best point; at each, one reduction gives the
    error for every penalty. The same draws serve all candidates.
    """
    names = _checked_names(problem, over)
    largest = _checked_budget(problem, names, budget)
    widest = problem.replace(network__width=max(largest, problem.width))
    checked_start(widest, draws=draws, seed=seed, workers=workers)
    search = _Search(
        problem, RIDGES if "ridge" in names else np.array(problem.ridges[:1]), draws, seed
    )
    widths, rates = _first_grid(problem, names, largest)
    for _ in range(1 + (REFINEMENTS if len(widths) > 1 or len(rates) > 1 else 0)):
        search.evaluate(widths, rates, workers=workers, progress=progress)
        widths = _around(search.best[0], widths, 1.0, largest)
        rates = _around(search.best[1], rates, 0.0, np.inf)
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


class _Search:
    """Points (width, rate) that were evaluated: the curves over penalties of every draw."""

    def __init__(self, problem: Problem, ridges: Floats, draws: int, seed: int) -> None:
        self.problem, self.ridges, self.draws, self.seed = problem, ridges, draws, seed
        self.curves: dict[Point, Floats] = {}
        self.notes: dict[Point, list[str]] = {}

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
        common = {"ridges": self.ridges, "seed": self.seed}
        jobs = [
            {"problem": candidate(self.problem, *point), "trial": t, **common}
            for point in todo
            for t in range(self.draws)
        ]
        results = []
        for result in run_jobs(ridge_curve, jobs, workers=workers):
            results.append(result)
            if progress is not None:
                progress(len(results), len(jobs))
        for index, point in enumerate(todo):
            part = results[index * self.draws : (index + 1) * self.draws]
            self.curves[point] = np.array([curve for curve, _ in part])
            self.notes[point] = [note for _, notes in part for note in notes]

    @property
    def best(self) -> Point:
        """The point whose best penalty has the lowest mean error."""
        return min(self.curves, key=lambda point: float(self.curves[point].mean(axis=0).min()))

    def result(self, names: Sequence[str]) -> Tuned:
        """Return the best point with everything that was evaluated."""
        rows = []
        for (width, rate), curves in sorted(self.curves.items()):
            mean = curves.mean(axis=0)
            low = int(np.argmin(mean))
            rows.append((width, rate, float(self.ridges[low]), float(mean[low])))
        curves = self.curves[self.best]
        mean = curves.mean(axis=0)
        low = int(np.argmin(mean))
        ridge = float(self.ridges[low])
        values = {"width": self.best[0], "learning_rate": self.best[1], "ridge": ridge}
        return Tuned(
            candidate(self.problem, *self.best).replace(readout__ridge=ridge),
            {name: values[name] for name in TUNABLE if name in names},
            float(mean[low]),
            float(standard_error(curves[:, low])),
            pd.DataFrame(rows, columns=["width", "learning_rate", "ridge", "test_mse"]),
            pd.DataFrame({"ridge": self.ridges, "test_mse": mean}),
            self.draws,
            self.seed,
        )


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


def candidate(problem: Problem, width: int, rate: float) -> Problem:
    """Return the problem with this width and step size; spread and step samples stay."""
    scaling = problem.scaling.model_dump(exclude={*RATES, *EXPONENTS, "spread"})
    spread = problem.scaling.spread_at(problem.dimension)
    return problem.replace(
        network__width=width,
        training__samples=problem.samples_per_step,
        scaling={**scaling, "learning_rate": rate, "spread": spread},
    )


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


def ridge_curve(
    problem: Problem, *, ridges: Floats, seed: int, trial: int
) -> tuple[Floats, list[str]]:
    """Return the network's predicted test MSE for every penalty in one draw, and its warnings.

    Of all candidates, only the best one's warnings matter to the user.
    """
    run = finished_run(draw(problem, seed=seed, trial=trial))
    instance = run.instance_at(problem.training.steps)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moments = reduced_moments([NETWORK], instance, run.layers, run.first)[NETWORK.key]
    errors = ridge_errors(moments, samples=np.array([problem.samples]), ridge=ridges)
    return errors.test_mse[0], [str(w.message) for w in caught]


def _around(best: float, grid: list[float], least: float, largest: float) -> list[float]:
    """Return five points around `best`, half as far apart as the grid was, within bounds."""
    if len(grid) == 1:
        return grid
    values = np.sort(np.asarray(grid, float))
    step = np.sqrt(values[1] / values[0]) if values[0] > 0 else 1.1
    return [float(max(min(best * step**j, largest), least)) for j in (-2, -1, 0, 1, 2)]
