"""onegrad: two-layer networks after one gradient step, beside their equivalent models.

from onegrad import Problem, simulate
errors = simulate(Problem(dimension=300, samples=300), ["network", "hermite"], trials=8)
print(errors.to_frame())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onegrad.activations import register_activation as register_activation
    from onegrad.data.empirical import EmpiricalData as EmpiricalData
    from onegrad.data.empirical import MixtureFit as MixtureFit
    from onegrad.data.fashion_mnist import load_fashion_mnist as load_fashion_mnist
    from onegrad.data.fitting import fit_mixture as fit_mixture
    from onegrad.data.source import Component as Component
    from onegrad.data.source import MixtureSource as MixtureSource
    from onegrad.data.teacher import ClassLabels as ClassLabels
    from onegrad.data.teacher import SingleIndex as SingleIndex
    from onegrad.driver import plan_sweep as plan_sweep
    from onegrad.driver import run_sweep as run_sweep
    from onegrad.evaluation import measure_errors as measure_errors
    from onegrad.evaluation import sampled_errors as sampled_errors
    from onegrad.fitted import on_fitted_mixture as on_fitted_mixture
    from onegrad.giant.links import register_link as register_link
    from onegrad.giant.problem import StepSize as StepSize
    from onegrad.giant.problem import StepsProblem as StepsProblem
    from onegrad.giant.result import StepsResult as StepsResult
    from onegrad.giant.steps import take_steps as take_steps
    from onegrad.giant.teacher import MultiIndex as MultiIndex
    from onegrad.giant.teacher import first_direction as first_direction
    from onegrad.giant.teacher import hermite_tensor as hermite_tensor
    from onegrad.giant.teacher import leap_index as leap_index
    from onegrad.giant.teacher import staircase as staircase
    from onegrad.instance import Batch as Batch
    from onegrad.instance import Instance as Instance
    from onegrad.instance import draw as draw
    from onegrad.models import feature_map as feature_map
    from onegrad.models import resolve_models as resolve_models
    from onegrad.moments import exact_test_mse as exact_test_mse
    from onegrad.network import Layers as Layers
    from onegrad.network import descent_direction as descent_direction
    from onegrad.network import gradient_step as gradient_step
    from onegrad.network import initialise as initialise
    from onegrad.problem import Network as Network
    from onegrad.problem import Problem as Problem
    from onegrad.readout import Readout as Readout
    from onegrad.readout import fit_readout as fit_readout
    from onegrad.results import Errors as Errors
    from onegrad.scaling import Scaling as Scaling
    from onegrad.sharing import Shared as Shared
    from onegrad.sharing import first_layers as first_layers
    from onegrad.simulation import simulate as simulate
    from onegrad.sweep import Sweep as Sweep
    from onegrad.sweep_results import Results as Results
    from onegrad.theory.equivalence import equivalence as equivalence
    from onegrad.theory.limit import maximal_rate_limit as maximal_rate_limit
    from onegrad.theory.prediction import predict as predict
    from onegrad.theory.prediction import predict_curve as predict_curve
    from onegrad.theory.tuning import tune as tune
    from onegrad.trial import features as features
    from onegrad.trial import fit_models as fit_models
    from onegrad.trial import run_trial as run_trial
    from onegrad.validation import InvalidInput as InvalidInput

_HOMES = {
    "register_activation": "activations",
    "load_fashion_mnist": "data.fashion_mnist",
    "fit_mixture": "data.fitting",
    "EmpiricalData": "data.empirical",
    "MixtureFit": "data.empirical",
    "on_fitted_mixture": "fitted",
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
    "feature_map": "models",
    "features": "trial",
    "resolve_models": "models",
    "run_trial": "trial",
    "sampled_errors": "evaluation",
    "measure_errors": "evaluation",
    "fit_models": "trial",
    "first_layers": "sharing",
    "Shared": "sharing",
    "InvalidInput": "validation",
    "Sweep": "sweep",
    "plan_sweep": "driver",
    "run_sweep": "driver",
    "Results": "sweep_results",
    "predict": "theory.prediction",
    "predict_curve": "theory.prediction",
    "equivalence": "theory.equivalence",
    "tune": "theory.tuning",
    "maximal_rate_limit": "theory.limit",
    "register_link": "giant.links",
    "MultiIndex": "giant.teacher",
    "first_direction": "giant.teacher",
    "hermite_tensor": "giant.teacher",
    "leap_index": "giant.teacher",
    "staircase": "giant.teacher",
    "StepSize": "giant.problem",
    "StepsProblem": "giant.problem",
    "StepsResult": "giant.result",
    "take_steps": "giant.steps",
}
__all__ = list(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `onegrad --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'onegrad' has no attribute {name!r}")
    return getattr(importlib.import_module(f"onegrad.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
