"""Batches that are never held: blocks drawn one after the other, and drawn again when needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.multi_index import LARGEST_LABEL, named_links
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.steps.steps_problem import StepsProblem
from onegrad.training.cholesky import solve_ridge
from onegrad.training.layers import Layers, second_layer
from onegrad.training.step import STEP_ROWS
from onegrad.training.streams import Stream, Streams


@dataclass(frozen=True)
class Block:
    """Up to STEP_ROWS inputs with their labels."""

    inputs: Floats
    labels: Floats


@dataclass(frozen=True)
class StepsInstance:
    """A problem with its teacher drawn: it yields batches, the same ones as often as asked.

    The streams are those of `instance.draw`, so that one step of one direction is the core's.
    """

    problem: StepsProblem
    streams: Streams
    teacher: Teacher

    def step_blocks(self, step: int) -> Iterator[Block]:
        """Yield the fresh batch of step 1, 2, …"""
        names = () if step == 1 else (f"step {step}",)
        return self._blocks(Stream.STEP_DATA, self.problem.batch_size, names)

    def readout_blocks(self, step: int) -> Iterator[Block]:
        """Yield the batch of the readout after a step; before the first, that of the first."""
        if self.problem.readout == "same":
            return self.step_blocks(max(step, 1))
        return self._blocks(Stream.TRAINING_DATA, self.problem.readout_size, ())

    def test_blocks(self) -> Iterator[Block]:
        """Yield the test points, the same after every step."""
        return self._blocks(Stream.TEST_DATA, self.problem.test_samples, ())

    def _blocks(self, stream: Stream, size: int, names: tuple[str, ...]) -> Iterator[Block]:
        rng = self.streams.generator(stream, *names)
        noise = self.streams.generator(stream, *names, "labels")
        for start in range(0, size, STEP_ROWS):
            rows = min(STEP_ROWS, size - start)
            inputs = rng.standard_normal((rows, self.problem.dimension))
            projections = inputs @ self.teacher.directions
            yield Block(inputs, self._labels(projections, noise))

    def _labels(self, projections: Floats, noise: np.random.Generator) -> Floats:
        """Return the labels; raise where one is too large."""
        with np.errstate(all="ignore"):
            labels = self.teacher.labels(projections, 0, noise)
        largest = LARGEST_LABEL + 10 * self.teacher.noise
        if not np.all(np.abs(labels) <= largest):
            worst = labels[~(np.abs(labels) <= largest)][0]
            raise InvalidInput(
                f"{named_links(self.problem.teacher)}: a label is {worst:.3g}, must be finite and "
                f"at most {LARGEST_LABEL:g}; change the links"
            )
        return labels


def draw_steps_instance(problem: StepsProblem, *, seed: int, trial: int) -> StepsInstance:
    """Return the instance of (problem, seed, trial)."""
    streams = Streams(seed, trial)
    rng = streams.generator(Stream.TEACHER)
    n = problem.dimension
    isotropic = Mixture((Gaussian(1.0, None, 1.0, np.zeros((n, 0)), np.zeros(0)),))
    return StepsInstance(problem, streams, problem.teacher.draw(isotropic, 1.0, rng))


def draw_layers(instance: StepsInstance) -> Layers:
    """Return F_ij ~ N(0, 1/d) and the second layer by the problem's rule."""
    problem = instance.problem
    rng = instance.streams.generator(Stream.FIRST_LAYER)
    first = rng.standard_normal((problem.width, problem.dimension)) / np.sqrt(problem.dimension)
    rng = instance.streams.generator(Stream.SECOND_LAYER)
    return Layers(first, second_layer(problem.second_layer, problem.width, rng))


@dataclass(frozen=True)
class LowDegree:
    """ŷ(x) = constant + slopeᵀx, the estimated low-degree part of the labels, and how it was found.

    `method`: "none", "mean", "least squares", or "moments" where least squares would fit noise.
    """

    method: str
    constant: float = 0.0
    slope: Floats | None = None

    def of(self, inputs: Floats) -> Floats | float:
        """Return the low-degree part at the inputs."""
        return self.constant if self.slope is None else self.constant + inputs @ self.slope


class LowDegrees:
    """The low-degree parts of an instance's batches, each estimated once, on that batch alone."""

    def __init__(self, instance: StepsInstance) -> None:
        self._instance = instance
        self._estimates: dict[int, LowDegree] = {}

    def of_step(self, step: int) -> LowDegree:
        """Return that of a step's batch."""
        if step not in self._estimates:
            problem, blocks = self._instance.problem, self._instance.step_blocks(step)
            self._estimates[step] = estimate_low_degree(problem, blocks, problem.batch_size)
        return self._estimates[step]

    def of_readout(self, step: int) -> LowDegree:
        """Return that of the batch which the readout after a step is fitted to."""
        problem = self._instance.problem
        if problem.readout == "same":
            return self.of_step(max(step, 1))
        if 0 not in self._estimates:
            blocks = self._instance.readout_blocks(step)
            self._estimates[0] = estimate_low_degree(problem, blocks, problem.readout_size)
        return self._estimates[0]


def estimate_low_degree(problem: StepsProblem, blocks: Iterator[Block], size: int) -> LowDegree:
    """Return the mean, or mean and linear part, of a batch's labels.

    Linear: least squares of y on (1, x) when N ≥ 2(d + 1); below that the moments
    c_0 = mean y, c_1 = mean (y − c_0)x, because least squares would fit the noise too.
    """
    if problem.subtract == "none":
        return LowDegree("none")
    if problem.subtract == "mean":
        return LowDegree("mean", sum(float(b.labels.sum()) for b in blocks) / size)
    right = np.zeros(problem.dimension + 1)
    if not uses_least_squares(problem, size):
        sums = np.zeros(problem.dimension)
        for block in blocks:
            right += _with_one(block.inputs).T @ block.labels
            sums += block.inputs.sum(axis=0)
        mean = right / size
        return LowDegree("moments", float(mean[0]), mean[1:] - mean[0] * sums / size)
    gram = np.zeros((len(right), len(right)), order="F")  # the only matrix: summed, then factored
    for block in blocks:
        inputs = _with_one(block.inputs)
        right += inputs.T @ block.labels
        gram = dsyrk(1.0, inputs.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    solution = solve_ridge(gram, right, shift=0.0, field="subtract='linear'", remedy="raise batch")
    return LowDegree("least squares", float(solution[0]), solution[1:])


def uses_least_squares(problem: StepsProblem, size: int) -> bool:
    """Return whether a batch of this size is large enough for least squares on (1, x)."""
    return problem.subtract == "linear" and size >= 2 * (problem.dimension + 1)


def _with_one(inputs: Floats) -> Floats:
    return np.concatenate([np.ones((len(inputs), 1)), inputs], axis=1)
