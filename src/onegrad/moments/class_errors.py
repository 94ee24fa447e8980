"""Exact test errors of one output per class, each against its targets +1 and −1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onegrad.data.label_teacher import LabelTeacher
from onegrad.data.mixture import Mixture
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import preactivation_laws
from onegrad.moments.exact_errors import exact_test_mse


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
