"""The span S that theory keeps whole: spikes, means, and later the direction of the step.

Only coordinates in S enter. Off S inputs are isotropic, with the component's level as variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onegrad.describe.arrays import Floats


@dataclass(frozen=True)
class Part:
    """One component of the mixture, seen in S: x | c has this covariance and mean there."""

    weight: float  # ρ_c
    level: float  # l_c, the variance of every coordinate off S
    covariance: Floats  # d × d
    mean: Floats  # d
    label: float | None = None

    @cached_property
    def root(self) -> Floats:
        """The square root of the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    @property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        arrays = self.covariance.tobytes(), self.mean.tobytes()
        return self.weight, self.level, self.label, *arrays


@dataclass(frozen=True)
class Frame:
    """All components in S, and what the label reads: ξ = (reads in S, and `reads_off` off it)."""

    parts: tuple[Part, ...]
    reads: Floats  # ξ_S, d numbers
    reads_off: float  # |ξ_e| ≥ 0
    bulk: int  # N = n − d, the dimensions off S

    @property
    def size(self) -> int:
        """d, the dimension of S."""
        return len(self.reads)

    @property
    def level(self) -> float:
        """The mean level Σ_c ρ_c l_c."""
        return float(sum(part.weight * part.level for part in self.parts))

    @property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        parts = tuple(part.key for part in self.parts)
        return parts, self.reads.tobytes(), self.reads_off, self.bulk

    def with_direction(self, reads: float, reads_off: float) -> Frame:
        """Return the frame with one more direction off S, of which the label reads `reads`."""
        parts = []
        for part in self.parts:
            covariance = part.level * np.eye(self.size + 1)
            covariance[:-1, :-1] = part.covariance
            extended = replace(part, covariance=covariance, mean=np.append(part.mean, 0.0))
            root = np.sqrt(part.level) * np.eye(self.size + 1)
            root[:-1, :-1] = part.root
            extended.__dict__["root"] = root  # known without another decomposition
            parts.append(extended)
        return Frame(tuple(parts), np.append(self.reads, reads), reads_off, self.bulk - 1)
