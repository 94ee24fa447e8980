"""`predict`: the errors of network and equivalent models, with nothing trained and no test set.

F, w and the step's batch are drawn with the core's own functions; what ridge regression on fresh
samples will do given F̂ is computed, not sampled. `theory` never imports the readout.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import positive_numbers, shown, whole_number
from onegrad.describe.exceptions import InvalidInput, require_finite
from onegrad.machine.pool import run_jobs
from onegrad.models.feature_map import FeatureMap
from onegrad.models.model import Model
from onegrad.models.resolve import feature_map, resolve_models
from onegrad.moments.dense import population_moments
from onegrad.problem.problem import Problem, require_problem
from onegrad.theory.full_types import all_types, conditional_errors
from onegrad.theory.ridge import RidgeErrors, ridge_errors
from onegrad.theory.spectrum import Spectrum, Tridiagonal
from onegrad.theory.structured import STRUCTURED_FROM, structured_spectrum
from onegrad.training.instance import Instance, draw
from onegrad.training.layers import Layers
from onegrad.training.reuse import Shared, first_layers
from onegrad.verbs.cost import check_memory, check_mixture_memory
from onegrad.verbs.errors import Errors, collect

Progress = Callable[[int, int], None]
Method = Literal["single", "conditional"]

DEFAULT_DRAWS = 4


def predict(
    problem: Problem,
    models: Sequence[str] | str = ("network", "hermite"),
    *,
    method: Method = "single",
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return the predicted errors of the models, in the form that `simulate` returns.

    One value per draw of F, w and the step's batch: draw t has the F̂ of trial t of `simulate` with
    the same seed. The standard errors are over draws. "single" treats all samples alike;
    "conditional" integrates over component and spike coordinates, which matters for training
    errors at strong spikes or steps.
    """
    if method not in ("single", "conditional"):
        raise InvalidInput(f"method={method!r}: must be single or conditional; choose one")
    return _predicted(problem, models, None, draws, seed, workers, progress, method)


def predict_curve(
    problem: Problem,
    *,
    samples: Sequence[int],
    ridge: Sequence[float] | None = None,
    models: Sequence[str] | str = ("network", "hermite"),
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return the predicted errors for every number of samples and every penalty.

    One reduction per draw and model serves all points. Width and step samples are those of
    `problem` and stay fixed along the curve.
    """
    require_problem(problem)
    if not np.ndim(samples) or not len(samples):
        raise InvalidInput(f"samples={shown(samples)}: must be a list of numbers; add one")
    counts = tuple(whole_number("samples", m, least=1) for m in samples)
    fixed = problem.replace(network__width=problem.width, step_samples=problem.samples_per_step)
    if ridge is not None:
        fixed = fixed.replace(ridge=tuple(positive_numbers("ridge", ridge)))
    return _predicted(fixed, models, counts, draws, seed, workers, progress)


def _predicted(
    problem: Problem,
    names: Sequence[str] | str,
    samples: tuple[int, ...] | None,
    draws: int,
    seed: int,
    workers: int,
    progress: Progress | None,
    method: Method = "single",
) -> Errors:
    check_run(problem, draws=draws, seed=seed, workers=workers)
    models = resolve_models(problem, names, seed=seed)
    for model in models:
        if model.kind == "conditional":
            raise InvalidInput(
                f"models={model.name!r}: has no theory of its own, its errors are the network's; "
                "choose network, hermite, linear or untrained"
            )
    _warn_of_what_is_not_covered(problem, models, seed=seed)
    common = {"problem": problem, "models": models, "samples": samples, "method": method}
    jobs = [{**common, "seed": seed, "trial": t} for t in range(draws)]
    rows = []
    for row in run_jobs(predict_draw, jobs, workers=workers):
        rows.append(row)
        if progress is not None:
            progress(len(rows), draws)
    return collect(problem, models, rows, seed=seed, samples=samples, predicted=True)


def check_run(problem: Problem, *, draws: int, seed: int, workers: int) -> None:
    """Raise InvalidInput for what no prediction can start from."""
    require_problem(problem)
    whole_number("draws", draws, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)
    problem.data.check_fit()
    check_mixture_memory(problem)
    check_memory(problem, [], workers=workers, theory=True)
    with np.errstate(all="ignore"):
        instance = draw(problem, seed=seed)
    for gaussian in instance.mixture.components:
        if gaussian.weight > 0 and not instance.teacher.has_finite_power(gaussian):
            raise InvalidInput(
                "teacher.link: has no finite second moment under the mixture; choose a link that "
                "grows more slowly"
            )


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
    # Overflow is not hidden: every result is checked for it at the end.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        results = _predict_draw(
            problem, models, samples=samples, method=method, seed=seed, trial=trial, shared=shared
        )
    for model in models:
        require_finite(model.name, results[model.name])
    return results


def _predict_draw(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None,
    method: Method,
    seed: int,
    trial: int,
    shared: Shared | None,
) -> dict[str, dict[str, Floats]]:
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = first_layers(instance, shared)
    counts = (problem.samples,) if samples is None else samples
    results: dict[str, dict[str, Floats]] = {}
    known: dict[str, dict[str, Floats]] = {}
    spectra = {}
    if method == "single":
        spectra = _held_spectra(models, instance, layers, trained, shared)
    for model in models:
        if model.key not in known:
            if method == "single":
                found = ridge_errors(
                    spectra[model.key], samples=np.array(counts), ridge=np.array(problem.ridges)
                )
            else:
                found = _conditional(model, instance, layers, trained)
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


def _conditional(model: Model, instance: Instance, layers: Layers, trained: Floats) -> RidgeErrors:
    """Return the conditional theory's errors for every penalty, 1 × penalties."""
    matrix, one = _read_by(model, instance, layers, trained)
    types = all_types(instance.mixture, instance.teacher, one, matrix, initial=layers.first)
    found = [
        conditional_errors(types, samples=instance.problem.samples, ridge=ridge)
        for ridge in instance.problem.ridges
    ]
    return RidgeErrors(
        test_mse=np.concatenate([e.test_mse for e in found], axis=1),
        train_mse=np.concatenate([e.train_mse for e in found], axis=1),
        squared_weight_norm=np.concatenate([e.squared_weight_norm for e in found], axis=1),
        objective=np.concatenate([e.objective for e in found], axis=1),
    )


def _warn_of_what_is_not_covered(problem: Problem, models: Sequence[Model], *, seed: int) -> None:
    instance = draw(problem, seed=seed)
    if instance.scales.strength >= 1 and any(m.kind == "hermite" for m in models):
        warnings.warn(
            f"strength={instance.scales.strength:.3g}: the Hermite theorem covers strengths below "
            "1; the prediction is computed all the same",
            stacklevel=4,
        )


def model_spectra(
    models: Sequence[Model],
    instance: Instance,
    layers: Layers,
    trained: Floats,
    *,
    dense: bool = False,
) -> dict[str, Spectrum]:
    """Return every model's reduced moments by key: n×n for wide networks where that holds.

    One way for all models of a draw, so that a gap between two never compares two approximations.
    """
    distinct = {model.key: model for model in models}
    if not dense and trained.shape[0] > STRUCTURED_FROM * trained.shape[1]:
        found = {}
        for key, model in distinct.items():
            matrix, one = _read_by(model, instance, layers, trained)
            spectrum = structured_spectrum(instance.mixture, instance.teacher, matrix, one)
            if spectrum is None:
                break
            found[key] = spectrum
        else:
            return found
    found = {}
    for key, model in distinct.items():
        matrix, one = _read_by(model, instance, layers, trained)
        moments = population_moments(instance.mixture, instance.teacher, matrix, one)
        # The matrix is symmetric: its transpose is itself in Fortran order, without a copy.
        reduced = Tridiagonal.reduce(moments.covariance.T, moments.label)
        found[key] = Spectrum(reduced, moments.label_power)
    return found


def _read_by(
    model: Model, instance: Instance, layers: Layers, trained: Floats
) -> tuple[Floats, FeatureMap]:
    """Return the first layer that the model reads, and what it does with it."""
    matrix = layers.first if model.first_layer == "initial" else trained
    return matrix, feature_map(model, instance, layers, trained)


def _held_spectra(
    models: Sequence[Model],
    instance: Instance,
    layers: Layers,
    trained: Floats,
    shared: Shared | None,
) -> dict[str, Spectrum]:
    """Return the spectra, kept for the next problem that differs in samples or penalty alone."""
    if shared is None:
        return model_spectra(models, instance, layers, trained)
    problem = instance.problem
    fixed = problem.replace(
        samples=1, ridge=1.0, network__width=problem.width, step_samples=problem.samples_per_step
    )
    key = (fixed.digest, instance.streams, tuple(model.key for model in models))
    return shared.get("spectra", key, lambda: model_spectra(models, instance, layers, trained))
