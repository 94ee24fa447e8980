"""The Gaussian law of pre-activations under each component, and the features of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse.linalg import svds

from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teachers import Teacher
from onegrad.describe.numbers import Floats, Normals


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


def leading_direction(change: Floats) -> Floats | None:
    """Return the leading right singular vector of F̂ − F; None when nothing has changed."""
    if not np.any(change):
        return None
    if min(change.shape) < 3:
        return np.linalg.svd(change, full_matrices=False)[2][0]
    start = np.ones(min(change.shape))  # a fixed start: the same direction every time
    return svds(change, k=1, v0=start)[2][0]


def extended_basis(directions: Floats, extra: Floats | None) -> Floats:
    """Return `directions` with `extra` orthonormalised against them, unless it lies in them."""
    if extra is None:
        return directions
    rest = extra - directions @ (directions.T @ extra)
    rest -= directions @ (directions.T @ rest)
    length = np.linalg.norm(rest)
    if length < 1e-8:
        return directions
    return np.concatenate([directions, (rest / length)[:, None]], axis=1)


@dataclass(frozen=True)
class Points:
    """Points of one component as a feature map sees them: F̂x, and S_cᵀx where it asks for it."""

    component: int
    preactivations: Floats
    coordinates: Floats | None = None

    @classmethod
    def of(
        cls, feature_map: FeatureMap, component: int, inputs: Floats, preactivations: Floats
    ) -> Points:
        """Return the points of these inputs with the coordinates that the map asks for."""
        basis = feature_map.basis(component)
        return cls(component, preactivations, None if basis is None else inputs @ basis)


class FeatureMap(Protocol):
    """What a model does with one batch of pre-activations u = F̂x from one component."""

    @property
    def noise_variance(self) -> float:
        """Variance of independent noise in every feature, not counted by the Hermite series."""

    @property
    def pair_function(self) -> Function | None:
        """The activation whose closed pair forms hold for this model, if any."""

    @property
    def degree(self) -> int | None:
        """Degree where the features are polynomials in u; None otherwise."""

    def basis(self, component: int) -> Floats | None:
        """Orthonormal S_c (n × d) whose coordinates S_cᵀx the model needs; None for none."""

    def features(self, points: Points, rng: Normals) -> Floats:
        """Return features with their noise, for training."""

    def predictions(self, points: Points, weights: Floats) -> tuple[Floats, Floats]:
        """Return ŷ averaged over the noise and its variance, each (rows × penalties)."""

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return â_l,i = E[φ_i H_l(standardised u_i)]/√l!, shape (order + 1, k)."""

    def second_moment(self, law: Law) -> Floats:
        """Return E[φ_i²] without `noise_variance`, shape (k,)."""
