"""What a trial costs: operations by stage in n, m, k, and seconds from rates of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import cholesky
from threadpoolctl import threadpool_limits

from onegrad.equivalents import Model
from onegrad.problem import Problem
from onegrad.theory.prediction import STRUCTURED_FROM
from onegrad.theory.spectrum import Tridiagonal
from onegrad.theory.structured import LEAST_DIMENSION

Resource = Literal["product", "single", "factor", "reduction", "normal", "element"]
SERIES_ORDERS = 6.0  # orders of a pair series at typical correlations, per component
QUADRATURE_NODES = 800.0  # evaluations of σ per neuron and component for its expectations
FIXED_SECONDS = 0.01  # drawing the mixture, quadratures of the label, checks


@dataclass(frozen=True)
class Stage:
    """Part of a trial: which rate limits it, and how many units of that it takes."""

    name: str
    resource: Resource
    amount: float


@dataclass(frozen=True)
class Rates:
    """Units per second on one core: floating-point operations, normals, elements."""

    product: float
    single: float
    factor: float
    reduction: float
    normal: float
    element: float


def stages(problem: Problem, models: Sequence[Model], *, verb: str = "simulate") -> list[Stage]:
    """Return the stages of one trial or of one predicted draw (docs/scaling.md has the table)."""
    n, m, k, step = problem.dimension, problem.samples, problem.width, problem.step_size
    parts = problem.data.theory_parts
    products: Resource = "single" if problem.precision == "mixed" else "product"
    found = [
        Stage("step data", "normal", step * n),
        Stage("first layer", "normal", k * n),
        Stage("step products", products, 4.0 * k * n * step),
        Stage("step activation", "element", 2.0 * k * step),
    ]
    layers = len({model.first_layer for model in models})
    if verb == "predict" or problem.test == "exact":
        found.append(Stage("expectations", "element", layers * parts * QUADRATURE_NODES * k))
    if verb == "predict":
        structured = n >= LEAST_DIMENSION and k > STRUCTURED_FROM * n
        side = n if structured else k  # the smaller side of diagonal + low rank
        return [
            *found,
            Stage("correlations", "product", layers * (1.0 * k * side * n)),
            Stage("moments", "element", len(models) * parts * SERIES_ORDERS / 2 * k * side),
            Stage("reduction", "reduction", len(models) * 4 / 3 * side**3),
        ]
    small, large = min(k, m), max(k, m)
    penalties = len(problem.ridges)
    solve = small**3 / 3 if penalties == 1 else 0.0
    found += [
        Stage("training data", "normal", m * n),
        Stage("training product", products, layers * 2.0 * k * n * m),
        Stage("features", "element", 2.0 * len(models) * k * m),
        Stage("model noise", "normal", sum(model.kind == "hermite" for model in models) * k * m),
        Stage(
            "Gram matrix",
            products if penalties == 1 else "product",
            len(models) * 1.0 * large * small**2,
        ),
        Stage("factorisation", "factor", len(models) * solve),
    ]
    if penalties > 1:
        found.append(Stage("eigenvectors", "reduction", len(models) * 6.0 * small**3))
    if problem.test == "exact":
        found += [
            Stage("correlations", products, layers * 1.0 * k * k * n),
            Stage("exact error", "element", 0.5 * parts * SERIES_ORDERS * k * k),
        ]
    else:
        points = problem.test_size
        found += [
            Stage("test data", "normal", points * n),
            Stage("test product", products, layers * 2.0 * k * n * points),
            Stage("test features", "element", 2.0 * len(models) * k * points),
        ]
    conditional = sum(model.kind == "conditional" for model in models)
    if conditional:
        work = parts * (2.0 * k * k * n + k**3 / 3) + 2.0 * k * k * m
        found.append(Stage("conditional", "product", conditional * work))
    return found


def seconds(
    problem: Problem, models: Sequence[Model], rates: Rates, *, verb: str = "simulate"
) -> float:
    """Return about how long one trial takes on one core."""
    return FIXED_SECONDS + sum(
        stage.amount / getattr(rates, stage.resource)
        for stage in stages(problem, models, verb=verb)
    )


def measure_rates(size: int = 384) -> Rates:
    """Return the rates of one core of this machine, measured in about a fifth of a second."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((size, size))
    single, spread = a.astype(np.float32), a @ a.T + size * np.eye(size)
    vector = a[0].copy()
    with threadpool_limits(limits=1):
        return Rates(
            product=2 * size**3 / _best(lambda: a @ a),
            single=2 * size**3 / _best(lambda: single @ single),
            factor=size**3 / 3 / _best(lambda: cholesky(spread, lower=True, check_finite=False)),
            reduction=4
            / 3
            * size**3
            / _best(lambda: Tridiagonal.reduce(spread.copy(order="F"), vector)),
            normal=size**2 / _best(lambda: rng.standard_normal((size, size))),
            element=size**2 / _best(lambda: np.tanh(a)),
        )


def _best(run: Callable[[], object], repeats: int = 6) -> float:
    """Return the shortest of a few timings."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)
