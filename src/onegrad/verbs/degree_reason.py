"""Why a Hermite model of a higher degree can be further from the network than one of a lower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.models.laws import preactivation_laws
from onegrad.models.network import NETWORK
from onegrad.models.resolve import models_of
from onegrad.moments.polynomial_misfit import Misfit, largest_reach, polynomial_misfit
from onegrad.problem.problem import Problem
from onegrad.training.instance import draw
from onegrad.training.run import finished_run
from onegrad.verbs.errors import paired_gap

SIGNIFICANT = 2.0  # standard errors
ROUNDING = 1e-9


@dataclass(frozen=True)
class Scale:
    """The scale b that polynomials are made at, the largest r.m.s. of a neuron, the misfits."""

    bulk_deviation: float
    reach: float
    misfits: tuple[Misfit, ...]


def scale_of(problem: Problem, degrees: Sequence[int], *, seed: int) -> Scale:
    """Return the misfit of the Hermite polynomials of these degrees in the first draw."""
    with np.errstate(over="ignore", invalid="ignore"):  # of degrees far above the theorem's
        run = finished_run(draw(problem, seed=seed))
        instance = run.instance_at(problem.training.steps)
        first = run.first.astype(np.float64, copy=False)
        laws = preactivation_laws(instance.mixture, instance.teacher, first)
        network = NETWORK.feature_map(instance, run.layers, first)
        misfits = tuple(
            polynomial_misfit(laws, network, model.feature_map(instance, run.layers, first))
            for model in models_of(instance, [f"hermite:{d}" for d in degrees])
        )
    return Scale(instance.scales.bulk_deviation, largest_reach(laws), misfits)


def reason(degrees: Sequence[int], values: Floats, scale: Scale) -> str | None:
    """Return one sentence on the first degree that is worse than a lower one, None without one.

    `values` are the metric of the network (column 0) and of every degree, a row per draw.
    """
    pair = _worse_pair(values)
    if pair is None:
        return None
    (lower, higher), b = (scale.misfits[i] for i in pair), scale.bulk_deviation
    low, high = (degrees[i] for i in pair)
    made = (
        f"degree {high} has a larger gap than degree {low}: Hermite polynomials are made at "
        f"deviation b = {b:.3g}, pre-activations have up to {scale.reach / b:.2f} b; at the "
        f"neurons' own deviations degree {high}"
    )
    if higher.scale_error > lower.scale_error:
        return (
            f"{made} is off by {higher.scale_error:.2g} of σ's power, degree {low} by "
            f"{lower.scale_error:.2g}"
        )
    if abs(higher.nonlinear_power - 1) > abs(lower.nonlinear_power - 1):
        return (
            f"{made} has {higher.nonlinear_power:.3f} of the network's power beyond degree 1, "
            f"degree {low} {lower.nonlinear_power:.3f}"
        )
    return (
        f"{made} is closer to σ, off by {higher.scale_error:.2g} of its power in place of "
        f"{lower.scale_error:.2g}: the errors of degree {low} cancel in its gap"
    )


def _worse_pair(values: Floats) -> tuple[int, int] | None:
    """Return the places of the closest lower degree and of the first one that is worse.

    Worse is one whose |gap| is larger by two standard errors of the paired difference.
    """
    network = values[:, 0]
    difference = (values[:, 1:] - network[:, None]).T
    best, size = 0, [part * np.sign(part.sum()) for part in difference]
    for place in range(1, len(size)):
        more = paired_gap(network + size[place] - size[best], network)
        error = SIGNIFICANT * more.stderr if np.isfinite(more.stderr) else 0.0
        if more.mean > max(error, ROUNDING):
            return best, place
        if more.mean < -ROUNDING:
            best = place
    return None
