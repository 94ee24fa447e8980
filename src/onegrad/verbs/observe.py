"""`take_steps`: the errors of a run and what its network has learned, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.calculus.functions import get_activation
from onegrad.calculus.spectra import MatrixSpectrum, matrix_spectrum, predicted_spikes
from onegrad.core.feature_watch import FeatureSpectrum, FeatureWatch
from onegrad.core.instance import Instance
from onegrad.core.models import NETWORK, Model
from onegrad.core.problem import Problem, require_problem
from onegrad.core.run import Run, StepTaken
from onegrad.core.trial import run_trial
from onegrad.data.joint_teachers import MultiIndex
from onegrad.data.mixture import Mixture
from onegrad.data.staircase import staircase
from onegrad.describe.numbers import Floats, Metrics, callback, whole_number
from onegrad.machine.pool import Progress
from onegrad.machine.progress import listening, shown_progress, within_total
from onegrad.results.steps import Alignment, FeatureSpikes, Singular, StepRecord, StepsResult
from onegrad.verbs.cost import check_memory

MOST_DIRECTIONS = 4  # spikes that replace missing class means
SMALLEST_MEAN = 1e-6  # of a class beside its deviation: smaller ones are rounding


def watched_directions(instance: Instance) -> Floats:
    """Return orthonormal columns (n × r): the teacher's directions, or those of the class means.

    Where class means vanish, the leading spikes take their place; there may be none of these.
    """
    directions = instance.teacher.directions
    if not directions.shape[1]:
        directions = _class_directions(instance.mixture)
    norms = np.linalg.norm(directions, axis=0)
    directions = directions[:, norms > 0] / norms[norms > 0]
    if directions.shape[1] < 2:
        return directions
    gram = directions.T @ directions
    if np.allclose(gram, np.eye(len(gram)), atol=1e-8):
        return directions
    return np.linalg.qr(directions)[0]


def _class_directions(mixture: Mixture) -> Floats:
    """Return differences of class means from the first, or the strongest spikes."""
    n = mixture.dimension
    classes: dict[float | None, list[tuple[float, Floats]]] = {}
    for part in mixture.components:
        mean = np.zeros(n) if part.mean is None else part.mean
        classes.setdefault(part.label, []).append((part.weight, mean))
    means = [
        sum(weight * mean for weight, mean in parts) / max(sum(w for w, _ in parts), 1e-300)
        for parts in classes.values()
    ]
    apart = np.stack([mean - means[0] for mean in means[1:]], axis=1) if len(means) > 1 else None
    if apart is not None and np.linalg.norm(apart) > SMALLEST_MEAN * np.sqrt(mixture.trace):
        return apart
    spikes = [
        (part.weight * strength, part.directions[:, i])
        for part in mixture.components
        for i, strength in enumerate(part.strengths)
    ]
    strongest = sorted(spikes, key=lambda spike: -spike[0])[:MOST_DIRECTIONS]
    return np.stack([g for _, g in strongest], axis=1) if strongest else np.zeros((n, 0))


def first_line(instance: Instance, directions: Floats) -> Floats:
    """Return E[y x] in the watched directions: where the first step's gradients point.

    For isotropic inputs and a mean of links this is (1/r) Σ_i E[zσ*_i(z)] w*_i (Dandi et al. [5],
    Theorem 1); 0 where the target has no linear part.
    """
    teacher, total = instance.teacher, np.zeros(len(directions))
    for part in instance.mixture.components:
        if part.weight > 0:
            mean, slopes = teacher.linear_part(part)
            total += part.weight * part.covariance_times(teacher.directions) @ slopes
            if part.mean is not None:
                total += part.weight * mean * part.mean
    return directions.T @ total


def noise_radius(dimension: int, rank: int) -> float:
    """Return √(2r/n): most random unit vectors have a shorter part in r directions.

    For two directions this is the published 2/√n, and 1 − e^{−2} = 86 % of them do.
    """
    return float(np.sqrt(2 * rank / dimension))


def align(rows: Floats, directions: Floats, line: Floats) -> Alignment:
    """Return overlaps with the directions, the angle in their span, and who is outside.

    The angle is that to the predicted first direction; None if there is no prediction, or if the
    span is a line itself.
    """
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    overlaps = (rows @ directions) / np.where(norms > 0, norms, 1.0)
    lengths = np.linalg.norm(overlaps, axis=1)
    size = np.linalg.norm(line)
    angle = None
    if size > 0 and len(line) > 1:
        along = np.abs(overlaps @ (line / size))
        cosines = np.divide(along, lengths, out=np.zeros_like(along), where=lengths > 0)
        angle = float(np.median(np.degrees(np.arccos(np.minimum(cosines, 1.0)))))
    outside = float(np.mean(lengths > noise_radius(*directions.shape)))
    return Alignment(overlaps, angle, outside)


class Observer:
    """Records of one run: `watch` before a readout is fitted, `record` after it."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.records: list[StepRecord] = []
        self._progress = progress

    def watch(self, run: Run, step: int) -> FeatureWatch:
        """Return what watches the features of the first layer after a step."""
        if not self.records:
            self.instance = run.instance
            self._directions = watched_directions(run.instance)
            self._line = first_line(run.instance, self._directions)
        trained, first = run.first_at(step), run.layers.first
        self._change = None if trained is first else matrix_spectrum(trained - first)
        direction = None if self._change is None else self._change.direction
        return FeatureWatch(len(trained), direction)

    def record(
        self, run: Run, step: int, taken: StepTaken | None, watch: FeatureWatch, metrics: Metrics
    ) -> None:
        """Add what there is to see after a step; errors are those of the first penalty."""
        gradient = None if taken is None else taken.gradient
        lines = self._directions, self._line
        self.records.append(
            StepRecord(
                step,
                None if taken is None else taken.learning_rate,
                run.low_degree(max(step, 1)).method,
                None if gradient is None else align(gradient, *lines),
                align(run.first_at(step), *lines),
                None if gradient is None else _singular(matrix_spectrum(gradient)),
                None if self._change is None else _singular(self._change),
                _spikes(self.instance.problem, self._change, watch.spectrum()),
                float(metrics["train_mse"][0]),
                float(metrics["test_mse"][0]),
            )
        )
        if self._progress is not None:
            self._progress(len(self.records), self.instance.problem.training.steps + 1)

    def result(self, *, seed: int, trial: int) -> StepsResult:
        """Return the records so far with what belongs to the whole run."""
        problem = self.instance.problem
        teacher = problem.teacher
        climb = staircase(teacher) if isinstance(teacher, MultiIndex) else None
        return StepsResult(
            problem,
            seed,
            trial,
            noise_radius(*self._directions.shape),
            self._line,
            None if climb is None else climb.index,
            0 if climb is None else climb.degree,
            () if climb is None else tuple(basis.shape[1] for basis in climb.subspaces),
            tuple(self.records),
        )


def _singular(matrix: MatrixSpectrum) -> Singular:
    leading = matrix.spectrum
    return Singular(leading.count, leading.values, leading.edge, matrix.stable_rank)


def _spikes(
    problem: Problem, change: MatrixSpectrum | None, features: FeatureSpectrum
) -> FeatureSpikes:
    """Return the features' spikes beside those predicted from ‖F̂ − F‖ = n^a."""
    exponent = None
    if change is not None and change.norm > 0 and problem.dimension > 1:
        # Rounded: an exponent that was asked for comes back through a norm.
        exponent = round(log(change.norm) / log(problem.dimension), 9)
    predicted = predicted_spikes(exponent or 0.0, get_activation(problem.network.activation))
    seen = features.spectrum
    return FeatureSpikes(exponent, predicted, seen.count, seen.values, seen.edge, features.overlaps)


def take_steps(
    problem: Problem,
    *,
    seed: int = 0,
    trial: int = 0,
    progress: Progress | bool | None = None,
) -> StepsResult:
    """Return what the steps of one trial did to the network, one record after every step.

    The first record is of the untrained network. The run depends on (problem, seed, trial) alone.
    `progress(done, total)` is called after every record; True shows a bar.
    """
    require_problem(problem)
    whole_number("seed", seed, least=0)
    whole_number("trial", trial, least=0)
    callback("progress", progress, arguments=("done", "total"))
    check_memory(problem, [NETWORK], workers=1)
    total = problem.training.steps + 1
    with threadpool_limits(limits=1), shown_progress(progress, "steps") as told:
        if told is not None:
            told(0, total)
        within = within_total(told, 0, total)
        with listening(None if within is None else lambda share: within(share * total)):
            return observed_trial(problem, [NETWORK], seed=seed, trial=trial, progress=told)[1]


def observed_trial(
    problem: Problem,
    models: Sequence[Model],
    *,
    seed: int = 0,
    trial: int = 0,
    progress: Progress | None = None,
) -> tuple[dict[str, Metrics], StepsResult]:
    """Return the metrics of `run_trial`, and the observations of the network after every step."""
    observer = Observer(progress)
    seen = any(model.key == NETWORK.key for model in models)
    watched = models if seen else [NETWORK, *models]
    metrics = run_trial(problem, watched, seed=seed, trial=trial, observer=observer)
    result = observer.result(seed=seed, trial=trial)
    return {model.name: metrics[model.name] for model in models}, result
