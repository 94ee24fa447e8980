"""Outliers after two steps of norms n^a₁, n^a₂ on independent batches, and the published count.

    python benchmarks/two_steps.py [DIMENSION] [TRIALS]

Moniri and Hassani (2026) state ⌊a₂/(½ − a₁)⌋. Printed beside it: how many of the degrees up to
there the activation has (`second_step_outliers`, degree 0 included), how many singular values of
F₂ − F₀ stand out of its bulk, and the outliers of the features after each step.
"""

from __future__ import annotations

import sys
from itertools import product
from math import floor

import numpy as np

from onegrad import Problem, simulate
from onegrad.calculus.functions import get
from onegrad.calculus.spectra import second_step_outliers

FIRST, SECOND = (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4, 0.45)


def problem(dimension: int, activation: str, exponents: tuple[float, float]) -> Problem:
    """Return two steps of these norms towards one direction, n = k = N = m."""
    return Problem(
        dimension=dimension,
        network={"width": dimension, "activation": activation},
        training={"steps": 2, "samples": dimension},
        scaling={"change_exponent": exponents},
        teacher={"links": ["relu"]},
    )


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
        degrees = second_step_outliers(first, second, get(activation)) or ()
        print(
            f"{activation:10s} {first:5.2f} {second:4.2f} {count:9d} {len(degrees):8d} {rank:8.1f} "
            f"{spikes[1]:8.1f} {spikes[2]:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
