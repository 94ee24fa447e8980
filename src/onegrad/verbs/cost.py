"""What a trial or a prediction costs: operations by stage in n, m and k, seconds, and memory."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.memory import INTERPRETER_BYTES, machine_bytes, require_memory
from onegrad.machine.rates import Rates, Resource, Stage
from onegrad.models.model import Model
from onegrad.problem.problem import Problem
from onegrad.theory.structured import LEAST_DIMENSION, STRUCTURED_FROM

SERIES_ORDERS = 6.0  # orders of a pair series at typical correlations, per component
QUADRATURE_NODES = 800.0  # evaluations of σ per neuron and component for its expectations
FIXED_SECONDS = 0.01  # drawing the mixture, quadratures of the label, checks


def stages(problem: Problem, models: Sequence[Model], *, verb: str = "simulate") -> list[Stage]:
    """Return the stages of one trial or of one predicted draw (docs/scaling.md has the table)."""
    layers = len({model.first_layer for model in models})
    steps = _step_stages(problem)
    if verb == "predict" or problem.test == "exact":
        nodes = layers * problem.data.theory_parts * QUADRATURE_NODES
        steps.append(Stage("expectations", "element", nodes * problem.width))
    if verb == "predict":
        return [*steps, *_theory_stages(problem, models, layers)]
    own = [stage for model in models for stage in model.stages(problem)]
    readout = _readout_stages(problem, len(models), layers)
    return [*steps, *readout, *_test_stages(problem, len(models), layers), *own]


def _products(problem: Problem) -> Resource:
    return "single" if problem.precision == "mixed" else "product"


def _step_stages(problem: Problem) -> list[Stage]:
    n, k, batch = problem.dimension, problem.width, problem.samples_per_step
    return [
        Stage("step data", "normal", batch * n),
        Stage("first layer", "normal", k * n),
        Stage("step products", _products(problem), 4.0 * k * n * batch),
        Stage("step activation", "element", 2.0 * k * batch),
    ]


def _theory_stages(problem: Problem, models: Sequence[Model], layers: int) -> list[Stage]:
    n, k, parts = problem.dimension, problem.width, problem.data.theory_parts
    structured = n >= LEAST_DIMENSION and k > STRUCTURED_FROM * n
    side = n if structured else k  # the smaller side of diagonal + low rank
    return [
        Stage("correlations", "product", layers * (1.0 * k * side * n)),
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
    """Return about how many bytes one trial holds at its peak."""
    n, m, k = problem.dimension, problem.samples, problem.width
    size, side = 4 if problem.precision == "mixed" else 8, min(problem.samples, problem.width)
    penalties, parts = len(problem.ridges), len(problem.data.part_labels)
    step = size * (
        3 * k * n + problem.samples_per_step * n + 5 * k * min(problem.samples_per_step, 1024)
    )
    readout: float = size * (3 * k * n + m * n + m * k) + 8 * (m * k + side**2)
    readout += 8 * 2 * side**2 if penalties > 1 else 0  # eigenvectors
    readout += size * 40 * k * penalties * parts * max(len(models), 1)  # series of the exact error
    if size == 4:
        readout += 8 * k * n
    readout += max((model.held_bytes(problem) for model in models), default=0.0)
    return INTERPRETER_BYTES + problem.data.held_bytes + max(step, readout)


def theory_bytes(problem: Problem) -> float:
    """Return about how many bytes one predicted draw holds at its peak: Ω, R and a copy."""
    n, k = problem.dimension, problem.width
    return (
        INTERPRETER_BYTES
        + problem.data.held_bytes
        + 8.0 * (3 * k * k + 3 * k * n + problem.samples_per_step * n)
    )


def check_memory(
    problem: Problem, models: Sequence[Model], *, workers: int, theory: bool = False
) -> None:
    """Raise InvalidInput when the workers together need more memory than the machine has."""
    require_memory(
        theory_bytes(problem) if theory else peak_bytes(problem, models), workers=workers
    )


def check_mixture_memory(problem: Problem) -> None:
    """Raise InvalidInput when the mixture alone, its directions and means, does not fit here."""
    need = 8.0 * problem.dimension * problem.data.theory_columns
    have = machine_bytes()
    if need > have:
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: for the mixture alone, the machine has "
            f"{have / 1e9:.3g} GB; lower dimension={problem.dimension}"
        )
