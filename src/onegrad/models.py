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
from onegrad.problem import Problem


def resolve_models(problem: Problem, names: Sequence[str], *, seed: int = 0) -> list[Model]:
    """Return the models by name; the default Hermite degree is that of the seed's trial 0."""
    degree = draw(problem, seed=seed).scales.degree
    return [parse_model(name, default_degree=degree) for name in names]


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
