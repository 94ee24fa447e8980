"""neural-tangents and onegrad on the question that both answer: a first layer that does not learn.

    python benchmarks/neighbours.py        # needs neural-tangents and a JAX that it imports with

The infinitely wide untrained network is kernel ridge regression by the kernel E[σ(fᵀx)σ(fᵀx')],
which neural-tangents computes. Prints test MSE over the same trials, and seconds of each.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from onegrad import Problem, predict, simulate
from onegrad.core.instance import Instance, draw

TRIALS, WIDTHS = 8, (300, 1000, 3000)


def problem_of(width: int) -> Problem:
    """Return the default mixture at n = m = 300, tested on sampled points."""
    return Problem(
        dimension=300,
        network={"width": width},
        readout={"samples": 300, "ridge": 1e-3},
        test="sampled",
    )


def kernel_error(instance: Instance, kernel: Callable[..., np.ndarray]) -> float:
    """Return the test MSE of kernel ridge regression on the instance's own samples."""
    batch = instance.training_batch()
    ridge, m = 1e-3, len(batch.labels)
    weights = np.linalg.solve(kernel(batch.inputs, None) + ridge * m * np.eye(m), batch.labels)
    squares = [
        (block.labels - kernel(block.inputs, batch.inputs) @ weights) ** 2
        for block in instance.test_blocks()
    ]
    return float(np.mean(np.concatenate(squares)))


def neural_tangents_kernel(instance: Instance) -> Callable[..., np.ndarray]:
    """Return E[σ(fᵀx)σ(fᵀx')] of ReLU with f ~ N(0, I/Tr Σ), by neural-tangents."""
    from neural_tangents import stax

    deviation = np.sqrt(instance.problem.dimension / instance.scales.trace)
    *_, kernel = stax.serial(stax.Dense(1, W_std=deviation, b_std=0.0), stax.Relu())
    return lambda a, b: np.asarray(kernel(a, b, get="nngp"), dtype=float)


def main() -> None:
    """Print a line for every way to the error."""
    import jax
    import neural_tangents

    jax.config.update("jax_enable_x64", True)
    print(f"neural-tangents {neural_tangents.__version__}, JAX {jax.__version__}")
    begin = perf_counter()
    instances = [draw(problem_of(300), trial=trial) for trial in range(TRIALS)]
    errors = [kernel_error(i, neural_tangents_kernel(i)) for i in instances]
    stderr = np.std(errors, ddof=1) / np.sqrt(TRIALS)
    seconds = perf_counter() - begin
    print(f"k = ∞, neural-tangents: {np.mean(errors):.5f} ± {stderr:.5f}, {seconds:.1f} s")
    for width in WIDTHS:
        for name, compute in (
            ("trained readouts", lambda p: simulate(p, "untrained", trials=TRIALS)),
            ("types", lambda p: predict(p, "untrained", draws=2)),
            ("closed", lambda p: predict(p, "untrained", method="closed")),
        ):
            begin = perf_counter()
            mean = compute(problem_of(width)).estimate().mean[0, 0]
            print(f"k = {width}, {name}: {mean:.5f}, {perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
