"""How sure `tune` is: the best beside the runner-up and the worst, paired over draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.verbs.errors import standard_error

NOISE = 2.0  # standard errors of a paired difference
NEGLIGIBLE = 1e-3  # relative


@dataclass(frozen=True)
class Contrast:
    """Paired differences of a candidate's metric to the best one's, over the same draws."""

    best: float
    runner_up: str
    difference: float
    stderr: float
    worst: str
    worst_difference: float
    worst_stderr: float

    @property
    def flat(self) -> bool:
        """Whether the best lies within noise of the worst: two standard errors of the difference.

        Or within a thousandth, which no one should choose by.
        """
        noise = NOISE * self.worst_stderr if np.isfinite(self.worst_stderr) else 0.0
        return self.worst_difference <= max(noise, NEGLIGIBLE * abs(self.best))

    def __str__(self) -> str:
        gap = _said(self.difference, self.stderr)
        if self.flat:
            worst = _said(self.worst_difference, self.worst_stderr)
            return f"flat: the worst ({self.worst}) is {worst} above the best, no more than noise"
        return f"runner-up {self.runner_up}: {gap} above the best, paired over draws"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "flat": self.flat,
            "runner_up": self.runner_up,
            "difference": self.difference,
            "stderr": self.stderr if np.isfinite(self.stderr) else None,
            "worst": self.worst,
            "worst_difference": self.worst_difference,
            "worst_stderr": self.worst_stderr if np.isfinite(self.worst_stderr) else None,
        }


def contrast_of(candidates: dict[str, Floats], best: Floats) -> Contrast | None:
    """Return the best beside the runner-up and the worst of other candidates, None without any."""
    if not candidates:
        return None
    ordered = sorted(candidates, key=lambda name: float(np.mean(candidates[name])))
    gaps = {name: candidates[name] - best for name in (ordered[0], ordered[-1])}
    first, last = gaps[ordered[0]], gaps[ordered[-1]]
    return Contrast(
        best=float(np.mean(best)),
        runner_up=ordered[0],
        difference=float(np.mean(first)),
        stderr=float(standard_error(first)),
        worst=ordered[-1],
        worst_difference=float(np.mean(last)),
        worst_stderr=float(standard_error(last)),
    )


def _said(mean: float, stderr: float) -> str:
    return f"{mean:.3g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.3g}"
