"""Penalty and learning rate by theory, on mixtures fitted to the rows of the readout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.estimators.network_fit import FirstLayer
from onegrad.estimators.rows_theory import LayerTheory, ReadoutPlan, RowsTheory
from onegrad.estimators.weighted_rows import parted
from onegrad.verbs.penalty_search import search_lowest
from onegrad.verbs.tuning import RIDGES

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
