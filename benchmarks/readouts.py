"""Readouts by convex losses beside one ridge regression of the same features.

    python benchmarks/readouts.py [--samples 1000] [--rounds 2]

Features are those of a network after its step, on two classes without and with means of their own,
ReLU and tanh; widths are 0.3, 1 and 3 times the samples. Every number is the time of `loss_readout`
over that of `ridge_readout` with one penalty, both the best of some rounds: the mean over the four
problems, and the largest. `all` are the three penalties together. One BLAS thread; times are
those of the processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from time import process_time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from onegrad import Problem
from onegrad.calculus.functions import get_activation
from onegrad.core.convex_readout import loss_readout
from onegrad.core.instance import draw
from onegrad.core.readout import ridge_readout
from onegrad.core.run import finished_run

LOSSES = ("square", "logistic", "squared_hinge", "hinge", "huber:1")
RIDGES = (1e-2, 1e-4, 1e-6)
MEAN = 1.5  # norm of a component's mean


def main() -> None:
    """Print one table for every width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    m = options.samples
    for width in (m, 3 * m, 3 * m // 10):
        batches = [
            features(m, width, activation, means)
            for activation in ("relu", "tanh")
            for means in (False, True)
        ]
        ridges = [
            seconds(partial(ridge_readout, *batch, ridge=1e-4), 2 * options.rounds)
            for batch in batches
        ]
        print(f"k = {width}, m = {m}: one ridge regression {1e3 * np.mean(ridges):.1f} ms")
        print(f"{'':14}" + "".join(f"{name!s:>14}" for name in (*RIDGES, "all")))
        for loss in LOSSES:
            cells = [
                cell(batches, ridges, loss, ridge, options.rounds) for ridge in (*RIDGES, RIDGES)
            ]
            print(f"{loss:14}" + "".join(f"{text:>14}" for text in cells), flush=True)


def features(samples: int, width: int, activation: str, means: bool):
    """Return the features of a network after its step, and labels ±1 by component."""
    mean = np.full(samples, MEAN / np.sqrt(samples))
    component = [{"weight": 0.5, "mean": mean}, {"weight": 0.5, "mean": -mean}]
    problem = Problem(
        dimension=samples,
        data={"components": component if means else [{"weight": 0.5}, {"weight": 0.5}]},
        teacher={"kind": "labels"},
        network={"width": width, "activation": activation},
        readout={"samples": samples},
    )
    instance = draw(problem)
    first = finished_run(instance).first
    batch = instance.training_batch()
    return get_activation(activation)(batch.inputs @ first.T), batch.labels


def cell(batches, ridges, loss: str, ridge: float | tuple[float, ...], rounds: int) -> str:
    """Return the mean and the largest ratio to a ridge regression."""
    ratios = [
        seconds(partial(loss_readout, *batch, loss=loss, ridge=ridge), rounds) / alone
        for batch, alone in zip(batches, ridges, strict=True)
    ]
    return f"{np.mean(ratios):.1f} ({max(ratios):.1f})"


def seconds(function: Callable[[], object], rounds: int) -> float:
    """Return the processor's time of the fastest round."""
    times = []
    for _ in range(rounds):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
