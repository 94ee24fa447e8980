"""The directions that are conditioned on: a component's spikes and the step's."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds

from onegrad.describe.arrays import Floats


def leading_direction(change: Floats) -> Floats | None:
    """Return the leading right singular vector of F̂ − F; None when nothing has changed."""
    if not np.any(change):
        return None
    if min(change.shape) < 3:
        return np.linalg.svd(change, full_matrices=False)[2][0]
    start = np.ones(min(change.shape))  # a fixed start: the same direction every time
    return svds(change, k=1, v0=start)[2][0]


def extended_basis(directions: Floats, extra: Floats | None) -> Floats:
    """Return `directions` with `extra` orthonormalised against them, unless it lies in them."""
    if extra is None:
        return directions
    rest = extra - directions @ (directions.T @ extra)
    rest -= directions @ (directions.T @ rest)
    length = np.linalg.norm(rest)
    if length < 1e-8:
        return directions
    return np.concatenate([directions, (rest / length)[:, None]], axis=1)
