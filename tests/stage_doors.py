"""The doors of the stages: one trial by hand, from the draw to the errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.calculus.expectations import expand
from onegrad.core.convex_readout import fit_convex
from onegrad.core.instance import Layers, draw, initialise
from onegrad.core.model_names import models_of
from onegrad.core.readout import fit_outputs, fit_readout
from onegrad.core.run import Run
from onegrad.core.step import descent_direction, gradient_step
from onegrad.core.trial import fit_models, measure_errors
from public_doors import NUMBERS, Door, tiny

# What README and docs/equations.md say works alone.
STAGES = {
    *("draw", "initialise", "Run", "gradient_step", "gradient_step of layers"),
    *("descent_direction", "fit_readout", "fit_outputs", "fit_convex", "models_of", "fit_models"),
    *("measure_errors", "expand", "feature_map network", "feature_map hermite"),
    *("feature_map conditional", "feature_map untrained"),
}


def batch() -> tuple[Any, Any]:
    """Return inputs and labels ±1, of numbers that single precision holds."""
    rng = np.random.default_rng(8)
    inputs = rng.standard_normal((9, 12)).astype(np.float32).astype(float)
    return inputs, np.where(rng.random(9) < 0.5, -1.0, 1.0)


def stage_doors() -> dict[str, Door]:
    """Return the doors of all stages."""
    instance = draw(tiny())
    layers, run = initialise(instance), Run(instance)
    trained = run.advance().first
    names = ("network", "hermite", "conditional", "untrained")
    models = models_of(instance, list(names))
    maps = {model.key: model.feature_map(instance, layers, trained) for model in models}
    fits = fit_models(instance, trained, maps)
    inputs, labels = batch()

    def of_layers(first: Any, second: Any) -> Any:
        given = Layers(first, second)
        return gradient_step(given, inputs, labels, activation="relu", learning_rate=0.5)

    step = {
        "layers": (layers, ""),
        "inputs": (inputs, ""),
        "labels": (labels, ""),
        "activation": ("relu", ""),
        "preactivations": (None, "none"),
    }
    rate = {"learning_rate": (0.5, "negative zero half")}
    ridge = {"ridge": (0.1, NUMBERS)}
    readout = {"features": (inputs, ""), "labels": (labels, ""), **ridge}
    return {
        "draw": Door(draw, {"problem": (tiny(), ""), "seed": (0, "zero"), "trial": (0, "zero")}),
        "initialise": Door(initialise, {"instance": (instance, "")}),
        "Run": Door(Run, {"instance": (instance, ""), "shared": (None, "none")}),
        "gradient_step": Door(gradient_step, {**step, **rate}),
        "gradient_step of layers": Door(
            of_layers, {"first": (layers.first, ""), "second": (layers.second, "")}
        ),
        "descent_direction": Door(descent_direction, step),
        "fit_readout": Door(fit_readout, readout),
        "fit_outputs": Door(fit_outputs, {**readout, "labels": (labels[:, None], "")}),
        "fit_convex": Door(
            fit_convex, {**readout, "loss": ("logistic", ""), "sample_weights": (None, "none")}
        ),
        "models_of": Door(models_of, {"instance": (instance, ""), "names": ("network", "")}),
        "fit_models": Door(
            fit_models,
            {
                "instance": (instance, ""),
                "first_layer": (trained, ""),
                "maps": (maps, ""),
                "step": (1, "zero"),
            },
            left_out=("shared", "watch"),
        ),
        "measure_errors": Door(
            measure_errors,
            {
                "instance": (instance, ""),
                "first_layer": (trained, ""),
                "maps": (maps, ""),
                "fits": (fits, ""),
            },
        ),
        "expand": Door(
            expand, {"activation": ("relu", ""), "scale": (1.0, NUMBERS), "degree": (2, "zero")}
        ),
        **{
            f"feature_map {model.name}": Door(
                model.feature_map,
                {"instance": (instance, ""), "layers": (layers, ""), "trained": (trained, "")},
            )
            for model in models
        },
    }
