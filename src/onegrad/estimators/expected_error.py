"""The test error that theory expects, how sure it is, and what the readout's own rows say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.arrays import Floats
from onegrad.estimators.network_fit import FirstLayer
from onegrad.estimators.weighted_rows import WeightedRows, fit_weighted

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
