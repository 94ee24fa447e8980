"""The types of a first layer and a model: on a grid of strong directions, or one per component.

On a grid, a type is a component and the coordinates of its spikes and of the step; what is left of
the features has small correlations, so that degrees up to 2 suffice. Where spikes are too many for
a grid, components are the types, and their moments are exact to all degrees.
"""

from __future__ import annotations

import numpy as np

from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import preactivation_laws
from onegrad.moments.dense import population_moments
from onegrad.moments.label_moments import label_moments
from onegrad.theory.full_types import Types, all_types
from onegrad.theory.spike_grid import MEDIUM_NODES, MOST_TYPES, STRONG_NODES, STRONG_RATIO
from onegrad.theory.structured import (
    CHECKED_ROWS,
    LARGEST_REMAINDER,
    LEAST_DIMENSION,
    STRUCTURED_FROM,
)
from onegrad.theory.type_algebra import TypeMoments

SMALLEST_DIRECTION = 1e-6


def type_moments(
    mixture: Mixture,
    teacher: Teacher,
    feature_map: FeatureMap,
    first_layer: Floats,
    *,
    initial: Floats,
) -> TypeMoments:
    """Return the moments on a grid, or of components where a grid would be too large.

    A teacher of several directions has components as types too: its moments are exact there.
    """
    if teacher.directions.shape[1] > 1 or not all(map(_fits_grid, mixture.components)):
        return component_moments(mixture, teacher, first_layer, feature_map)
    return grid_moments(all_types(mixture, teacher, feature_map, first_layer, initial=initial))


def _fits_grid(gaussian: Gaussian) -> bool:
    """Return whether spikes and step leave neurons something, on a grid of at most MOST_TYPES."""
    n, spikes = gaussian.directions.shape
    strong = int(np.sum(gaussian.strengths >= STRONG_RATIO * gaussian.level))
    count = (2 * STRONG_NODES) ** strong * (2 * MEDIUM_NODES) ** (spikes - strong + 1)
    return gaussian.weight == 0 or (spikes + 1 < n and count <= MOST_TYPES)


def grid_moments(types: list[Types]) -> TypeMoments:
    """Return the moments of all components' types, their covariances brought to one."""
    k = types[0].rest.shape[1]
    traces = [np.sum(np.sum(t.coefficients[1:] ** 2, axis=0) + t.rest, axis=1) for t in types]
    structure = low_rank_covariance(types)
    covariance, level = (dense_covariance(types), None) if structure is None else structure
    weights = np.concatenate([own.weights for own in types])
    sizes = np.concatenate(traces)
    means = np.concatenate([own.coefficients[0] for own in types]) / np.sqrt(k)
    label_means = np.concatenate([own.label_mean for own in types])
    power = np.concatenate([own.label_power for own in types])
    label = np.concatenate([own.label for own in types]) / np.sqrt(k)
    return TypeMoments(
        weights=weights,
        components=np.repeat(np.arange(float(len(types))), [len(own.weights) for own in types]),
        means=means,
        factors=sizes / (weights @ sizes),
        covariance=covariance,
        label_means=label_means,
        label_variances=np.maximum(power - label_means**2, 0.0),
        cross=label - label_means[:, None] * means,
        level=level,
    )


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
    mixture: Mixture, teacher: Teacher, first_layer: Floats, feature_map: FeatureMap
) -> TypeMoments:
    """Return the moments of components as types."""
    wide = first_layer.astype(np.float64, copy=False)
    whole = population_moments(mixture, teacher, wide, feature_map)
    laws = preactivation_laws(mixture, teacher, wide)
    k = len(wide)
    weights = np.array([law.gaussian.weight for law in laws])
    means = np.array([feature_map.coefficients(law, 0)[0] for law in laws]) / np.sqrt(k)
    noise = feature_map.noise_variance
    powers = [np.sum(feature_map.second_moment(law) + noise) / k for law in laws]
    sizes = np.array(powers) - np.sum(means**2, axis=1)
    label = np.array([label_moments(feature_map, law, wide, teacher) for law in laws]) / np.sqrt(k)
    label_means = np.array([teacher.linear_part(law.gaussian)[0] for law in laws])
    power = np.array([teacher.second_moment(law.gaussian) for law in laws])
    covariance = whole.covariance - (means.T * weights) @ means
    return TypeMoments(
        weights=weights,
        components=np.arange(len(laws), dtype=float),
        means=means,
        factors=sizes / (weights @ sizes),
        covariance=np.asfortranarray(covariance),
        label_means=label_means,
        label_variances=np.maximum(power - label_means**2, 0.0),
        cross=label - label_means[:, None] * means,
    )
