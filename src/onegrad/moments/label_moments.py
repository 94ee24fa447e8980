"""Correlations of a model's features with the label under one component, E[φ_i y].

With Hermite coefficients â_l of the features and ĝ_l of the label (Mehler), r_i the correlation of
the neuron with the teacher's projection,

    E[φ_i y] = Σ_l â_l,i ĝ_l r_i^l,

part by part for sums of teachers; for products and staircases in `joint_series.py`.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from onegrad.calculus.joint_expectations import MOST_ORDERS, orders_for
from onegrad.data.joint_teacher import JointTeacher
from onegrad.data.teacher import Teacher
from onegrad.data.teacher_sum import TeacherSum, is_linear
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law
from onegrad.moments.joint_series import joint_label_moments
from onegrad.moments.pairs import spike_loadings


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
        return feature_map.coefficients(law, 0)[0] * teacher.coefficients(law.gaussian, 0)[0]
    if rank > 1:
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
    feature_map: FeatureMap, law: Law, first_layer: Floats, teacher: Teacher
) -> Floats:
    """Return Σ_l â_l,i ĝ_l r_i^l, or its closed form."""
    correlation = law.target[:, 0] / law.deviations
    link = teacher.link
    if link is not None and link is feature_map.pair_function and link.pair and law.centred:
        deviation = float(np.sqrt(teacher.projected_variance(law.gaussian)))
        return link.pair(correlation, law.deviations, np.full(len(correlation), deviation))
    if feature_map.degree is None:
        order = _orders(float(np.max(np.abs(correlation))))
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
    return _linear_off_spikes(law, first_layer, teacher, basis, products)


def _orders(largest: float) -> int:
    """Return as many orders as the largest correlation needs; warn where there are too few."""
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
