"""onegrad: two-layer networks after one or several steps, beside their equivalent models.

from onegrad import Problem, simulate
problem = Problem(dimension=300, readout={"samples": 300})
errors = simulate(problem, ["network", "hermite"], trials=8)
print(errors.to_frame())

Single stages of a trial are in `onegrad.stages`.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onegrad.calculus.functions import register_function as register_function
    from onegrad.calculus.losses import register_loss as register_loss
    from onegrad.calculus.prediction import TheoryWarning as TheoryWarning
    from onegrad.calculus.rules import register_rule as register_rule
    from onegrad.core.instance import on_fitted_mixture as on_fitted_mixture
    from onegrad.core.models import register_model as register_model
    from onegrad.core.problem import Network as Network
    from onegrad.core.problem import Problem as Problem
    from onegrad.core.problem import Readout as Readout
    from onegrad.core.problem import Training as Training
    from onegrad.core.scaling import Scaling as Scaling
    from onegrad.data.empirical import EmpiricalData as EmpiricalData
    from onegrad.data.empirical import MixtureFit as MixtureFit
    from onegrad.data.fashion_mnist import load_fashion_mnist as load_fashion_mnist
    from onegrad.data.fitting import fit_mixture as fit_mixture
    from onegrad.data.joint_teachers import MultiIndex as MultiIndex
    from onegrad.data.mixture_source import Component as Component
    from onegrad.data.mixture_source import MixtureSource as MixtureSource
    from onegrad.data.source import register_source as register_source
    from onegrad.data.teachers import ClassLabels as ClassLabels
    from onegrad.data.teachers import LogisticIndex as LogisticIndex
    from onegrad.data.teachers import SignIndex as SignIndex
    from onegrad.data.teachers import SingleIndex as SingleIndex
    from onegrad.data.teachers import register_teacher as register_teacher
    from onegrad.describe.exceptions import InvalidInput as InvalidInput
    from onegrad.estimators.estimators import OneStepClassifier as OneStepClassifier
    from onegrad.estimators.estimators import OneStepFeatures as OneStepFeatures
    from onegrad.estimators.estimators import OneStepRegressor as OneStepRegressor
    from onegrad.explorer.server import explore as explore
    from onegrad.papers.panel_registry import register_panel as register_panel
    from onegrad.papers.panel_registry import register_panel_kind as register_panel_kind
    from onegrad.results.equivalence import Equivalence as Equivalence
    from onegrad.results.errors import Errors as Errors
    from onegrad.results.steps import StepsResult as StepsResult
    from onegrad.results.tuned import Tuned as Tuned
    from onegrad.sweeps.driver import run_sweep as run_sweep
    from onegrad.sweeps.results import Results as Results
    from onegrad.sweeps.sweep import Sweep as Sweep
    from onegrad.theory.maximal_rate import maximal_rate_limit as maximal_rate_limit
    from onegrad.verbs.equivalence import equivalence as equivalence
    from onegrad.verbs.observe import take_steps as take_steps
    from onegrad.verbs.predict import predict as predict
    from onegrad.verbs.predict import predict_curve as predict_curve
    from onegrad.verbs.simulate import simulate as simulate
    from onegrad.verbs.tune import tune as tune

_HOMES = {
    "Problem": "core.problem",
    "Network": "core.problem",
    "Scaling": "core.scaling",
    "Training": "core.problem",
    "Readout": "core.problem",
    "Component": "data.mixture_source",
    "MixtureSource": "data.mixture_source",
    "EmpiricalData": "data.empirical",
    "MixtureFit": "data.empirical",
    "SingleIndex": "data.teachers",
    "ClassLabels": "data.teachers",
    "SignIndex": "data.teachers",
    "LogisticIndex": "data.teachers",
    "simulate": "verbs.simulate",
    "predict": "verbs.predict",
    "predict_curve": "verbs.predict",
    "equivalence": "verbs.equivalence",
    "Equivalence": "results.equivalence",
    "tune": "verbs.tune",
    "Tuned": "results.tuned",
    "maximal_rate_limit": "theory.maximal_rate",
    "Errors": "results.errors",
    "Sweep": "sweeps.sweep",
    "run_sweep": "sweeps.driver",
    "Results": "sweeps.results",
    "MultiIndex": "data.joint_teachers",
    "take_steps": "verbs.observe",
    "StepsResult": "results.steps",
    "explore": "explorer.server",
    "fit_mixture": "data.fitting",
    "on_fitted_mixture": "core.instance",
    "load_fashion_mnist": "data.fashion_mnist",
    "OneStepClassifier": "estimators.estimators",
    "OneStepRegressor": "estimators.estimators",
    "OneStepFeatures": "estimators.estimators",
    "register_function": "calculus.functions",
    "register_model": "core.models",
    "register_rule": "calculus.rules",
    "register_loss": "calculus.losses",
    "register_source": "data.source",
    "register_teacher": "data.teachers",
    "register_panel_kind": "papers.panel_registry",
    "register_panel": "papers.panel_registry",
    "InvalidInput": "describe.exceptions",
    "TheoryWarning": "calculus.prediction",
}
__all__ = list(_HOMES)
__version__ = "0.1.0"
logging.getLogger("onegrad").addHandler(logging.NullHandler())  # silent by default


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `onegrad --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'onegrad' has no attribute {name!r}")
    return getattr(importlib.import_module(f"onegrad.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
