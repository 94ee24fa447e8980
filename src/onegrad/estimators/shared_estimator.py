"""What regressor, classifier and features share: the parameters of the network and its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.expected_error import ExpectedError
from onegrad.estimators.network_fit import THEORY, FirstLayer, NetworkSettings
from onegrad.estimators.theory_fit import RowsToFit, TheoryFit, numbers_or_theory
from onegrad.estimators.weighted_rows import InputFrame, WeightedRows, fit_weighted, parted
from onegrad.training.streams import Stream, Streams

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

    ridge: Any
    loss: Any

    _expected: ExpectedError | None

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
        """Return what theory chooses on rows."""
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
