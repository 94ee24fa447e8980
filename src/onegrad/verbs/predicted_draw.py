"""One predicted draw: F, w and the step's batch are drawn, what follows is computed.

What ridge regression on fresh samples will do given F̂ comes from the equations of `theory`; nothing
here imports the readout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import require_finite
from onegrad.models.feature_map import FeatureMap
from onegrad.models.model import Model
from onegrad.moments.dense import population_moments
from onegrad.problem.problem import Problem
from onegrad.theory.full_types import all_types, full_types_errors
from onegrad.theory.reduced_moments import ReducedMoments, Tridiagonal
from onegrad.theory.ridge import RidgeErrors, ridge_errors, side_by_side
from onegrad.theory.structured import STRUCTURED_FROM, structured_moments
from onegrad.training.instance import Instance, draw
from onegrad.training.layers import Layers
from onegrad.training.reuse import Shared, first_layers

Method = Literal["single", "full_types"]
METHODS: tuple[Method, ...] = get_args(Method)


def predict_draw(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    method: Method = "single",
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> dict[str, dict[str, Floats]]:
    """Return every model's predicted metrics for one draw, over (samples ×) penalties."""
    counts = (problem.samples,) if samples is None else samples
    # Overflow is not hidden: every result is checked for it at the end.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        instance = draw(problem, seed=seed, trial=trial)
        layers, trained = first_layers(instance, shared)
        if method == "single":
            errors = _by_one_type(models, instance, layers, trained, counts, shared)
        else:
            errors = _by_full_types(models, instance, layers, trained)
    results = {}
    for model in models:
        metrics = errors[model.key].metrics()
        results[model.name] = {n: v[0] if samples is None else v for n, v in metrics.items()}
        require_finite(model.name, results[model.name])
    return results


def _by_one_type(
    models: Sequence[Model],
    instance: Instance,
    layers: Layers,
    trained: Floats,
    samples: tuple[int, ...],
    shared: Shared | None,
) -> dict[str, RidgeErrors]:
    """Return the errors of the single-type equivalent by model key, samples × penalties."""
    moments = _kept_moments(models, instance, layers, trained, shared)
    ridges = np.array(instance.problem.ridges)
    return {
        key: ridge_errors(reduced, samples=np.array(samples), ridge=ridges)
        for key, reduced in moments.items()
    }


def _by_full_types(
    models: Sequence[Model], instance: Instance, layers: Layers, trained: Floats
) -> dict[str, RidgeErrors]:
    """Return the errors by types, each with its own covariance, by model key, 1 × penalties."""
    problem, errors = instance.problem, {}
    for key, model in {model.key: model for model in models}.items():
        matrix, feature_map = _read_by(model, instance, layers, trained)
        types = all_types(
            instance.mixture, instance.teacher, feature_map, matrix, initial=layers.first
        )
        errors[key] = side_by_side(
            [full_types_errors(types, samples=problem.samples, ridge=r) for r in problem.ridges]
        )
    return errors


def reduced_moments(
    models: Sequence[Model],
    instance: Instance,
    layers: Layers,
    trained: Floats,
    *,
    dense: bool = False,
) -> dict[str, ReducedMoments]:
    """Return every model's reduced moments by key: n×n for wide networks where that holds.

    One way for all models of a draw, so that a gap between two never compares two approximations.
    """
    read = {m.key: _read_by(m, instance, layers, trained) for m in models}
    mixture, teacher = instance.mixture, instance.teacher
    if not dense and trained.shape[0] > STRUCTURED_FROM * trained.shape[1]:
        structured: dict[str, ReducedMoments] = {}
        for key, (matrix, feature_map) in read.items():
            low_rank = structured_moments(mixture, teacher, matrix, feature_map)
            if low_rank is None:
                break
            structured[key] = low_rank
        else:
            return structured
    dense_moments = {}
    for key, (matrix, feature_map) in read.items():
        moments = population_moments(mixture, teacher, matrix, feature_map)
        # The matrix is symmetric: its transpose is itself in Fortran order, without a copy.
        reduced = Tridiagonal.reduce(moments.covariance.T, moments.label)
        dense_moments[key] = ReducedMoments(reduced, moments.label_power)
    return dense_moments


def _read_by(
    model: Model, instance: Instance, layers: Layers, trained: Floats
) -> tuple[Floats, FeatureMap]:
    """Return the first layer that the model reads, and what it does with it."""
    matrix = layers.first if model.first_layer == "initial" else trained
    return matrix, model.feature_map(instance, layers, trained)


def _kept_moments(
    models: Sequence[Model],
    instance: Instance,
    layers: Layers,
    trained: Floats,
    shared: Shared | None,
) -> dict[str, ReducedMoments]:
    """Return the moments, kept for the next problem that differs in samples or penalty alone."""
    if shared is None:
        return reduced_moments(models, instance, layers, trained)
    problem = instance.problem
    fixed = problem.replace(
        samples=1, ridge=1.0, network__width=problem.width, step_samples=problem.samples_per_step
    )
    key = (fixed.digest, instance.streams, tuple(model.key for model in models))
    return shared.get("moments", key, lambda: reduced_moments(models, instance, layers, trained))
