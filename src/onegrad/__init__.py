"""onegrad: two-layer networks after one gradient step, beside their equivalent models.

from onegrad import Problem, simulate
errors = simulate(Problem(dimension=300, samples=300), ["network", "hermite"], trials=8)
print(errors.to_frame())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onegrad.calculus.functions import register_function as register_function
    from onegrad.data.index_teacher import SingleIndex as SingleIndex
    from onegrad.data.label_teacher import ClassLabels as ClassLabels
    from onegrad.data.mixture_source import Component as Component
    from onegrad.data.mixture_source import MixtureSource as MixtureSource
    from onegrad.data.rows.empirical import EmpiricalData as EmpiricalData
    from onegrad.data.rows.empirical import MixtureFit as MixtureFit
    from onegrad.data.rows.fashion_mnist import load_fashion_mnist as load_fashion_mnist
    from onegrad.data.rows.fitting import fit_mixture as fit_mixture
    from onegrad.describe.exceptions import InvalidInput as InvalidInput
    from onegrad.models.resolve import feature_map as feature_map
    from onegrad.models.resolve import resolve_models as resolve_models
    from onegrad.moments.exact import exact_test_mse as exact_test_mse
    from onegrad.problem.architecture import Network as Network
    from onegrad.problem.problem import Problem as Problem
    from onegrad.problem.scaling import Scaling as Scaling
    from onegrad.running.driver import run_sweep as run_sweep
    from onegrad.running.plan import plan_sweep as plan_sweep
    from onegrad.running.sweeps import Sweep as Sweep
    from onegrad.running.table import Results as Results
    from onegrad.steps.multi_index import MultiIndex as MultiIndex
    from onegrad.steps.result import StepsResult as StepsResult
    from onegrad.steps.staircase import first_direction as first_direction
    from onegrad.steps.staircase import hermite_tensor as hermite_tensor
    from onegrad.steps.staircase import leap_index as leap_index
    from onegrad.steps.staircase import staircase as staircase
    from onegrad.steps.steps_problem import StepSize as StepSize
    from onegrad.steps.steps_problem import StepsProblem as StepsProblem
    from onegrad.steps.take import take_steps as take_steps
    from onegrad.theory.maximal_rate import maximal_rate_limit as maximal_rate_limit
    from onegrad.training.fitted_problem import on_fitted_mixture as on_fitted_mixture
    from onegrad.training.instance import Batch as Batch
    from onegrad.training.instance import Instance as Instance
    from onegrad.training.instance import draw as draw
    from onegrad.training.layers import Layers as Layers
    from onegrad.training.layers import initialise as initialise
    from onegrad.training.readout import Readout as Readout
    from onegrad.training.readout import fit_readout as fit_readout
    from onegrad.training.reuse import Shared as Shared
    from onegrad.training.reuse import first_layers as first_layers
    from onegrad.training.step import descent_direction as descent_direction
    from onegrad.training.step import gradient_step as gradient_step
    from onegrad.verbs.degrees import equivalence as equivalence
    from onegrad.verbs.errors import Errors as Errors
    from onegrad.verbs.evaluation import measure_errors as measure_errors
    from onegrad.verbs.evaluation import sampled_errors as sampled_errors
    from onegrad.verbs.prediction import predict as predict
    from onegrad.verbs.prediction import predict_curve as predict_curve
    from onegrad.verbs.simulation import simulate as simulate
    from onegrad.verbs.trial import features as features
    from onegrad.verbs.trial import fit_models as fit_models
    from onegrad.verbs.trial import run_trial as run_trial
    from onegrad.verbs.tuning import tune as tune

_HOMES = {
    "register_function": "calculus.functions",
    "load_fashion_mnist": "data.rows.fashion_mnist",
    "fit_mixture": "data.rows.fitting",
    "EmpiricalData": "data.rows.empirical",
    "MixtureFit": "data.rows.empirical",
    "on_fitted_mixture": "training.fitted_problem",
    "Component": "data.mixture_source",
    "MixtureSource": "data.mixture_source",
    "ClassLabels": "data.label_teacher",
    "SingleIndex": "data.index_teacher",
    "Batch": "training.instance",
    "Instance": "training.instance",
    "draw": "training.instance",
    "exact_test_mse": "moments.exact",
    "Layers": "training.layers",
    "descent_direction": "training.step",
    "gradient_step": "training.step",
    "initialise": "training.layers",
    "Network": "problem.architecture",
    "Problem": "problem.problem",
    "Readout": "training.readout",
    "fit_readout": "training.readout",
    "Errors": "verbs.errors",
    "Scaling": "problem.scaling",
    "simulate": "verbs.simulation",
    "feature_map": "models.resolve",
    "features": "verbs.trial",
    "resolve_models": "models.resolve",
    "run_trial": "verbs.trial",
    "sampled_errors": "verbs.evaluation",
    "measure_errors": "verbs.evaluation",
    "fit_models": "verbs.trial",
    "first_layers": "training.reuse",
    "Shared": "training.reuse",
    "InvalidInput": "describe.exceptions",
    "Sweep": "running.sweeps",
    "plan_sweep": "running.plan",
    "run_sweep": "running.driver",
    "Results": "running.table",
    "predict": "verbs.prediction",
    "predict_curve": "verbs.prediction",
    "equivalence": "verbs.degrees",
    "tune": "verbs.tuning",
    "maximal_rate_limit": "theory.maximal_rate",
    "MultiIndex": "steps.multi_index",
    "first_direction": "steps.staircase",
    "hermite_tensor": "steps.staircase",
    "leap_index": "steps.staircase",
    "staircase": "steps.staircase",
    "StepSize": "steps.steps_problem",
    "StepsProblem": "steps.steps_problem",
    "StepsResult": "steps.result",
    "take_steps": "steps.take",
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
