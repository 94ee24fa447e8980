"""Fit and prediction of a width curve on Fashion-MNIST beside training the networks for it.

    python benchmarks/real_data.py [--components 16] [--trials 20] [--draws 2] [--activation relu]

One core. The curve is that of panel 3a: 14 widths, n = 784, m = 500. Fit and theory see half of the
images, the networks the other half.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from onegrad import Problem, predict, simulate
from onegrad.core.instance import draw
from onegrad.papers.images import WIDTHS
from onegrad.papers.panel_registry import STUDIES


def main() -> None:
    """Time both ways in turn, width by width, and print what they give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--components", type=int, default=16)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--activation", default="relu")
    options = parser.parse_args()
    base: Problem = (
        STUDIES["images 0 1"]
        .sweep("paper")
        .problem.replace(
            data__fit__components_per_class=options.components,
            network__activation=options.activation,
        )
    )
    start = perf_counter()
    mixture = draw(base).mixture
    fit = perf_counter() - start
    print(f"fit of {len(mixture.components)} components: {fit:.1f} s")
    predicted, trained = [], []
    for width in WIDTHS:
        problem = base.replace(network__width_ratio=width)
        start = perf_counter()
        theory = predict(problem, ["network"], draws=options.draws).estimate()
        predicted.append(perf_counter() - start)
        start = perf_counter()
        real = simulate(problem, ["network"], trials=options.trials).estimate()
        trained.append(perf_counter() - start)
        gap = float(theory.mean[0, 0] / real.mean[0, 0] - 1)
        error = float(np.hypot(theory.stderr, real.stderr)[0, 0] / real.mean[0, 0])
        print(
            f"k/m = {width:<5g} theory {predicted[-1]:6.2f} s, training {trained[-1]:6.2f} s, "
            f"gap {100 * gap:+.2f} ± {100 * error:.2f} %"
        )
    total = fit + sum(predicted)
    print(
        f"fit + prediction ({options.draws} draws): {total:.1f} s; training ({options.trials} "
        f"trials): {sum(trained):.1f} s; ratio {total / sum(trained):.2f}"
    )


if __name__ == "__main__":
    main()
