"""onegrad: two-layer networks after one gradient step, beside their equivalent models.

    from onegrad import Problem, simulate
    errors = simulate(Problem(dimension=300, samples=300), ["network", "hermite"], trials=8)
    print(errors.to_frame())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onegrad.activations import register as register_activation
    from onegrad.data.source import Component, MixtureSource
    from onegrad.data.teacher import ClassLabels, SingleIndex
    from onegrad.instance import Batch, Instance, draw
    from onegrad.moments import exact_test_mse
    from onegrad.network import Layers, descent_direction, gradient_step, initialise
    from onegrad.problem import Network, Problem
    from onegrad.readout import Readout, fit_readout
    from onegrad.results import Errors
    from onegrad.scaling import Scaling
    from onegrad.simulation import simulate
    from onegrad.trial import feature_map, features, resolve_models, run_trial, sampled_errors
    from onegrad.validation import InvalidInput

_HOMES = {
    "register_activation": "activations:register",
    "Component": "data.source",
    "MixtureSource": "data.source",
    "ClassLabels": "data.teacher",
    "SingleIndex": "data.teacher",
    "Batch": "instance",
    "Instance": "instance",
    "draw": "instance",
    "exact_test_mse": "moments",
    "Layers": "network",
    "descent_direction": "network",
    "gradient_step": "network",
    "initialise": "network",
    "Network": "problem",
    "Problem": "problem",
    "Readout": "readout",
    "fit_readout": "readout",
    "Errors": "results",
    "Scaling": "scaling",
    "simulate": "simulation",
    "feature_map": "trial",
    "features": "trial",
    "resolve_models": "trial",
    "run_trial": "trial",
    "sampled_errors": "trial",
    "InvalidInput": "validation",
}
__all__ = list(_HOMES)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `onegrad --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'onegrad' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"onegrad.{module}"), attribute or name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
