"""The stages of one trial, with checked arguments, for programs that build on single stages.

Draw an instance, initialise the layers, take the steps, make feature maps, fit readouts, measure
errors. The numbers are those of `simulate` with the same seed and trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onegrad.calculus.function import Function
from onegrad.calculus.functions import activation_of
from onegrad.calculus.losses import get_loss
from onegrad.core.batches import Batch
from onegrad.core.convex_readout import loss_readout
from onegrad.core.errors import measure_errors as errors_of
from onegrad.core.instance import Instance, Layers
from onegrad.core.instance import draw as drawn
from onegrad.core.instance import initialise as initial_layers
from onegrad.core.model_names import models_of
from onegrad.core.models import Model
from onegrad.core.problem import Problem, require_problem
from onegrad.core.problem_readout import ClassReadout, ProblemReadout
from onegrad.core.problem_readout import fit_models as readouts_of
from onegrad.core.readout import FittedReadout, require_finite_readouts, ridge_readout
from onegrad.core.run import Run, descent_direction, finished_run
from onegrad.core.trial import run_trial as metrics_of
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import (
    Floats,
    Metrics,
    columns_of,
    matching_rows,
    of_kind,
    positive_numbers,
    real_array,
    real_number,
    shown,
    whole_number,
)
from onegrad.moments.feature_laws import FeatureMap

__all__ = [
    "draw",
    "feature_maps",
    "fit_models",
    "fit_readout",
    "gradient",
    "initialise",
    "measure_errors",
    "run_trial",
    "take_all_steps",
    "take_step",
]


def draw(problem: Problem, *, seed: int = 0, trial: int = 0) -> Instance:
    """Return the instance of (problem, seed, trial): mixture, teacher and every scale."""
    require_problem(problem)
    seed, trial = whole_number("seed", seed, least=0), whole_number("trial", trial, least=0)
    return drawn(problem, seed=seed, trial=trial)


def initialise(instance: Instance) -> Layers:
    """Return the initial layers F and w."""
    return initial_layers(_instance(instance))


def gradient(
    layers: Layers, inputs: Floats, labels: Floats, *, activation: Function | str
) -> Floats:
    """Return G = (1/N) [(w rᵀ/√k) ⊙ σ'(FX̃ᵀ)] X̃ with r = ỹ − wᵀσ(FX̃ᵀ)/√k, shape k × n.

    G is minus the gradient of (1/2N) Σ r² in the first layer F, in the precision of F.
    """
    known = _layers(layers)
    x, y = _batch(known, inputs, labels)
    blocks = ((u @ known.first.T, u, v) for u, v in Batch(x, y, (len(y),)).rows())
    return descent_direction(known, blocks, samples=len(y), activation=activation_of(activation))


def take_step(
    layers: Layers,
    inputs: Floats,
    labels: Floats,
    *,
    activation: Function | str,
    learning_rate: float,
) -> Floats:
    """Return F̂ = F + ηG, the first layer after one gradient step, in the precision of F."""
    rate, first = real_number("learning_rate", learning_rate), _layers(layers).first
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked
        change = gradient(layers, inputs, labels, activation=activation)
        change *= change.dtype.type(rate)
        change += first
        total = np.sum(change)
    if rate == 0:
        return first.copy()
    if not np.isfinite(total):
        raise InvalidInput(
            f"learning_rate={rate:.3g}: the first layer after the step is not finite; "
            "lower it, or bring spread, levels, means and labels nearer to 1"
        )
    return change


def take_all_steps(instance: Instance) -> Run:
    """Return the run of an instance after all its steps: `layers` are F and w, `first` is F̂."""
    return finished_run(_instance(instance))


def feature_maps(
    instance: Instance, layers: Layers, trained: Floats, models: Sequence[str] | str
) -> dict[str, FeatureMap]:
    """Return the feature map of every model by its key; `trained` is F̂, `layers` are F and w."""
    known = _layers(layers)
    _first_layer(instance, known.first, name="layers.first")
    after = _first_layer(instance, trained, name="trained")
    matching_rows("trained", after, "layers.first", len(known.first))
    named: list[Model] = models_of(instance, models)
    return {model.key: model.feature_map(instance, known, after) for model in named}


def fit_readout(
    features: Floats, labels: Floats, *, ridge: float | Sequence[float], loss: str = "square"
) -> FittedReadout:
    """Return ŵ = argmin (1/m) Σ_i ℓ(y_i, wᵀφ_i/√k) + (λ/2)‖w‖² for each penalty λ.

    `features` φ is (m × k); ℓ = ½(y − ŷ)² for `loss="square"`. A convex loss that does not reach
    its minimum raises NotConverged.
    """
    named = get_loss(loss, field="loss")
    phi = real_array("features", features, axes=("samples", "features"))
    y = real_array("labels", labels, axes=("numbers",))
    matching_rows("labels", y, "features", len(phi))
    penalties = positive_numbers("ridge", ridge)
    if named.name != "square":
        return loss_readout(phi, y, loss=loss, ridge=penalties)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked
        readout = ridge_readout(phi, y, ridge=penalties)
    require_finite_readouts(readout)
    return readout


def fit_models(
    instance: Instance, first_layer: Floats, maps: Mapping[str, FeatureMap], *, step: int = 1
) -> dict[str, ProblemReadout]:
    """Return the readout of every feature map on the problem's samples, by the problem's loss."""
    first = _first_layer(instance, first_layer, name="first_layer")
    whole_number("step", step, least=0)
    return readouts_of(instance, first, _maps(maps), step=step)


def measure_errors(
    instance: Instance,
    first_layer: Floats,
    maps: Mapping[str, FeatureMap],
    fits: Mapping[str, ProblemReadout],
) -> dict[str, Metrics]:
    """Return the test errors of every readout, integrated or sampled as the problem asks."""
    first = _first_layer(instance, first_layer, name="first_layer")
    known = _maps(maps)
    if not isinstance(fits, Mapping) or set(fits) != set(known):
        raise InvalidInput(
            f"fits={shown(fits)}: must be a table with a readout for each of {', '.join(known)}; "
            "use fit_models"
        )
    problem = instance.problem
    expected = (len(first), len(problem.ridges) * max(len(problem.classes), 1))
    for key, fit in fits.items():
        if not isinstance(fit, FittedReadout | ClassReadout):
            raise InvalidInput(
                f"fits[{key!r}]={shown(fit)}: must be a fitted readout; use fit_models"
            )
        weights = real_array(f"fits[{key!r}].weights", fit.weights, axes=("neurons", "outputs"))
        if weights.shape != expected:
            raise InvalidInput(
                f"fits[{key!r}].weights: has shape {weights.shape}, must be {expected} for this "
                "first layer and problem; use fit_models"
            )
    return errors_of(instance, first, known, dict(fits))


def run_trial(
    problem: Problem, models: Sequence[str] | str, *, seed: int = 0, trial: int = 0
) -> dict[str, Metrics]:
    """Return the metrics of every model in one trial, each an array over (steps ×) penalties."""
    named = models_of(draw(problem, seed=seed, trial=trial), models)
    return metrics_of(problem, named, seed=seed, trial=trial)


def _instance(instance: object) -> Instance:
    return of_kind("instance", instance, Instance, remedy="make one with draw(problem)")


def _layers(layers: object) -> Layers:
    """Return layers whose arrays are real, finite and fit together."""
    given = of_kind("layers", layers, Layers, remedy="make them with Layers(first, second)")
    first = real_array("layers.first", given.first, axes=("neurons", "inputs"))
    second = real_array("layers.second", given.second, axes=("weights",))
    matching_rows("layers.second", second, "layers.first", len(first))
    return Layers(first, second)


def _first_layer(instance: object, first_layer: object, *, name: str) -> Floats:
    """Return a first layer that fits an instance's inputs."""
    problem = _instance(instance).problem
    first = real_array(name, first_layer, axes=("neurons", "inputs"))
    columns_of(name, first, problem.dimension, said="the problem's dimension")
    return first


def _batch(layers: Layers, inputs: object, labels: object) -> tuple[Floats, Floats]:
    """Return inputs in the precision of F and labels that fit them and the layers."""
    x = real_array("inputs", inputs, axes=("samples", "features"))
    y = real_array("labels", labels, axes=("numbers",))
    columns_of("inputs", x, layers.first.shape[1], said="as layers.first has")
    matching_rows("labels", y, "inputs", len(x))
    return x.astype(layers.first.dtype, copy=False), y.astype(np.float64, copy=False)


def _maps(maps: object) -> dict[str, FeatureMap]:
    """Return a table of feature maps by their models' keys."""
    if not isinstance(maps, Mapping) or not maps:
        raise InvalidInput(
            f"maps={shown(maps)}: must be a table of feature maps by model; use feature_maps"
        )
    for key, feature_map in maps.items():
        methods = ("basis", "features", "predictions")
        if not all(callable(getattr(feature_map, method, None)) for method in methods):
            raise InvalidInput(
                f"maps[{shown(key)}]={shown(feature_map)}: must have {', '.join(methods)}; use "
                "feature_maps"
            )
    return dict(maps)
