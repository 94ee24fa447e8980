"""The law of a label given the type of its sample: E[y^a z^b], z the rest of what it reads."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from onegrad.calculus.expectations import split_rule, trapezoid_rule
from onegrad.calculus.function import Function
from onegrad.describe.numbers import Floats

# On each side of a kink, over so many deviations: 1e−7 even where the kink lies far away.
PANEL_NODES, PANEL_REACH = 24, 7.0
STEP = 0.25  # of the trapezoid rule
NOTHING = 1e-12  # a deviation of what the label reads that is none
POWERS, PLACES = 5, 3  # y^0 … y^4 and z^0 … z^2


@dataclass(frozen=True)
class LabelLaw:
    """E[y | u] = link(u) for u = ξᵀx, or the component's label where there is no link.

    `signs`: y is +1 or −1, so that even powers are 1. Otherwise y has Gaussian noise beside.
    """

    link: Function | None = None
    noise: float = 0.0
    signs: bool = False
    flips: float = 0.0  # of labels by component

    @property
    def by_component(self) -> bool:
        """Whether the component alone decides the label."""
        return self.link is None

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the link is not smooth."""
        return () if self.link is None else self.link.kinks

    def moments(self, centres: Floats, deviations: Floats, labels: Floats) -> LabelMoments:
        """Return E[y^a z^b] for u = centre + deviation·z, or the given labels of components."""
        means, weights, nodes = self.values(centres, deviations, labels)
        places = weights * np.stack([np.ones_like(nodes), nodes, nodes**2])
        powers = self._powers(means, labels)
        table = np.einsum("asq,bsq->abs", powers, np.broadcast_to(places, (PLACES, *means.shape)))
        if nodes.shape[1] == 1:
            table[:, 2] = table[:, 0]  # z is independent of the label
        return LabelMoments(table)

    def means(self, centres: Floats, deviations: Floats) -> Floats:
        """Return E[y] for u = centre + deviation·z, of labels that are read."""
        values, weights, _ = self.values(centres, deviations, np.zeros_like(centres))
        return np.asarray(np.sum(values * weights, axis=1))

    def values(
        self, centres: Floats, deviations: Floats, labels: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return E[y | u] at nodes z (types × nodes), weights and nodes."""
        if self.link is None:
            return ((1 - 2 * self.flips) * labels)[:, None], np.ones((1, 1)), np.zeros((1, 1))
        if not np.any(deviations > NOTHING):
            value = np.asarray(self.link(centres), float)[:, None]
            return value, np.ones((1, 1)), np.zeros((1, 1))
        scale = np.maximum(deviations, NOTHING)
        if self.link.kinks:
            nodes, weights = split_rule(
                centres, scale, self.link.kinks, count=PANEL_NODES, reach=PANEL_REACH
            )
        else:
            nodes, weights = (row[None] for row in trapezoid_rule(scale, largest_step=STEP))
        return np.asarray(self.link(centres[:, None] + scale[:, None] * nodes)), weights, nodes

    def outcomes(
        self, centres: Floats, deviations: Floats, labels: Floats
    ) -> tuple[Floats, Floats]:
        """Return values of y without its noise (types × values) and their probabilities."""
        means, weights, _ = self.values(centres, deviations, labels)
        if not self.signs and not self.flips:
            return means, np.broadcast_to(weights, means.shape)
        size = np.abs(labels)[:, None] if self.by_component else np.ones_like(means)
        chance = 0.5 * (1 + np.divide(means, size, out=np.zeros_like(means), where=size > 0))
        values = np.concatenate([size + 0 * means, -size + 0 * means], axis=1)
        return values, np.concatenate([weights * chance, weights * (1 - chance)], axis=1)

    def _powers(self, mean: Floats, labels: Floats) -> Floats:
        """Return E[y^a | u] for a = 0 … 4, given the mean of y."""
        one = np.ones_like(mean)
        if self.signs:
            return np.stack([one, mean, one, mean, one])
        even = labels[:, None] ** 2 if self.by_component else mean**2  # flips change signs alone
        powers = np.stack([one, mean, one * even, mean * even, one * even**2])
        variance = self.noise**2
        powers[4] += 6 * variance * powers[2] + 3 * variance**2
        powers[3] += 3 * variance * powers[1]
        powers[2] += variance
        return powers


@dataclass(frozen=True)
class LabelMoments:
    """E[y^a z^b | s] for a ≤ 4 and b ≤ 2, at every type of sample."""

    table: Floats  # 5 × 3 × types

    def __call__(self, power: int, place: int = 0) -> Floats:
        """Return E[y^power z^place | s]."""
        return self.table[power, place]

    def less(self, shift: Floats) -> LabelMoments:
        """Return the moments of y − shift."""
        table = np.zeros_like(self.table)
        for power in range(POWERS):
            for taken in range(power + 1):
                table[power] += comb(power, taken) * self.table[taken] * (-shift) ** (power - taken)
        return LabelMoments(table)
