"""How many Hermite degrees of a model matter, given how correlated its neurons are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law

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
