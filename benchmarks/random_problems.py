"""Theory against simulation on random problems of all kinds: by types and by a single type.

    python benchmarks/random_problems.py [COUNT] [TRIALS] [SEED]

Levels .25 to 4, weights, ranks, means, five activations, regression and classes, penalties 1e-6 to
1, m/n and k/m from .3 to 3. Printed: the deviation of every method's test MSE from the trials,
paired on the same first layers, then shares within 3 % and 5 %, beside four standard errors.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time
from typing import Any

import numpy as np

from onegrad import Problem, predict, simulate
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import Failure, InvalidInput

METHODS = ("types", "single")


def random_problem(rng: np.random.Generator) -> Problem:
    """Return a problem of 120 to 220 dimensions."""
    n = int(rng.integers(120, 220))
    m = round(n * 3 ** rng.uniform(-1, 1))
    parts = int(rng.integers(1, 4))
    weights = rng.dirichlet(np.full(parts, 3.0))
    weights[-1] = 1 - weights[:-1].sum()
    components: list[dict[str, Any]] = [
        {
            "weight": float(weight),
            "level": float(4 ** rng.uniform(-1, 1)),
            "rank": int(rng.integers(0, 3)),
            "label": 1.0 if i % 2 else -1.0,
        }
        for i, weight in enumerate(weights)
    ]
    if rng.random() < 0.4:
        for component in components:
            component["mean"] = rng.standard_normal(n) * rng.uniform(0, 1.5) / np.sqrt(n)
    teacher: dict[str, Any] = {"kind": "labels"}
    if parts == 1 or rng.random() < 0.5:
        link = str(rng.choice(["relu", "tanh", "z+z**2/2"]))
        teacher = {"kind": "index", "link": link, "noise": 0.1}
    activation = str(rng.choice(["relu", "tanh", "sigmoid", "gelu", "erf"]))
    return Problem(
        dimension=n,
        network={"width": round(m * 3 ** rng.uniform(-1, 1)), "activation": activation},
        training={"samples": int(rng.integers(100, 300))},
        readout={"samples": m, "ridge": float(10 ** rng.uniform(-6, 0))},
        data={"components": components},
        teacher=teacher,
        scaling={"strength": float(rng.uniform()), "weighting": float(rng.uniform())},
    )


def deviation(predicted: Floats, simulated: Floats) -> tuple[float, float]:
    """Return the relative gap of the means and its standard error, paired."""
    scale = float(simulated.mean())
    gap = float((predicted - simulated).mean()) / scale
    spread = np.std(predicted - (1 + gap) * simulated, ddof=1)
    return gap, float(spread) / np.sqrt(len(simulated)) / scale


def main() -> None:
    """Print a line per problem, then the shares."""
    count, trials, seed = (int(a) for a in (*sys.argv[1:], *("40", "12", "0")[len(sys.argv) - 1 :]))
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    rows, seconds = [], dict.fromkeys(METHODS, 0.0)
    for index in range(count):
        problem = random_problem(rng)
        simulated = simulate(problem, "network", trials=trials, workers=2).metrics["test_mse"]
        row = []
        for method in METHODS:
            start = process_time()
            try:
                errors = predict(problem, "network", method=method, draws=trials)  # type: ignore[arg-type]
                row.append(deviation(errors.metrics["test_mse"][:, 0, 0], simulated[:, 0, 0]))
            except (Failure, InvalidInput) as error:
                print(f"  {method}: {error}")
                row.append((np.nan, np.nan))
            seconds[method] += process_time() - start
        rows.append(row)
        print(_line(index, problem, row), flush=True)
    table = np.array(rows)
    for i, method in enumerate(METHODS):
        gap, error = np.abs(table[:, i, 0]), table[:, i, 1]
        shares = [np.mean(gap <= limit + 4 * error) for limit in (0.0, 0.03, 0.05)]
        print(
            f"{method}: within 4 s.e. {shares[0]:.2f}, 3 % + 4 s.e. {shares[1]:.2f}, 5 % + 4 s.e. "
            f"{shares[2]:.2f}; median {np.nanmedian(gap):.3f}, worst {np.nanmax(gap):.3f}; "
            f"{seconds[method] / count / trials:.3f} s per draw"
        )


def _line(index: int, problem: Problem, row: list[tuple[float, float]]) -> str:
    scaling = problem.scaling
    gaps = "  ".join(f"{100 * gap:+6.1f} ± {100 * error:.1f} %" for gap, error in row)
    return (
        f"{index:3d} {problem.teacher.kind:6s} {problem.network.activation:7s} "
        f"n {problem.dimension} m {problem.samples} k {problem.width} "
        f"ridge {problem.ridges[0]:.0e} ({scaling.strength:.2f}, {scaling.weighting:.2f})  {gaps}"
    )


if __name__ == "__main__":
    main()
