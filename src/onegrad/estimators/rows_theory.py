"""Theory of readouts on rows like given ones: a mixture fitted to them, then any first layer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from onegrad.calculus.functions import get_activation
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.rows.empirical import DEFAULT_RANK
from onegrad.data.rows.fitting import fit_mixture
from onegrad.describe.arrays import Floats
from onegrad.estimators.network_fit import FirstLayer
from onegrad.models.network import NetworkMap
from onegrad.problem.architecture import Network
from onegrad.problem.problem import Problem
from onegrad.problem.protocol import Readout
from onegrad.problem.scaling import Scaling
from onegrad.theory.model_types import ModelTypes
from onegrad.training.instance import Instance, draw
from onegrad.verbs.points import point_rounds
from onegrad.verbs.prediction import require_theory


@dataclass(frozen=True)
class ReadoutPlan:
    """The readout whose errors are asked for: k, m, ℓ, and the deviation of noise in its labels."""

    width: int
    samples: int
    loss: str = "square"
    noise: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class RowsTheory:
    """Theory of readouts on samples of a fitted mixture, given any first layer.

    The mixture must be fitted to rows that the first layer has not seen: their noise would count
    as signal where it has.
    """

    instance: Instance

    @classmethod
    def of(
        cls, inputs: Floats, labels: Floats, plan: ReadoutPlan, *, components: int | None
    ) -> RowsTheory:
        """Return the theory of a readout on rows like these, whose labels are numbers.

        Labels ±1 and noisy ones have one output, others one per class.
        """
        rank = min(DEFAULT_RANK, inputs.shape[1] - 1)
        mixture = fit_mixture(inputs, labels, components_per_class=components, rank=rank)
        signs = set(np.unique(labels)) <= {-1.0, 1.0}
        problem = Problem(
            dimension=inputs.shape[1],
            data=mixture.replace(counts="sampled"),
            teacher=ClassLabels(noise=plan.noise),
            network=Network(width=plan.width),
            readout=Readout(
                samples=plan.samples,
                loss=plan.loss,
                outputs="one" if signs or plan.noise else "classes",
            ),
            scaling=Scaling(learning_rate=1.0, spread=1.0),
        )
        require_theory(problem)
        return cls(draw(problem, seed=plan.seed))

    @property
    def components(self) -> int:
        """The largest number of components of a label."""
        source = self.instance.problem.data
        assert isinstance(source, MixtureSource)
        labels = [component.label for component in source.components]
        return max(labels.count(label) for label in labels)

    def of_layer(self, layer: FirstLayer, *, points: bool) -> LayerTheory:
        """Return the theory given a layer; with `points` classes are told apart point by point."""
        instance = self.instance
        problem = instance.problem
        types = ModelTypes(
            instance.mixture,
            instance.teacher,
            NetworkMap(get_activation(layer.activation)),
            layer.trained,
            initial=layer.initial,
            binary=problem.binary and not problem.noisy,
            exact_counts=False,
            rounds=partial(point_rounds, instance) if points else None,
            convex=problem.readout.loss != "square",
        )
        return LayerTheory(types, problem)


@dataclass(frozen=True)
class LayerTheory:
    """What theory says of readouts on one first layer."""

    types: ModelTypes
    problem: Problem

    def metrics(self, ridge: float) -> dict[str, float]:
        """Return the predicted metrics for a penalty, test MSE with the noise of the labels."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the stated uncertainty has what they say
            errors = self.types.errors(
                samples=(self.problem.samples,),
                ridges=(ridge,),
                loss=self.problem.readout.loss,
                classes=self.problem.classes,
            )
        values = {name: float(array[0, 0]) for name, array in errors.metrics().items()}
        noise: float = getattr(self.problem.teacher, "noise", 0.0)
        return {**values, "test_mse": values["test_mse"] + noise**2}
