"""E[φ_i y] for labels that several projections make together, by a series in multi-indices.

With standardised pre-activations u_i and whitened projections ṽ, E[H_q(u_i) H_α(ṽ)] = q! r_i^α for
|α| = q, r_i the correlations of u_i with ṽ. So with â_q of the features and c_α of the label

    E[φ_i y] = Σ_α c_α √(|α|!/α!) â_{|α|,i} r_i^α.

What degrees above D add is at most |r_i|^{D+1} √(E φ_i² − Σ_{q≤D} â_q²) √(E y² − Σ_{|α|≤D} c_α²).
"""

from __future__ import annotations

import warnings
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from onegrad.calculus.joint_expectations import MOST_ORDERS, multi_indices
from onegrad.data.joint_teacher import JointTeacher
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law

FIRST_DEGREE = 8
MOST_INDICES = 50_000
BLOCK = 2048  # multi-indices at a time
TOLERANCE = 1e-9  # of √(E φ² E y²)
LARGEST_REMAINDER = 1e-4  # the same, above which a warning says so


def joint_label_moments(feature_map: FeatureMap, law: Law, teacher: JointTeacher) -> Floats:
    """Return E[φ_i y] under one component, to as high a degree as correlations call for."""
    if feature_map.basis(law.component) is not None:
        raise InvalidInput(
            "models='conditional': its exact test errors know teachers of one direction and sums "
            "of them; use test='sampled'"
        )
    correlations = _correlations(law, teacher)
    power = teacher.second_moment(law.gaussian) - teacher.noise**2
    most = _most_degree(len(teacher.links))
    degree = FIRST_DEGREE if feature_map.degree is None else max(feature_map.degree, 1)
    degree = min(degree, most)
    while True:
        indices = multi_indices(len(teacher.links), degree)
        label = teacher.joint_coefficients(law.gaussian, indices)
        features = feature_map.coefficients(law, degree)
        unseen = max(1 - float(np.sum(label**2)) / power, 0.0) if power > 0 else 0.0
        bound = _remainder(feature_map, law, correlations, features) * np.sqrt(unseen)
        if bound < TOLERANCE or degree == most:
            break
        degree = min(2 * degree, most)
    if bound > LARGEST_REMAINDER:
        warnings.warn(
            f"exact moments: neurons are so correlated with the teacher's directions that degrees "
            f"up to {degree} leave a relative error up to {bound:.1g}; compare with test='sampled'",
            stacklevel=2,
        )
    return _sum(features, label, indices, correlations)


def _correlations(law: Law, teacher: JointTeacher) -> Floats:
    """Return the correlations r_i of the neurons with the whitened projections, k × r."""
    factor = teacher.law(law.gaussian)[1]
    covariances = law.target * np.linalg.norm(factor, axis=1) / law.deviations[:, None]
    return solve_triangular(factor, covariances.T, lower=True).T


def _most_degree(rank: int) -> int:
    """Return the largest degree with at most MOST_INDICES multi-indices."""
    degree = 1
    while degree < MOST_ORDERS and comb(degree + 1 + rank, rank) <= MOST_INDICES:
        degree += 1
    return degree


def _remainder(feature_map: FeatureMap, law: Law, correlations: Floats, features: Floats) -> float:
    """Return the largest |r_i|^{D+1} √(E φ_i² − Σ_{q≤D} â_q²), beside the largest √E φ²."""
    degree = len(features) - 1
    if feature_map.degree is not None and feature_map.degree <= degree:
        return 0.0
    moments = feature_map.second_moment(law)
    scale = float(np.max(moments)) or 1.0
    tails = np.maximum(moments - np.sum(features**2, axis=0), 0.0) / scale
    sizes = np.minimum(np.linalg.norm(correlations, axis=1), 1.0) ** (degree + 1)
    return float(np.max(sizes * np.sqrt(tails)))


def _sum(
    features: Floats, label: Floats, indices: NDArray[np.intp], correlations: Floats
) -> Floats:
    """Return Σ_α c_α √(|α|!/α!) â_{|α|,i} r_i^α, degree by degree."""
    degrees = indices.sum(axis=1)
    weights = label * np.exp(0.5 * (gammaln(degrees + 1) - gammaln(indices + 1).sum(axis=1)))
    powers = correlations[:, :, None] ** np.arange(len(features))
    total = np.zeros(len(correlations))
    for degree, coefficients in enumerate(features):
        chosen = np.flatnonzero(degrees == degree)
        for start in range(0, len(chosen), BLOCK):
            block = chosen[start : start + BLOCK]
            terms = powers[:, 0, indices[block, 0]]
            for j in range(1, correlations.shape[1]):
                terms = terms * powers[:, j, indices[block, j]]
            total += coefficients * (terms @ weights[block])
    return total
