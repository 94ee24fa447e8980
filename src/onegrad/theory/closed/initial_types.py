"""Types of neurons before the step, and what every neuron sees of the step's batch.

With ς_q = E[σ^{(q)}(s·κ + √(l N) fr z)] for the initial row's part s in S and a sample's place κ.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onegrad.calculus.expectation_rows import slope_of, smoothed_derivatives, smoothed_square
from onegrad.describe.arrays import Floats
from onegrad.theory.closed.label_law import LabelMoments
from onegrad.theory.closed.sample_points import SamplePoints, sample_points
from onegrad.theory.closed.setting import ClosedSetting
from onegrad.theory.closed.type_coordinates import Coordinate
from onegrad.theory.closed.type_rules import joint_rule

KEPT = 64  # features that serve other step sizes and widths, of some hundred kilobytes each


@dataclass(frozen=True)
class InitialTypes:
    """Parts s (types × d) of rows of F in S, in units of an entry's deviation, and weights."""

    places: Floats
    weights: Floats
    coarse: bool
    fewer: bool  # whether more nodes were wanted


def spike_coordinates(setting: ClosedSetting) -> list[Coordinate]:
    """Return the coordinates s_γ of an initial row, stronger where inputs spread more."""
    frame = setting.frame
    bulk = np.sqrt(frame.bulk * frame.level)
    return [
        Coordinate(
            float(np.sqrt(max(part.covariance[j, j] + part.mean[j] ** 2 for part in frame.parts)))
            / bulk
        )
        for j in range(frame.size)
    ]


def initial_types(setting: ClosedSetting, most: int) -> InitialTypes:
    """Return s/fr ~ N(0, I) on a grid of about `most` nodes at the most."""
    coordinates = spike_coordinates(setting)
    rule = joint_rule(coordinates, most)
    fewer = float(np.prod([float(c.total) for c in coordinates])) > most
    return InitialTypes(rule.nodes, rule.weights, rule.coarse, fewer)


@dataclass(frozen=True)
class InitialFeatures:
    """ς_1, ς_2, ς_3, E σ'² over samples × neurons, and means over neurons."""

    samples: SamplePoints
    label: LabelMoments  # of the residual r of the step
    square: Floats  # E[r² | s]
    residuals: tuple[Floats, Floats]  # values of r and their weights, for the batch's spectrum
    first: Floats  # ς_1
    second: Floats  # ς_2
    slope_square: Floats  # E σ'²
    mean_first: Floats  # ς̄_1, over neurons
    mean_second: Floats
    mean_third: Floats
    mean_slope_square: Floats


def initial_features(setting: ClosedSetting, types: InitialTypes) -> InitialFeatures:
    """Return what the step averages over its batch.

    The residual is r = y − ŷ. Where the second layer has random signs, ŷ adds E σ²/k to E r²; where
    it is constant, ŷ is the mean feature E_t σ, and r is y less it.
    """
    features = _features(_Batch(setting, types))
    if setting.second_layer == "constant":
        return features
    return replace(features, square=features.label(2) + features.square / setting.neurons)


@dataclass(frozen=True, eq=False)
class _Batch:
    """What the features depend on: neither the step's size nor the number of neurons."""

    setting: ClosedSetting
    types: InitialTypes

    @cached_property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        setting, types = self.setting, self.types
        numbers = setting.row_variance, setting.most_samples, setting.second_layer == "constant"
        arrays = types.places.tobytes(), types.weights.tobytes()
        return setting.frame.key, setting.law, setting.activation, *numbers, *arrays

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Batch) and self.key == other.key


@functools.lru_cache(maxsize=KEPT)
def _features(batch: _Batch) -> InitialFeatures:
    """Return the features; `square` is E σ² averaged over neurons, but E r² of constant layers."""
    setting, types = batch.setting, batch.types
    frame, law, sigma = setting.frame, setting.law, setting.activation
    n, entry = frame.bulk, setting.entry
    samples = sample_points(
        frame,
        law,
        setting.row_variance * np.eye(frame.size),
        n * setting.row_variance,
        setting.most_samples,
    )
    means = samples.points @ (entry * types.places).T
    deviations = np.sqrt(samples.level * n)[:, None] * entry
    smooth = smoothed_derivatives(sigma, means, deviations, 3)
    where = (
        samples.centres(frame),
        frame.reads_off * np.sqrt(samples.level),
        samples.labels(frame),
    )
    label = law.moments(*where)
    values, shares = law.outcomes(*where)
    weights = types.weights
    if setting.second_layer == "constant":
        mean = smooth[0] @ weights
        label, values = label.less(mean), values - mean[:, None]
        square = label(2)
    else:
        square = smoothed_square(sigma, means, deviations) @ weights
    slope_square = smoothed_square(slope_of(sigma), means, deviations)
    return InitialFeatures(
        samples,
        label,
        square,
        (values, samples.weights[:, None] * shares),
        smooth[1],
        smooth[2],
        slope_square,
        smooth[1] @ weights,
        smooth[2] @ weights,
        smooth[3] @ weights,
        slope_square @ weights,
    )
