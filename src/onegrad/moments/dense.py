"""Population moments of a model's features on a mixture: Ω = E φφᵀ, ψ = E φy, E y² (φ over √k).

From them follow the errors of ridge regression without training anything (`theory`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.data.mixture import Mixture
from onegrad.data.teachers import Teacher
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap, preactivation_laws
from onegrad.moments.label_moments import label_moments
from onegrad.moments.pairs import Series, closed_pairs, pair_covariances, powers

ROWS, COLUMNS = 128, 256  # of a block of pairs: a few of them fit the cache
# Of the largest E φ², per pair: theory has errors of its own far above it.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Moments:
    """Ω (k × k), ψ (k) and E y², with features divided by √k."""

    covariance: Floats
    label: Floats
    label_power: float


def population_moments(
    mixture: Mixture, teacher: Teacher, first_layer: Floats, feature_map: FeatureMap
) -> Moments:
    """Return the exact moments of a model's features, in float64.

    E[φ_i φ_j] = Σ_c ρ_c Σ_l â_l,i â_l,j R_ij^l/k for i ≠ j, with the exact E φ_i² on the diagonal
    and the model's noise variance added to it.
    """
    wide = first_layer.astype(np.float64, copy=False)
    k = len(wide)
    laws = preactivation_laws(mixture, teacher, wide)
    products = wide @ wide.T
    omega = np.zeros((k, k))
    for law in laws:
        series = Series(feature_map, law, tolerance=TOLERANCE)
        _add_component(omega, products, series, law.gaussian.weight)
    _mirror(omega)
    diagonal, psi, power = np.full(k, feature_map.noise_variance), np.zeros(k), 0.0
    for law in laws:
        weight = law.gaussian.weight
        diagonal += weight * feature_map.second_moment(law)
        psi += weight * label_moments(feature_map, law, wide, teacher)
        power += weight * teacher.second_moment(law.gaussian)
    omega[np.diag_indices(k)] = diagonal
    omega /= k
    return Moments(omega, psi / np.sqrt(k), power)


def _mirror(omega: Floats) -> None:
    """Copy the entries above the diagonal below it, block by block."""
    k = len(omega)
    for top in range(0, k, ROWS):
        bottom = min(top + ROWS, k)
        square = omega[top:bottom, top:bottom]
        square[:] = np.triu(square) + np.triu(square, 1).T
        omega[bottom:, top:bottom] = omega[top:bottom, bottom:].T


def _add_component(omega: Floats, products: Floats, series: Series, weight: float) -> None:
    """Add ρ_c Σ_l â_l,i â_l,j R_ij^l to Ω above its diagonal, in blocks that stay in the cache."""
    k = len(omega)
    for top in range(0, k, ROWS):
        rows = slice(top, min(top + ROWS, k))
        places = np.arange(rows.stop - top)
        for left in range(top, k, COLUMNS):
            columns = slice(left, min(left + COLUMNS, k))
            own = (places, places) if left == top else None
            block = _block(series, products[rows, columns], rows, columns, own)
            block *= weight
            omega[rows, columns] += block
    series.warn_if_truncated()


def _block(
    series: Series,
    products: Floats,
    rows: slice,
    columns: slice,
    own: tuple[NDArray[np.integer], NDArray[np.integer]] | None,
) -> Floats:
    """Return Σ_l â_l,i â_l,j R_ij^l for a block of pairs; the places `own` are to be ignored.

    Pairs of a neuron with itself have correlation 1: left in, they would call for every degree.
    """
    law = series.law
    correlation = pair_covariances(products, law.gaussian.level, law.loadings, rows, columns)
    correlation /= law.deviations[rows, None]
    correlation /= law.deviations[columns]
    if own is not None:
        correlation[own] = 0
    square = correlation * correlation
    orders = series.orders_needed(float(np.sqrt(np.max(square, initial=0.0))))
    a = series.coefficients
    block = a[1, rows, None] * correlation
    block *= a[1, columns]
    block += np.outer(a[0, rows], a[0, columns])
    if series.closed(orders):
        block += closed_pairs(series, correlation, rows, columns)
        return block
    term = np.empty_like(square)
    for q, power in powers(correlation, square, series.active(orders)):
        np.multiply(power, a[q, rows, None], out=term)
        term *= a[q, columns]
        block += term
    return block
