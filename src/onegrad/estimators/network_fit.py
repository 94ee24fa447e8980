"""The first layer of an estimator: described as a problem, drawn and trained on given rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.calculus.functions import get_activation
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.describe.arrays import Floats
from onegrad.describe.checks import LARGEST_COUNT, shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.weighted_rows import InputFrame, WeightedRows
from onegrad.problem.architecture import Network
from onegrad.problem.problem import Problem
from onegrad.problem.protocol import Training
from onegrad.problem.scaling import Scaling
from onegrad.training.instance import draw
from onegrad.training.layers import Layers, initialise
from onegrad.training.run import RunState, next_state
from onegrad.training.step import streamed_direction

DEFAULT_PER_WIDTH = 0.5  # η = k/2 where no step size is said
THEORY = "theory"


@dataclass(frozen=True)
class NetworkSettings:
    """What an estimator's parameters say about its network, before any data."""

    width: Any
    activation: Any
    learning_rate: Any
    strength: Any
    weighting: Any
    rule: Any
    steps: Any

    def problem(self, *, dimension: int, width: int | None = None) -> Problem:
        """Return the problem that has this network; raise InvalidInput where a parameter is wrong.

        Its inputs have the trace θ: the rows are brought to it, and F_ij ~ N(0, 1/θ).
        """
        scaling = self._scaling(dimension)
        wanted = whole_number("width", self.width if width is None else width, least=1)
        described = Problem(
            dimension=dimension,
            data=MixtureSource(components=tuple(Component(weight=0.5, rank=0) for _ in range(2))),
            teacher=ClassLabels(),
            network=Network(width=wanted, activation=self.activation),
            training=Training(steps=self.steps, rule=self.rule),
            scaling=Scaling(**scaling),
        )
        return described.replace(scaling__trace=described.scaling.spread_at(dimension))

    def _scaling(self, dimension: int) -> dict[str, Any]:
        """Return what the problem says of η and θ."""
        exponents = {
            name: value
            for name, value in (("strength", self.strength), ("weighting", self.weighting))
            if value is not None
        }
        if exponents and self.learning_rate is not None:
            raise InvalidInput(
                f"learning_rate={shown(self.learning_rate)}: must not be given with "
                f"{' or '.join(exponents)}; keep one"
            )
        if exponents:
            return {"strength": 1.0, "weighting": 0.0, **exponents}
        if self.learning_rate is None:
            return {"per_width": DEFAULT_PER_WIDTH, "spread": float(dimension)}
        return {"learning_rate": self.learning_rate, "spread": float(dimension)}


@dataclass(frozen=True)
class FirstLayer:
    """F before and after the steps (k × n), the frame of the inputs, σ, and η of every output."""

    frame: InputFrame
    activation: str
    initial: Floats
    trained: Floats
    learning_rate: float

    def features(self, inputs: Floats) -> Floats:
        """Return σ(F̂x) of raw rows."""
        return self.features_of_prepared(self.frame.prepared(inputs))

    def features_of_prepared(self, inputs: Floats) -> Floats:
        """Return σ(F̂x) of rows that are in the frame already."""
        return np.asarray(get_activation(self.activation)(inputs @ self.trained.T))


def train_first_layer(
    settings: NetworkSettings, rows: WeightedRows, frame: InputFrame, *, seed: int
) -> FirstLayer:
    """Return the first layer after the steps on rows, every step on all of them.

    With several outputs the neurons are dealt to them in turn: neuron i is trained for output
    i mod q as one of a network of its own, and the readouts share all neurons.
    """
    dimension, outputs = rows.inputs.shape[1], rows.targets.shape[1]
    whole = draw(settings.problem(dimension=dimension), seed=seed)
    layers = initialise(whole)
    trained, width = layers.first.copy(), len(layers.second)
    rate = 0.0
    for output in range(min(outputs, width)):
        neurons = np.arange(output, width, outputs)
        # w of a network of this width: N(0, 1/k) with its own k.
        second = layers.second[neurons] * np.sqrt(width / len(neurons))
        part = Layers(layers.first[neurons], second)
        trained[neurons], rate = _stepped(settings, rows, part, output=output, seed=seed)
    name = whole.problem.network.activation
    return FirstLayer(frame, name, layers.first, trained, rate)


def _stepped(
    settings: NetworkSettings, rows: WeightedRows, layers: Layers, *, output: int, seed: int
) -> tuple[Floats, float]:
    """Return the first layer of one output's network after all steps, and η of the last."""
    problem = settings.problem(dimension=rows.inputs.shape[1], width=len(layers.second))
    instance = draw(problem, seed=seed)
    activation = get_activation(problem.network.activation)
    state, rate = RunState(0, layers.first), 0.0
    for _ in range(problem.training.steps):
        now = Layers(state.first, layers.second)
        gradient = streamed_direction(
            now, rows.step_blocks(now, output), samples=rows.total, activation=activation
        )
        taken, state = next_state(instance, state, gradient, rows.rule_blocks)
        rate = taken.learning_rate
    return state.first, rate


def seed_of(random_state: Any) -> int:
    """Return the seed of the core's streams: a whole number itself, else one that is drawn."""
    from sklearn.utils import check_random_state

    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if whole and 0 <= random_state <= LARGEST_COUNT:
        return int(random_state)
    return int(check_random_state(random_state).randint(LARGEST_COUNT))
