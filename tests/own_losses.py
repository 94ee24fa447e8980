"""Losses of a user's own: one that overflows, one whose slope jumps, one by ℓ and ℓ' alone."""

import numpy as np


class Exponential:
    """e^{−yu}: overflows, and has ℓ and ℓ' alone."""

    needs_signs = True

    def value(self, y, u):
        return np.exp(-y * u)

    def derivative(self, y, u):
        return -y * np.exp(-y * u)


class Quantile:
    """max(q r, (q − 1) r), r = y − u: ℓ' jumps at u = y, and ℓ'' is not given."""

    smooth = False
    scale = np.inf

    def __init__(self, level="0.3"):
        self.level = float(level)

    def value(self, y, u):
        return np.maximum(self.level * (y - u), (self.level - 1) * (y - u))

    def derivative(self, y, u):
        return np.where(u < y, -self.level, 1 - self.level)

    def corners(self, y):
        return [y]


class PlainLogistic:
    """The logistic loss by ℓ and ℓ' alone."""

    needs_signs = True

    def value(self, y, u):
        return np.logaddexp(0, -y * u)

    def derivative(self, y, u):
        return -y / (1 + np.exp(np.minimum(y * u, 700.0)))
