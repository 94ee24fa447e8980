"""`predict`: the errors of network and equivalent models, with nothing trained and no test set.

F, w and the step's batch are drawn with the core's own functions; what ridge regression on fresh
samples will do given F̂ is computed, not sampled. `theory` never imports the readout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onegrad.arrays import Floats
from onegrad.equivalents import Model
from onegrad.instance import Instance, draw
from onegrad.models import feature_map, resolve_models
from onegrad.network import Layers
from onegrad.population import population_moments
from onegrad.problem import Problem
from onegrad.resources import check_memory, run_jobs
from onegrad.results import Errors, collect
from onegrad.sharing import Shared, first_layers
from onegrad.theory.ridge import ridge_errors
from onegrad.theory.spectrum import Spectrum, Tridiagonal
from onegrad.theory.structured import structured_spectrum
from onegrad.validation import InvalidInput, whole_number

Progress = Callable[[int, int], None]

DEFAULT_DRAWS = 4
STRUCTURED_FROM = 1.2  # k/n from which the n×n reduction is tried first


def predict(
    problem: Problem,
    models: Sequence[str] = ("network", "hermite"),
    *,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return the predicted errors of the models, in the form that `simulate` returns.

    One value per draw of F, w and the step's batch: draw t has the F̂ of trial t of `simulate` with
    the same seed. The standard errors are over draws.
    """
    return _predicted(problem, models, None, draws, seed, workers, progress)


def predict_curve(
    problem: Problem,
    *,
    samples: Sequence[int],
    ridge: Sequence[float] | None = None,
    models: Sequence[str] = ("network", "hermite"),
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return the predicted errors for every number of samples and every penalty.

    One reduction per draw and model serves all points. Width and step samples are those of
    `problem` and stay fixed along the curve.
    """
    counts = tuple(whole_number("samples", m, least=1) for m in samples)
    if not counts:
        raise InvalidInput("samples=[]: must name at least one number of samples; add one")
    fixed = problem.replace(network__width=problem.width, step_samples=problem.step_size)
    if ridge is not None:
        fixed = fixed.replace(ridge=tuple(ridge))
    return _predicted(fixed, models, counts, draws, seed, workers, progress)


def _predicted(
    problem: Problem,
    names: Sequence[str],
    samples: tuple[int, ...] | None,
    draws: int,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> Errors:
    whole_number("draws", draws, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)
    models = resolve_models(problem, list(dict.fromkeys(names)), seed=seed)
    for model in models:
        if model.kind == "conditional":
            raise InvalidInput(
                f"models={model.name!r}: has no theory of its own, its errors are the network's; "
                "choose network, hermite, linear or untrained"
            )
    check_memory(problem, models, workers=workers)
    jobs = [
        {"problem": problem, "models": models, "samples": samples, "seed": seed, "trial": t}
        for t in range(draws)
    ]
    rows = []
    for row in run_jobs(predict_draw, jobs, workers=workers):
        rows.append(row)
        if progress is not None:
            progress(len(rows), draws)
    return collect(problem, models, rows, seed=seed, samples=samples, predicted=True)


def predict_draw(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> dict[str, dict[str, Floats]]:
    """Return every model's predicted metrics for one draw, over (samples ×) penalties."""
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = first_layers(instance, shared)
    counts = (problem.samples,) if samples is None else samples
    results: dict[str, dict[str, Floats]] = {}
    known: dict[str, dict[str, Floats]] = {}
    for model in models:
        if model.key not in known:
            spectrum = model_spectrum(model, instance, layers, trained)
            found = ridge_errors(spectrum, samples=np.array(counts), ridge=np.array(problem.ridges))
            metrics = {
                "test_mse": found.test_mse,
                "train_mse": found.train_mse,
                "objective": found.objective,
                "squared_weight_norm": found.squared_weight_norm,
            }
            known[model.key] = {
                name: value[0] if samples is None else value for name, value in metrics.items()
            }
        results[model.name] = known[model.key]
    return results


def model_spectrum(
    model: Model, instance: Instance, layers: Layers, trained: Floats, *, dense: bool = False
) -> Spectrum:
    """Return the model's reduced moments: n×n for wide networks where that holds, else k×k."""
    matrix = layers.first if model.first_layer == "initial" else trained
    one = feature_map(model, instance, layers, trained)
    mixture, teacher = instance.mixture, instance.teacher
    if not dense and len(matrix) > STRUCTURED_FROM * mixture.dimension:
        spectrum = structured_spectrum(mixture, teacher, matrix, one)
        if spectrum is not None:
            return spectrum
    moments = population_moments(mixture, teacher, matrix, one)
    # The matrix is symmetric: its transpose is itself in Fortran order, without a copy.
    return Spectrum(Tridiagonal.reduce(moments.covariance.T, moments.label), moments.label_power)
