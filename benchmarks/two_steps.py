"""Outliers after two steps of norms n^a₁, n^a₂ on independent batches, and the published count.

    python benchmarks/two_steps.py [DIMENSION] [TRIALS]

Moniri and Hassani [10] state ⌊a₂/(½ − a₁)⌋. Printed beside it: how many of the degrees up to
there the activation has (`second_step_outliers`, degree 0 included), how many singular values of
F₂ − F₀ stand out of its bulk, and the outliers of the features after each step.
"""

from __future__ import annotations

import sys
from itertools import product
from math import floor

import numpy as np

from onegrad import Problem, simulate
from onegrad.calculus.expectations import hermite_coefficients

FIRST, SECOND = (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4, 0.45)
LARGEST_DEGREE = 8  # towards a₁ = ½ the count has no bound


def problem(dimension: int, activation: str, exponents: tuple[float, float]) -> Problem:
    """Return two steps of these norms towards one direction, n = k = N = m."""
    return Problem(
        dimension=dimension,
        network={"width": dimension, "activation": activation},
        training={"steps": 2, "samples": dimension},
        scaling={"change_exponent": exponents},
        teacher={"links": ["relu"]},
    )


def second_step_outliers(first: float, second: float, activation: str) -> tuple[int, ...]:
    """Return the degrees j whose outlier a second step of norm n^a₂ adds to the weights.

    After a first step of norm n^a₁, σ' of the pre-activations holds the degree j of the first
    direction at the scale n^{−j(½−a₁)}, so that the second gradient, on an independent batch, has a
    part of rank one for every j with E[σ'H_j] = E[σH_{j+1}] ≠ 0. It stands out where
    a₂ > j(½ − a₁): up to j = ⌊a₂/(½ − a₁)⌋, the count of Moniri and Hassani [10]. Exponents lie in
    (0, ½).
    """
    most = min(floor(second / (0.5 - first) + 1e-9), LARGEST_DEGREE)
    zero, unit = np.zeros(1), np.ones(1)
    coefficients = hermite_coefficients(activation, zero, unit, order=most + 1)[:, 0]
    return tuple(j for j in range(most + 1) if abs(coefficients[j + 1]) > 1e-9)


def main() -> None:
    """Print a line per activation and pair of exponents."""
    dimension = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("activation   a1   a2  published  degrees  weights  features after 1, 2")
    for activation, first, second in product(("relu", "tanh"), FIRST, SECOND):
        errors = simulate(
            problem(dimension, activation, (first, second)),
            ["network"],
            trials=trials,
            workers=2,
            observe=True,
        )
        frames = [run.to_frame() for run in errors.runs]
        spikes = np.mean([frame["spikes"].to_numpy(float) for frame in frames], axis=0)
        rank = np.mean([float(frame["change_rank"].iloc[-1]) for frame in frames])
        count = floor(second / (0.5 - first) + 1e-9)
        degrees = second_step_outliers(first, second, activation)
        print(
            f"{activation:10s} {first:5.2f} {second:4.2f} {count:9d} {len(degrees):8d} {rank:8.1f} "
            f"{spikes[1]:8.1f} {spikes[2]:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
