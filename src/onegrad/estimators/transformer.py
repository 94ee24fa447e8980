"""The transformer: the features of a first layer that was trained by steps on the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.given_targets import NumberFrame, class_midpoint, class_signs
from onegrad.estimators.network_fit import seed_of, train_first_layer
from onegrad.estimators.shared_estimator import OneStepEstimator
from onegrad.estimators.sklearn_versions import checked_weights, counted, validated
from onegrad.estimators.weighted_rows import WeightedRows, weighted_mean

TASKS = ("auto", "classification", "regression")


class OneStepFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OneStepEstimator):
    """The features σ(F̂x)/√k of a first layer after its steps, for a readout of your own.

    Parameters of the network as in `OneStepClassifier`. `task` says what y is: "classification" or
    "regression"; "auto" takes whole numbers and texts for classes. All rows take part in the steps.
    """

    def __init__(
        self,
        width: int = 500,
        *,
        activation: str = "relu",
        learning_rate: float | None = None,
        strength: float | None = None,
        weighting: float | None = None,
        rule: str = "gradient",
        steps: int = 1,
        bias: float = 0.0,
        task: str = "auto",
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
        self.task = task
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepFeatures:
        """Return the transformer whose first layer was trained on rows X with y."""
        classes = self._reads_classes(y)
        X, y = validated(self, X, y, multi_output=not classes, dtype=np.float64)
        weights = checked_weights(sample_weight, X)
        kept = counted(weights)
        inputs, weights = X[kept], weights[kept]
        targets, centre = _prepared_targets(inputs, np.asarray(y)[kept], weights, classes=classes)
        settings, seed = self._settings(self.learning_rate), seed_of(self.random_state)
        frame = self._framed(settings, inputs, weights, centre)
        rows = WeightedRows(frame.prepared(inputs), targets, weights)
        self._keep_layer(train_first_layer(settings, rows, frame, seed=seed))
        self._n_features_out = len(self.first_layer_)
        return self

    def transform(self, X: Any) -> Floats:
        """Return σ(F̂x)/√k of rows X: a readout's weights then have the scale of the core's."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64)
        return self.layer_.features(rows) / np.sqrt(len(self.first_layer_))

    def _reads_classes(self, y: Any) -> bool:
        if self.task not in TASKS:
            raise InvalidInput(f"task={shown(self.task)}: must be {' or '.join(TASKS)}; choose one")
        if self.task == "auto" and y is not None:
            return type_of_target(y) in ("binary", "multiclass")
        return bool(self.task == "classification")

    def _more_tags(self) -> dict[str, bool]:
        return {"requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _prepared_targets(
    inputs: Floats, y: NDArray[Any], weights: Floats, *, classes: bool
) -> tuple[Floats, Floats]:
    """Return the targets (rows × outputs) and the centre of the inputs that belongs to them."""
    if classes:
        names, codes = np.unique(y, return_inverse=True)
        return class_signs(codes, len(names)), class_midpoint(inputs, codes, weights)
    numbers = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    return NumberFrame.of(numbers, weights).prepared(numbers), weighted_mean(inputs, weights)
