"""The first layer of an estimator: described as a problem, drawn and trained on given rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.functions import get_activation
from onegrad.calculus.losses import get_loss
from onegrad.core.batches import BLOCK_ROWS
from onegrad.core.convex_readout import loss_readout
from onegrad.core.instance import Layers, draw, initialise
from onegrad.core.problem import Network, Problem, Training
from onegrad.core.readout import require_finite_readouts, ridge_readouts
from onegrad.core.run import RunState, descent_direction, next_state
from onegrad.core.scaling import Scaling
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.teachers import ClassLabels
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import LARGEST_COUNT, Floats, shown, whole_number


def class_signs(codes: NDArray[np.intp], classes: int) -> Floats:
    """Return ±1: a column for the second of two classes, else one per class against the rest."""
    columns = [1] if classes == 2 else range(classes)
    return np.where(codes[:, None] == np.asarray(columns), 1.0, -1.0)


def class_midpoint(inputs: Floats, codes: NDArray[np.intp], weights: Floats) -> Floats:
    """Return the mean of the classes' means, so that their shares do not move the origin."""
    means = [weighted_mean(inputs[codes == c], weights[codes == c]) for c in np.unique(codes)]
    return np.mean(means, axis=0)


@dataclass(frozen=True)
class NumberFrame:
    """Mean and deviation of every column of numbers; deviation 1 where all are equal."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, numbers: Floats, weights: Floats) -> NumberFrame:
        """Return the frame of these numbers (rows × columns).

        Squares are taken in units of a power of two, so that no size overflows or vanishes and no
        bit depends on it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            mean = weighted_mean(numbers, weights)
            apart = numbers - mean
        if not np.all(np.isfinite(apart)):
            raise InvalidInput("y: its mean and deviation overflow; divide it by a power of ten")
        unit = np.exp2(np.frexp(np.abs(apart).max(axis=0))[1] - 1.0)
        deviation = unit * np.sqrt(weighted_mean((apart / unit) ** 2, weights))
        return cls(mean, np.where(deviation > 0, deviation, 1.0))

    def prepared(self, numbers: Floats) -> Floats:
        """Return the numbers with mean 0 and deviation 1."""
        return (numbers - self.mean) / self.deviation


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
        gradient = descent_direction(
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


@dataclass(frozen=True)
class WeightedRows:
    """Prepared inputs (m × n), targets (m × outputs) and weights s > 0, one per row."""

    inputs: Floats
    targets: Floats
    weights: Floats

    def taken(self, places: NDArray[np.intp]) -> WeightedRows:
        """Return the rows at these places."""
        return WeightedRows(self.inputs[places], self.targets[places], self.weights[places])

    @property
    def total(self) -> float:
        """Σs, as many rows as these stand for."""
        return float(self.weights.sum())

    def step_blocks(self, layers: Layers, output: int) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (XFᵀ, sX, y) in blocks, of which `descent_direction` makes G.

        The weight stands at the factor X outside σ', so that the sum over rows is Σ s_i r_i σ' x_i.
        """
        for start in range(0, len(self.inputs), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            block = self.inputs[rows] @ layers.first.T
            yield block, self.weights[rows, None] * self.inputs[rows], self.targets[rows, output]

    def rule_blocks(self) -> Iterator[Floats]:
        """Yield the inputs that update rules read: those whose mean square is the weighted one."""
        roots = np.sqrt(self.weights * (len(self.weights) / self.total))
        for start in range(0, len(self.inputs), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield roots[rows, None] * self.inputs[rows]


@dataclass(frozen=True)
class InputFrame:
    """x = scale (row − centre): one centre and one scale, so that E‖x‖² is the trace asked for.

    With a bias b ≠ 0 every x gets one more coordinate, b times the deviation of the others.
    """

    centre: Floats
    scale: float
    constant: float = 0.0

    @classmethod
    def of(
        cls, inputs: Floats, weights: Floats, *, centre: Floats, trace: float, bias: float = 0.0
    ) -> InputFrame:
        """Return the frame in which Σ s‖x‖²/Σs = trace; scale 1 where all rows are equal.

        The constant coordinate of a bias b is not counted, and is b√(trace/n).
        """
        squares = np.sum((inputs - centre) ** 2, axis=1)
        mean = float(weights @ squares) / float(weights.sum())
        scale = float(np.sqrt(trace / mean)) if 0 < mean < np.inf else 1.0
        return cls(centre, scale, bias * float(np.sqrt(trace / inputs.shape[1])))

    def prepared(self, inputs: Floats) -> Floats:
        """Return the rows in this frame."""
        rows: Floats = self.scale * (inputs - self.centre)
        if not self.constant:
            return rows
        return np.concatenate([rows, np.full((len(rows), 1), self.constant)], axis=1)


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return Σ s_i v_i/Σs over rows."""
    return np.asarray(weights @ values / weights.sum())


def fit_weighted(rows: WeightedRows, features: Floats, *, loss: str, ridge: float) -> Floats:
    """Return ŵ = argmin (1/Σs) Σ_i s_i ℓ(y_i, wᵀφ_i/√k) + (λ/2)‖w‖², a column per output.

    The square loss is that of rows multiplied by √s, whose number m is not Σs: hence λΣs/m.
    """
    equal = bool(np.all(rows.weights == 1))
    if loss == "square":
        if not equal:
            roots = np.sqrt(rows.weights)[:, None]
            rows = WeightedRows(rows.inputs, roots * rows.targets, rows.weights)
            features, ridge = roots * features, ridge * rows.total / len(features)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked
            fits = ridge_readouts(features, rows.targets, ridge=ridge)
        require_finite_readouts(*fits)
        return np.concatenate([fit.weights for fit in fits], axis=1)
    get_loss(loss, field="loss")  # refuses another name
    weights = None if equal else rows.weights
    columns = [
        loss_readout(features, column, loss=loss, ridge=ridge, sample_weights=weights).weights
        for column in rows.targets.T
    ]
    return np.concatenate(columns, axis=1)


def parted(
    groups: NDArray[np.intp], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of `share` of the rows of every group, at random, and of all others.

    A group of one row goes to the others; two or more have a row in both.
    """
    steps, others = [], []
    for group in np.unique(groups):
        places = rng.permutation(np.flatnonzero(groups == group))
        cut = min(max(round(share * len(places)), 1), len(places) - 1)
        steps.append(places[:cut])
        others.append(places[cut:])
    return np.sort(np.concatenate(steps)), np.sort(np.concatenate(others))
