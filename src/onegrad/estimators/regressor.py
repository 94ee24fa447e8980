"""The regressor: steps of the first layer, then ridge regression on its features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onegrad.describe.arrays import Floats
from onegrad.estimators.given_targets import NumberFrame
from onegrad.estimators.network_fit import seed_of
from onegrad.estimators.shared_estimator import OneStepPredictor
from onegrad.estimators.sklearn_versions import checked_weights, counted, validated
from onegrad.estimators.theory_fit import RowsToFit, TheoryFit, fit_numbers_by_theory
from onegrad.estimators.weighted_rows import WeightedRows, weighted_mean


class OneStepRegressor(RegressorMixin, MultiOutputMixin, OneStepPredictor):
    """A two-layer network for numbers: its first layer takes gradient steps, the second is ridge.

    Parameters as in `OneStepClassifier`; `loss` may be "square" or "huber:DELTA". Rows are centred
    at their mean. Targets are brought to mean 0 and deviation 1 before steps and readout, and
    predictions back. Several targets share the neurons. `predicted_error_` is the test MSE to
    expect, in the units of y squared, for one target and the square loss.
    """

    def __init__(
        self,
        width: int = 500,
        *,
        activation: str = "relu",
        learning_rate: float | str | None = None,
        strength: float | None = None,
        weighting: float | None = None,
        rule: str = "gradient",
        steps: int = 1,
        bias: float = 0.0,
        ridge: float | str = 1e-3,
        loss: str = "square",
        step_share: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.learning_rate = learning_rate
        self.strength = strength
        self.weighting = weighting
        self.rule = rule
        self.steps = steps
        self.bias = bias
        self.ridge = ridge
        self.loss = loss
        self.step_share = step_share
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepRegressor:
        """Return the regressor trained on rows X with numbers y, one column or several."""
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        weights = checked_weights(sample_weight, X)
        kept = counted(weights)
        inputs, weights = X[kept], weights[kept]
        numbers = np.asarray(y, dtype=np.float64)[kept].reshape(len(kept), -1)
        self._one_column = np.ndim(y) == 1
        self.target_frame_ = NumberFrame.of(numbers, weights)
        settings, seed = self._checked_settings(), seed_of(self.random_state)
        frame = self._framed(settings, inputs, weights, weighted_mean(inputs, weights))
        rows = WeightedRows(frame.prepared(inputs), self.target_frame_.prepared(numbers), weights)
        self._fit_rows(rows, frame, settings, groups=np.zeros(len(kept), dtype=np.intp), seed=seed)
        self.coef_ = self.coef_ * self.target_frame_.deviation
        if self._expected is not None:
            self._state_errors(float(self.target_frame_.deviation[0] ** 2))
        return self

    def _by_theory(self, rows: RowsToFit, *, by_rate: bool, ridge: float | None) -> TheoryFit:
        return fit_numbers_by_theory(rows, by_rate=by_rate, ridge=ridge)

    def predict(self, X: Any) -> Floats:
        """Return the predicted numbers of rows X."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64)
        values: Floats = self._outputs(rows) + self.target_frame_.mean
        return values[:, 0] if self._one_column else values
