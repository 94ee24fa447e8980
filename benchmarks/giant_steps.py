"""The point N = d² of panel G3 beside the bare matrix products that it needs, and its memory.

    python benchmarks/giant_steps.py [--dimension 512] [--width 1024] [--samples-exponent 2]

One step on N = d^κ samples with the labels' linear part subtracted, readouts before and after on
the same batch, spectra and test errors: what `onegrad steps` does. The products are timed on blocks
of the same shapes, as often as the run needs them. One BLAS thread throughout, and times are those
of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import resource
from time import process_time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad import Problem, take_steps
from onegrad.core.batches import BLOCK_ROWS
from onegrad.core.models import NETWORK
from onegrad.verbs.cost import peak_bytes


def main() -> None:
    """Run the point, then its products, and print times and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--samples-exponent", type=float, default=2.0)
    options = parser.parse_args()
    link = "He4/24 + He2/2 + He1"
    problem = Problem(
        dimension=options.dimension,
        network={"width": options.width},
        training={"samples_exponent": options.samples_exponent, "subtract": "linear"},
        readout={"batch": "same", "penalty": 1.0},
        scaling={"per_root": 10.0},
        teacher={"links": [link, link]},
        test="sampled",
        test_samples=16384,
    )
    start = process_time()
    untrained, trained = take_steps(problem).records
    whole = process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    products = bare_products(problem)
    print(
        f"d = {problem.dimension}, p = {problem.width}, N = {problem.samples_per_step}: "
        f"{whole:.1f} s, bare products {products:.1f} s, ratio {whole / products:.2f}; "
        f"peak {peak / 1e9:.2f} GB (estimate {peak_bytes(problem, [NETWORK]) / 1e9:.2f} GB); "
        f"test MSE {untrained.test_mse:.4f} untrained, {trained.test_mse:.4f} after the step"
    )


def bare_products(problem: Problem) -> float:
    """Return the seconds of the run's products: linear part, step, two readouts, two tests."""
    d, p = problem.dimension, problem.width
    rng = np.random.default_rng(0)
    first = rng.standard_normal((p, d))
    inputs = [rng.standard_normal((BLOCK_ROWS, d)) for _ in range(4)]
    weighted = [rng.standard_normal((BLOCK_ROWS, p)) for _ in range(4)]
    total, gram = np.zeros((p, d)), np.zeros((p, p), order="F")
    batches = -(-problem.samples_per_step // BLOCK_ROWS)
    tests = -(-problem.samples_in_test // BLOCK_ROWS)
    start = process_time()
    for index in range(batches):
        block, other = inputs[index % 4], weighted[index % 4]
        block.T @ block  # the linear part
        block @ first.T  # the step
        total += other.T @ block
        for _ in range(2):  # the readouts before and after
            block @ first.T
            gram = dsyrk(1.0, other.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    for index in range(2 * tests):
        inputs[index % 4] @ first.T
    return process_time() - start


if __name__ == "__main__":
    main()
