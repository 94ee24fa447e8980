"""The Gaussian law of the neurons' pre-activations under each component of a mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats


@dataclass(frozen=True)
class Law:
    """u = F̂x under component c: means m_i, deviations s_i, spikes' loadings, tie to the teacher.

    Cov(u_i, u_j) = level f̂_iᵀf̂_j + (loadings loadingsᵀ)_ij; `target` is Cov(u_i, v)/deviation(v)
    with v = ξᵀx, one column per direction of the teacher.
    """

    component: int
    gaussian: Gaussian
    means: Floats
    deviations: Floats
    loadings: Floats
    target: Floats

    @property
    def centred(self) -> bool:
        """Whether all means vanish, so that closed forms for pairs apply."""
        return self.gaussian.mean is None


def preactivation_laws(mixture: Mixture, teacher: Teacher, first_layer: Floats) -> list[Law]:
    """Return the law of F̂x for every component of positive weight.

    One product of F̂ with all spikes, means and teacher directions: O(k n d).
    """
    chosen = [(i, g) for i, g in enumerate(mixture.components) if g.weight > 0]
    columns = []
    for _, gaussian in chosen:
        spread = gaussian.covariance_times(teacher.directions)
        deviation = np.sqrt(np.sum(teacher.directions * spread, axis=0))
        # A projection that does not vary is correlated with nothing.
        target = np.divide(spread, deviation, out=np.zeros_like(spread), where=deviation > 0)
        mean = np.zeros((len(spread), 0)) if gaussian.mean is None else gaussian.mean[:, None]
        columns += [gaussian.directions * np.sqrt(gaussian.strengths), target, mean]
    ends = np.cumsum([c.shape[1] for c in columns])
    parts = np.split(first_layer @ np.concatenate(columns, axis=1), ends[:-1], axis=1)
    norms = np.einsum("ij,ij->i", first_layer, first_layer)
    laws = []
    for index, gaussian in chosen:
        loadings, target, mean = parts.pop(0), parts.pop(0), parts.pop(0)
        deviations = np.sqrt(gaussian.level * norms + np.sum(loadings**2, axis=1))
        means = mean[:, 0] if mean.shape[1] else np.zeros(len(norms))
        laws.append(Law(index, gaussian, means, deviations, loadings, target))
    return laws
