"""Population moments of a model's features on a mixture: Ω = E φφᵀ, ψ = E φy, E y² (φ over √k).

From them follow the errors of ridge regression without training anything (`theory`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.arrays import Floats
from onegrad.data.mixture import Mixture
from onegrad.data.teacher import Teacher
from onegrad.equivalents import FeatureMap
from onegrad.laws import Law, preactivation_laws
from onegrad.moments import label_moments
from onegrad.pairs import closed_pairs
from onegrad.series import Series

ROWS = 128


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
        _add_component(omega, products, Series(feature_map, law), law.gaussian.weight)
    diagonal, psi, power = single_moments(laws, teacher, wide, feature_map)
    omega[np.diag_indices(k)] = diagonal
    omega /= k
    return Moments(omega, psi / np.sqrt(k), power)


def single_moments(
    laws: list[Law], teacher: Teacher, first_layer: Floats, feature_map: FeatureMap
) -> tuple[Floats, Floats, float]:
    """Return E φ_i² with the model's noise, E φ_i y and E y² over the mixture, φ not over √k."""
    k = len(first_layer)
    diagonal, psi, power = np.full(k, feature_map.noise_variance), np.zeros(k), 0.0
    for law in laws:
        weight = law.gaussian.weight
        diagonal += weight * feature_map.second_moment(law)
        psi += weight * label_moments(feature_map, law, first_layer, teacher)
        power += weight * teacher.second_moment(law.gaussian)
    return diagonal, psi, power


def covariance_rows(first_layer: Floats, series: list[Series], rows: NDArray[np.integer]) -> Floats:
    """Return the chosen rows of kΩ, one series per component, with zeros on the diagonal."""
    total = np.zeros((len(rows), len(first_layer)))
    products = first_layer[rows] @ first_layer.T
    for one in series:
        total += one.law.gaussian.weight * _strip(one, products, rows)
    total[np.arange(len(rows)), rows] = 0
    return total


def _add_component(omega: Floats, products: Floats, series: Series, weight: float) -> None:
    """Add ρ_c Σ_l â_l,i â_l,j R_ij^l to Ω, in strips of rows; the diagonal is set elsewhere."""
    for start in range(0, len(omega), ROWS):
        rows = np.arange(start, min(start + ROWS, len(omega)))
        omega[rows] += weight * _strip(series, products[rows], rows)
    series.warn_if_truncated()


def _strip(series: Series, products: Floats, rows: NDArray[np.integer]) -> Floats:
    """Return Σ_l â_l,i â_l,j R_ij^l for some rows i and all j; the diagonal has degrees 0 and 1."""
    law = series.law
    correlation = law.gaussian.level * products + law.loadings[rows] @ law.loadings.T
    correlation /= law.deviations[rows, None]
    correlation /= law.deviations
    off = correlation.copy()
    off[np.arange(len(rows)), rows] = 0
    orders = series.orders_needed(float(np.max(np.abs(off), initial=0.0)))
    a = series.coefficients
    strip = np.outer(a[0, rows], a[0]) + np.outer(a[1, rows], a[1]) * correlation
    if series.closed(orders):
        return strip + closed_pairs(series, off, rows, slice(None))
    power, reached = off * off, 2
    for q in series.active(orders):
        while reached < q:
            power *= off
            reached += 1
        strip += (a[q, rows, None] * power) * a[q]
    return strip
