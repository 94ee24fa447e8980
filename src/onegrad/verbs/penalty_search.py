"""The predicted metric of a network against the penalty, in several draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.network import NETWORK
from onegrad.problem.problem import Problem
from onegrad.training.reuse import Shared
from onegrad.verbs.predicted_draw import Method, predict_draw

COARSE = 8  # every eighth penalty first: a decade
RISES = 2  # decades in a row above the lowest, after which smaller penalties are not tried


def penalty_curves(
    problem: Problem,
    *,
    ridges: Sequence[float],
    metric: str,
    method: Method,
    seed: int,
    trials: Sequence[int],
) -> tuple[Floats, list[str]]:
    """Return the metric after the last step, a row per draw, for all penalties; and the warnings.

    "single" has all penalties at the price of one. Other methods pay for each: they go down from
    the largest by decades until the mean over draws has risen twice, then halve the distance around
    the lowest, and leave NaN where they did not look.
    """
    curves = np.full((len(trials), len(ridges)), np.nan)
    kept = [Shared() for _ in trials]

    def look(places: Sequence[int]) -> None:
        chosen = tuple(float(ridges[place]) for place in places)
        asked = problem.replace(readout__ridge=chosen)
        for row, trial in enumerate(trials):
            metrics = predict_draw(
                asked, [NETWORK], method=method, seed=seed, trial=trial, shared=kept[row]
            )[NETWORK.name]
            if metric not in metrics:
                known = ", ".join(metrics)
                raise InvalidInput(f"metric={metric!r}: must be one of {known}; choose one")
            curves[row, places] = np.atleast_2d(metrics[metric])[-1]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method == "single":
            look(range(len(ridges)))
        else:
            _descend(curves, look)
            _halve(curves, look)
    return curves, [str(warning.message) for warning in caught]


def _descend(curves: Floats, look: Callable[[Sequence[int]], None]) -> None:
    """Look at every eighth place from the last down to where the mean has risen twice.

    Small penalties cost most: a convex loss on separable samples diverges as they vanish.
    """
    rises = 0
    for place in range(curves.shape[1] - 1, -1, -COARSE):
        look([place])
        mean = curves.mean(axis=0)
        rises = rises + 1 if mean[place] > np.nanmin(mean) else 0
        if rises == RISES:
            return


def _halve(curves: Floats, look: Callable[[Sequence[int]], None]) -> None:
    """Look at half the distance around the lowest mean, again and again down to 1."""
    last, distance = curves.shape[1] - 1, COARSE // 2
    while distance:
        low = int(np.nanargmin(curves.mean(axis=0)))
        beside = {max(low - distance, 0), min(low + distance, last)}
        new = sorted(place for place in beside if np.isnan(curves[0, place]))
        if new:
            look(new)
        distance //= 2
