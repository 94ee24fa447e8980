"""The predicted metric of a network against the penalty, in several draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.models.network import NETWORK
from onegrad.problem.problem import Problem
from onegrad.training.reuse import Shared
from onegrad.verbs.closed_draw import ModelCurve, ToldProblem, metrics_along
from onegrad.verbs.methods import Method
from onegrad.verbs.predicted_draw import predict_draw

COARSE = 8  # every eighth penalty first: a decade
FINEST_DRAFT = 2  # places, a quarter of a decade: drafts are no better
PROMISING = 1.1  # times the lowest of all, up to which a problem's own lowest is looked for
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

    The search goes down from the largest penalty by decades until the mean over draws has risen
    twice, then halves the distance around the lowest. The metric is NaN at penalties that it skips
    and infinite where theory does not converge.
    """
    curves = np.full((len(trials), len(ridges)), np.nan)
    kept = [Shared() for _ in trials]  # a draw is reduced once for all penalties
    how: dict[str, Any] = {"metric": metric, "method": method, "seed": seed}

    def look(place: int) -> None:
        asked = problem.replace(readout__ridge=(ridges[place],))
        for row, trial in enumerate(trials):
            try:
                curves[row, place] = _value(asked, trial=trial, shared=kept[row], **how)
            except NotConverged:
                curves[row, place] = np.inf

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search_lowest(curves, look)
    return curves, [str(warning.message) for warning in caught]


def closed_curves(
    problems: Sequence[Problem],
    ridges: Sequence[float],
    *,
    metric: str,
    draft: bool,
    lowest: float = np.inf,
) -> Floats:
    """Return the network's metric without draws, a row per problem, NaN where not computed.

    All problems are computed at every eighth penalty, then those that may be the best of them, and
    better than `lowest`, at penalties around their lowest: of drafts half as far in every round.
    """
    curves = np.full((len(problems), len(ridges)), np.nan)
    last = len(ridges) - 1
    told = [ToldProblem.of(problem, draft=draft) for problem in problems]
    counts = [np.array([float(problem.samples)]) for problem in problems]

    def look(places: Mapping[int, Sequence[int]]) -> None:
        asked = [
            ModelCurve(told[row], NETWORK, counts[row], np.array([ridges[p] for p in own]))
            for row, own in places.items()
        ]
        for (row, own), (metrics, notes) in zip(places.items(), metrics_along(asked), strict=True):
            curves[row, own] = metrics[metric][0]
            for note in () if draft else notes:
                warnings.warn(f"theory: {note}", stacklevel=4)

    look(dict.fromkeys(range(len(problems)), range(0, last + 1, COARSE)))
    distance = COARSE // 2
    while distance and last:
        own_lowest = np.nanmin(curves, axis=1)
        lowest = min(lowest, float(own_lowest.min()))
        fresh = {}
        for row in np.flatnonzero(own_lowest <= PROMISING * lowest):
            low = int(np.nanargmin(curves[row]))
            places = {low - distance, low + distance} if draft else set(range(low - 4, low + 5))
            own = sorted(p for p in places if 0 <= p <= last and np.isnan(curves[row, p]))
            if own:
                fresh[int(row)] = own
        look(fresh)
        distance = distance // 2 if draft and distance > FINEST_DRAFT else 0
    return curves


def _value(problem: Problem, *, metric: str, **how: Any) -> float:
    """Return the metric of the network after the last step, at the problem's penalty."""
    metrics = predict_draw(problem, [NETWORK], **how)[NETWORK.name]
    if metric not in metrics:
        raise InvalidInput(f"metric={metric!r}: must be one of {', '.join(metrics)}; choose one")
    return float(np.atleast_2d(metrics[metric])[-1, 0])


def search_lowest(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at places of `curves` (rows × penalties, NaN at first) until the lowest mean is found.

    `look` writes a column. It is called from the largest penalty down, then around the lowest.
    """
    _descend(curves, look)
    _halve(curves, look)


def _descend(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at every eighth place from the last down to where the mean has risen twice.

    Small penalties cost most: a convex loss on separable samples diverges as they vanish.
    """
    rises = 0
    for place in range(curves.shape[1] - 1, -1, -COARSE):
        look(place)
        mean = curves.mean(axis=0)
        rises = rises + 1 if mean[place] > np.nanmin(mean) else 0
        if rises == RISES:
            return


def _halve(curves: Floats, look: Callable[[int], None]) -> None:
    """Look at half the distance around the lowest mean, again and again down to 1."""
    last, distance = curves.shape[1] - 1, COARSE // 2
    while distance:
        low = int(np.nanargmin(curves.mean(axis=0)))
        for place in (max(low - distance, 0), min(low + distance, last)):
            if np.isnan(curves[0, place]):
                look(place)
        distance //= 2
