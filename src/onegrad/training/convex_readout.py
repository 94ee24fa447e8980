"""The second layer by a convex loss with a ridge penalty: logistic regression, hinges, Huber, …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.describe.arrays import Floats, matching_rows, real_array
from onegrad.describe.checks import positive_numbers
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.training.convex_newton import newton_minimum
from onegrad.training.convex_objective import LossTerms, Minimum, PenalisedSum, Sample
from onegrad.training.convex_quasi_newton import quasi_newton_minimum
from onegrad.training.nonsmooth_readout import nonsmooth_minimum
from onegrad.training.readout import FittedReadout

ACCURACY = 1e-8  # of ‖w‖: where the bound on the error of w ends the iteration
PATIENCE = 30  # steps of L-BFGS to come; where they are more, Newton is faster


@dataclass(frozen=True, kw_only=True)
class ConvexReadout(FittedReadout):
    """Readout weights ŵ by a convex loss, with what training says about them, one per penalty.

    `steps` counts iterations, `error` bounds the weights' distance from the minimum as a share of
    their norm; it is at most 1e−8 for smooth losses and 1e−4 for others, unless the gradient is
    nothing but rounding.
    """

    loss: str
    train_loss: Floats
    steps: tuple[int, ...]
    error: Floats

    def metrics(self) -> dict[str, Floats]:
        """Return what training says, by the names of results."""
        return {**super().metrics(), "train_loss": self.train_loss}

    @property
    def objective(self) -> Floats:
        """Train loss + (λ/2)‖ŵ‖²."""
        return self.train_loss + 0.5 * self.ridge * self.squared_norm


def fit_convex(
    features: Floats,
    labels: Floats,
    *,
    loss: str,
    ridge: float | Sequence[float],
    sample_weights: Floats | None = None,
) -> ConvexReadout:
    """Return ŵ = argmin (1/m) Σ_i ℓ(y_i, wᵀφ_i/√k) + (λ/2)‖w‖² for each penalty λ.

    `features` φ is (m × k), in float64 whatever is given; `loss` is a text that `get_loss` knows.
    Penalties are solved from the largest down, each from the weights of the one before. A minimum
    that is not reached raises NotConverged. With `sample_weights` s ≥ 0, for smooth losses, it is
    (1/Σs) Σ_i s_i ℓ(y_i, ·), and training metrics are means with these weights.
    """
    named = get_loss(loss, field="loss")
    phi = real_array("features", features, axes=("samples", "features"))
    y = real_array("labels", labels, axes=("numbers",))
    matching_rows("labels", y, "features", len(phi))
    relative = _relative_weights(sample_weights, len(y), named)
    penalties = positive_numbers("ridge", ridge)
    return loss_readout(phi, y, loss=loss, ridge=penalties, relative_weights=relative)


def loss_readout(
    features: Floats,
    labels: Floats,
    *,
    loss: str,
    ridge: Sequence[float],
    relative_weights: Floats | None = None,
) -> ConvexReadout:
    """Return `fit_convex` of features, labels and weights of mean 1, all known to be right."""
    named, relative = get_loss(loss), relative_weights
    penalties = np.array(ridge)
    phi, y = _scaled(features, labels, named)
    minima: dict[int, Minimum] = {}
    sample = Sample(phi)
    start: Floats = np.zeros(phi.shape[1])
    for i in np.argsort(-penalties, kind="stable"):
        minima[i] = _minimum(
            sample, y, start, loss=named, ridge=float(penalties[i]), weights=relative
        )
        start = minima[i].weights
    ordered = [minima[i] for i in range(len(penalties))]
    weights = np.stack([minimum.weights for minimum in ordered], axis=1)
    outputs, column = phi @ weights, y[:, None]
    return ConvexReadout(
        ridge=penalties,
        weights=weights,
        train_mse=_mean((column - outputs) ** 2, relative),
        loss=named.name,
        train_loss=_mean(named.value(column, outputs), relative),
        train_misclassification=_mean(column * outputs < 0, relative),
        steps=tuple(minimum.steps for minimum in ordered),
        error=np.array([minimum.error for minimum in ordered]),
    )


def _mean(values: NDArray[Any], relative: Floats | None) -> Floats:
    return np.mean(values if relative is None else relative[:, None] * values, axis=0)


def _relative_weights(weights: Floats | None, samples: int, loss: NamedLoss) -> Floats | None:
    """Return m s/Σs, of mean 1; None where all samples count alike."""
    if weights is None:
        return None
    s = real_array("sample_weights", weights, axes=("numbers",))
    if s.shape != (samples,) or not (np.all(s >= 0) and 0 < s.sum() < np.inf):  # nan is not either
        raise InvalidInput(
            f"sample_weights={s.shape}: must be finite, at least 0, not all 0, and one per row of "
            f"features, here {samples}; correct them"
        )
    if not loss.smooth:
        raise InvalidInput(
            f"sample_weights: loss={loss.name!r} has a corner and takes none; use a smooth loss"
        )
    return s * (samples / s.sum())


def _scaled(features: Floats, labels: Floats, loss: NamedLoss) -> tuple[Floats, Floats]:
    """Return φ/√k and y in float64; raise InvalidInput where they overflowed or are no signs."""
    phi, y = np.array(features, dtype=np.float64, order="C"), np.asarray(labels, dtype=np.float64)
    if not np.all(np.isfinite(phi)):
        raise InvalidInput(
            "features: some are not finite; bring learning rate, spread, levels, means and norms "
            "nearer to 1, or correct the activation"
        )
    odd = ~np.isfinite(y) | (loss.needs_signs & (np.abs(y) != 1))
    if np.any(odd):
        rule = "must be -1 or 1" if loss.needs_signs else "must be finite"
        raise InvalidInput(
            f"labels={y[odd][0]:g}: {rule} for loss={loss.name!r}; correct them, or choose another "
            "loss"
        )
    phi /= np.sqrt(phi.shape[1])
    return phi, y


def _minimum(
    sample: Sample,
    labels: Floats,
    start: Floats,
    *,
    loss: NamedLoss,
    ridge: float,
    weights: Floats | None,
) -> Minimum:
    """Return the minimum for one penalty; raise NotConverged where it is not reached."""
    with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is not taken
        if loss.smooth:
            terms = LossTerms(loss, labels, weights)
            found = _smooth_minimum(PenalisedSum(sample, terms, ridge), start)
        else:
            found = nonsmooth_minimum(sample, labels, start, loss=loss, ridge=ridge)
    if not found.converged:
        raise NotConverged(
            f"ridge={ridge:.3g}: weights of loss={loss.name!r} may be {found.error:.1e} of their "
            f"norm off the minimum after {found.steps} steps; raise the ridge, or bring features "
            "and labels nearer to 1"
        )
    return found


def _smooth_minimum(objective: PenalisedSum, start: Floats) -> Minimum:
    """Return the minimum by L-BFGS, then by Newton where that is the better way."""
    quasi = quasi_newton_minimum(objective, start, accuracy=ACCURACY, patience=PATIENCE)
    if quasi.converged:
        return quasi
    start = quasi.weights if np.all(np.isfinite(quasi.weights)) else start
    newton = newton_minimum(objective, start, accuracy=ACCURACY)
    return replace(newton, steps=quasi.steps + newton.steps)
