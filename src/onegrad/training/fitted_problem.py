"""A problem on real data, put on the mixture that was fitted to them."""

from __future__ import annotations

from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.describe.arrays import Array
from onegrad.describe.exceptions import InvalidInput
from onegrad.problem.problem import Problem, require_problem
from onegrad.training.instance import draw


def on_fitted_mixture(problem: Problem) -> Problem:
    """Return the same problem with the mixture fitted to its real data in their place.

    Tr Σ, ‖Σ‖ and b stay those of the data. It can be sampled, simulated on and predicted from.
    """
    require_problem(problem)
    if problem.data.exact_moments:
        raise InvalidInput(
            f"data.kind={problem.data.kind!r}: is a mixture already; give EmpiricalData"
        )
    instance = draw(problem)
    spread = instance.scales.spread
    if not spread > 0:
        raise InvalidInput(f"spread={spread:g}: must be above 0 for a mixture; raise it")
    components = tuple(
        Component(
            weight=part.weight,
            mean=None if part.mean is None else Array(part.mean),
            level=part.level,
            directions=Array(part.directions),
            strengths=tuple((part.strengths / spread).tolist()),
            label=part.label,
        )
        for part in instance.mixture.components
    )
    scales = instance.scales
    return problem.replace(
        data=MixtureSource(components=components),
        test="exact",
        scaling__trace=scales.trace,
        scaling__norm=scales.norm,
        scaling__bulk_deviation=scales.bulk_deviation,
    )
