"""Convex losses ℓ(y, u) of label y and output u, one class each; `losses.py` knows their names.

x = prox(u) = argmin ℓ(y, x) + (x − u)²/(2γ), f(u) = ℓ'(y, x) = (u − x)/γ and f_u = ∂f/∂u. Labels of
hinges and of the logistic loss are ±1. All arguments are arrays that broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from onegrad.calculus.proximal import logistic_prox
from onegrad.describe.arrays import Floats


class SquareLoss:
    """ℓ = ½(y − u)², f = (u − y)/(1 + γ)."""

    needs_signs = False
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½(y − u)²."""
        return 0.5 * (y - u) ** 2

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return u − y."""
        return u - y

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1."""
        return np.ones(np.broadcast_shapes(y.shape, u.shape))

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return (u + γy)/(1 + γ)."""
        return (u + gamma * y) / (1 + gamma)

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return (u − y)/(1 + γ) and 1/(1 + γ)."""
        f = (u - y) / (1 + gamma)
        return f, np.broadcast_to(1 / (1 + gamma), f.shape)


class LogisticLoss:
    """ℓ = log(1 + e^{−yu}), f = −y/(1 + e^{yx}), f_u = g/(1 + γg) with g = ℓ''(x)."""

    needs_signs = True
    smooth = True
    scale = 0.75  # poles at ±iπ: steps of it leave e^{−2π²/0.75} = 4e−12

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return log(1 + e^{−yu}), which does not overflow."""
        return np.logaddexp(0.0, -y * u)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y/(1 + e^{yu})."""
        return -y * expit(-y * u)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1/((1 + e^u)(1 + e^{−u})), for y = ±1."""
        return expit(y * u) * expit(-y * u)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return y t with t = yu + γ/(1 + e^t)."""
        return logistic_prox(y, u, gamma)


class SquaredHingeLoss:
    """ℓ = ½(1 − yu)₊², f = −y(1 − yu)₊/(1 + γ), with a kink at u = y."""

    needs_signs = True
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½(1 − yu)₊²."""
        return 0.5 * np.maximum(1 - y * u, 0.0) ** 2

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y(1 − yu)₊."""
        return -y * np.maximum(1 - y * u, 0.0)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1[yu < 1], for y = ±1."""
        return (y * u < 1).astype(np.float64)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u + γy(1 − yu)₊/(1 + γ)."""
        return u - gamma * self.response(y, u, gamma)[0]

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return −y(1 − yu)₊/(1 + γ) and 1[yu < 1]/(1 + γ)."""
        short = 1 - y * u
        return -y * np.maximum(short, 0.0) / (1 + gamma), (short > 0) / (1 + gamma)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y, where ℓ'' jumps."""
        return [y]


class HingeLoss:
    """ℓ = (1 − yu)₊, f = −y clip((1 − yu)/γ, 0, 1), with kinks at u = y and y(1 − γ)."""

    needs_signs = True
    smooth = False
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return (1 − yu)₊."""
        return np.maximum(1 - y * u, 0.0)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return −y 1[yu < 1]."""
        return -y * (y * u < 1)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 0."""
        return np.zeros(np.broadcast_shapes(y.shape, u.shape))

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u + y clip(1 − yu, 0, γ)."""
        return u + y * np.clip(1 - y * u, 0.0, gamma)

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return −y clip((1 − yu)/γ, 0, 1) and 1[0 < 1 − yu < γ]/γ."""
        short = 1 - y * u
        with np.errstate(divide="ignore", invalid="ignore"):  # γ = 0 is ℓ' itself
            share = np.where(gamma > 0, np.clip(short / gamma, 0.0, 1.0), short > 0)
            inside = (short > 0) & (short < gamma)
            return -y * share, np.where(inside, 1 / gamma, 0.0)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y, where ℓ' jumps."""
        return [y]


@dataclass(frozen=True)
class HuberLoss:
    """ℓ = ½r² for |r| ≤ Δ, Δ|r| − ½Δ² beyond, r = u − y; f = clip(r/(1 + γ), −Δ, Δ)."""

    delta: float
    needs_signs = False
    smooth = True
    scale = np.inf

    def value(self, y: Floats, u: Floats) -> Floats:
        """Return ½r² or Δ|r| − ½Δ²."""
        inner = np.minimum(np.abs(u - y), self.delta)
        return inner * (np.abs(u - y) - 0.5 * inner)

    def derivative(self, y: Floats, u: Floats) -> Floats:
        """Return clip(r, −Δ, Δ)."""
        return np.clip(u - y, -self.delta, self.delta)

    def curvature(self, y: Floats, u: Floats) -> Floats:
        """Return 1[|r| < Δ]."""
        return (np.abs(u - y) < self.delta).astype(np.float64)

    def prox(self, y: Floats, u: Floats, gamma: Floats) -> Floats:
        """Return u − γ clip(r/(1 + γ), −Δ, Δ)."""
        return u - gamma * self.response(y, u, gamma)[0]

    def response(self, y: Floats, u: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        """Return clip(r/(1 + γ), −Δ, Δ) and 1[|r| < Δ(1 + γ)]/(1 + γ)."""
        shrunk = (u - y) / (1 + gamma)
        inside = np.abs(shrunk) < self.delta
        return np.clip(shrunk, -self.delta, self.delta), inside / (1 + gamma)

    def corners(self, y: Floats) -> list[Floats]:
        """Return y ± Δ, where ℓ'' jumps."""
        return [y - self.delta, y + self.delta]
