"""Exact test errors from population moments: no test set, no noise, and never Ω itself.

For φ = features/√k, ψ = E φy and Ω = E φφᵀ the test MSE of any readout ŵ is

    E y² − 2 ŵᵀψ + ŵᵀΩŵ.

Under one component, with Hermite coefficients â_l of the features (Mehler):

    E[φ_i φ_j] = Σ_l â_l,i â_l,j R_ij^l / k  (i ≠ j).

Degrees 0 and 1 of the quadratic form cost O(kn); the others are summed in `pairs.py`. E φy is in
`label_moments.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import preactivation_laws
from onegrad.moments.label_moments import label_moments
from onegrad.moments.pairs import PairSum, pair_sums


def exact_test_mse(
    mixture: Mixture,
    teacher: Teacher,
    first_layer: Floats,
    *,
    models: Sequence[tuple[FeatureMap, Floats]],
) -> list[Floats]:
    """Return the exact test MSE of each (feature map, weights k × penalties), one per penalty."""
    wide = first_layer.astype(np.float64, copy=False)
    laws = preactivation_laws(mixture, teacher, wide)
    sums = [PairSum(feature_map, law, weights) for feature_map, weights in models for law in laws]
    higher = iter(pair_sums(first_layer, sums))
    results = []
    for feature_map, weights in models:
        noise = feature_map.noise_variance * np.sum(weights**2, axis=0) / len(weights)
        total = np.array(noise)
        low = [feature_map.coefficients(law, 1) for law in laws]
        # Degree 1 of all components from one pass over F̂: columns Σ_i f̂_i ŵ_i â_1,i/s_i.
        columns = [
            (a[1] / law.deviations)[:, None] * weights for a, law in zip(low, laws, strict=True)
        ]
        directions = np.split(wide.T @ np.concatenate(columns, axis=1), len(laws), axis=1)
        for law, (constant, linear), direction in zip(laws, low, directions, strict=True):
            spread = law.gaussian.covariance_times(direction)
            zeroth, first = (constant @ weights) ** 2, np.sum(direction * spread, axis=0)
            rest = np.maximum(feature_map.second_moment(law) - constant**2 - linear**2, 0.0)
            quadratic = zeroth + first + rest @ weights**2 + next(higher)
            cross = label_moments(feature_map, law, wide, teacher) @ weights
            error = teacher.second_moment(law.gaussian) - 2 * cross / np.sqrt(len(weights))
            total += law.gaussian.weight * (error + quadratic / len(weights))
        results.append(total)
    return results
