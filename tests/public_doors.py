"""The doors of onegrad: every public function with good arguments, and what else each accepts.

An argument is (a good value, names of odd values that are good too). A new public name, or a new
argument of one, needs an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import onegrad as og
from conftest import small

NUMBERS = "half"  # what a positive number may be
PATHS = "word nothing"  # of folders that may be made, or read as empty


@dataclass(frozen=True)
class Door:
    """A public function, its good arguments, and the odd values that each of them accepts."""

    function: Callable[..., Any]
    arguments: dict[str, tuple[Any, str]]
    left_out: tuple[str, ...] = ()  # parameters that another door of the function has

    def call(self, **changes: Any) -> Any:
        """Return what the function returns for its good arguments with some changed."""
        good = {name: value for name, (value, _) in self.arguments.items()}
        return self.function(**{**good, **changes})


def tiny(**changes: Any) -> og.Problem:
    """Return the smallest problem that every verb takes."""
    return small(dimension=12, readout__samples=15, network__width=6, **changes)


def rows_of_two_classes() -> tuple[Any, Any]:
    """Return rows with numbers that single precision holds, and their labels."""
    rng = np.random.default_rng(4)
    inputs = rng.standard_normal((60, 4)).astype(np.float32).astype(float)
    return inputs, np.repeat([0.0, 1.0], 30)


def drawn(**more: tuple[Any, str]) -> dict[str, tuple[Any, str]]:
    """Return the arguments that all verbs of theory share."""
    counts = {"draws": (1, ""), "seed": (0, "zero"), "workers": (1, "")}
    return {"problem": (tiny(), ""), **more, **counts, "progress": (None, "none true")}


def verb_doors(folder: str) -> dict[str, Door]:
    """Return the doors of functions that compute."""
    inputs, labels = rows_of_two_classes()
    sweep = og.Sweep(problem=tiny(), trials=1, models="network")
    real = og.Problem(data=og.EmpiricalData(inputs, labels), readout={"samples": 8}, test_samples=8)
    known = {"models": ("network", ""), "method": ("types", "")}
    simulated = {
        "problem": (tiny(), ""),
        "models": ("network", ""),
        "trials": (1, "none"),
        "target_stderr": (None, "none"),
        "seed": (0, "zero"),
        "workers": (1, ""),
        "observe": (False, "true"),
        "progress": (None, "none true"),
    }
    return {
        "simulate": Door(og.simulate, simulated),
        "predict": Door(og.predict, drawn(**known)),
        "predict_curve": Door(
            og.predict_curve,
            drawn(samples=([10, 20], "none"), ridge=([0.1], "none half"), **known),
            left_out=("over",),
        ),
        "predict_curve over": Door(
            og.predict_curve,
            {"problem": (tiny(), ""), "over": ({"scaling.strength": [0.2]}, "none")},
            left_out=("samples", "ridge", *known, "draws", "seed", "workers", "progress"),
        ),
        "equivalence": Door(
            og.equivalence,
            drawn(
                degrees=([1], "zero"),
                dimensions=(None, "none"),
                metric=("test_mse", ""),
                method=("types", ""),
                tolerance=(0.1, NUMBERS),
            ),
        ),
        "tune": Door(
            og.tune,
            drawn(
                over=("ridge", ""),
                metric=("test_mse", ""),
                method=("types", ""),
                budget=(None, "none"),
                check_trials=(0, "zero"),
            ),
        ),
        "take_steps": Door(
            og.take_steps,
            {
                "problem": (tiny(), ""),
                "seed": (0, "zero"),
                "trial": (0, "zero"),
                "progress": (None, "none true"),
            },
        ),
        "run_sweep": Door(
            og.run_sweep,
            {
                "sweep": (sweep, ""),
                "directory": (folder, "word"),
                "workers": (1, ""),
                # Nothing is missing in the folder: no cluster is asked.
                "dask": (None, "none word nothing null long"),
                "retry_failed": (False, "true"),
                "progress": (None, "none true"),
            },
        ),
        "on_fitted_mixture": Door(og.on_fitted_mixture, {"problem": (real, "")}),
        "fit_mixture": Door(
            og.fit_mixture,
            {
                "inputs": (inputs, ""),
                "labels": (labels, ""),
                "components_per_class": (1, "none"),
                "rank": (2, "zero"),
                "seed": (0, "zero"),
            },
        ),
        # Good arguments would read 70,000 images: without them there is nothing to accept.
        "load_fashion_mnist": Door(
            lambda data_dir=folder, download=False: og.load_fashion_mnist(
                data_dir, download=download
            ),
            {"data_dir": (folder, "none"), "download": (False, "")},
        ),
        "maximal_rate_limit": Door(
            og.maximal_rate_limit,
            {
                "activation": ("tanh", ""),
                "target": ("sin", ""),
                **dict.fromkeys(("step_ratio", "rate", "width_ratio"), (2.0, NUMBERS)),
                "sample_ratio": (1.0, NUMBERS),
                "ridge": (0.1, NUMBERS),
            },
        ),
    }


def result_doors(folder: str) -> dict[str, Door]:
    """Return the doors of results: their making, and their methods."""
    errors = og.simulate(tiny(), ["network", "hermite"], trials=2)
    tuned = og.tune(tiny(), "ridge", draws=1)
    equal = og.equivalence(tiny(), [1], draws=1)
    steps = og.take_steps(tiny())
    sweep = og.Sweep(problem=tiny(), trials=1, models="network")
    results = og.run_sweep(sweep, folder)
    by_metric = {"metric": ("test_mse", "")}
    kept = f"{folder}-errors.npz"
    errors.save(kept)

    def made(value: Any, **accepted: str) -> Door:
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        given = {name: (field, accepted.get(name, "")) for name, field in fields.items()}
        return Door(type(value), given)

    return {
        "Errors.plot": Door(
            errors.plot,
            {**by_metric, "x": (None, "none"), "constant": (True, "true"), "ax": (None, "none")},
        ),
        "Errors.estimate": Door(errors.estimate, by_metric),
        "Errors.gap": Door(errors.gap, by_metric),
        "Errors[…]": Door(errors.__getitem__, {"models": ("network", "")}),
        "Errors.save": Door(errors.save, {"path": (kept, "")}),
        "Errors.load": Door(og.Errors.load, {"path": (kept, "")}),
        "Tuned.plot": Door(tuned.plot, {"against": ("ridge", "none"), "ax": (None, "none")}),
        "Tuned.closest": Door(tuned.closest, {"count": (1, "zero")}),
        "Equivalence.plot": Door(equal.plot, {"ax": (None, "none")}),
        "StepsResult.plot": Door(steps.plot, {"what": ("overlaps", ""), "ax": (None, "none")}),
        "StepsResult.to_dict": Door(steps.to_dict, {"neurons": (False, "true")}),
        "Results": made(results, directory="word nothing"),
        "Results.load": Door(og.Results.load, {"directory": (folder, "nothing")}),
        "Results.of": Door(results.of, {"sweep": (sweep, "")}),
        "Results.plot": Door(
            results.plot,
            {
                "x": (None, "none"),
                "hue": (None, "none"),
                **by_metric,
                "theory": (False, "true"),
                "ax": (None, "none"),
            },
        ),
        "Results.gaps": Door(results.gaps, by_metric),
    }
