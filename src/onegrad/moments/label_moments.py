"""Moments E φy of features and labels under each component.

With Hermite coefficients â_l of the features and ĝ_l of the label (Mehler), r_i the correlation of
the neuron with the teacher's projection,

    E[φ_i y] = Σ_l â_l,i ĝ_l r_i^l,

part by part for sums of teachers.

Labels that several projections make together, as products and staircases, need a series in
multi-indices. With standardised pre-activations u_i and whitened projections ṽ,
E[H_q(u_i) H_α(ṽ)] = q! r_i^α for |α| = q, r_i the correlations of u_i with ṽ. So with â_q of the
features and c_α of the label

    E[φ_i y] = Σ_α c_α √(|α|!/α!) â_{|α|,i} r_i^α.

Degrees above D add at most |r_i|^{D+1} √(E φ_i² − Σ_{q≤D} â_q²) √(E y² − Σ_{|α|≤D} c_α²).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from onegrad.calculus.joint_expectations import MOST_ORDERS, multi_indices, orders_for
from onegrad.data.joint_teachers import JointTeacher, TeacherSum, is_linear
from onegrad.data.teachers import (
    OneProjection,
    Teacher,
    projection_coefficients,
    reads_one_projection,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap, Law
from onegrad.moments.pairs import spike_loadings

FIRST_DEGREE = 8
MOST_INDICES = 50_000
BLOCK = 2048  # multi-indices at a time
TOLERANCE = 1e-9  # of √(E φ² E y²)
LARGEST_REMAINDER = 1e-4  # the same; above it there is a warning


def label_moments(
    feature_map: FeatureMap, law: Law, first_layer: Floats, teacher: Teacher
) -> Floats:
    """Return E[φ_i y] (features not divided by √k) under one component, shape (k,)."""
    if isinstance(teacher, TeacherSum):
        total: Floats = teacher.total_constant * feature_map.coefficients(law, 0)[0]
        for term in teacher.terms:
            own = replace(law, target=law.target[:, term.columns])
            if is_linear(term.teacher):
                moments = _of_linear(feature_map, own, term.teacher)
            else:
                moments = label_moments(feature_map, own, first_layer, term.teacher)
            total += term.weight * moments
        return total
    if isinstance(teacher, JointTeacher):
        return joint_label_moments(feature_map, law, teacher)
    rank = law.target.shape[1]
    if rank == 0:
        return feature_map.coefficients(law, 0)[0] * teacher.linear_part(law.gaussian)[0]
    if not reads_one_projection(teacher):
        raise InvalidInput(
            f"teacher: exact moments do not know a {type(teacher).__name__} of {rank} directions; "
            "use test='sampled'"
        )
    return _of_one_direction(feature_map, law, first_layer, teacher)


def _of_linear(feature_map: FeatureMap, law: Law, teacher: Teacher) -> Floats:
    """Return â_0,i E[y] + â_1,i Cov(u_i, y)/s_i for labels that are linear in x or constant."""
    constant, linear = feature_map.coefficients(law, 1)
    mean, slope = teacher.linear_part(law.gaussian)
    spread = teacher.directions * law.gaussian.covariance_times(teacher.directions)
    covariances = law.target @ (np.sqrt(np.sum(spread, axis=0)) * slope)
    return constant * mean + linear * covariances / law.deviations


def _of_one_direction(
    feature_map: FeatureMap, law: Law, first_layer: Floats, teacher: OneProjection
) -> Floats:
    """Return Σ_l â_l,i ĝ_l r_i^l, or its closed form."""
    correlation = law.target[:, 0] / law.deviations
    link = teacher.link
    if link is not None and link is feature_map.pair_function and link.pair and law.centred:
        deviation = float(np.sqrt(law.gaussian.projected_variance(teacher.directions)))
        return link.pair(correlation, law.deviations, np.full(len(correlation), deviation))
    if feature_map.degree is None:
        order = _orders(float(np.max(np.abs(correlation))))
    else:
        order = max(feature_map.degree, 1)  # polynomials have no coefficients beyond their degree
    products = (
        feature_map.coefficients(law, order)
        * projection_coefficients(teacher, law.gaussian, order)[:, None]
    )
    basis = feature_map.basis(law.component)
    if basis is None:
        total: Floats = products[order].copy()
        for degree in range(order - 1, -1, -1):  # Horner in the correlation
            total = total * correlation + products[degree]
        return total
    return _linear_off_spikes(law, first_layer, teacher, basis, products)


def _orders(largest: float) -> int:
    """Return as many orders as the largest correlation needs; warn if there are too few."""
    if largest > 0.97:  # 0.97^200 is 2e−3, and the coefficients are small too
        warnings.warn(
            f"exact moments: a neuron has correlation {largest:.3f} with the teacher, "
            f"{MOST_ORDERS} orders may not suffice; compare with test='sampled'",
            stacklevel=2,
        )
    return orders_for(largest)


def _linear_off_spikes(
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
