"""The time and the memory of trials and predicted draws, estimated before they start."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.calculus.rules import get_rule
from onegrad.core.batches import BLOCK_ROWS, HELD_BYTES
from onegrad.core.low_degree import uses_least_squares
from onegrad.core.models import Model
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.cost import (
    INTERPRETER_BYTES,
    Rates,
    Resource,
    Stage,
    machine_bytes,
    require_memory,
)
from onegrad.theory.algebra import LEAST_DIMENSION, STRUCTURED_FROM

SERIES_ORDERS = 6.0  # orders of a pair series at typical correlations, per component
QUADRATURE_NODES = 800.0  # evaluations of σ per neuron and component for its expectations
TYPES_ELEMENTS = 1.6e6  # evaluations for a grid of types, per model and component
FIXED_SECONDS = 0.01  # drawing the mixture, quadratures of the label, checks


def stages(problem: Problem, models: Sequence[Model], *, verb: str = "simulate") -> list[Stage]:
    """Return the stages of one trial or one predicted draw (see the table in docs/scaling.md)."""
    layers = len({model.first_layer for model in models})
    steps = repeated(_step_stages(problem), problem.training.steps)
    measured: list[Stage] = []  # after every recorded step
    if verb == "predict" or problem.test == "exact":
        nodes = layers * problem.data.theory_parts * QUADRATURE_NODES
        measured.append(Stage("expectations", "element", nodes * problem.width))
    if verb == "predict":
        measured += _theory_stages(problem, models, layers)
    else:
        measured += _readout_stages(problem, len(models), layers)
        measured += _test_stages(problem, len(models), layers)
        measured += [stage for model in models for stage in model.stages(problem)]
    return [*steps, *repeated(measured, len(problem.recorded_steps))]


def repeated(stages: list[Stage], times: int) -> list[Stage]:
    """Return the stages of `times` rounds."""
    return [Stage(s.name, s.resource, times * s.amount) for s in stages]


def _products(problem: Problem) -> Resource:
    return "single" if problem.precision == "mixed" else "product"


def _step_stages(problem: Problem) -> list[Stage]:
    n, k, batch = problem.dimension, problem.width, problem.samples_per_step
    stages = [
        Stage("step data", "normal", batch * n),
        Stage("first layer", "normal", k * n),
        Stage("step products", _products(problem), 4.0 * k * n * batch),
        Stage("step activation", "element", 2.0 * k * batch),
    ]
    if problem.training.subtract != "none":
        stages.append(Stage("low-degree part", "normal", batch * n))
        if uses_least_squares(problem.training.subtract, batch, n):
            stages.append(Stage("least squares", "product", 1.0 * n * n * batch))
    return [*stages, *get_rule(problem.training.rule).stages(k, n, batch)]


def _theory_stages(problem: Problem, models: Sequence[Model], layers: int) -> list[Stage]:
    n, k, parts = problem.dimension, problem.width, problem.data.theory_parts
    structured = n >= LEAST_DIMENSION and k > STRUCTURED_FROM * n
    side = n if structured else k  # the smaller side of diagonal + low rank
    return [
        Stage("correlations", "product", layers * (1.0 * k * side * n)),
        Stage("types", "element", len(models) * parts * TYPES_ELEMENTS),
        Stage("moments", "element", len(models) * parts * SERIES_ORDERS / 2 * k * side),
        Stage("reduction", "reduction", len(models) * 4 / 3 * side**3),
    ]


def _readout_stages(problem: Problem, models: int, layers: int) -> list[Stage]:
    n, m, k = problem.dimension, problem.samples, problem.width
    small, large = min(k, m), max(k, m)
    gram = models * 1.0 * large * small**2
    common = [
        Stage("training data", "normal", m * n),
        Stage("training product", _products(problem), layers * 2.0 * k * n * m),
        Stage("features", "element", 2.0 * models * k * m),
    ]
    if len(problem.ridges) == 1:
        factor = Stage("factorisation", "factor", models * small**3 / 3)
        return [*common, Stage("Gram matrix", _products(problem), gram), factor]
    eigenvectors = Stage("eigenvectors", "reduction", models * 6.0 * small**3)
    return [*common, Stage("Gram matrix", "product", gram), eigenvectors]


def _test_stages(problem: Problem, models: int, layers: int) -> list[Stage]:
    n, k, parts = problem.dimension, problem.width, problem.data.theory_parts
    products = _products(problem)
    if problem.test == "exact":
        return [
            Stage("correlations", products, layers * 1.0 * k * k * n),
            Stage("exact error", "element", 0.5 * parts * SERIES_ORDERS * k * k),
        ]
    points = problem.samples_in_test
    return [
        Stage("test data", "normal", points * n),
        Stage("test product", products, layers * 2.0 * k * n * points),
        Stage("test features", "element", 2.0 * models * k * points),
    ]


def seconds(
    problem: Problem, models: Sequence[Model], rates: Rates, *, verb: str = "simulate"
) -> float:
    """Return about how long one trial takes on one core."""
    return FIXED_SECONDS + sum(
        stage.amount / getattr(rates, stage.resource)
        for stage in stages(problem, models, verb=verb)
    )


def peak_bytes(problem: Problem, models: Sequence[Model]) -> float:
    """Return the peak memory of one trial in bytes, about."""
    readout = _readout_bytes(problem, models)
    readout += max((model.held_bytes(problem) for model in models), default=0.0)
    return INTERPRETER_BYTES + problem.data.held_bytes + max(_step_bytes(problem), readout)


def _held_rows(rows: int, columns: int) -> int:
    """Return how many rows of a batch are in memory at once: all, or one block."""
    return rows if 8.0 * rows * columns <= HELD_BYTES else BLOCK_ROWS


def _step_bytes(problem: Problem) -> float:
    n, k, batch = problem.dimension, problem.width, problem.samples_per_step
    size = 4 if problem.precision == "mixed" else 8
    matrices = 3 if problem.training.rule == "gradient" else 5
    matrices += 2 * bool(problem.training.momentum)
    squares = n * n if problem.training.rule.startswith("whitened") else 0
    if uses_least_squares(problem.training.subtract, batch, n):
        squares = max(squares, (n + 1) ** 2)
    rows = _held_rows(batch, n) * n + 5 * k * min(batch, BLOCK_ROWS)
    return size * (matrices * k * n + rows) + 8.0 * squares


def _readout_bytes(problem: Problem, models: Sequence[Model]) -> float:
    n, k = problem.dimension, problem.width
    size = 4 if problem.precision == "mixed" else 8
    penalties, parts = len(problem.ridges), len(problem.data.part_labels)
    columns = penalties * max(len(problem.classes), 1)
    m = _held_rows(problem.samples, max(n, k))
    # Gram matrices: one of the smaller side, or sums for every model and a copy to factor.
    squares = min(m, k) ** 2 if m == problem.samples else (1 + max(len(models), 1)) * k * k
    squares *= 3 if penalties > 1 else 1  # eigenvectors
    readout: float = size * (3 * k * n + m * n + m * k) + 8 * (m * k + squares)
    readout += size * 40 * k * columns * parts * max(len(models), 1)  # series of the exact error
    return readout + (8 * k * n if size == 4 else 0)


def theory_bytes(problem: Problem) -> float:
    """Return the peak memory of one predicted draw in bytes, about: Ω, R and a copy."""
    n, k = problem.dimension, problem.width
    return (
        INTERPRETER_BYTES
        + problem.data.held_bytes
        + 8.0 * (3 * k * k + 3 * k * n + _held_rows(problem.samples_per_step, n) * n)
    )


def check_memory(
    problem: Problem, models: Sequence[Model], *, workers: int, theory: bool = False
) -> None:
    """Raise InvalidInput if the workers together exceed the machine's memory."""
    each = theory_bytes(problem) if theory else peak_bytes(problem, models)
    require_memory(each, workers=workers)


def check_mixture_memory(problem: Problem) -> None:
    """Raise InvalidInput if the directions and means of the mixture exceed the memory."""
    need = 8.0 * problem.dimension * problem.data.theory_columns
    have = machine_bytes()
    if need > have:
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: for the mixture alone, the machine has "
            f"{have / 1e9:.3g} GB; lower dimension={problem.dimension}"
        )
