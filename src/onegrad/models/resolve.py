"""Models of a problem: names to models, and models to feature maps."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.calculus import functions
from onegrad.calculus.expansion import expand
from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.conditional import conditional_map
from onegrad.models.feature_map import FeatureMap
from onegrad.models.hermite import HermiteMap
from onegrad.models.model import Model, parse_model
from onegrad.models.network import NetworkMap
from onegrad.problem.problem import Problem, require_problem
from onegrad.training.instance import Instance, draw
from onegrad.training.layers import Layers


def resolve_models(problem: Problem, names: Sequence[str] | str, *, seed: int = 0) -> list[Model]:
    """Return the models by name, each once; "hermite" has the degree of the seed's trial 0.

    `names` is a list, or one text with commas.
    """
    require_problem(problem)
    listed = names.split(",") if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InvalidInput(f"models={shown(names)}: must be a list of names; correct it")
    wanted = list(dict.fromkeys(name.strip().lower() for name in listed if name.strip()))
    if not wanted:
        raise InvalidInput(f"models={shown(names)}: must name at least one model; add network")
    degree = draw(problem, seed=seed).scales.degree
    models = [parse_model(name, default_degree=degree) for name in wanted]
    if not problem.data.exact_moments and any(model.kind == "conditional" for model in models):
        raise InvalidInput(
            "models='conditional': needs the spikes of a mixture; fit one (on_fitted_mixture) "
            "or leave it out"
        )
    return models


def feature_map(model: Model, instance: Instance, layers: Layers, trained: Floats) -> FeatureMap:
    """Return what the model does with pre-activations of its first layer."""
    activation = functions.get_activation(instance.problem.network.activation)
    if model.kind == "hermite":
        assert model.degree is not None
        scale = instance.scales.bulk_deviation
        return HermiteMap(expand(activation, scale, degree=model.degree))
    if model.kind == "conditional":
        return conditional_map(activation, instance.mixture, layers.first, trained)
    return NetworkMap(activation)
