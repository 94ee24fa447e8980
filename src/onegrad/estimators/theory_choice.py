"""Penalty and learning rate chosen by theory, on mixtures fitted to the rows of the readout."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.functions import get_activation
from onegrad.core.instance import Instance, draw
from onegrad.core.models import NetworkMap
from onegrad.core.problem import Network, Problem, Readout
from onegrad.core.scaling import Scaling
from onegrad.data.empirical import DEFAULT_RANK
from onegrad.data.fitting import fit_mixture
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.teachers import ClassLabels
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.numbers import Floats, positive_numbers, shown
from onegrad.estimators.first_layer import (
    THEORY,
    FirstLayer,
    InputFrame,
    NetworkSettings,
    WeightedRows,
    fit_weighted,
    parted,
    train_first_layer,
)
from onegrad.theory.methods import require
from onegrad.theory.model_types import ModelTypes
from onegrad.verbs.predict import point_rounds
from onegrad.verbs.tune import RIDGES, search_lowest


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
        require(problem)
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
            (point,) = self.types.predictions(
                samples=(self.problem.samples,),
                ridges=(ridge,),
                loss=self.problem.readout.loss,
                classes=self.problem.classes,
            )
        noise = self.problem.teacher.label_noise
        test_mse = point.metrics["test_mse"] + noise**2
        return {**point.metrics, "theory_error": point.theory_error, "test_mse": test_mse}


# Rates over the neurons of an output: a decade apart, then half a decade around the best.
FIRST_RATES = (0.01, 0.1, 1.0)
REFINEMENTS = (10**0.5,)
TEST_METRICS = ("test_mse", "test_loss", "misclassification")
SMALLEST_METRIC = 1e-6
LEAST_RATIO, LARGEST_RATIO = 0.5, 10.0  # of the error with all rows to that with half


@dataclass(frozen=True)
class ExtrapolatedTheory:
    """Theory of mixtures fitted to all given rows and to each half, carried on to endless rows.

    A mixture fitted to few rows takes their noise for signal, so that errors come out too small: by
    a share that falls like one over the rows. So log e(∞) = 2 log e(all) − mean log e(half).
    """

    whole: RowsTheory
    halves: tuple[RowsTheory, RowsTheory]

    @classmethod
    def of(
        cls, inputs: Floats, labels: Floats, plan: ReadoutPlan, *, components: int | None = None
    ) -> ExtrapolatedTheory:
        """Return the theory of rows whose labels are numbers; halves have every label's share.

        All three mixtures have as many components per label: what the likelihood chooses for all
        rows unless given, and never more than the halves can bear.
        """
        groups = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        first, second = parted(groups, 0.5, np.random.default_rng(plan.seed))
        smallest = min(int(np.min(np.bincount(groups[half]))) for half in (first, second))
        if components is None:
            components = RowsTheory.of(inputs, labels, plan, components=None).components
        count = min(components, max(smallest // 2, 1))

        def fitted(places: NDArray[np.intp]) -> RowsTheory:
            return RowsTheory.of(inputs[places], labels[places], plan, components=count)

        return cls(fitted(np.arange(len(labels))), (fitted(first), fitted(second)))

    def of_layer(self, layer: FirstLayer) -> ExtrapolatedLayer:
        """Return the theory given a layer."""
        first, second = (half.of_layer(layer, points=False) for half in self.halves)
        return ExtrapolatedLayer(self.whole.of_layer(layer, points=False), (first, second))

    @property
    def metric(self) -> str:
        """The metric by which a choice is made."""
        square = self.whole.instance.problem.readout.loss == "square"
        return "test_mse" if square else "test_loss"


@dataclass(frozen=True)
class ExtrapolatedLayer:
    """What the three mixtures say of readouts on one first layer."""

    whole: LayerTheory
    halves: tuple[LayerTheory, LayerTheory]

    def metrics(self, ridge: float, finer: dict[str, float] | None = None) -> dict[str, float]:
        """Return the metrics of all rows, and those of tests again under "endless …".

        `finer` are metrics of all rows known otherwise, carried on by the same ratios.
        """
        values = self.whole.metrics(ridge)
        finer = values if finer is None else finer
        halves = [half.metrics(ridge) for half in self.halves]
        endless = {}
        for name in TEST_METRICS:
            if name in values:
                now = max(values[name], SMALLEST_METRIC)
                before = [max(half[name], SMALLEST_METRIC) for half in halves]
                ratio = now / float(np.sqrt(before[0] * before[1]))
                ratio = float(np.clip(ratio, LEAST_RATIO, LARGEST_RATIO))
                endless[f"endless {name}"] = max(finer[name], SMALLEST_METRIC) * ratio
        return {**finer, **endless}


@dataclass(frozen=True)
class TheoryChoice:
    """The layer and penalty of the lowest predicted error; `tried` has a row per learning rate.

    A row is the rate, its best penalty, and the metric there.
    """

    layer: FirstLayer
    ridge: float
    tried: tuple[tuple[float, float, float], ...]


def choose_by_theory(
    theory: ExtrapolatedTheory,
    train: Callable[[float | None], FirstLayer],
    *,
    rates: Sequence[float | None],
    ridge: float | None,
) -> TheoryChoice:
    """Return the rate and penalty of least predicted test MSE, or test loss for other losses.

    `train` returns the first layer for a rate, trained on rows that no mixture has seen. Of several
    `rates` the best is refined; a single one stays. Without `ridge` the penalties of `tune` are
    searched.
    """
    looked: dict[float | None, tuple[FirstLayer, float, float]] = {}

    def look(rate: float | None) -> None:
        layer = train(rate)
        found = _best_penalty(theory.of_layer(layer), theory.metric, ridge)
        looked[rate] = (layer, *found)

    def best() -> float | None:
        return min(looked, key=lambda rate: looked[rate][2])

    for rate in rates:
        look(rate)
    for factor in REFINEMENTS if len(rates) > 1 else ():
        middle = best()
        assert middle is not None
        look(middle / factor)
        look(middle * factor)
    layer, penalty, lowest = looked[best()]
    if not np.isfinite(lowest):
        raise NotConverged(
            "theory: did not converge at any rate and penalty; give ridge and learning_rate"
        )
    tried = sorted((seen.learning_rate, at, value) for seen, at, value in looked.values())
    return TheoryChoice(layer, penalty, tuple(tried))


def _best_penalty(
    theory: ExtrapolatedLayer, metric: str, ridge: float | None
) -> tuple[float, float]:
    """Return the penalty of the lowest metric, and the metric there; infinity without any."""
    ridges = RIDGES if ridge is None else (ridge,)
    curve = np.full((1, len(ridges)), np.nan)

    def look(place: int) -> None:
        try:
            curve[0, place] = theory.metrics(ridges[place])[f"endless {metric}"]
        except NotConverged:
            curve[0, place] = np.inf

    search_lowest(curve, look)
    place = int(np.nanargmin(curve[0]))
    return ridges[place], float(curve[0, place])


FOLDS = 10
NINE_IN_TEN = 1.645  # standard errors that theory_error stands for


@dataclass(frozen=True)
class ExpectedError:
    """The expected test error with its standard error, and the parts that this is made of.

    `finite` is theory's own error at finite size, `fitted` half of what endless rows to fit the
    mixture to would change, `held_out` the error on rows held out from the readout alone, and
    `resolution` how well so few rows can tell it.
    """

    error: float
    finite: float
    fitted: float
    held_out: float
    resolution: float

    @property
    def stderr(self) -> float:
        """The parts together, the difference of theory and held-out rows among them."""
        misfit = self.error - self.held_out
        parts = (self.finite, self.fitted, misfit, self.resolution)
        return float(np.sqrt(np.sum(np.square(parts))))


def expected_error(
    metrics: dict[str, float], name: str, *, held_out: float, resolution: float, largest: float
) -> ExpectedError:
    """Return what is expected of a metric, at most `largest`, from theory's metrics."""
    error = min(metrics[f"endless {name}"], largest)
    return ExpectedError(
        error=error,
        finite=metrics["theory_error"] / NINE_IN_TEN * error,
        fitted=abs(error - metrics[name]) / 2,
        held_out=held_out,
        resolution=resolution,
    )


def held_out_outputs(rows: WeightedRows, layer: FirstLayer, *, loss: str, ridge: float) -> Floats:
    """Return the outputs at all rows by readouts on nine tenths of them, the first layer fixed.

    Rows are dealt in turn, those of one target together, so that every fold has its share.
    """
    features = layer.features_of_prepared(rows.inputs)
    folds: NDArray[np.intp] = np.empty(len(features), dtype=np.intp)
    order = np.lexsort(rows.targets.T)
    folds[order] = np.arange(len(features)) % FOLDS
    outputs = np.empty_like(rows.targets)
    for fold in range(min(FOLDS, len(features))):
        own = folds == fold
        others = rows.taken(np.flatnonzero(~own))
        weights = fit_weighted(others, features[~own], loss=loss, ridge=ridge)
        outputs[own] = features[own] @ weights / np.sqrt(len(weights))
    return outputs


def rate_with_resolution(wrong: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the share of wrong rows, and its standard error with one more of either kind."""
    count = len(wrong)
    share = (float(np.sum(wrong)) + 1) / (count + 2)
    return float(np.mean(wrong)), float(np.sqrt(share * (1 - share) / count))


def mean_with_resolution(squares: Floats) -> tuple[float, float]:
    """Return the mean of squares and its standard error."""
    return float(np.mean(squares)), float(np.std(squares, ddof=1) / np.sqrt(len(squares)))


LEAST_ROWS = 6  # of a class, for the readout
LEAST_SLICE, MOST_SLICES = 24, 8  # rows of numbers between neighbouring quantiles, and how many


@dataclass(frozen=True)
class TheoryFit:
    """What theory chose, and the error that it expects."""

    choice: TheoryChoice
    expected: ExpectedError


@dataclass(frozen=True)
class RowsToFit:
    """The rows of steps and readout with everything that training on them needs."""

    settings: NetworkSettings
    frame: InputFrame
    steps: WeightedRows
    others: WeightedRows
    loss: str
    seed: int

    def layer(self, learning_rate: float | None) -> FirstLayer:
        """Return the first layer trained with a rate, or with the settings' own."""
        settings = self.settings
        if learning_rate is not None:
            settings = replace(settings, learning_rate=learning_rate)
        return train_first_layer(settings, self.steps, self.frame, seed=self.seed)

    def choose(
        self, theory: ExtrapolatedTheory, *, by_rate: bool, ridge: float | None
    ) -> TheoryChoice:
        """Return what theory chooses of rate and penalty."""
        outputs = self.steps.targets.shape[1]
        neurons = max(int(self.settings.width) // outputs, 1)
        rates = [factor * neurons for factor in FIRST_RATES] if by_rate else [None]
        return choose_by_theory(theory, self.layer, rates=rates, ridge=ridge)

    def plan(self, noise: float = 0.0) -> ReadoutPlan:
        """Return the readout that theory is asked about."""
        width, samples = int(self.settings.width), len(self.others.inputs)
        return ReadoutPlan(width, samples, self.loss, noise, self.seed)


def fit_classes_by_theory(
    rows: RowsToFit, codes: NDArray[np.intp], *, by_rate: bool, ridge: float | None
) -> TheoryFit:
    """Return the choice for classes with the misclassification to expect; codes are 0, 1, …."""
    counts = np.bincount(codes)
    if counts.min() < LEAST_ROWS:
        raise InvalidInput(
            f"y: a class has {counts.min()} rows for the readout, theory needs {LEAST_ROWS}; give "
            "more, lower step_share, or give numbers for ridge and learning_rate"
        )
    labels = rows.others.targets[:, 0] if len(counts) == 2 else codes.astype(float)
    theory = ExtrapolatedTheory.of(rows.others.inputs, labels, rows.plan())
    choice = rows.choose(theory, by_rate=by_rate, ridge=ridge)
    by_points = theory.whole.of_layer(choice.layer, points=True).metrics(choice.ridge)
    metrics = theory.of_layer(choice.layer).metrics(choice.ridge, by_points)
    outputs = held_out_outputs(rows.others, choice.layer, loss=rows.loss, ridge=choice.ridge)
    held_out, resolution = rate_with_resolution(chosen_classes(outputs) != codes)
    chance = 1 - float(counts.max()) / len(codes)
    expected = expected_error(
        metrics, "misclassification", held_out=held_out, resolution=resolution, largest=chance
    )
    return TheoryFit(choice, expected)


def fit_numbers_by_theory(rows: RowsToFit, *, by_rate: bool, ridge: float | None) -> TheoryFit:
    """Return the choice for one column of numbers with the test MSE to expect.

    Numbers are cut at quantiles into slices, each a Gaussian of the mixture whose label is their
    mean; what numbers differ within slices is noise of that variance.
    """
    if rows.others.targets.shape[1] > 1 or rows.loss != "square":
        raise InvalidInput(
            f"loss={shown(rows.loss)}: theory knows one column of numbers by the square loss, here "
            f"are {rows.others.targets.shape[1]}; give numbers for ridge and learning_rate"
        )
    numbers = rows.others.targets[:, 0]
    labels, noise = sliced(numbers)
    theory = ExtrapolatedTheory.of(rows.others.inputs, labels, rows.plan(noise), components=1)
    choice = rows.choose(theory, by_rate=by_rate, ridge=ridge)
    metrics = theory.of_layer(choice.layer).metrics(choice.ridge)
    outputs = held_out_outputs(rows.others, choice.layer, loss=rows.loss, ridge=choice.ridge)
    held_out, resolution = mean_with_resolution((outputs[:, 0] - numbers) ** 2)
    variance = float(np.var(numbers))
    expected = expected_error(
        metrics, "test_mse", held_out=held_out, resolution=resolution, largest=variance
    )
    return TheoryFit(choice, expected)


def sliced(numbers: Floats) -> tuple[Floats, float]:
    """Return the mean of every number's slice between quantiles, and the deviation within them."""
    count = min(MOST_SLICES, len(numbers) // LEAST_SLICE)
    if count < 2:
        raise InvalidInput(
            f"y: has {len(numbers)} rows for the readout, theory needs {2 * LEAST_SLICE}; give "
            "more, lower step_share, or give numbers for ridge and learning_rate"
        )
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, count + 1)[1:-1]))
    places = np.searchsorted(edges, numbers, side="right")
    sums, sizes = np.bincount(places, numbers), np.bincount(places)
    if np.sum(sizes > 0) < 2 or sizes[sizes > 0].min() < LEAST_ROWS:
        raise InvalidInput(
            "y: has too few distinct numbers to slice; use OneStepClassifier, or give numbers for "
            "ridge and learning_rate"
        )
    labels = (sums / np.maximum(sizes, 1))[places]
    return labels, max(float(np.sqrt(np.mean((numbers - labels) ** 2))), 1e-6)


def chosen_classes(outputs: Floats) -> NDArray[np.intp]:
    """Return the class of every row: by the sign of one output, or the largest of several."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.intp)
    return np.argmax(outputs, axis=1)


def numbers_or_theory(ridge: Any, learning_rate: Any) -> tuple[float | None, bool]:
    """Return the penalty, None where theory chooses it, and whether theory chooses the rate."""
    by_rate = isinstance(learning_rate, str)
    if isinstance(ridge, str) and ridge == THEORY:
        return None, by_rate
    if isinstance(ridge, str) or ridge is None or np.ndim(ridge):
        raise InvalidInput(
            f"ridge={shown(ridge)}: must be a number above 0 or 'theory'; choose one"
        )
    return positive_numbers("ridge", ridge)[0], by_rate
