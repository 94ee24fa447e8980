"""The observer of a run: a record of what the network has learned, after every step."""

from __future__ import annotations

from math import log

from onegrad.calculus import functions
from onegrad.calculus.spectra import MatrixSpectrum, matrix_spectrum, predicted_spikes
from onegrad.data.multi_index import MultiIndex
from onegrad.data.staircase import staircase
from onegrad.describe.arrays import Floats
from onegrad.diagnostics.alignment import align, first_line, noise_radius, watched_directions
from onegrad.diagnostics.features import FeatureSpectrum, FeatureWatch
from onegrad.diagnostics.records import FeatureSpikes, Singular, StepRecord, StepsResult
from onegrad.problem.problem import Problem
from onegrad.training.instance import Instance
from onegrad.training.run import Run, StepTaken


class Observer:
    """Records of one run: `watch` before a readout is fitted, `record` after it."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.records: list[StepRecord] = []
        self._directions = watched_directions(instance)
        self._line = first_line(instance, self._directions)
        self._change: MatrixSpectrum | None = None

    def watch(self, run: Run, trained: Floats) -> FeatureWatch:
        """Return what watches the features of this first layer."""
        changed = trained is not run.layers.first
        self._change = matrix_spectrum(trained - run.layers.first) if changed else None
        direction = None if self._change is None else self._change.direction
        return FeatureWatch(len(trained), direction)

    def record(
        self,
        run: Run,
        step: int,
        taken: StepTaken | None,
        watch: FeatureWatch,
        metrics: dict[str, Floats],
    ) -> None:
        """Add what there is to see after a step; errors are those of the first penalty."""
        gradient = None if taken is None else taken.gradient
        first = run.first if step else run.layers.first
        lines = self._directions, self._line
        self.records.append(
            StepRecord(
                step,
                None if taken is None else taken.learning_rate,
                run.low_degree(max(step, 1)).method,
                None if gradient is None else align(gradient, *lines),
                align(first, *lines),
                None if gradient is None else _singular(matrix_spectrum(gradient)),
                None if self._change is None else _singular(self._change),
                _spikes(self.instance.problem, self._change, watch.spectrum()),
                float(metrics["train_mse"][0]),
                float(metrics["test_mse"][0]),
            )
        )

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
    activation = functions.get_activation(problem.network.activation)
    predicted = predicted_spikes(exponent or 0.0, activation)
    seen = features.spectrum
    return FeatureSpikes(exponent, predicted, seen.count, seen.values, seen.edge, features.overlaps)
