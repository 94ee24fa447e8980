"""The Gaussian law of the neurons' pre-activations under each component of a mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teacher import Teacher


@dataclass(frozen=True)
class Law:
    """u = F̂x under component c: means m_i, deviations s_i, and the spikes' loadings.

    Cov(u_i, u_j) = level f̂_iᵀf̂_j + (loadings loadingsᵀ)_ij.
    """

    component: int
    gaussian: Gaussian
    means: Floats
    deviations: Floats
    loadings: Floats

    @property
    def centred(self) -> bool:
        """Whether all means vanish, so that closed forms for pairs apply."""
        return self.gaussian.mean is None


def preactivation_laws(mixture: Mixture, first_layer: Floats) -> list[Law]:
    """Return the law of F̂x for every component of positive weight; O(k n d)."""
    norms = np.einsum("ij,ij->i", first_layer, first_layer, dtype=np.float64)
    laws = []
    for index, gaussian in enumerate(mixture.components):
        if gaussian.weight == 0:
            continue
        loadings = first_layer @ (gaussian.directions * np.sqrt(gaussian.strengths))
        variance = gaussian.level * norms + np.sum(loadings**2, axis=1)
        means = np.zeros(len(norms)) if gaussian.mean is None else first_layer @ gaussian.mean
        laws.append(Law(index, gaussian, means, np.sqrt(variance), loadings))
    return laws


def target_covariances(law: Law, first_layer: Floats, teacher: Teacher) -> Floats:
    """Return Cov(u_i, ξᵀx)/deviation(ξᵀx) for every neuron, shape (k, r)."""
    directions = teacher.directions
    if directions.shape[1] == 0:
        return np.zeros((len(law.means), 0))
    spread = law.gaussian.covariance_times(directions)
    deviation = np.sqrt(np.sum(directions * spread, axis=0))
    return first_layer @ (spread / deviation)
