"""The spectrum of trained features, watched while the readout is fitted to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus.function import orthonormal_hermite
from onegrad.calculus.spectra import Spectrum, gram_spectrum, spectrum
from onegrad.core.readout import FeatureSums
from onegrad.describe.numbers import Floats

DEGREES = 4  # of the Hermite polynomials that outliers are compared with


@dataclass(frozen=True)
class FeatureSpectrum:
    """Singular values of the centred features φ/√k, their outliers, and what these are like.

    `overlaps` (outliers or at least two × DEGREES) are |cosines| of the left singular vectors
    with H_q(Xv), v the leading direction of the weight change; none before there is one.
    """

    spectrum: Spectrum
    overlaps: Floats


class FeatureWatch:
    """Sums over the features of a batch, block by block: those of the readout, and φH_q(v·x)."""

    def __init__(self, width: int, direction: Floats | None) -> None:
        self._direction = direction
        self._powers = np.zeros((width, DEGREES))  # Σ φ H_q
        self._power_sums = np.zeros((2, DEGREES))  # Σ H_q and Σ H_q²
        self.sums: FeatureSums | None = None  # of the readout, set by whoever fits it

    def add(self, inputs: Floats, phi: Floats) -> None:
        """Add a block of inputs and their features."""
        line = np.zeros(len(inputs)) if self._direction is None else inputs @ self._direction
        powers = orthonormal_hermite(line, DEGREES)[1:]
        self._powers += phi.T @ powers.T
        self._power_sums += np.stack([powers.sum(axis=1), (powers**2).sum(axis=1)])

    def spectrum(self) -> FeatureSpectrum:
        """Return the spectrum of the centred features from their Gram matrix, with the overlaps.

        uᵀh/‖h‖ of the left singular vector u = Φv/s needs vᵀΦᵀh alone: no vector of length N.
        """
        assert self.sums is not None
        count, width = self.sums.count, len(self.sums.features)
        mean = self.sums.features / np.sqrt(count)
        gram = self.sums.gram - np.outer(mean, mean)
        values, vectors = gram_spectrum(gram, vectors=min(width, 12))
        leading = spectrum(values / np.sqrt(width))
        compared = self._direction is not None
        shown = min(max(leading.count or 0, 2), vectors.shape[1]) if compared else 0
        means = self._power_sums[0] / count
        squares = self._power_sums[1] - count * means**2
        centred = self._powers - np.outer(self.sums.features, means)
        scale = values[:shown, None] * np.sqrt(np.maximum(squares, 0.0))
        products = np.abs(vectors[:, :shown].T @ centred)
        overlaps = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
        return FeatureSpectrum(leading, np.minimum(overlaps, 1.0))
