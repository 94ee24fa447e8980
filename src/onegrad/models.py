"""Models of a problem: names to models, and models to feature maps."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad import activations
from onegrad.arrays import Floats
from onegrad.conditional import conditional_map
from onegrad.equivalents import FeatureMap, HermiteMap, Model, NetworkMap, parse_model
from onegrad.hermite import expand
from onegrad.instance import Instance, draw
from onegrad.network import Layers
from onegrad.problem import Problem, require_problem
from onegrad.validation import InvalidInput, shown


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
    activation = activations.get(instance.problem.network.activation)
    if model.kind == "hermite":
        assert model.degree is not None
        scale = instance.scales.bulk_deviation
        return HermiteMap(expand(activation, scale, degree=model.degree))
    if model.kind == "conditional":
        return conditional_map(activation, instance.mixture, layers.first, trained)
    return NetworkMap(activation)
