"""The classifier: steps of the first layer, then a ridge or logistic readout, or by theory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.given_targets import class_midpoint, class_signs
from onegrad.estimators.network_fit import seed_of
from onegrad.estimators.shared_estimator import OneStepPredictor
from onegrad.estimators.sklearn_versions import checked_weights, counted, validated
from onegrad.estimators.theory_fit import (
    RowsToFit,
    TheoryFit,
    chosen_classes,
    fit_classes_by_theory,
)
from onegrad.estimators.weighted_rows import WeightedRows


def _logistic(estimator: OneStepClassifier) -> bool:
    if estimator.loss != "logistic":
        raise AttributeError(
            f"loss={shown(estimator.loss)}: probabilities need loss='logistic'; set it"
        )
    return True


class OneStepClassifier(ClassifierMixin, OneStepPredictor):
    """A two-layer network for classes: its first layer takes gradient steps, the second is convex.

    ŷ = wᵀσ(F̂x)/√k of x = scale·(row − centre): rows are centred at the midpoint of the class means
    and multiplied by one number, so that the mean of ‖x‖² is θ (n unless exponents are given); put
    a StandardScaler before it where features have different units. F̂ is F after `steps` steps by
    the `rule`, from F_ij ~ N(0, 1/θ). Two classes have one output, more have one each against the
    rest, whose steps train a share of the neurons each and whose readouts share all.

    Parameters
    ----------
    width : neurons k.
    activation : σ, a name, a formula such as "max(u, 0.1*u)", or what was registered.
    learning_rate : η; k/2 without it, for every output's share of k neurons; "theory" chooses it.
    strength, weighting : β and α in place of η, as the core scales them: η = n^{βα},
        θ = n^{β(1−α)}; 1 and 0 where only one is given. Rows carry no added noise here, so that
        ηθ = n^β alone matters.
    rule : update rule, "gradient", "sign", "polar", "whitened:DAMPING" or what was registered.
    steps : steps, each on the same rows.
    bias : size of a constant input beside the deviation of the others; 0 for none, as in the core.
    ridge : penalty λ of (1/m) Σ ℓ(y, ŷ) + (λ/2)‖w‖²; "theory" chooses it.
    loss : "square" (½(y − ŷ)² on ±1), "logistic", which gives probabilities, or another of ours.
    step_share : share of rows for the steps, the others for the readout; None gives both all rows,
        but half each where theory chooses, which needs rows that the first layer has not seen.
    random_state : whole number, RandomState or None.

    Attributes
    ----------
    classes_, coef_ : the classes; ŵ, a column per output.
    first_layer_, learning_rate_, ridge_ : F̂, η and λ that were used.
    predicted_error_, predicted_error_stderr_ : where theory chose something: the misclassification
        to expect on new rows, and how sure that is.
    held_out_error_ : misclassification on rows of the readout held out in tenths, for comparison.
    tried_ : (learning rate, its best penalty, predicted test metric) of all that theory looked at.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepClassifier:
        """Return the classifier trained on rows X with classes y."""
        X, y = validated(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        kept = counted(weights)
        inputs, weights = X[kept], weights[kept]
        self.classes_, codes = np.unique(np.asarray(y)[kept], return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput("y: holds one class, at least two are needed; add rows of another")
        settings, seed = self._checked_settings(), seed_of(self.random_state)
        frame = self._framed(settings, inputs, weights, class_midpoint(inputs, codes, weights))
        rows = WeightedRows(frame.prepared(inputs), class_signs(codes, len(self.classes_)), weights)
        self._fit_rows(rows, frame, settings, groups=codes, seed=seed)
        return self

    def _by_theory(self, rows: RowsToFit, *, by_rate: bool, ridge: float | None) -> TheoryFit:
        codes = chosen_classes(rows.others.targets)
        return fit_classes_by_theory(rows, codes, by_rate=by_rate, ridge=ridge)

    def decision_function(self, X: Any) -> Floats:
        """Return the outputs: one per row for two classes, else one per class."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64)
        outputs = self._outputs(rows)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row: of a positive output, or of the largest."""
        outputs = self.decision_function(X)
        chosen = chosen_classes(outputs[:, None] if outputs.ndim == 1 else outputs)
        return np.asarray(self.classes_[chosen])

    @available_if(_logistic)
    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities by the logistic function; those against the rest are normalised."""
        shares = expit(self.decision_function(X))
        if shares.ndim == 1:
            return np.stack([1 - shares, shares], axis=1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
