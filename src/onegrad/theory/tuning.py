"""`tune`: step size, penalty and width that minimise the predicted test error, nothing trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onegrad.arrays import Floats
from onegrad.instance import draw
from onegrad.models import resolve_models
from onegrad.problem import Problem
from onegrad.resources import check_memory, run_jobs
from onegrad.sharing import first_layers
from onegrad.theory.prediction import Progress, model_spectrum
from onegrad.theory.ridge import ridge_errors
from onegrad.validation import InvalidInput, whole_number

TUNABLE = ("ridge", "learning_rate", "width")
RIDGES = np.logspace(-8, 2, 81)
WIDTHS, RATES, REFINEMENTS = 7, 7, 2


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
    over: Sequence[str] = ("ridge", "learning_rate"),
    *,
    budget: int | None = None,
    draws: int = 2,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Return the ridge, learning rate and width that minimise the network's predicted test MSE.

    `over` names what may change; widths stay within `budget` neurons. Widths and rates are searched
    on a logarithmic grid that is refined around its best point; at each, one reduction gives the
    error for every penalty. The same draws serve all candidates.
    """
    unknown = [name for name in over if name not in TUNABLE]
    if unknown or not over:
        raise InvalidInput(f"over={list(over)}: must name some of {', '.join(TUNABLE)}; correct it")
    whole_number("draws", draws, least=1)
    largest = whole_number("budget", problem.width if budget is None else budget, least=1)
    check_memory(problem.replace(network__width=largest), [], workers=workers)
    ridges = RIDGES if "ridge" in over else np.array(problem.ridges[:1])
    widths, rates = _first_grid(problem, over, largest)
    found: dict[tuple[int, float], Floats] = {}
    rounds = 1 + (REFINEMENTS if len(widths) > 1 or len(rates) > 1 else 0)
    for _ in range(rounds):
        todo = [
            (k, r)
            for k in sorted({round(w) for w in widths})
            for r in sorted({float(f"{rate:.10g}") for rate in rates})
            if (k, r) not in found
        ]
        jobs = [
            {"problem": candidate(problem, *point), "ridges": ridges, "seed": seed, "trial": t}
            for point in todo
            for t in range(draws)
        ]
        curves = []
        for curve in run_jobs(ridge_curve, jobs, workers=workers):
            curves.append(curve)
            if progress is not None:
                progress(len(curves), len(jobs))
        for index, point in enumerate(todo):
            found[point] = np.array(curves[index * draws : (index + 1) * draws])
        best = min(found, key=lambda point: float(found[point].mean(axis=0).min()))
        widths = _around(best[0], widths, largest)
        rates = _around(best[1], rates, np.inf)
    return _result(problem, over, found, best, ridges, seed)


def _first_grid(
    problem: Problem, over: Sequence[str], largest: int
) -> tuple[list[float], list[float]]:
    """Return the widths and rates to start from; one value each where it is not tuned."""
    n = problem.dimension
    widths, rates = [float(problem.width)], [problem.scaling.rate_and_spread(n)[0]]
    if "width" in over:
        least = max(1, min(largest, n // 20))
        widths = [float(w) for w in np.geomspace(least, largest, WIDTHS)]
    if "learning_rate" in over:
        rates = [float(r) for r in np.geomspace(1e-2, float(n) ** 1.5, RATES)]
    return widths, rates


def candidate(problem: Problem, width: int, rate: float) -> Problem:
    """Return the problem with this width and step size; spread and step samples stay."""
    _, spread = problem.scaling.rate_and_spread(problem.dimension)
    scaling = problem.scaling.model_dump(
        exclude={"strength", "weighting", "learning_rate", "spread"}
    )
    return problem.replace(
        network__width=width,
        step_samples=problem.step_size,
        scaling={**scaling, "learning_rate": rate, "spread": spread},
    )


def ridge_curve(problem: Problem, *, ridges: Floats, seed: int, trial: int) -> Floats:
    """Return the network's predicted test MSE for every penalty, in one draw."""
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = first_layers(instance)
    model = resolve_models(problem, ["network"], seed=seed)[0]
    spectrum = model_spectrum(model, instance, layers, trained)
    return ridge_errors(spectrum, samples=np.array([problem.samples]), ridge=ridges).test_mse[0]


def _around(best: float, grid: list[float], largest: float) -> list[float]:
    """Return five points around `best`, half as far apart as the grid was, within `largest`."""
    if len(grid) == 1:
        return grid
    values = np.sort(np.asarray(grid, float))
    step = np.sqrt(values[1] / values[0]) if values[0] > 0 else 1.1
    return [float(min(best * step**j, largest)) for j in (-2, -1, 0, 1, 2)]


def _result(
    problem: Problem,
    over: Sequence[str],
    found: dict[tuple[int, float], Floats],
    best: tuple[int, float],
    ridges: Floats,
    seed: int,
) -> Tuned:
    rows = []
    for (width, rate), curves in sorted(found.items()):
        mean = curves.mean(axis=0)
        low = int(np.argmin(mean))
        rows.append((width, rate, float(ridges[low]), float(mean[low])))
    curves = found[best]
    mean, low = curves.mean(axis=0), int(np.argmin(curves.mean(axis=0)))
    draws = len(curves)
    stderr = float(np.std(curves[:, low], ddof=1) / np.sqrt(draws)) if draws > 1 else np.nan
    values = {"width": best[0], "learning_rate": best[1], "ridge": float(ridges[low])}
    return Tuned(
        candidate(problem, *best).replace(ridge=float(ridges[low])),
        {name: values[name] for name in TUNABLE if name in over},
        float(mean[low]),
        stderr,
        pd.DataFrame(rows, columns=["width", "learning_rate", "ridge", "test_mse"]),
        pd.DataFrame({"ridge": ridges, "test_mse": mean}),
        draws,
        seed,
    )
