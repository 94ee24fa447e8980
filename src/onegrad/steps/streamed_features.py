"""The trained features in one pass over a batch: readout, spectrum, and test error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.calculus import functions
from onegrad.calculus.polynomials import orthonormal_hermite
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.steps.blocks import Block, LowDegree
from onegrad.steps.spectra import Spectrum, gram_spectrum, spectrum
from onegrad.steps.steps_problem import StepsProblem
from onegrad.training.cholesky import solve_ridge
from onegrad.training.readout import fit_readout
from onegrad.verbs.errors import standard_error

DEGREES = 4  # of the Hermite polynomials that outliers are compared with
HELD_ROWS = 4096  # features of fewer samples (or fewer than neurons) are held: core readout, dual


@dataclass
class FeatureSums:
    """Sums over a batch: φφᵀ (lower half), φ, φy, φH_q(v·x), and those of y and H_q alone."""

    gram: Floats
    features: Floats
    labels: Floats  # Σ φ y
    powers: Floats  # Σ φ H_q, p × DEGREES
    power_sums: Floats  # Σ H_q and Σ H_q²
    label_squares: float = 0.0
    count: int = 0

    def add(self, phi: Floats, labels: Floats, powers: Floats) -> None:
        """Add a block of features, labels and H_q (DEGREES × rows)."""
        self.gram = dsyrk(1.0, phi.T, beta=1.0, c=self.gram, lower=1, overwrite_c=1)
        self.features += phi.sum(axis=0)
        self.labels += phi.T @ labels
        self.powers += phi.T @ powers.T
        self.power_sums += np.stack([powers.sum(axis=1), (powers**2).sum(axis=1)])
        self.label_squares += float(labels @ labels)
        self.count += len(labels)


@dataclass(frozen=True)
class FeatureSpectrum:
    """Singular values of the centred features φ/√p, their outliers, and what these are like.

    `overlaps` (outliers or at least two × DEGREES) are |cosines| of the left singular vectors
    with H_q(Xv), v the leading direction of the weight change; none before there is one.
    """

    spectrum: Spectrum
    overlaps: Floats


@dataclass(frozen=True)
class FittedReadout:
    """A readout ŵ of ŷ = ŵᵀφ/√p + low-degree part, with its training error."""

    weights: Floats
    train_mse: float
    low_degree: LowDegree


def fit_features(
    problem: StepsProblem,
    first: Floats,
    blocks: Iterator[Block],
    *,
    low_degree: LowDegree,
    direction: Floats | None,
) -> tuple[FittedReadout, FeatureSpectrum]:
    """Return the ridge readout and the spectrum of σ(F̂x) over a batch, streamed.

    Memory is O(p d + p² + block): the Gram matrix is summed. Where the whole batch has at most as
    many rows as that anyway, the features are held and the readout is the core's `fit_readout`.
    """
    sums = _empty(problem.width)
    hold = problem.readout_size <= max(problem.width, HELD_ROWS)
    parts: list[tuple[Floats, Floats]] = []
    sigma = functions.get_activation(problem.activation)
    for block in blocks:
        phi = np.ascontiguousarray(sigma(block.inputs @ first.T))
        labels = block.labels - low_degree.of(block.inputs)
        line = np.zeros(len(labels)) if direction is None else block.inputs @ direction
        sums.add(phi, labels, orthonormal_hermite(line, DEGREES)[1:])
        if hold:
            parts.append((phi, labels))
    if not np.all(np.isfinite(np.diagonal(sums.gram))):
        raise InvalidInput("step_size: the trained features are not finite; lower it")
    ridge = problem.readout_ridge
    if hold:
        labels = np.concatenate([part[1] for part in parts])
        readout = fit_readout(np.concatenate([part[0] for part in parts]), labels, ridge=ridge)
        fit = FittedReadout(readout.weights[:, 0], float(readout.train_mse[0]), low_degree)
    else:
        fit = _streamed_fit(sums, ridge, low_degree)
    return fit, _feature_spectrum(sums, compared=direction is not None)


def measure_test(
    problem: StepsProblem, first: Floats, blocks: Iterator[Block], fit: FittedReadout
) -> tuple[float, float]:
    """Return the test MSE over sampled points and its standard error over them."""
    sigma = functions.get_activation(problem.activation)
    squares = []
    for block in blocks:
        phi = sigma(block.inputs @ first.T) / np.sqrt(problem.width)
        predicted = phi @ fit.weights + fit.low_degree.of(block.inputs)
        squares.append((block.labels - predicted) ** 2)
    errors = np.concatenate(squares)
    return float(np.mean(errors)), float(standard_error(errors))


def _empty(width: int) -> FeatureSums:
    return FeatureSums(
        np.zeros((width, width), order="F"),
        np.zeros(width),
        np.zeros(width),
        np.zeros((width, DEGREES)),
        np.zeros((2, DEGREES)),
    )


def _streamed_fit(sums: FeatureSums, ridge: float, low_degree: LowDegree) -> FittedReadout:
    """Return ŵ from the summed Gram matrix: (Σφφᵀ + λNp) u = Σφy, ŵ = √p u."""
    width = len(sums.labels)
    shift = ridge * sums.count * width
    solution = solve_ridge(
        sums.gram.copy(order="F"),
        sums.labels,
        shift=shift,
        field=f"ridge={ridge:.3g}",
        remedy="raise ridge or penalty",
    )
    # Σ(y − uᵀφ)² = Σy² − uᵀΣφy − (shift)‖u‖² at the minimum.
    squares = sums.label_squares - solution @ sums.labels - shift * (solution @ solution)
    return FittedReadout(
        np.sqrt(width) * solution, max(float(squares), 0.0) / sums.count, low_degree
    )


def _feature_spectrum(sums: FeatureSums, *, compared: bool) -> FeatureSpectrum:
    """Return the spectrum of centred features from their Gram matrix, with the overlaps.

    uᵀh/‖h‖ of the left singular vector u = Φv/s needs vᵀΦᵀh alone: no vector of length N.
    """
    count, width = sums.count, len(sums.features)
    mean = sums.features / np.sqrt(count)
    gram = sums.gram - np.outer(mean, mean)
    values, vectors = gram_spectrum(gram, vectors=min(width, 12))
    leading = spectrum(values / np.sqrt(width))
    shown = min(max(leading.count or 0, 2), vectors.shape[1]) if compared else 0
    means = sums.power_sums[0] / count
    squares = sums.power_sums[1] - count * means**2
    centred = sums.powers - np.outer(sums.features, means)
    scale = values[:shown, None] * np.sqrt(np.maximum(squares, 0.0))
    products = np.abs(vectors[:, :shown].T @ centred)
    overlaps = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    return FeatureSpectrum(leading, np.minimum(overlaps, 1.0))
