"""The errors of models without draws: types, features, equivalent, response.

Many curves and models are solved together: their matrices are small, so that the time
is that of calls, not of arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from onegrad.calculus.expectations import HermiteExpansion, expand
from onegrad.calculus.function import Function
from onegrad.calculus.losses import get_loss
from onegrad.calculus.prediction import Prediction
from onegrad.closed.convex import ReadoutLoss, convex_errors, labels_of_types
from onegrad.closed.equivalent import Equations
from onegrad.closed.feature_grid import FeatureGrid, GridStack, feature_grid
from onegrad.closed.label_law import LabelMoments
from onegrad.closed.nodes import LOSS_NODES, SamplePoints, sample_points
from onegrad.closed.reliability import ClosedIndicators, LossReliability, PointIndicators
from onegrad.closed.response import PointErrors, point_errors, wrong_signs
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.step import NeuronTypes, trained, untrained
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats

Layer = Literal["initial", "trained"]
Measured = tuple[dict[str, Floats], list[ClosedIndicators]]  # at every point of a curve

MOST_ENTRIES = 4_000_000  # of sample and neuron types, of the points that are solved together
FEW_POINTS = 3  # of one grid, up to which it is repeated beside others


@dataclass(frozen=True)
class LayerTypes:
    """Types of neurons and of samples, and what is known of the samples' labels."""

    neurons: NeuronTypes
    samples: SamplePoints
    label: LabelMoments


@dataclass(frozen=True)
class ClosedTheory:
    """All that models of one setting share: the laws of F before and after the step."""

    setting: ClosedSetting
    _grids: dict[tuple[int | None, Layer], FeatureGrid] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _trained(self) -> LayerTypes:
        return self._with_samples(trained(self.setting))

    @cached_property
    def _initial(self) -> LayerTypes:
        return self._with_samples(untrained(self.setting))

    def _with_samples(self, types: NeuronTypes) -> LayerTypes:
        setting, law, frame = self.setting, self.setting.law, types.frame
        samples = sample_points(
            frame,
            law,
            types.load,
            types.bulk_variance,
            setting.most_readout_samples,
            wanted=0 if setting.loss == "square" else LOSS_NODES,
        )
        deviation = frame.reads_off * np.sqrt(samples.level)
        label = law.moments(samples.centres(frame), deviation, samples.labels(frame))
        return LayerTypes(types, samples, label)

    def types(self, layer: Layer = "trained") -> LayerTypes:
        """Return the types of neurons and of samples, before or after the step."""
        return self._initial if layer == "initial" else self._trained

    def grid(self, *, degree: int | None = None, layer: Layer = "trained") -> FeatureGrid:
        """Return the features of a model: a Hermite one of this degree, or the network."""
        if (degree, layer) not in self._grids:
            setting = self.setting
            types = self.types(layer)
            sigma = setting.activation
            model = sigma if degree is None else _polynomial(sigma, setting.bulk_deviation, degree)
            self._grids[degree, layer] = feature_grid(
                types.samples, types.neurons, types.label, model, draft=setting.draft
            )
        return self._grids[degree, layer]


@functools.lru_cache(maxsize=256)
def _polynomial(sigma: Function, deviation: float, degree: int) -> HermiteExpansion:
    """Return the Hermite expansion, which many points of a curve share."""
    return expand(sigma, deviation, degree=degree)


@dataclass(frozen=True)
class ModelCurve:
    """One model of one setting along points (m, λ), with an entry of both arrays for each."""

    theory: ClosedTheory
    samples: Floats
    ridges: Floats
    degree: int | None = None
    layer: Layer = "trained"
    random_overlap: float = 0.0

    @property
    def grid(self) -> FeatureGrid:
        """The model's features."""
        return self.theory.grid(degree=self.degree, layer=self.layer)

    @property
    def points(self) -> int:
        """The number of points."""
        return len(self.samples)

    @property
    def entries(self) -> int:
        """Sample types times neuron types of all points."""
        return self.grid.own.size * self.points

    @property
    def shape(self) -> tuple[int, ...]:
        """What grids that are solved together have in common."""
        return (*self.grid.own.shape, int(self.grid.part.max()), self.theory.setting.exact_counts)

    def measured(self, errors: PointErrors, indicators: PointIndicators) -> Measured:
        """Return the metrics of the square loss and all indicators."""
        setting, types = self.theory.setting, self.theory.types(self.layer)
        rates = {}
        if setting.binary:
            wrong = wrong_signs(errors, types.neurons.frame, types.samples, setting.law)
            rates = {
                "misclassification": wrong.misclassification,
                "train_misclassification": wrong.train_misclassification,
            }
        train, norm = errors.train_mse, errors.norm
        metrics = {
            "test_mse": errors.test_mse,
            "train_mse": train,
            "objective": 0.5 * train + 0.5 * self.ridges * norm,
            "squared_weight_norm": norm,
            **rates,
        }
        return metrics, self._indicators(indicators)

    def measured_by_convex_loss(self) -> Measured:
        """Return the metrics of another loss than the square and all indicators."""
        setting, types = self.theory.setting, self.theory.types(self.layer)
        labels = labels_of_types(
            setting.law, types.neurons.frame, types.samples, types.label, binary=setting.binary
        )
        readout = ReadoutLoss(labels, get_loss(setting.loss), setting.exact_counts)
        equations = Equations.of(self.grid, setting.neurons)
        errors = convex_errors(equations, readout, self.samples, self.ridges)
        return errors.metrics, self._indicators(errors.indicators, errors.losses)

    def _indicators(
        self, points: PointIndicators, losses: Sequence[LossReliability] | None = None
    ) -> list[ClosedIndicators]:
        setting, types = self.theory.setting, self.theory.types(self.layer)
        return [
            ClosedIndicators(
                amplification=float(points.amplification[i]),
                size=1 / min(setting.dimension, setting.neurons, float(count)),
                step_noise=types.neurons.step_noise,
                modes=float(points.modes[i]),
                spread=float(points.spread[i]),
                step_ratio=setting.step_samples / setting.dimension,
                coarse=types.neurons.coarse or types.samples.coarse,
                random_overlap=self.random_overlap,
                loss=None if losses is None else losses[i],
            )
            for i, count in enumerate(self.samples)
        ]


def solve(curves: Sequence[ModelCurve]) -> list[list[Prediction]]:
    """Return the predictions at every point of every curve."""
    predictions = []
    for metrics, indicators in measured(curves):
        rows = zip(*(values.tolist() for values in metrics.values()), strict=True)
        predictions.append(
            [
                own.predicted(dict(zip(metrics, row, strict=True)))
                for own, row in zip(indicators, rows, strict=True)
            ]
        )
    return predictions


def measured(curves: Sequence[ModelCurve]) -> list[Measured]:
    """Return metrics and indicators of every curve; grids of one shape are solved together."""
    found: dict[int, Measured] = {}
    for places in _groups(curves):
        part = [curves[place] for place in places]
        found |= zip(places, _solved_together(part), strict=True)
    return [found[place] for place in range(len(curves))]


def _groups(curves: Sequence[ModelCurve]) -> list[list[int]]:
    """Return which curves are solved together: a few points each, of one shape, not too many."""
    groups: list[list[int]] = []
    open_groups: dict[tuple[int, ...], tuple[list[int], int]] = {}
    for place, curve in enumerate(curves):
        if curve.points > FEW_POINTS or curve.theory.setting.loss != "square":
            groups.append([place])
            continue
        group, entries = open_groups.get(curve.shape, ([], 0))
        if not group or entries + curve.entries > MOST_ENTRIES:
            group, entries = [], 0
            groups.append(group)
        group.append(place)
        open_groups[curve.shape] = group, entries + curve.entries
    return groups


def _solved_together(curves: Sequence[ModelCurve]) -> list[Measured]:
    """Return metrics and indicators of curves whose grids have one shape."""
    if len(curves) == 1:
        return [_solved_alone(curves[0])]
    counts = [curve.points for curve in curves]
    owners = np.repeat(np.arange(len(curves)), counts)
    grids = [curve.grid for curve in curves]
    neurons = [curve.theory.setting.neurons for curve in curves]
    equations = Equations(GridStack.of(grids, neurons))
    if max(counts) > 1:
        equations = equations.chosen(owners)
    samples = np.concatenate([curve.samples for curve in curves])
    ridges = np.concatenate([curve.ridges for curve in curves])
    exact = curves[0].theory.setting.exact_counts
    try:
        errors, indicators = _errors(equations, samples, ridges, exact_counts=exact)
    except NotConverged:  # at one of them, which alone raises it again
        return [_solved_alone(curve) for curve in curves]
    ends = np.cumsum(counts).tolist()
    rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return [
        curve.measured(errors.chosen(own), indicators.chosen(own))
        for curve, own in zip(curves, rows, strict=True)
    ]


def _solved_alone(curve: ModelCurve) -> Measured:
    """Return metrics and indicators of one curve, in parts if it has very many points."""
    setting = curve.theory.setting
    if setting.loss != "square":
        return curve.measured_by_convex_loss()
    equations = Equations.of(curve.grid, setting.neurons)
    together = max(1, MOST_ENTRIES // curve.grid.own.size)
    parts = []
    for start in range(0, curve.points, together):
        own = slice(start, start + together)
        piece = replace(curve, samples=curve.samples[own], ridges=curve.ridges[own])
        errors, indicators = _errors(
            equations, piece.samples, piece.ridges, exact_counts=setting.exact_counts
        )
        parts.append(piece.measured(errors, indicators))
    metrics = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
    return metrics, [own for _, each in parts for own in each]


def _errors(
    equations: Equations, samples: Floats, ridges: Floats, *, exact_counts: bool
) -> tuple[PointErrors, PointIndicators]:
    solution = equations.solve(samples, ridges)
    errors = point_errors(solution, exact_counts=exact_counts)
    return errors, PointIndicators.of(solution, errors.test_mse, errors.bias)
