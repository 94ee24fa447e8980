"""Moments of a link under N(0, 1): Hermite coefficients, deviation, and what degrees leave out."""

from __future__ import annotations

from math import sqrt

import numpy as np

from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats

NEGLIGIBLE = 1e-7  # a coefficient below this share of its link's deviation is zero: quadrature
ROUNDING = 1e-13  # the same beside a link's root mean square: a constant has no other parts


def link_moments(link: Function, order: int) -> tuple[Floats, float, float, float]:
    """Return E[σ*H_l] for l ≤ order, √E[σ*²], the deviation, and its share above order.

    Coefficients that are zero up to quadrature and rounding, beside the link's own size, are 0.
    """
    zero, unit = np.zeros(1), np.ones(1)
    with np.errstate(all="ignore"):
        # A power of two: squares of large links do not overflow, and no bit is lost.
        largest = float(np.max(np.abs(link(np.linspace(-4.0, 4.0, 81)))))
        size = 2.0 ** np.floor(np.log2(largest)) if 0 < largest < np.inf else 1.0

        def moved(mean: float) -> Function:
            return Function(link.name, lambda z: link(z) / size - mean, kinks=link.kinks)

        if link.coefficients is None:
            coefficients = hermite_coefficients(moved(0.0), zero, unit, order=order)[:, 0]
        else:
            coefficients = hermite_coefficients(link, zero, unit, order=order)[:, 0] / size
        root = sqrt(second_moment(moved(0.0), zero, unit)[0])
        deviation = sqrt(second_moment(moved(float(coefficients[0])), zero, unit)[0])
        rounding = ROUNDING * root
        unseen = 0.0
        if deviation > rounding:
            unseen = 1 - float(np.sum((coefficients[1:] / deviation) ** 2))
        least = max(NEGLIGIBLE * deviation, rounding)
        coefficients = np.where(np.abs(coefficients) <= least, 0.0, coefficients)
        scales = np.sqrt(np.cumprod([1.0, *range(1, order + 1)]))
        return size * (coefficients * scales), size * root, size * deviation, unseen
