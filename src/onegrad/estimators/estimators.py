"""The scikit-learn estimators: regressor, classifier and transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from onegrad.core.streams import Stream, Streams
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, shown
from onegrad.estimators.first_layer import (
    THEORY,
    FirstLayer,
    InputFrame,
    NetworkSettings,
    NumberFrame,
    WeightedRows,
    class_midpoint,
    class_signs,
    fit_weighted,
    parted,
    seed_of,
    train_first_layer,
    weighted_mean,
)
from onegrad.estimators.sklearn_versions import checked_weights, counted, validated
from onegrad.estimators.theory_choice import (
    ExpectedError,
    RowsToFit,
    TheoryFit,
    chosen_classes,
    fit_classes_by_theory,
    fit_numbers_by_theory,
    numbers_or_theory,
)

THEORY_SHARE = 0.5  # of rows that the steps read where theory chooses and nothing is said


class OneStepEstimator(BaseEstimator):
    """An estimator with a first layer that was trained by steps; parameters are only stored."""

    width: Any
    activation: Any
    learning_rate: Any
    strength: Any
    weighting: Any
    rule: Any
    steps: Any
    bias: Any
    step_share: Any
    random_state: Any

    layer_: FirstLayer

    def _settings(self, learning_rate: Any) -> NetworkSettings:
        """Return what the parameters say of the network, with this learning rate."""
        return NetworkSettings(
            width=self.width,
            activation=self.activation,
            learning_rate=learning_rate,
            strength=self.strength,
            weighting=self.weighting,
            rule=self.rule,
            steps=self.steps,
        )

    def _checked_settings(self) -> NetworkSettings:
        """Return the settings, with theory's first guess where theory chooses the rate."""
        by_theory = isinstance(self.learning_rate, str)
        if by_theory and self.learning_rate != THEORY:
            raise InvalidInput(
                f"learning_rate={shown(self.learning_rate)}: must be a number, None or 'theory'; "
                "choose one"
            )
        if by_theory and (self.strength is not None or self.weighting is not None):
            raise InvalidInput(
                "learning_rate='theory': must not be given with strength or weighting; keep one"
            )
        return self._settings(None if by_theory else self.learning_rate)

    def _framed(
        self, settings: NetworkSettings, inputs: Floats, weights: Floats, centre: Floats
    ) -> InputFrame:
        """Return the frame that brings the rows to the trace θ of the problem."""
        bias = _checked_bias(self.bias)
        problem = settings.problem(dimension=inputs.shape[1] + (bias != 0))
        trace = problem.scaling.spread_at(problem.dimension)
        return InputFrame.of(inputs, weights, centre=centre, trace=trace, bias=bias)

    def _parted(
        self, rows: WeightedRows, groups: NDArray[np.intp], *, by_theory: bool, seed: int
    ) -> tuple[WeightedRows, WeightedRows]:
        """Return the rows of the steps and those of the readout: all for both, or parted."""
        share = self.step_share
        if share is None:
            if not by_theory:
                return rows, rows
            share = THEORY_SHARE
        if isinstance(share, bool | str) or np.ndim(share) or not 0 < share < 1:
            raise InvalidInput(
                f"step_share={shown(self.step_share)}: must lie between 0 and 1, or be None for "
                "all rows in steps and readout; change it"
            )
        if len(rows.inputs) < 2:
            raise InvalidInput(f"step_share={share:g}: 1 sample cannot be parted; give more rows")
        rng = Streams(seed, 0).generator(Stream.STEP_DATA, "parted rows")
        steps, others = parted(groups, float(share), rng)
        return rows.taken(steps), rows.taken(others)

    def _keep_layer(self, layer: FirstLayer) -> None:
        """Keep the trained layer and say what it is."""
        self.layer_ = layer
        self.first_layer_ = layer.trained
        self.learning_rate_ = layer.learning_rate


def _checked_bias(bias: Any) -> float:
    """Return the bias as a finite number of at least 0."""
    if isinstance(bias, bool | str) or not np.ndim(bias) == 0 or not 0 <= bias < np.inf:
        raise InvalidInput(f"bias={shown(bias)}: must be a number of at least 0; change it")
    return float(bias)


class OneStepPredictor(OneStepEstimator):
    """An estimator with a readout after the steps, whose penalty and rate theory may choose."""

    _expected: ExpectedError | None

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

    def _fit_rows(
        self,
        rows: WeightedRows,
        frame: InputFrame,
        settings: NetworkSettings,
        *,
        groups: NDArray[np.intp],
        seed: int,
    ) -> None:
        """Train layer and readout on prepared rows; `groups` are parted evenly where rows are."""
        ridge, by_rate = numbers_or_theory(self.ridge, self.learning_rate)
        by_theory = ridge is None or by_rate
        if by_theory and not np.all(rows.weights == rows.weights[0]):
            raise InvalidInput(
                "sample_weight: theory knows rows that count alike; give numbers for ridge and "
                "learning_rate, or no weights"
            )
        steps, others = self._parted(rows, groups, by_theory=by_theory, seed=seed)
        whole = RowsToFit(settings, frame, steps, others, self.loss, seed)
        if by_theory:
            chosen = self._by_theory(whole, by_rate=by_rate, ridge=ridge)
            layer, ridge = chosen.choice.layer, chosen.choice.ridge
            self.tried_, self._expected = chosen.choice.tried, chosen.expected
        else:
            layer, self._expected = whole.layer(None), None
        assert ridge is not None
        self.ridge_ = ridge
        self._keep_layer(layer)
        features = layer.features_of_prepared(others.inputs)
        self.coef_ = fit_weighted(others, features, loss=self.loss, ridge=ridge)
        self._state_errors(1.0)

    def _by_theory(self, rows: RowsToFit, *, by_rate: bool, ridge: float | None) -> TheoryFit:
        """Return the choice of theory on rows."""
        raise NotImplementedError

    def _state_errors(self, unit: float) -> None:
        """Say what is expected where theory chose, in units of the targets."""
        if self._expected is not None:
            self.predicted_error_ = unit * self._expected.error
            self.predicted_error_stderr_ = unit * self._expected.stderr
            self.held_out_error_ = unit * self._expected.held_out

    def _outputs(self, inputs: Floats) -> Floats:
        """Return ŵᵀσ(F̂x)/√k, rows × outputs."""
        return np.asarray(self.layer_.features(inputs) @ self.coef_ / np.sqrt(len(self.coef_)))


class OneStepRegressor(RegressorMixin, MultiOutputMixin, OneStepPredictor):
    """A two-layer network for numbers: its first layer takes gradient steps, the second is ridge.

    Parameters as in `OneStepClassifier`; `loss` may be "square" or "huber:DELTA". Rows are centred
    at their mean. Targets are brought to mean 0 and deviation 1 before steps and readout, and
    predictions back. Several targets share the neurons. `predicted_error_` is the test MSE to
    expect, in the units of y squared, for one target and the square loss.
    """

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
