"""What theory by types costs, processor time of one core.

    python benchmarks/types_cost.py [DIMENSION]

One predicted draw of a network at k = m = n and k = 5n, m = n, draw and step included; then every
further penalty and loss from the same reduction.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time
from typing import Any

from onegrad import Problem
from onegrad.core.instance import draw
from onegrad.core.models import NETWORK
from onegrad.core.run import Run
from onegrad.verbs.predict import PredictedRun, predict_draw

ROUNDS = 3


def problem_of(n: int, width: int, activation: str, teacher: str) -> Problem:
    """Return two balanced classes or a regression at the default scaling."""
    return Problem(
        dimension=n,
        network={"width": width, "activation": activation},
        readout={"samples": n, "ridge": 1e-3},
        training={"samples": n},
        teacher={"kind": teacher},
        data={"components": [{"weight": 0.5, "label": s} for s in (1.0, -1.0)]},
    )


def seconds(work: Any, rounds: int = ROUNDS) -> float:
    """Return the least processor time of a few rounds."""
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def of_points(problem: Problem) -> dict[str, float]:
    """Return the time of one more penalty by each loss."""
    run = PredictedRun(Run(draw(problem)), [NETWORK])
    types = run.types_after(1)[NETWORK.key]
    types.solve(problem.samples, 1.0, loss="square")  # the reduction
    names = ["square", "logistic", "hinge", "huber:1"] if problem.binary else ["square", "huber:1"]
    ridge = problem.ridges[0]
    return {
        name: seconds(lambda name=name: types.solve(problem.samples, ridge, loss=name).errors())  # type: ignore[misc]
        for name in names
    }


def main() -> None:
    """Print one line per setting."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    for width in (n, 5 * n):
        for teacher in ("labels", "index", "sign"):
            for activation in ("relu", "tanh"):
                problem = problem_of(n, width, activation, teacher)
                drawn = seconds(lambda problem=problem: predict_draw(problem, [NETWORK]))  # type: ignore[misc]
                more = of_points(problem)
                said = ", ".join(f"{name} {value:.3f}" for name, value in more.items())
                print(
                    f"k = {width}, {teacher}, {activation}: {drawn:.2f} s; each further point "
                    f"{said} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
