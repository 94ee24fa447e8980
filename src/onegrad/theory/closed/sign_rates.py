"""Shares of wrong signs: given its type, a sample's output is Gaussian.

Its mean is M̂_s, its covariance with z (what the label reads off S) is ψ_s, and its variance follows
from ε_s = E(y − u)². A training sample's own output is (u + δy)/(1 + δ), u that of a left-out one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.label_law import LabelLaw
from onegrad.theory.closed.point_errors import PointErrors
from onegrad.theory.closed.sample_points import SamplePoints

SMALLEST_VARIANCE = 1e-300


@dataclass(frozen=True)
class WrongSigns:
    """Shares of wrong signs on test and on training samples, at every point."""

    misclassification: Floats
    train_misclassification: Floats


def wrong_signs(
    errors: PointErrors, frame: Frame, samples: SamplePoints, law: LabelLaw
) -> WrongSigns:
    """Return the rates at every point of one setting, for labels +1 and −1."""
    label = errors.grid.label
    h0, h1, h2 = label(1), label(1, 1), label(2)
    a, psi = errors.output, errors.covariance
    power = errors.error - h2 + 2 * h0 * a + 2 * h1 * psi  # E u²
    spread = np.maximum(power - a**2 - psi**2, SMALLEST_VARIANCE)[..., None]
    deviation = frame.reads_off * np.sqrt(samples.level)
    means, weights, nodes = law.values(samples.centres(frame), deviation, samples.labels(frame))
    slope = psi[..., None] * nodes
    share = samples.weights[:, None] * weights

    def rate(centre: Floats, fitted: Floats, noise: Floats) -> Floats:
        scale = np.sqrt(spread + noise)
        plus = ndtr(-(centre[..., None] + slope + fitted) / scale)  # u too low for a label +1
        minus = ndtr((centre[..., None] + slope - fitted) / scale)
        wrong = 0.5 * (1 + means) * plus + 0.5 * (1 - means) * minus
        return np.asarray(np.sum(share * wrong, axis=(-1, -2)))

    none, delta = np.zeros(1), errors.delta[..., None]
    noise = none if law.signs else (delta * law.noise) ** 2
    return WrongSigns(rate(a, none, none), rate(a + errors.shift, delta, noise))
