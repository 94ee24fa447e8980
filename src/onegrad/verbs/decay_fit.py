"""The decay of a gap with the dimension: |gap| ≈ c·n^{−p}."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats

SIGNIFICANT = 2.0  # standard errors from 0: below, log|gap| is mostly noise
ROUNDING = 1e-9


@dataclass(frozen=True)
class DecayFit:
    """The exponent p of one degree with its standard error, and the dimensions that it rests on.

    Where it cannot be fitted, exponent and stderr are None and `note` says why; otherwise it says
    which dimensions were left out, None where none was.
    """

    degree: int
    exponent: float | None
    stderr: float | None
    dimensions: tuple[int, ...]
    note: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "degree": self.degree,
            "exponent": self.exponent,
            "stderr": self.stderr,
            "dimensions": list(self.dimensions),
            "note": self.note,
        }


def fit_decay(
    degree: int, dimensions: Sequence[int], gaps: Sequence[float], stderrs: Sequence[float]
) -> DecayFit:
    """Return the fit of log|gap| = log c − p log n, weighted by (gap/stderr)².

    A gap within two standard errors of 0 is left out. Where the points scatter more than their
    standard errors say, that of p is enlarged by as much.
    """
    n, g, e = (np.asarray(values, float) for values in (dimensions, gaps, stderrs))
    if not np.all(np.isfinite(g)):
        return DecayFit(degree, None, None, (), "no relative gap to a network without errors")
    if not np.all(np.isfinite(e)):
        return DecayFit(degree, None, None, (), "one draw has no standard error; raise draws")
    usable = np.abs(g) > np.maximum(SIGNIFICANT * e, ROUNDING)
    kept = tuple(int(d) for d in n[usable])
    left_out = [f"{d:.0f}" for d in n[~usable]]
    note = f"gap within 2 standard errors of 0 at n = {', '.join(left_out)}" if left_out else None
    if len(kept) < 2:
        few = "one usable point" if kept else "no usable point"
        said = f"{few}: {note}; raise draws" if note else f"{few}; add dimensions"
        return DecayFit(degree, None, None, kept, said)
    if len(set(np.sign(g[usable]))) > 1:
        return DecayFit(degree, None, None, kept, "the gap changes its sign")
    exponent, stderr = _line(np.log(n[usable]), g[usable], e[usable])
    return DecayFit(degree, exponent, stderr, kept, note)


def decay_factor(
    exponent: float, dimensions: Sequence[int], gaps: Sequence[float], stderrs: Sequence[float]
) -> float:
    """Return c of |gap| = c·n^{−p} for the fitted p, with the weights of the fit."""
    n, g, e = (np.asarray(values, float) for values in (dimensions, gaps, stderrs))
    heights = np.log(np.abs(g)) + exponent * np.log(n)
    return float(np.exp(np.average(heights, weights=_weights(g, e))))


def _weights(gap: Floats, error: Floats) -> Floats:
    """Return the inverse variances of log|gap|."""
    weights: Floats = (gap / np.maximum(error, ROUNDING * np.abs(gap))) ** 2
    return weights


def _line(position: Floats, gap: Floats, error: Floats) -> tuple[float, float]:
    """Return −slope of log|gap| against the position, and its standard error."""
    height = np.log(np.abs(gap))
    weight = _weights(gap, error)
    centred = position - np.average(position, weights=weight)
    information = np.sum(weight * centred**2)
    slope = np.sum(weight * centred * height) / information
    rest = height - np.average(height, weights=weight) - slope * centred
    free = len(gap) - 2
    scatter = np.sum(weight * rest**2) / free if free else 1.0
    return -float(slope), float(np.sqrt(max(scatter, 1.0) / information))
