"""Sums over pairs of neurons, Σ_{i≠j} ŵ_i ŵ_j Σ_{l≥2} â_l,i â_l,j R_ij^l, block by block.

The correlations R of one block of neurons with another come from one product of rows of F̂, which
all models and components share; spikes enter as low-rank corrections. Nothing k×k is stored.
R is rounded to single precision here, in every mode: it only enters as R² and higher powers, and
moves a test error by about 1e−8 of itself, below the series' own tolerance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.arrays import Floats
from onegrad.equivalents import FeatureMap
from onegrad.laws import Law

TILE, ROWS, COLUMNS = 1024, 256, 512
FIRST_ORDERS, MOST_ORDERS = 32, 200
CLOSE = 1.25  # ratio of deviations whose 200th power still fits single precision
CLOSED_FORM_FROM = 20  # orders from which a closed form is cheaper than the series
TOLERANCE = 1e-8  # of the largest E φ², per pair


@dataclass(frozen=True)
class PairSum:
    """What to sum: a model's features under one component, for weights (k × penalties)."""

    feature_map: FeatureMap
    law: Law
    weights: Floats


def spike_loadings(law: Law, first_layer: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """Return F̂S Λ^{1/2} (k × d) and the variances Λ of the coordinates Sᵀx."""
    variances = np.sum(basis * law.gaussian.covariance_times(basis), axis=0)
    return (first_layer @ basis) * np.sqrt(variances), variances


def pair_sums(first_layer: Floats, sums: Sequence[PairSum]) -> list[Floats]:
    """Return Σ_{i≠j} ŵ_i ŵ_j (E[φ_i φ_j] − degrees 0 and 1) for each item, one per penalty."""
    # Rows are scaled by the largest deviation over components, so that no power exceeds 1.
    reference = np.max([item.law.deviations for item in sums], axis=0)
    scaled = np.divide(first_layer, reference[:, None], dtype=np.float32, casting="same_kind")
    series = [_Series(item, first_layer, reference) for item in sums]
    by_law: dict[int, list[_Series]] = {}
    for one in series:
        by_law.setdefault(one.law.component, []).append(one)
    for rows, columns, product in _blocks(scaled):
        i = np.arange(rows.start, rows.stop)[:, None]
        j = np.arange(columns.start, columns.stop)
        counted = j <= i if columns.start < rows.stop else None  # elsewhere, or not a pair
        for group in by_law.values():
            _add_block(group, product, rows, columns, counted)
    for one in series:
        one.warn_if_truncated()
    return [2 * one.total for one in series]


def _blocks(scaled: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield (rows, columns, scaled[rows] scaled[columns]ᵀ) that cover all pairs i < j.

    Products are made in large tiles, where BLAS is fastest, and handed out in blocks that stay in
    the cache; on the diagonal in strips, so that little is computed twice.
    """
    k = len(scaled)
    for top in range(0, k, TILE):
        bottom = min(top + TILE, k)
        for first in range(top, bottom, ROWS):
            strip = slice(first, min(first + ROWS, bottom))
            yield from _cut(strip, first, scaled[strip] @ scaled[first:bottom].T)
        for left in range(bottom, k, TILE):
            tile = scaled[top:bottom] @ scaled[left : left + TILE].T
            for first in range(top, bottom, ROWS):
                strip = slice(first, min(first + ROWS, bottom))
                yield from _cut(strip, left, tile[first - top : strip.stop - top])


def _cut(rows: slice, left: int, product: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    for start in range(0, product.shape[1], COLUMNS):
        part = product[:, start : start + COLUMNS]
        yield rows, slice(left + start, left + start + part.shape[1]), part


def _add_block(
    group: list[_Series],
    product: Floats,
    rows: slice,
    columns: slice,
    counted: NDArray[np.bool_] | None,
) -> None:
    """Add one block of pairs to all models under one component."""
    law = group[0].law
    covariance = _spiked(product, law.gaussian.level, group[0].spikes, rows, columns)
    if group[0].rescale is not None:
        covariance *= group[0].rescale[rows, None]
        covariance *= group[0].rescale[columns]
    if counted is not None:
        covariance[counted] = 0
    square = covariance * covariance
    largest = float(np.sqrt(square.max(initial=0.0)))
    plan = [(one, one.orders_needed(largest)) for one in group]
    closed = [one for one, orders in plan if orders > CLOSED_FORM_FROM and one.has_closed_form]
    for one in closed:
        one.add_closed_form(covariance, rows, columns)
    plain = [(one, n) for one, n in plan if one not in closed and one.basis_loadings is None]
    _add_powers(plain, covariance, square, rows, columns)
    for one, orders in plan:
        if one.basis_loadings is not None:
            one.add_conditional(covariance, rows, columns, orders, counted)


def _spiked(product: Floats, level: float, spikes: Floats, rows: slice, columns: slice) -> Floats:
    if not spikes.shape[1]:
        return product * np.float32(level)
    covariance: Floats = spikes[rows] @ spikes[columns].T
    covariance += product if level == 1 else product * np.float32(level)
    return covariance


def _add_powers(
    plan: list[tuple[_Series, int]],
    covariance: Floats,
    square: Floats,
    rows: slice,
    columns: slice,
) -> None:
    """Add Σ_l of the plain series: each power is made once, degrees that vanish are skipped.

    Even and odd powers have chains of their own, R²·R²⋯ and R³·R²⋯, so that a power has the same
    bits whichever others are wanted.
    """
    wanted = sorted({q for one, orders in plan for q in one.active(orders)})
    for parity in (0, 1):
        power, reached = square, 2
        for q in [q for q in wanted if q % 2 == parity]:
            if parity and reached == 2:
                power, reached = square * covariance, 3
            while reached < q:
                power = np.multiply(power, square, out=None if power is square else power)
                reached += 2
            for one, orders in plan:
                if q <= orders and one.is_active[q]:
                    one.add(q, power, rows, columns)


class _Series:
    """The running sum of one item, with its coefficients scaled to the blocks' units."""

    def __init__(self, item: PairSum, first_layer: Floats, reference: Floats) -> None:
        self.item, self.law = item, item.law
        self.total = np.zeros(item.weights.shape[1])
        self.truncated = 0.0
        # Blocks are in units of `reference`. Where this component's deviations are close to it the
        # coefficients take up the difference; otherwise the blocks are rescaled.
        ratio = reference / self.law.deviations
        close = float(np.max(ratio)) <= CLOSE
        self.rescale = None if close else ratio.astype(np.float32)
        self.ratio = ratio if close else np.ones_like(ratio)
        self.bound_ratio = float(np.max(self.ratio)) ** 2
        self.spikes = (self.law.loadings / reference[:, None]).astype(np.float32)
        basis = item.feature_map.basis(self.law.component)
        self.basis_loadings: Floats | None = None
        if basis is not None:
            loadings, _ = spike_loadings(self.law, first_layer.astype(float, copy=False), basis)
            unit = reference if close else self.law.deviations
            self.basis_loadings = (loadings / unit[:, None]).astype(np.float32)
        pair = item.feature_map.pair_activation
        self.pair = pair.pair if pair is not None else None
        self.has_closed_form = self.pair is not None and self.law.centred
        self.power_scale = float(np.max(item.feature_map.second_moment(self.law)))
        self._prepare(FIRST_ORDERS)

    def _prepare(self, orders: int) -> None:
        degree = self.item.feature_map.degree
        self.orders = orders if degree is None else min(orders, max(degree, 2))
        raw = self.item.feature_map.coefficients(self.law, self.orders)
        size = np.max(raw**2, axis=1) / (self.power_scale or 1.0)
        ahead = size.copy()
        ahead[-1] = max(size[-1], size[-2])  # every second degree may vanish: look at two
        self.tail = np.maximum.accumulate(ahead[::-1])[::-1]
        self.is_active = size > 1e-28
        powers = np.arange(self.orders + 1)[:, None]
        scaled = raw * self.ratio**powers
        weighted = scaled[:, :, None] * self.item.weights
        self.weighted = weighted.astype(np.float32)

    def active(self, orders: int) -> list[int]:
        """Return the degrees from 2 to `orders` whose coefficients do not vanish."""
        return [q for q in range(2, min(orders, self.orders) + 1) if self.is_active[q]]

    def orders_needed(self, largest: float) -> int:
        """Return the last degree to sum so that the tail is below the tolerance."""
        r = min(largest * self.bound_ratio, 1.0)
        while True:
            bounds = r ** np.arange(self.orders + 1) * self.tail
            enough = np.flatnonzero(bounds < TOLERANCE)
            if len(enough):
                return max(int(enough[0]) - 1, 1)
            finite = self.item.feature_map.degree is not None
            if finite or self.orders >= MOST_ORDERS:
                if not finite and not self.has_closed_form:
                    self.truncated = max(self.truncated, float(bounds[-1]))
                return self.orders
            if self.has_closed_form:
                return self.orders
            self._prepare(min(4 * self.orders, MOST_ORDERS))

    def add(self, q: int, power: Floats, rows: slice, columns: slice) -> None:
        """Add Σ_ij c_q,i c_q,j power_ij for one degree."""
        right = power @ self.weighted[q, columns]
        self.total += np.sum(self.weighted[q, rows] * right, axis=0, dtype=np.float64)

    def add_closed_form(self, covariance: Floats, rows: slice, columns: slice) -> None:
        """Add the closed form of E[φ_iφ_j] less its degrees 0 and 1."""
        assert self.pair is not None
        deviations, weights = self.law.deviations, self.item.weights
        scale = self.ratio[rows, None] * self.ratio[columns]
        correlation = covariance * scale
        kernel = self.pair(correlation, deviations[rows, None], deviations[None, columns])
        low = self.item.feature_map.coefficients(self.law, 1)
        kernel -= np.outer(low[0, rows], low[0, columns])
        kernel -= np.outer(low[1, rows], low[1, columns]) * correlation
        kernel[covariance == 0] = 0  # pairs that are counted elsewhere
        self.total += np.sum(weights[rows] * (kernel @ weights[columns]), axis=0)

    def add_conditional(
        self,
        covariance: Floats,
        rows: slice,
        columns: slice,
        orders: int,
        counted: NDArray[np.bool_] | None,
    ) -> None:
        """Add Σ_l with (ρ + β)^l cut after β²: ρ the spikes' part of the covariance, β the rest."""
        assert self.basis_loadings is not None
        spike = self.basis_loadings[rows] @ self.basis_loadings[columns].T
        if counted is not None:
            spike[counted] = 0
        rest = covariance - spike
        self.add(2, covariance * covariance, rows, columns)
        before, power = spike, spike * spike  # ρ^{l−2}, ρ^{l−1} for l = 3
        for q in range(3, orders + 1):
            mixed = q * power + (q * (q - 1) / 2) * before * rest
            mixed *= rest
            before, power = power, power * spike
            if self.is_active[q]:
                self.add(q, mixed + power, rows, columns)

    def warn_if_truncated(self) -> None:
        """Warn when two neurons are so correlated that the series was cut too early."""
        if self.truncated > 1e-4:
            warnings.warn(
                f"exact test error: some neurons are almost parallel and {MOST_ORDERS} orders "
                f"leave a relative error up to {self.truncated:.1g}; compare with test='sampled'",
                stacklevel=2,
            )
