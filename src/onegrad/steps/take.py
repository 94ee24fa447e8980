"""`take_steps`: train the first layer by several giant steps and see what it learns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.calculus import functions
from onegrad.data.staircase import first_direction, staircase
from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.memory import INTERPRETER_BYTES, require_memory
from onegrad.machine.pool import Progress
from onegrad.steps.blocks import (
    Block,
    LowDegree,
    LowDegrees,
    StepsInstance,
    draw_layers,
    draw_steps_instance,
    uses_least_squares,
)
from onegrad.steps.result import Alignment, FeatureSpikes, Singular, StepRecord, StepsResult
from onegrad.steps.saved import Saved
from onegrad.steps.spectra import MatrixSpectrum, matrix_spectrum, predicted_spikes
from onegrad.steps.steps_problem import StepsProblem
from onegrad.steps.streamed_features import HELD_ROWS, FeatureSpectrum, fit_features, measure_test
from onegrad.training.layers import Layers
from onegrad.training.step import STEP_ROWS, streamed_direction

LARGEST_WEIGHT = 1e100  # squares of sums of squares must not overflow


def take_steps(
    problem: StepsProblem,
    *,
    seed: int = 0,
    trial: int = 0,
    state: str | Path | None = None,
    progress: Progress | None = None,
) -> StepsResult:
    """Return what T gradient steps on fresh batches did to the network, step by step.

    G as in `descent_direction`, F ← F + ηG; after every step, and before the first, a ridge readout
    on the problem's batch, test error and spectra. The run depends on (problem, seed, trial) alone.
    `state` names a file that is renewed after every record: a killed run continues from it, with
    the same bits, and so does one of more steps. `progress(done, total)` is called after every
    record.
    """
    if not isinstance(problem, StepsProblem):
        raise InvalidInput(f"problem={shown(problem)}: must be a StepsProblem; make one")
    whole_number("seed", seed, least=0)
    whole_number("trial", trial, least=0)
    if state is not None and not isinstance(state, str | Path):
        raise InvalidInput(f"state={shown(state)}: must be the path of a file; correct it")
    require_memory(steps_bytes(problem), workers=1)
    # Overflow is not hidden: what it would spoil is checked.
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        return _run(problem, seed, trial, None if state is None else Path(state), progress)


def steps_bytes(problem: StepsProblem) -> float:
    """Return about how many bytes a run holds at its peak: O(p d + p² + a block).

    Least squares of the labels' linear part add one matrix of d + 1 rows.
    """
    d, p = problem.dimension, problem.width
    rows = min(STEP_ROWS, problem.batch_size)
    held_rows = problem.readout_size if problem.readout_size <= max(p, HELD_ROWS) else 0
    side = min(p, d)
    largest = max(problem.batch_size, problem.readout_size)
    gram = (d + 1) ** 2 if uses_least_squares(problem, largest) else 0
    matrices = 4 * p * d + 4 * p * p + 2 * side * side + gram
    return INTERPRETER_BYTES + 8.0 * (matrices + rows * (3 * d + 5 * p) + 2 * held_rows * p)


def _run(
    problem: StepsProblem, seed: int, trial: int, state: Path | None, progress: Progress | None
) -> StepsResult:
    instance = draw_steps_instance(problem, seed=seed, trial=trial)
    layers, parts = draw_layers(instance), LowDegrees(instance)
    climb = staircase(problem.teacher)
    saved = Saved.load(state, problem, seed, trial) if state is not None else None
    first = layers.first if saved is None else saved.first
    records = [] if saved is None else list(saved.records)
    total = problem.steps + 1

    def keep() -> None:
        if state is not None:
            Saved(first, tuple(records)).write(state, problem, seed, trial)

    if not records:
        records.append(_record(instance, layers, layers.first, None, low=parts.of_readout(0)))
        keep()
    while len(records) <= problem.steps:
        if progress is not None:
            progress(len(records), total)
        step = len(records)
        now = Layers(first, layers.second)
        taken = _step(instance, now, step, low=parts.of_step(step))
        first = taken.first
        records.append(_record(instance, layers, first, taken, low=parts.of_readout(step)))
        keep()
    if progress is not None:
        progress(total, total)
    return StepsResult(
        problem,
        seed,
        trial,
        noise_radius(problem),
        first_direction(problem.teacher),
        climb.index,
        climb.degree,
        tuple(basis.shape[1] for basis in climb.subspaces),
        tuple(records[:total]),
    )


@dataclass(frozen=True)
class Taken:
    """A step that was taken: its number, η, the gradient's spectrum, and the layer after it."""

    step: int
    learning_rate: float
    direction: Floats
    spectrum: MatrixSpectrum
    first: Floats


def _step(instance: StepsInstance, layers: Layers, step: int, *, low: LowDegree) -> Taken:
    """Return the step on its fresh batch, the labels' low-degree part taken off."""
    problem = instance.problem
    direction = streamed_direction(
        layers,
        _with_preactivations(instance.step_blocks(step), layers.first, low),
        samples=problem.batch_size,
        activation=functions.get_activation(problem.activation),
    )
    _require_finite(direction)
    spectrum = matrix_spectrum(direction)
    rate = problem.learning_rate(spectrum.norm)
    first = direction * rate  # as in gradient_step: scaled, then added
    first += layers.first
    _require_finite(first)
    return Taken(step, rate, direction, spectrum, first)


def _with_preactivations(
    blocks: Iterator[Block], first: Floats, low: LowDegree
) -> Iterator[tuple[Floats, Floats, Floats]]:
    for block in blocks:
        labels = block.labels if low.method == "none" else block.labels - low.of(block.inputs)
        yield block.inputs @ first.T, block.inputs, labels


def _require_finite(matrix: Floats) -> None:
    largest = max(float(np.max(matrix)), -float(np.min(matrix)))
    if not largest <= LARGEST_WEIGHT:  # nan is not either
        raise InvalidInput(
            f"step_size: the first layer after the step holds {largest:.3g}, must be at most "
            f"{LARGEST_WEIGHT:g}; lower it"
        )


def noise_radius(problem: StepsProblem) -> float:
    """Return √(2r/d): most random unit vectors have a shorter part in the teacher's span.

    For two directions this is the published 2/√d, and 1 − e^{−2} = 86 % of them do.
    """
    return float(np.sqrt(2 * problem.teacher.rank / problem.dimension))


def align(rows: Floats, instance: StepsInstance) -> Alignment:
    """Return overlaps with the teacher's directions, the angle in their span, and who is outside.

    The angle is that to the line of the predicted first direction; None where there is none, or
    where the span is a line itself.
    """
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    overlaps = (rows @ instance.teacher.directions) / np.where(norms > 0, norms, 1.0)
    lengths = np.linalg.norm(overlaps, axis=1)
    target = first_direction(instance.problem.teacher)
    size = np.linalg.norm(target)
    angle = None
    if size > 0 and len(target) > 1:
        along = np.abs(overlaps @ (target / size))
        cosines = np.divide(along, lengths, out=np.zeros_like(along), where=lengths > 0)
        angle = float(np.median(np.degrees(np.arccos(np.minimum(cosines, 1.0)))))
    return Alignment(overlaps, angle, float(np.mean(lengths > noise_radius(instance.problem))))


def _record(
    instance: StepsInstance, layers: Layers, first: Floats, taken: Taken | None, *, low: LowDegree
) -> StepRecord:
    """Return everything that is measured after a step."""
    problem, step = instance.problem, 0 if taken is None else taken.step
    change = None if taken is None else matrix_spectrum(first - layers.first)
    fit, features = fit_features(
        problem,
        first,
        instance.readout_blocks(step),
        low_degree=low,
        direction=None if change is None else change.direction,
    )
    test_mse, stderr = measure_test(problem, first, instance.test_blocks(), fit)
    if not np.all(np.isfinite([fit.train_mse, test_mse])) or np.isinf(stderr):
        raise InvalidInput(f"step_size: the errors after step {step} are not finite; lower it")
    return StepRecord(
        step,
        None if taken is None else taken.learning_rate,
        low.method,
        None if taken is None else align(taken.direction, instance),
        align(first, instance),
        None if taken is None else _singular(taken.spectrum),
        None if change is None else _singular(change),
        _spikes(problem, change, features),
        fit.train_mse,
        test_mse,
        stderr,
    )


def _singular(matrix: MatrixSpectrum) -> Singular:
    leading = matrix.spectrum
    return Singular(leading.count, leading.values, leading.edge, matrix.stable_rank)


def _spikes(
    problem: StepsProblem, change: MatrixSpectrum | None, features: FeatureSpectrum
) -> FeatureSpikes:
    """Return the features' spikes beside those predicted from ‖F̂ − F‖ = d^a."""
    exponent = None
    if change is not None and change.norm > 0 and problem.dimension > 1:
        # Rounded: an exponent that was asked for comes back through a norm.
        exponent = round(log(change.norm) / log(problem.dimension), 9)
    predicted = predicted_spikes(exponent or 0.0, functions.get_activation(problem.activation))
    seen = features.spectrum
    return FeatureSpikes(exponent, predicted, seen.count, seen.values, seen.edge, features.overlaps)
