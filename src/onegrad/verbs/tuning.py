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
from onegrad.machine.pool import run_jobs
from onegrad.models.resolve import resolve_models
from onegrad.problem.problem import Problem, require_problem
from onegrad.theory.ridge import ridge_errors
from onegrad.training.instance import draw
from onegrad.training.reuse import first_layers
from onegrad.verbs.prediction import Progress, check_run, model_spectra

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
    over = [over] if isinstance(over, str) else over
    if not isinstance(over, Sequence) or not over or not set(over) <= set(TUNABLE):
        raise InvalidInput(
            f"over={shown(over)}: must name some of {', '.join(TUNABLE)}; correct it"
        )
    require_problem(problem)
    largest = whole_number("budget", problem.width if budget is None else budget, least=1)
    if "width" not in over and largest < problem.width:
        raise InvalidInput(
            f"budget={largest}: is below width={problem.width}, which is not tuned; add width to "
            "over, or raise it"
        )
    if "ridge" not in over and len(problem.ridges) > 1:
        raise InvalidInput(
            f"ridge={list(problem.ridges)}: must be one number when it is not tuned; choose one"
        )
    widest = problem.replace(network__width=max(largest, problem.width))
    check_run(widest, draws=draws, seed=seed, workers=workers)
    ridges = RIDGES if "ridge" in over else np.array(problem.ridges[:1])
    widths, rates = _first_grid(problem, over, largest)
    found: dict[tuple[int, float], Floats] = {}
    truncated: dict[tuple[int, float], list[str]] = {}
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
            part = curves[index * draws : (index + 1) * draws]
            found[point] = np.array([curve for curve, _ in part])
            truncated[point] = [note for _, notes in part for note in notes]
        best = min(found, key=lambda point: float(found[point].mean(axis=0).min()))
        widths = _around(best[0], widths, 1.0, largest)
        rates = _around(best[1], rates, 0.0, np.inf)
    for note in dict.fromkeys(truncated[best]):
        warnings.warn(note, stacklevel=2)
    tuned = _result(problem, over, found, best, ridges, seed)
    _warn_of_edges(tuned, problem, largest)
    return tuned


def _warn_of_edges(tuned: Tuned, problem: Problem, budget: int) -> None:
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
        step_samples=problem.samples_per_step,
        scaling={**scaling, "learning_rate": rate, "spread": spread},
    )


def ridge_curve(
    problem: Problem, *, ridges: Floats, seed: int, trial: int
) -> tuple[Floats, list[str]]:
    """Return the network's predicted test MSE for every penalty in one draw, and its warnings.

    Of all candidates, only the best one's warnings matter to the user.
    """
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = first_layers(instance)
    model = resolve_models(problem, ["network"], seed=seed)[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spectrum = model_spectra([model], instance, layers, trained)[model.key]
    found = ridge_errors(spectrum, samples=np.array([problem.samples]), ridge=ridges)
    return found.test_mse[0], [str(w.message) for w in caught]


def _around(best: float, grid: list[float], least: float, largest: float) -> list[float]:
    """Return five points around `best`, half as far apart as the grid was, within bounds."""
    if len(grid) == 1:
        return grid
    values = np.sort(np.asarray(grid, float))
    step = np.sqrt(values[1] / values[0]) if values[0] > 0 else 1.1
    return [float(max(min(best * step**j, largest), least)) for j in (-2, -1, 0, 1, 2)]


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
