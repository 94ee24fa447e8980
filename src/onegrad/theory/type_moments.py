"""The moments of types that share a covariance: of types on a grid, or of components as types.

Where spikes are too many for a grid, components are the types, and their moments are exact to all
degrees.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onegrad.calculus.type_labels import TypeLabels
from onegrad.data.mixture import Mixture
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law, preactivation_laws
from onegrad.moments.dense import population_moments
from onegrad.moments.label_moments import label_moments
from onegrad.theory.grid_types import Types
from onegrad.theory.shared_covariance import TypeMoments

SMALLEST_DIRECTION = 1e-6
CHECKED_ROWS = 64
LEAST_DIMENSION = 500
STRUCTURED_FROM = 1.2  # k/n from which the n×n reduction is tried first
# Left-out variance per row over d². Up to it, at n from 700, test errors move by .03 % at m = n,
# λ = 1e−4, and by at most .35 % for m from n/3 to 10n and λ from 1e−6 to .1, training errors by
# .9 %.
LARGEST_REMAINDER = 0.02


def grid_labels(types: list[Types], teacher: Teacher, *, binary: bool) -> TypeLabels:
    """Return the labels of all components' types."""
    weights = np.concatenate([own.weights for own in types])
    means = np.concatenate([own.label_mean for own in types])
    power = np.concatenate([own.label_power for own in types])
    counts = [len(own.weights) for own in types]
    centres = [own.centres for own in types if own.centres is not None]
    read = len(centres) == len(types)
    return TypeLabels(
        weights=weights,
        components=np.repeat(np.arange(float(len(types))), counts),
        means=means,
        variances=np.maximum(power - means**2, 0.0),
        binary=binary,
        noise=teacher.noise,
        centres=np.concatenate(centres) if read else None,
        deviations=np.repeat([own.deviation for own in types], counts) if read else None,
        teacher=teacher,
    )


def grid_moments(types: list[Types], labels: TypeLabels) -> TypeMoments:
    """Return the moments of all components' types, their covariances brought to one."""
    root = np.sqrt(types[0].rest.shape[1])
    structure = low_rank_covariance(types)
    covariance, level = (dense_covariance(types), None) if structure is None else structure
    rests = [np.sum(own.coefficients[2:] ** 2, axis=(0, 2)) + own.rest.sum(axis=1) for own in types]
    means = np.concatenate([own.coefficients[0] for own in types]) / root
    label = np.concatenate([own.label for own in types]) / root
    projections = [own.projection for own in types if own.projection is not None]
    return TypeMoments(
        labels=labels,
        means=means,
        traces=np.concatenate([feature_variances(own).mean(axis=1) for own in types]),
        rests=np.concatenate(rests) / root**2,
        covariance=covariance,
        label_cross=label - labels.means[:, None] * means,
        projection_cross=np.concatenate(projections) / root if projections else None,
        level=level,
    )


def feature_variances(types: Types) -> Floats:
    """Return Var(φ_i | t) of every type and neuron, T × k."""
    return np.sum(types.coefficients[1:] ** 2, axis=0) + types.rest


def unevenness(types: list[Types]) -> float:
    """Return how far types are from one covariance up to a factor, seen on its diagonal.

    The deviation of Var(φ_i | t)/τ_t from its mean over types, relative, weighted by p_tτ_t.
    """
    weights = np.concatenate([own.weights for own in types])
    variances = np.concatenate([feature_variances(own) for own in types])
    shared = weights @ variances
    factors = variances.sum(axis=1) / shared.sum()
    apart = np.sum((variances - factors[:, None] * shared) ** 2, axis=1)
    return float(np.sqrt(weights @ apart / np.sum(shared**2)))


def dense_covariance(types: list[Types]) -> Floats:
    """Return Σ̄ = Σ_t p_tΣ_t, k × k."""
    k = types[0].rest.shape[1]
    covariance = np.zeros((k, k), order="F")
    for own in types:
        p, a = own.weights, own.coefficients
        for q, power in enumerate(own.correlations, start=1):
            covariance += power * ((a[q].T * p) @ a[q])
        covariance[np.diag_indices(k)] += p @ own.rest
    return covariance / k


def low_rank_covariance(types: list[Types]) -> tuple[Floats, float] | None:
    """Return A and level of Σ̄ ≈ level·I + AAᵀ for wide networks, None where that does not hold.

    A has the bulk of degree 1, one column per component for degree 2, and few more rows of types.
    What is left out is measured on sampled rows.
    """
    k, n = types[0].rows.shape
    if n < LEAST_DIMENSION or k <= STRUCTURED_FROM * n:
        return None
    columns = [_bulk(types)]
    picked = np.sort(np.random.default_rng(0).choice(k, min(CHECKED_ROWS, k), replace=False))
    own = (np.arange(len(picked)), picked)
    exact = np.zeros((len(picked), k))
    diagonal = np.zeros(k)
    for part in types:
        p, a = part.weights, part.coefficients
        correlation = part.rows[picked] @ part.rows.T
        correlation[own] = 0
        exact += correlation * ((a[1][:, picked].T * p) @ a[1])
        exact += correlation**2 * ((a[2][:, picked].T * p) @ a[2])
        diagonal += p @ (np.sum(a[1:] ** 2, axis=0) + part.rest)
        mean_square = float(np.sum(correlation**2)) / (correlation.size - len(picked))
        _, sizes, right = np.linalg.svd(np.sqrt(p)[:, None] * a[2], full_matrices=False)
        columns.append((np.sqrt(mean_square) * sizes[0] * right[0])[:, None])
    factor = np.concatenate(columns, axis=1)
    left = diagonal - np.einsum("ij,ij->i", factor, factor)
    level = float(left.mean())
    exact -= factor[picked] @ factor.T
    exact[own] = left[picked] - level
    remainder = float(np.mean(np.sum(exact**2, axis=1))) / level**2 if level > 0 else np.inf
    if remainder > LARGEST_REMAINDER:
        return None
    return factor / np.sqrt(k), level / k


def _bulk(types: list[Types]) -> Floats:
    """Return the columns of degree 1: ᾱ ∘ F̂ off all conditioned directions, and along each.

    A component is conditioned on its own directions alone: along those of the others its features
    have columns of their own.
    """
    k = types[0].rows.shape[0]
    union, sizes, _ = np.linalg.svd(
        np.concatenate([part.basis for part in types], axis=1), full_matrices=False
    )
    union = union[:, sizes > SMALLEST_DIRECTION]
    power, signed, columns = np.zeros(k), np.zeros(k), []
    for part in types:
        p, slopes = part.weights, part.coefficients[1]
        power += p @ slopes**2
        signed += p @ slopes
        along = part.rows @ union
        _, values, right = np.linalg.svd(np.sqrt(p)[:, None] * slopes, full_matrices=False)
        columns.append((values[0] * right[0])[:, None] * along)
    first = types[0].rows - (types[0].rows @ union) @ union.T
    common = (np.sqrt(power) * np.sign(signed))[:, None] * first
    return np.concatenate([common, *columns], axis=1)


def component_moments(
    mixture: Mixture,
    teacher: Teacher,
    first_layer: Floats,
    feature_map: FeatureMap,
    *,
    binary: bool,
) -> TypeMoments:
    """Return the moments of components as types."""
    wide = first_layer.astype(np.float64, copy=False)
    whole = population_moments(mixture, teacher, wide, feature_map)
    laws = preactivation_laws(mixture, teacher, wide)
    k = len(wide)
    weights = np.array([law.gaussian.weight for law in laws])
    coefficients = np.array([feature_map.coefficients(law, 1) for law in laws]) / np.sqrt(k)
    means, slopes = coefficients[:, 0], coefficients[:, 1]
    noise = feature_map.noise_variance
    powers = [np.sum(feature_map.second_moment(law) + noise) / k for law in laws]
    traces = np.array(powers) - np.sum(means**2, axis=1)
    label = np.array([label_moments(feature_map, law, wide, teacher) for law in laws]) / np.sqrt(k)
    label_means = np.array([teacher.linear_part(law.gaussian)[0] for law in laws])
    power = np.array([teacher.second_moment(law.gaussian) for law in laws])
    covariance = whole.covariance - (means.T * weights) @ means
    labels = TypeLabels(
        weights=weights,
        components=np.arange(len(laws), dtype=float),
        means=label_means,
        variances=np.maximum(power - label_means**2, 0.0),
        binary=binary,
        noise=teacher.noise,
        teacher=teacher,
    )
    read = _projections(laws, teacher, feature_map) if teacher.directions.shape[1] == 1 else None
    if read is not None:
        labels = replace(labels, centres=read[0], deviations=read[1])
    return TypeMoments(
        labels=labels,
        means=means,
        traces=traces,
        rests=np.maximum(traces - np.sum(slopes**2, axis=1), 0.0),
        covariance=np.asfortranarray(covariance),
        label_cross=label - label_means[:, None] * means,
        projection_cross=None if read is None else read[2] / np.sqrt(k),
    )


def _projections(
    laws: list[Law], teacher: Teacher, feature_map: FeatureMap
) -> tuple[Floats, Floats, Floats]:
    """Return mean and deviation of s = ξᵀx in every component, and Cov(φ, s) by Stein's lemma."""
    xi = teacher.directions[:, 0]
    means = [0.0 if law.gaussian.mean is None else float(xi @ law.gaussian.mean) for law in laws]
    deviations = [np.sqrt(teacher.projected_variance(law.gaussian)) for law in laws]
    cross = []
    for law, deviation in zip(laws, deviations, strict=True):
        slope = feature_map.coefficients(law, 1)[1]  # a_1, beside a standardised pre-activation
        cross.append(slope * law.target[:, 0] / law.deviations * deviation)
    return np.array(means), np.array(deviations), np.array(cross)
