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


CERTAIN, LARGE = 2.0, 0.1  # standard errors, and a share of the simulated error


@dataclass(frozen=True)
class FitCheck:
    """A predicted error, and the same of networks trained and tested on rows kept from the fit."""

    metric: str
    predicted: float
    simulated: float
    stderr: float  # of the difference
    trials: int

    @property
    def difference(self) -> float:
        """Predicted minus simulated."""
        return self.predicted - self.simulated

    @property
    def poor(self) -> bool:
        """Whether they differ by more than a tenth and more than two standard errors."""
        size = abs(self.difference)
        return bool(self._certain and size > LARGE * abs(self.simulated))

    @property
    def holds(self) -> bool:
        """Whether they agree to a tenth, and would be told apart if they did not."""
        known = CERTAIN * self.stderr <= 2 * LARGE * abs(self.simulated)
        return bool(known and abs(self.difference) <= LARGE * abs(self.simulated))

    @property
    def _certain(self) -> bool:
        return bool(not np.isfinite(self.stderr) or abs(self.difference) > CERTAIN * self.stderr)

    def __str__(self) -> str:
        error = f" ± {self.stderr:.2g}" if np.isfinite(self.stderr) else ""
        said = (
            f"predicted {self.metric} {self.predicted:.4g} on the fitted mixture, simulated "
            f"{self.simulated:.4g} on rows that the fit has not seen ({self.trials} trials), "
            f"difference {self.difference:+.2g}{error}"
        )
        if self.holds:
            return f"{said}: the fit holds to a tenth"
        if not self.poor:
            return f"{said}: too few trials to tell whether the fit holds to a tenth"
        return (
            f"{said}: the fit is poor; trust the order of settings more than the level, and try "
            "other components_per_class, rank, or more rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "metric": self.metric,
            "predicted": self.predicted,
            "simulated": self.simulated,
            "difference": self.difference,
            "stderr": self.stderr if np.isfinite(self.stderr) else None,
            "trials": self.trials,
            "poor": self.poor,
        }
