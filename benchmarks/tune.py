"""Tuning by theory beside tuning by a simulated grid, on three problems.

    python benchmarks/tune.py [--dimension 300]

Both choose penalty and step size. The grid simulates 9 rates × 15 penalties with 20 trials; then
both choices are simulated on fresh draws, and the excess of the theory's choice is printed with its
standard error (paired).
"""

from __future__ import annotations

import argparse
import os
import warnings
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from onegrad import Problem, simulate, tune

PROBLEMS = {
    "ReLU regression with noise": {"teacher": {"noise": 0.1}},
    "ReLU classification": {
        "teacher": {"kind": "labels"},
        "scaling": {"strength": 0.9, "weighting": 0.0},
    },
    "sigmoid, teacher along the spikes": {
        "teacher": {"direction": "spikes", "noise": 0.1},
        "network": {"activation": "sigmoid"},
    },
}


def simulated_grid(problem: Problem) -> Problem:
    """Return the problem with the rate and penalty of least simulated error."""
    n = problem.dimension
    spread = problem.scaling.spread_at(n)
    ridges = tuple(np.logspace(-6, 1, 15))
    best, chosen = np.inf, problem
    for rate in np.geomspace(1e-2, n**1.5, 9):
        candidate = problem.replace(
            readout__ridge=ridges, scaling={"learning_rate": float(rate), "spread": spread}
        )
        mean = simulate(candidate, ["network"], trials=20).estimate().mean[0]
        if mean.min() < best:
            best, chosen = (
                mean.min(),
                candidate.replace(readout__ridge=float(ridges[int(mean.argmin())])),
            )
    return chosen


def main() -> None:
    """Tune both ways, compare on fresh draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=300)
    n = parser.parse_args().dimension
    # Rates at the far end of the search make neurons almost parallel; they lose anyway.
    warnings.filterwarnings("ignore", message="exact moments")
    for name, fields in PROBLEMS.items():
        problem = Problem(dimension=n, readout={"samples": 3 * n // 2}, **fields)
        start = perf_counter()
        tuned = tune(problem, ["ridge", "learning_rate"], draws=2)
        by_theory = perf_counter() - start
        start = perf_counter()
        grid = simulated_grid(problem)
        by_grid = perf_counter() - start
        runs = [
            simulate(p, ["network"], trials=60, seed=1).metrics["test_mse"][:, 0, 0]
            for p in (tuned.problem, grid)
        ]
        difference = (runs[0] - runs[1]) / runs[1].mean()
        stderr = difference.std(ddof=1) / np.sqrt(len(difference))
        print(
            f"{name}: theory chose η = {tuned.values['learning_rate']:.3g}, λ = "
            f"{tuned.values['ridge']:.2g} in {by_theory:.1f} s; grid η = "
            f"{grid.scaling.learning_rate:.3g}, λ = {grid.ridges[0]:.2g} in {by_grid:.1f} s; "
            f"error at the theory's choice {100 * difference.mean():+.1f} ± {100 * stderr:.1f} % "
            "of the grid's",
            flush=True,
        )


if __name__ == "__main__":
    main()
