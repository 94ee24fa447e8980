"""Exact test errors from population moments: no test set, no noise, and never Ω itself.

For φ = features/√k, ψ = E φy and Ω = E φφᵀ the test MSE of any readout ŵ is

    E y² − 2 ŵᵀψ + ŵᵀΩŵ.

Under one component, with Hermite coefficients â_l of the features and ĝ_l of the label (Mehler):

    E[φ_i φ_j] = Σ_l â_l,i â_l,j R_ij^l / k  (i ≠ j),     E[φ_i y] = Σ_l â_l,i ĝ_l r_i^l / √k.

Degrees 0 and 1 of the quadratic form cost O(kn); the others are summed in `pairs.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law, preactivation_laws
from onegrad.moments.pairs import PairSum, pair_sums, spike_loadings

LABEL_ORDER = 200  # more orders of the label's series than any correlation needs


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


def label_moments(
    feature_map: FeatureMap, law: Law, first_layer: Floats, teacher: Teacher
) -> Floats:
    """Return E[φ_i y] (features not divided by √k) under one component, shape (k,)."""
    if law.target.shape[1] == 0:
        moments: Floats = (
            feature_map.coefficients(law, 0)[0] * teacher.coefficients(law.gaussian, 0)[0]
        )
        return moments
    correlation = law.target[:, 0] / law.deviations
    link = teacher.link
    if link is not None and link is feature_map.pair_function and link.pair and law.centred:
        deviation = float(np.sqrt(teacher.projected_variance(law.gaussian)))
        return link.pair(correlation, law.deviations, np.full(len(correlation), deviation))
    if feature_map.degree is None:
        order = _orders_for(float(np.max(np.abs(correlation))))
    else:
        order = max(feature_map.degree, 1)  # polynomials have no coefficients beyond their degree
    products = (
        feature_map.coefficients(law, order) * teacher.coefficients(law.gaussian, order)[:, None]
    )
    basis = feature_map.basis(law.component)
    if basis is None:
        total: Floats = products[order].copy()
        for degree in range(order - 1, -1, -1):  # Horner in the correlation
            total = total * correlation + products[degree]
        return total
    return _label_moments_linear_off_spikes(law, first_layer, teacher, basis, products)


def _orders_for(largest: float) -> int:
    """Return the order beyond which largest^l is below 1e−13, at most LABEL_ORDER."""
    if largest < 1e-12:
        return 2
    if largest > 0.97:  # 0.97^200 is 2e−3, and the coefficients are small too
        warnings.warn(
            f"exact moments: a neuron has correlation {largest:.3f} with the teacher, "
            f"{LABEL_ORDER} orders may not suffice; compare with test='sampled'",
            stacklevel=2,
        )
        return LABEL_ORDER
    return int(min(LABEL_ORDER, max(2, np.ceil(np.log(1e-13) / np.log(largest)))))


def _label_moments_linear_off_spikes(
    law: Law, first_layer: Floats, teacher: Teacher, basis: Floats, products: Floats
) -> Floats:
    """Return E[φ̂_i y] where φ̂ is linear in the part of x off the spikes.

    With r_i = ρ_i + β_i (spike and remaining part): Σ_l â_l ĝ_l (ρ^l + l ρ^{l−1} β).
    """
    xi = teacher.directions[:, 0]
    loadings, spread = spike_loadings(law, first_layer, basis)
    deviation = np.sqrt(xi @ law.gaussian.covariance_times(xi[:, None])[:, 0])
    scale = law.deviations * deviation
    spike = loadings @ (np.sqrt(spread) * (basis.T @ xi)) / scale
    rest = law.gaussian.level * (first_layer @ xi - (first_layer @ basis) @ (basis.T @ xi)) / scale
    total = products[0].copy()
    for degree in range(1, len(products)):
        total += products[degree] * (spike**degree + degree * spike ** (degree - 1) * rest)
    return total
