"""The doors of `onegrad.stages`: one trial by hand, from the draw to the errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad import stages
from onegrad.core.instance import Layers
from public_doors import NUMBERS, Door, tiny


def batch() -> tuple[Any, Any]:
    """Return inputs and labels ±1, of numbers that single precision represents exactly."""
    rng = np.random.default_rng(8)
    inputs = rng.standard_normal((9, 12)).astype(np.float32).astype(float)
    return inputs, np.where(rng.random(9) < 0.5, -1.0, 1.0)


def stage_doors() -> dict[str, Door]:
    """Return the doors of all stages."""
    instance = stages.draw(tiny())
    run = stages.take_all_steps(instance)
    layers, trained = run.layers, run.first
    names = ["network", "hermite", "conditional", "untrained"]
    maps = stages.feature_maps(instance, layers, trained, names)
    fits = stages.fit_models(instance, trained, maps)
    inputs, labels = batch()

    def step_of_layers(first: Any, second: Any) -> Any:
        given = Layers(first, second)
        return stages.take_step(given, inputs, labels, activation="relu", learning_rate=0.5)

    of_instance = {"instance": (instance, "")}
    of_batch = {
        "layers": (layers, ""),
        "inputs": (inputs, ""),
        "labels": (labels, ""),
        "activation": ("relu", ""),
    }
    where = {"seed": (0, "zero"), "trial": (0, "zero")}
    on_layer = {**of_instance, "first_layer": (trained, ""), "maps": (maps, "")}
    return {
        "draw": Door(stages.draw, {"problem": (tiny(), ""), **where}),
        "initialise": Door(stages.initialise, of_instance),
        "gradient": Door(stages.gradient, of_batch),
        "take_step": Door(
            stages.take_step, {**of_batch, "learning_rate": (0.5, "negative zero half")}
        ),
        "take_step of layers": Door(
            step_of_layers, {"first": (layers.first, ""), "second": (layers.second, "")}
        ),
        "take_all_steps": Door(stages.take_all_steps, of_instance),
        "feature_maps": Door(
            stages.feature_maps,
            {
                **of_instance,
                "layers": (layers, ""),
                "trained": (trained, ""),
                "models": (names, ""),
            },
        ),
        "fit_readout": Door(
            stages.fit_readout,
            {
                "features": (inputs, ""),
                "labels": (labels, ""),
                "ridge": (0.1, NUMBERS),
                "loss": ("square", ""),
            },
        ),
        "fit_readout by another loss": Door(
            lambda features, labels, ridge: stages.fit_readout(
                features, labels, ridge=ridge, loss="logistic"
            ),
            {"features": (inputs, ""), "labels": (labels, ""), "ridge": (0.1, NUMBERS)},
        ),
        "fit_models": Door(stages.fit_models, {**on_layer, "step": (1, "zero")}),
        "measure_errors": Door(stages.measure_errors, {**on_layer, "fits": (fits, "")}),
        "run_trial": Door(
            stages.run_trial, {"problem": (tiny(), ""), "models": (names, ""), **where}
        ),
    }
