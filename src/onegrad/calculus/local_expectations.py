"""E[σ(m + s_i z) H_q(z)] for a whole matrix of means m, one column per neuron.

Closed forms are applied entry by entry. Otherwise the expectations, which are analytic in m and s,
are interpolated by Chebyshev polynomials in both, to about 1e−9 of their largest value; where the
means spread too far for that, every entry is integrated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.calculus.interpolation import chebyshev_points, chebyshev_transform, clenshaw, to_unit
from onegrad.describe.arrays import Floats

REACH = 8.0  # deviations of the mean that the interpolation covers
TOLERANCE = 1e-9
MOST_NODES = 512


@dataclass(frozen=True)
class LocalExpectations:
    """(â_0, â_1, â_2) and E σ² at means (rows × k) and the neurons' deviations (k)."""

    activation: Function
    deviations: Floats
    interval: tuple[float, float] = (0.0, 0.0)
    series: Floats | None = None  # (4, degree + 1, k) Chebyshev coefficients in m

    @classmethod
    def build(
        cls, activation: Function, deviations: Floats, *, centre: Floats, reach: Floats
    ) -> LocalExpectations:
        """Return the expectations, ready for means within 8 deviations `reach` of `centre`."""
        if activation.coefficients is not None and activation.second_moment is not None:
            return cls(activation, deviations)
        low = float(np.min(centre - REACH * reach)) - 1e-3
        high = float(np.max(centre + REACH * reach)) + 1e-3
        ends = float(deviations.min()) * (1 - 1e-9), float(deviations.max()) * (1 + 1e-9) + 1e-12
        table = _fit(activation, (low, high), ends)
        if table is None:  # too wide a range of means: integrate every entry
            return cls(activation, deviations)
        across = chebyshev.chebvander(to_unit(deviations, ends), table.shape[2] - 1)
        return cls(activation, deviations, (low, high), table @ across.T)

    def __call__(self, means: Floats) -> tuple[Floats, Floats]:
        """Return â_0, â_1, â_2 stacked (3 × rows × k), and E σ² (rows × k)."""
        if self.series is None:
            return (
                hermite_coefficients(self.activation, means, self.deviations, order=2),
                second_moment(self.activation, means, self.deviations),
            )
        points = np.clip(to_unit(means, self.interval), -1, 1)
        values = np.stack([clenshaw(points, coefficients) for coefficients in self.series])
        return values[:3], values[3]


def _fit(
    activation: Function, means: tuple[float, float], deviations: tuple[float, float]
) -> Floats | None:
    """Return (4, nodes_m, nodes_s) Chebyshev coefficients, refined until tails vanish, or None."""
    nodes_m, nodes_s = 32, 6
    while True:
        grid_m = chebyshev_points(nodes_m, means)
        grid_s = chebyshev_points(nodes_s, deviations)
        m, s = np.meshgrid(grid_m, grid_s, indexing="ij")
        values = np.concatenate(
            [
                hermite_coefficients(activation, m, s, order=2),
                second_moment(activation, m, s)[None],
            ]
        )
        table = np.einsum(
            "pa,fab,qb->fpq",
            chebyshev_transform(nodes_m),
            values,
            chebyshev_transform(nodes_s),
            optimize=True,
        )
        size = np.abs(table).max()
        rough_m = np.abs(table[:, -2:, :]).max() > TOLERANCE * size
        rough_s = np.abs(table[:, :, -2:]).max() > TOLERANCE * size
        if not (rough_m or rough_s):
            return table
        if max(nodes_m, nodes_s) >= MOST_NODES:
            return None
        nodes_m, nodes_s = nodes_m * (2 if rough_m else 1), nodes_s * (2 if rough_s else 1)
