"""How far a Hermite polynomial is from σ at the neurons' own laws, in place of the one it is for.

The Hermite model expands σ once, at the deviation b of the bulk. Along a spike or after a step a
neuron's pre-activation u deviates by s_i > b. There E H_j(u/b)²/j! grows like (2s²/b² − 1)^j
(Mehler), so that every degree more fits σ better near 0 and worse far out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law


@dataclass(frozen=True)
class Misfit:
    """What is wrong with a polynomial of degree D at the neurons' own laws, over neurons and data.

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
    return Misfit(_ratio(error, power), _ratio(beyond, wanted))


def largest_reach(laws: Sequence[Law]) -> float:
    """Return the largest root mean square of a neuron's pre-activation under any component."""
    return max(float(np.sqrt(np.max(law.means**2 + law.deviations**2))) for law in laws)


def _ratio(part: float, whole: float) -> float:
    """Return part/whole; a linear σ has no power beyond degree 1, and rounding is none."""
    return part / whole if whole > 1e-12 else 1.0
