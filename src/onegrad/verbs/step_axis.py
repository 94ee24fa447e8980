"""Results over the steps of a run: their axis, and which runs begin alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.problem.problem import Problem

Metrics = dict[str, Floats]


def endless(problem: Problem) -> str:
    """Return the digest of everything about a problem but how many steps it takes."""
    if isinstance(problem.scaling.change_exponent, tuple):
        return problem.digest
    return problem.replace(training__steps=1).digest


def stack_steps(by_step: Sequence[dict[str, Metrics]]) -> dict[str, Metrics]:
    """Return the metrics by model, with an axis of steps in front where there are several."""
    if len(by_step) == 1:
        return by_step[0]
    return {
        key: {name: np.stack([part[key][name] for part in by_step]) for name in metrics}
        for key, metrics in by_step[0].items()
    }
