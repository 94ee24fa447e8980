"""onegrad: two-layer networks after one or several steps, beside their equivalent models.

from onegrad import Problem, simulate
problem = Problem(dimension=300, readout={"samples": 300})
errors = simulate(problem, ["network", "hermite"], trials=8)
print(errors.to_frame())

Stages of the pipeline and whatever else one builds on are imported from their folders, such as
`onegrad.training.step`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onegrad.calculus.functions import register_function as register_function
    from onegrad.calculus.losses import register_loss as register_loss
    from onegrad.calculus.rules import register_rule as register_rule
    from onegrad.data.index_teacher import SingleIndex as SingleIndex
    from onegrad.data.label_teacher import ClassLabels as ClassLabels
    from onegrad.data.mixture_source import Component as Component
    from onegrad.data.mixture_source import MixtureSource as MixtureSource
    from onegrad.data.multi_index import MultiIndex as MultiIndex
    from onegrad.data.rows.empirical import EmpiricalData as EmpiricalData
    from onegrad.data.rows.empirical import MixtureFit as MixtureFit
    from onegrad.data.rows.fashion_mnist import load_fashion_mnist as load_fashion_mnist
    from onegrad.data.rows.fitting import fit_mixture as fit_mixture
    from onegrad.data.sign_teacher import LogisticIndex as LogisticIndex
    from onegrad.data.sign_teacher import SignIndex as SignIndex
    from onegrad.data.source import register_source as register_source
    from onegrad.data.teacher import register_teacher as register_teacher
    from onegrad.describe.exceptions import InvalidInput as InvalidInput
    from onegrad.diagnostics.records import StepsResult as StepsResult
    from onegrad.estimators.classifier import OneStepClassifier as OneStepClassifier
    from onegrad.estimators.regressor import OneStepRegressor as OneStepRegressor
    from onegrad.estimators.transformer import OneStepFeatures as OneStepFeatures
    from onegrad.explorer.serve import explore as explore
    from onegrad.models.model import register_model as register_model
    from onegrad.papers.panel_registry import register_panel as register_panel
    from onegrad.papers.panel_registry import register_panel_kind as register_panel_kind
    from onegrad.problem.architecture import Network as Network
    from onegrad.problem.problem import Problem as Problem
    from onegrad.problem.protocol import Readout as Readout
    from onegrad.problem.protocol import Training as Training
    from onegrad.problem.scaling import Scaling as Scaling
    from onegrad.running.driver import run_sweep as run_sweep
    from onegrad.running.sweeps import Sweep as Sweep
    from onegrad.running.table import Results as Results
    from onegrad.theory.maximal_rate import maximal_rate_limit as maximal_rate_limit
    from onegrad.training.fitted_problem import on_fitted_mixture as on_fitted_mixture
    from onegrad.verbs.degrees import equivalence as equivalence
    from onegrad.verbs.equivalent_degrees import Equivalence as Equivalence
    from onegrad.verbs.errors import Errors as Errors
    from onegrad.verbs.observation import take_steps as take_steps
    from onegrad.verbs.prediction import predict as predict
    from onegrad.verbs.prediction import predict_curve as predict_curve
    from onegrad.verbs.simulation import simulate as simulate
    from onegrad.verbs.tuned import Tuned as Tuned
    from onegrad.verbs.tuning import tune as tune

_HOMES = {
    "Problem": "problem.problem",
    "Network": "problem.architecture",
    "Scaling": "problem.scaling",
    "Training": "problem.protocol",
    "Readout": "problem.protocol",
    "Component": "data.mixture_source",
    "MixtureSource": "data.mixture_source",
    "EmpiricalData": "data.rows.empirical",
    "MixtureFit": "data.rows.empirical",
    "SingleIndex": "data.index_teacher",
    "ClassLabels": "data.label_teacher",
    "SignIndex": "data.sign_teacher",
    "LogisticIndex": "data.sign_teacher",
    "simulate": "verbs.simulation",
    "predict": "verbs.prediction",
    "predict_curve": "verbs.prediction",
    "equivalence": "verbs.degrees",
    "Equivalence": "verbs.equivalent_degrees",
    "tune": "verbs.tuning",
    "Tuned": "verbs.tuned",
    "maximal_rate_limit": "theory.maximal_rate",
    "Errors": "verbs.errors",
    "Sweep": "running.sweeps",
    "run_sweep": "running.driver",
    "Results": "running.table",
    "MultiIndex": "data.multi_index",
    "take_steps": "verbs.observation",
    "StepsResult": "diagnostics.records",
    "explore": "explorer.serve",
    "fit_mixture": "data.rows.fitting",
    "on_fitted_mixture": "training.fitted_problem",
    "load_fashion_mnist": "data.rows.fashion_mnist",
    "OneStepClassifier": "estimators.classifier",
    "OneStepRegressor": "estimators.regressor",
    "OneStepFeatures": "estimators.transformer",
    "register_function": "calculus.functions",
    "register_model": "models.model",
    "register_rule": "calculus.rules",
    "register_loss": "calculus.losses",
    "register_source": "data.source",
    "register_teacher": "data.teacher",
    "register_panel_kind": "papers.panel_registry",
    "register_panel": "papers.panel_registry",
    "InvalidInput": "describe.exceptions",
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
