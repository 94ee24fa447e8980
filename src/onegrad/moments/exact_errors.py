"""Exact test errors from population moments, without a test set.

For φ = features/√k, ψ = E φy and Ω = E φφᵀ the test MSE of any readout ŵ is

    E y² − 2 ŵᵀψ + ŵᵀΩŵ.

Under one component, with Hermite coefficients â_l of the features (Mehler):

    E[φ_i φ_j] = Σ_l â_l,i â_l,j R_ij^l / k  (i ≠ j).

Degrees 0 and 1 of the quadratic form cost O(kn); the others are summed in `pairs.py`, and Ω itself
is never formed. E φy is in `label_moments.py`.

The same coefficients give the misfit of a Hermite polynomial. The Hermite model expands σ once, at
the deviation b of the bulk. Along a spike or after a step a neuron's pre-activation u has deviation
s_i > b. There E H_j(u/b)²/j! grows like (2s²/b² − 1)^j (Mehler), so that each further degree fits σ
better near 0 and worse far out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.data.teachers import LabelTeacher, Teacher
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap, Law, preactivation_laws
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


def exact_class_mse(
    mixture: Mixture,
    targets: Floats,
    first_layer: Floats,
    *,
    models: Sequence[tuple[FeatureMap, Floats]],
) -> list[Floats]:
    """Return E(t_j − ŷ_j)² of each model, its mean over the outputs j, one per penalty.

    1 − 2ŵ_jᵀψ_j + ŵ_jᵀΩŵ_j with ψ_j = Σ_c ρ_c E[t_j | c] E[φ | c]/√k. `targets` are E[t_j | c],
    components × outputs; weights are k × (outputs · penalties).
    """
    silent = tuple(replace(gaussian, label=0.0) for gaussian in mixture.components)
    unlabelled = replace(mixture, components=silent)
    teacher = LabelTeacher(np.zeros((mixture.dimension, 0)), (0.0,) * len(silent))
    powers = exact_test_mse(unlabelled, teacher, first_layer, models=models)
    laws = preactivation_laws(unlabelled, teacher, first_layer.astype(np.float64, copy=False))
    results = []
    for (feature_map, weights), power in zip(models, powers, strict=True):
        error = (1 + power).reshape(targets.shape[1], -1)
        for law in laws:
            mean = feature_map.coefficients(law, 0)[0] @ weights / np.sqrt(len(weights))
            own = law.gaussian.weight * targets[law.component]
            error -= 2 * own[:, None] * mean.reshape(error.shape)
        results.append(error.mean(axis=0))
    return results


@dataclass(frozen=True)
class Misfit:
    """The misfit of a polynomial of degree D at the neurons' own laws, over neurons and data.

    `scale_error` is Σ_{l≤D} E(a_l − p_l)²/E σ²: the square distance of the polynomial to the one
    of the same degree that is made at each neuron's own mean and deviation. `nonlinear_power` is
    the model's power beyond degree 1, its noise included, over the network's; 1 is right.
    """

    scale_error: float
    nonlinear_power: float


def polynomial_misfit(laws: Sequence[Law], network: FeatureMap, polynomial: FeatureMap) -> Misfit:
    """Return the misfit of a polynomial map to the network's, in O(k D) for every law.

    a_l and p_l are the coefficients of network and polynomial in each neuron's own law.
    """
    degree = polynomial.degree
    assert degree is not None
    order = max(degree, 1)
    error = power = beyond = wanted = 0.0
    for law in laws:
        weight = law.gaussian.weight
        a, p = network.coefficients(law, order), polynomial.coefficients(law, order)
        of_network = network.second_moment(law)
        of_polynomial = polynomial.second_moment(law) + polynomial.noise_variance
        error += weight * float(np.mean(np.sum((a - p)[: degree + 1] ** 2, axis=0)))
        power += weight * float(np.mean(of_network))
        beyond += weight * float(np.mean(of_polynomial - np.sum(p[:2] ** 2, axis=0)))
        wanted += weight * float(np.mean(of_network - np.sum(a[:2] ** 2, axis=0)))
    # A linear σ has no power beyond degree 1, and rounding does not count.
    scale_error, nonlinear = (
        part / whole if whole > 1e-12 else 1.0 for part, whole in ((error, power), (beyond, wanted))
    )
    return Misfit(scale_error, nonlinear)


def largest_reach(laws: Sequence[Law]) -> float:
    """Return the largest root mean square of a neuron's pre-activation under any component."""
    return max(float(np.sqrt(np.max(law.means**2 + law.deviations**2))) for law in laws)
