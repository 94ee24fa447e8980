"""The network that theory chooses for an estimator, with the test error to expect of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import positive_numbers, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.expected_error import (
    ExpectedError,
    expected_error,
    held_out_outputs,
    mean_with_resolution,
    rate_with_resolution,
)
from onegrad.estimators.network_fit import (
    THEORY,
    FirstLayer,
    NetworkSettings,
    train_first_layer,
)
from onegrad.estimators.rows_theory import ReadoutPlan
from onegrad.estimators.theory_choice import (
    FIRST_RATES,
    ExtrapolatedTheory,
    TheoryChoice,
    choose_by_theory,
)
from onegrad.estimators.weighted_rows import InputFrame, WeightedRows

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
