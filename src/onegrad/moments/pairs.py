"""Sums over pairs of neurons, Σ_{i≠j} ŵ_i ŵ_j Σ_{l≥2} â_l,i â_l,j R_ij^l, block by block.

The correlations R of one block of neurons with another come from one product of rows of F̂, which
all models and components share; spikes enter as low-rank corrections. Nothing k×k is stored.
Correlations have the precision of F̂; in single precision they move the sum by about
1e−8·‖ŵ‖² E φ².
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.describe.numbers import Floats
from onegrad.machine.progress import report
from onegrad.moments.feature_laws import FeatureMap, Law

FIRST_ORDERS, MOST_ORDERS = 16, 200
CLOSED_FORM_FROM = 20  # orders from which a closed form is cheaper than the series


def powers(
    correlation: Floats, square: Floats, degrees: Iterable[int]
) -> Iterator[tuple[int, Floats]]:
    """Yield (q, R^{∘q}) for degrees from 2 on, ascending; `square` is R^{∘2} and stays as it is.

    Even and odd powers have chains of their own, R²·R²⋯ and R³·R²⋯, so that a power has the same
    bits whichever others are wanted. An array may be overwritten by the next one.
    """
    wanted = sorted(degrees)
    for parity in (0, 1):
        power, reached = square, 2
        for q in [q for q in wanted if q % 2 == parity]:
            if parity and reached == 2:
                power, reached = square * correlation, 3
            while reached < q:
                power = np.multiply(power, square, out=None if power is square else power)
                reached += 2
            yield q, power


class Series:
    """The coefficients â_l,i of a model under one law, extended as correlations call for it.

    `tolerance` is per pair, relative to the largest E φ².
    """

    def __init__(self, feature_map: FeatureMap, law: Law, *, tolerance: float) -> None:
        self.feature_map, self.law, self.tolerance = feature_map, law, tolerance
        self.degree = feature_map.degree
        self.truncated = 0.0
        activation = feature_map.pair_function
        self.pair = activation.pair if activation is not None and law.centred else None
        self._power = float(np.max(feature_map.second_moment(law))) or 1.0
        # A closed form takes over just beyond CLOSED_FORM_FROM: no further degree is looked at.
        self.most = MOST_ORDERS if self.pair is None else CLOSED_FORM_FROM + 1
        self._extend(FIRST_ORDERS)

    def _extend(self, orders: int) -> None:
        self.orders = orders if self.degree is None else min(orders, max(self.degree, 2))
        self.coefficients = self.feature_map.coefficients(self.law, self.orders)
        size = np.max(self.coefficients**2, axis=1) / self._power
        self.is_active = size > 1e-28
        size[-1] = max(size[-1], size[-2])  # every second degree may vanish: look at two
        self._tail = np.maximum.accumulate(size[::-1])[::-1]

    def orders_needed(self, largest: float) -> int:
        """Return the last degree to sum so that, up to this correlation, the tail is negligible."""
        r = min(largest, 1.0)
        while True:
            # The tail from degree l on is at most r^l · (largest coefficient) / (1 − r).
            bounds = r ** np.arange(self.orders + 1) * self._tail / max(1 - r, 1e-3)
            enough = np.flatnonzero(bounds < self.tolerance)
            if len(enough):
                return max(int(enough[0]) - 1, 1)
            if self.degree is not None:
                return self.orders
            if self.orders >= self.most:
                if self.pair is None:
                    self.truncated = max(self.truncated, float(bounds[-1]))
                return self.orders
            self._extend(min(4 * self.orders, self.most))

    def closed(self, orders: int) -> bool:
        """Whether a closed form should take the place of a series of so many degrees."""
        return orders > CLOSED_FORM_FROM and self.pair is not None

    def active(self, orders: int) -> list[int]:
        """Return the degrees from 2 to `orders` whose coefficients do not vanish."""
        return [q for q in range(2, min(orders, self.orders) + 1) if self.is_active[q]]

    def warn_if_truncated(self) -> None:
        """Warn when two neurons are so correlated that the series was cut too early."""
        if self.truncated > 1e-4:
            warnings.warn(
                f"exact moments: some neurons are almost parallel and {MOST_ORDERS} orders "
                f"leave a relative error up to {self.truncated:.1g}; compare with test='sampled'",
                stacklevel=2,
            )


TILE, ROWS, COLUMNS = 1024, 256, 512
SINGLE_TOLERANCE, DOUBLE_TOLERANCE = 1e-8, 1e-11
CLOSE = 1.25  # ratio of deviations whose 200th power still fits single precision


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
    dtype = first_layer.dtype
    # Rows are scaled by the largest deviation over components, so that no power exceeds 1.
    reference = np.max([item.law.deviations for item in sums], axis=0)
    totals: list[Floats] = [np.zeros(item.weights.shape[1]) for item in sums]
    unfinished = [
        _RunningSum(item, first_layer, reference, total)
        for item, total in zip(sums, totals, strict=True)
        if item.feature_map.degree is None or item.feature_map.degree > 1
    ]
    if not unfinished:
        return totals
    by_law: dict[int, list[_RunningSum]] = {}
    for running in unfinished:
        by_law.setdefault(running.law.component, []).append(running)
    done = 0.0
    for rows, columns, product in _blocks(first_layer / reference[:, None].astype(dtype)):
        for group in by_law.values():
            _add_block(group, product, rows, columns)
        done += product.size / (2 if rows == columns else 1)  # squares hold each pair twice
        report(2 * done / len(first_layer) ** 2)
    for running in unfinished:
        running.series.warn_if_truncated()
    return totals


def _blocks(scaled: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield (rows, columns, scaled[rows] scaled[columns]ᵀ) that cover all pairs i < j.

    Products are made in large tiles, where BLAS is fastest, and handed out in blocks that stay in
    the cache; those on the diagonal are squares with rows = columns, which hold each pair twice.
    """
    k = len(scaled)
    for top in range(0, k, TILE):
        bottom = min(top + TILE, k)
        strips = [slice(i, min(i + ROWS, bottom)) for i in range(top, bottom, ROWS)]
        for strip in strips:
            yield strip, strip, scaled[strip] @ scaled[strip].T
            yield from _cut(strip, strip.stop, scaled[strip] @ scaled[strip.stop : bottom].T)
        for left in range(bottom, k, TILE):
            tile = scaled[top:bottom] @ scaled[left : left + TILE].T
            for strip in strips:
                yield from _cut(strip, left, tile[strip.start - top : strip.stop - top])


def _cut(rows: slice, left: int, product: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    for start in range(0, product.shape[1], COLUMNS):
        part = product[:, start : start + COLUMNS]
        yield rows, slice(left + start, left + start + part.shape[1]), part


def _add_block(
    group: list[_RunningSum],
    product: Floats,
    rows: slice,
    columns: slice,
) -> None:
    """Add one block of pairs to all models under one component."""
    law = group[0].law
    covariance = pair_covariances(product, law.gaussian.level, group[0].spikes, rows, columns)
    if group[0].rescale is not None:
        covariance *= group[0].rescale[rows, None]
        covariance *= group[0].rescale[columns]
    if rows == columns:
        np.fill_diagonal(covariance, 0)
    square = covariance * covariance
    largest = float(np.sqrt(square.max(initial=0.0)))
    plan = [
        (running, running.orders_needed(largest))
        for running in group
        if running.basis_loadings is None
    ]
    closed = [running for running, orders in plan if running.series.closed(orders)]
    for running in closed:
        running.add_closed_form(covariance, rows, columns)
    plain = [(running, orders) for running, orders in plan if running not in closed]
    _add_powers(plain, covariance, square, rows, columns)
    for running in group:
        if running.basis_loadings is not None:
            running.add_conditional(covariance, rows, columns)


def pair_covariances(
    product: Floats, level: float, spikes: Floats, rows: slice, columns: slice
) -> Floats:
    """Return level·product + spikes spikesᵀ for a block of pairs."""
    if not spikes.shape[1]:
        return product * product.dtype.type(level)
    covariance: Floats = spikes[rows] @ spikes[columns].T
    covariance += product if level == 1 else product * product.dtype.type(level)
    return covariance


def _add_powers(
    plan: list[tuple[_RunningSum, int]],
    covariance: Floats,
    square: Floats,
    rows: slice,
    columns: slice,
) -> None:
    """Add Σ_l of the plain series: each power is made once, degrees that vanish are skipped."""
    wanted = {q for running, orders in plan for q in running.series.active(orders)}
    for q, power in powers(covariance, square, wanted):
        for running, orders in plan:
            if q <= orders and running.series.is_active[q]:
                running.add(q, power, rows, columns)


class _RunningSum:
    """The running sum of one item, with its coefficients scaled to the blocks' units."""

    def __init__(
        self, item: PairSum, first_layer: Floats, reference: Floats, total: Floats
    ) -> None:
        self.item, self.law, self.total = item, item.law, total
        self.dtype = first_layer.dtype
        tolerance = SINGLE_TOLERANCE if self.dtype == np.float32 else DOUBLE_TOLERANCE
        self.series = Series(item.feature_map, item.law, tolerance=tolerance)
        # Blocks are in units of `reference`. Where this component's deviations are close to it the
        # coefficients take up the difference; otherwise the blocks are rescaled.
        ratio = reference / self.law.deviations
        close = float(np.max(ratio)) <= CLOSE
        self.rescale = None if close else ratio.astype(self.dtype)
        self.ratio = ratio if close else np.ones_like(ratio)
        self.bound_ratio = float(np.max(self.ratio)) ** 2
        self.spikes = (self.law.loadings / reference[:, None]).astype(self.dtype)
        basis = item.feature_map.basis(self.law.component)
        self.basis_loadings: Floats | None = None
        if basis is not None:
            loadings, _ = spike_loadings(self.law, first_layer.astype(float, copy=False), basis)
            unit = reference if close else self.law.deviations
            self.basis_loadings = (loadings / unit[:, None]).astype(self.dtype)
        self._weighted: dict[int, Floats] = {}

    def orders_needed(self, largest: float) -> int:
        """Return the last degree to sum for a block with this largest entry."""
        return self.series.orders_needed(largest * self.bound_ratio)

    def weighted(self, q: int) -> Floats:
        """Return c_q,i = ŵ_i â_q,i in the blocks' units, (k × penalties)."""
        if q not in self._weighted:
            scaled = self.series.coefficients[q] * self.ratio**q
            self._weighted[q] = (scaled[:, None] * self.item.weights).astype(self.dtype)
        return self._weighted[q]

    def add(self, q: int, power: Floats, rows: slice, columns: slice) -> None:
        """Add Σ_ij c_q,i c_q,j power_ij for one degree."""
        weighted = self.weighted(q)
        self._count(weighted[rows] * (power @ weighted[columns]), rows, columns)

    def _count(self, terms: Floats, rows: slice, columns: slice) -> None:
        """Add a block's terms; both orders of every pair count, and a square has both."""
        block = np.sum(terms, axis=0, dtype=np.float64)
        self.total += block if rows == columns else 2 * block

    def add_closed_form(self, covariance: Floats, rows: slice, columns: slice) -> None:
        """Add the closed form of E[φ_iφ_j] less its degrees 0 and 1."""
        weights = self.item.weights
        correlation = covariance * (self.ratio[rows, None] * self.ratio[columns])
        kernel = closed_pairs(self.series, correlation, rows, columns)
        if rows == columns:
            np.fill_diagonal(kernel, 0)
        self._count(weights[rows] * (kernel @ weights[columns]), rows, columns)

    def add_conditional(self, covariance: Floats, rows: slice, columns: slice) -> None:
        """Add Σ_l with (ρ + β)^l cut after β²: ρ the spikes' part of the covariance, β the rest."""
        assert self.basis_loadings is not None
        spike = self.basis_loadings[rows] @ self.basis_loadings[columns].T
        if rows == columns:
            np.fill_diagonal(spike, 0)
        rest = covariance - spike
        # ρ and β may have opposite signs: their sizes bound the terms, not that of their sum.
        orders = self.orders_needed(float(np.max(np.abs(spike) + np.abs(rest), initial=0.0)))
        self.add(2, covariance * covariance, rows, columns)
        before, power = spike, spike * spike  # ρ^{l−2}, ρ^{l−1} for l = 3
        for q in range(3, orders + 1):
            mixed = q * power + (q * (q - 1) / 2) * before * rest
            mixed *= rest
            before, power = power, power * spike
            if self.series.is_active[q]:
                self.add(q, mixed + power, rows, columns)


def closed_pairs(series: Series, correlation: Floats, rows: slice, columns: slice) -> Floats:
    """Return E[φ_iφ_j] less its degrees 0 and 1 for a block of pairs, by the closed form."""
    assert series.pair is not None
    deviations, low = series.law.deviations, series.coefficients[:2]
    kernel = series.pair(correlation, deviations[rows, None], deviations[None, columns])
    kernel -= np.outer(low[0, rows], low[0, columns])
    kernel -= np.outer(low[1, rows], low[1, columns]) * correlation
    return kernel
