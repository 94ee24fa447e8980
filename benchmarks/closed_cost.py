"""What theory without draws costs: one point, curves, tuning, and no growth with n.

    python benchmarks/closed_cost.py

Processor time of one core with warm caches; also as multiples of one 1000 × 1000 matrix product in
double precision, measured in the same run. Rank 1, two components, n = m = k = 1000 unless said.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np

from onegrad import Problem, tune
from onegrad.verbs.predict import predict_curve, predict_points

TEACHERS: tuple[dict[str, Any], ...] = (
    {"direction": "spikes"},
    {"direction": "random"},
    {"kind": "labels"},
)
POINTS = 60


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the least processor time of a few rounds after one that fills caches."""
    work()
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def problem_of(teacher: dict[str, Any], activation: str, **fields: Any) -> Problem:
    """Return the default problem with this teacher and activation."""
    return Problem(
        teacher=teacher,
        network={"width": 1000, "activation": activation},
        training={"samples": 1000},
        **fields,
    )


def seconds_of_point(problem: Problem) -> float:
    """Return the time of the network at one point."""
    return seconds(partial(predict_points, [(problem, "network")], method="closed"))


def print_points(unit: float) -> None:
    """Print the time of one point over tasks, activations and exponents."""
    times = {}
    settings = product(TEACHERS, ("relu", "tanh", "sigmoid"), _EXPONENTS)
    for teacher, activation, (strength, weighting) in settings:
        scaling = {"strength": strength, "weighting": weighting}
        problem = problem_of(teacher, activation, scaling=scaling)
        name = (next(iter(teacher.values())), activation, strength, weighting)
        times[name] = seconds_of_point(problem)
    values = 1e3 * np.array(list(times.values()))
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    slowest = max(times, key=lambda name: times[name])
    print(
        f"one point, network, {len(values)} settings: median {middle:.1f} ms "
        f"({middle / unit / 1e3:.2f} products), 10 to 90 % {low:.1f} to {high:.1f} ms, largest "
        f"{values.max():.0f} ms {slowest}",
        flush=True,
    )


_EXPONENTS = ((0.74, 0.5), (0.74, 0.0), (0.74, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, 0.5), (1.0, 0.0))


def print_growth() -> None:
    """Print one point from n = 1e3 to 1e6, with m = m̃ = k = n."""
    for n in (10**3, 10**4, 10**5, 10**6):
        problem = Problem(
            dimension=n,
            readout={"samples": n},
            network={"width": n},
            teacher={"direction": "spikes"},
            scaling={"learning_rate": n**0.37, "spread": 13.0},
        )
        print(f"n = {n}: {1e3 * seconds_of_point(problem):.1f} ms")


def print_curves() -> None:
    """Print the time of curves of network and Hermite model."""
    counts = [round(m) for m in np.geomspace(100, 10_000, POINTS)]
    for teacher, activation in product(TEACHERS, ("relu", "tanh")):
        problem = problem_of(teacher, activation)
        curves: dict[str, dict[str, Any]] = {
            "m": {"samples": counts},
            "λ": {"ridge": np.geomspace(1e-6, 1, POINTS)},
            "β": {"over": {"scaling.strength": np.linspace(0, 1, POINTS).tolist()}},
            "k": {"over": {"network.width": counts}},
        }
        closed = partial(predict_curve, problem, method="closed")
        said = ", ".join(
            f"{name} {1e3 * seconds(partial(closed, **curve), 2):.0f} ms"
            for name, curve in curves.items()
        )
        print(f"{POINTS} values, {next(iter(teacher.values()))}, {activation}: {said}", flush=True)


def print_tuning() -> None:
    """Print the time of tuning step size, penalty and width."""
    for teacher, activation in product(TEACHERS, ("relu", "tanh")):
        noise = {} if "kind" in teacher else {"noise": 0.1}
        problem = problem_of({**teacher, **noise}, activation)
        spent = seconds(partial(tune, problem, method="closed"), 1)
        tuned = tune(problem, method="closed")
        chosen = ", ".join(f"{name} {value:.3g}" for name, value in tuned.values.items())
        print(f"tune, {next(iter(teacher.values()))}, {activation}: {spent:.2f} s ({chosen})")


def main() -> None:
    """Print all."""
    warnings.simplefilter("ignore")
    matrix = np.random.default_rng(0).standard_normal((1000, 1000))
    unit = seconds(lambda: matrix @ matrix, 5)
    print(f"one 1000 × 1000 product: {1e3 * unit:.1f} ms")
    print_points(unit)
    print_growth()
    print_curves()
    print_tuning()


if __name__ == "__main__":
    main()
