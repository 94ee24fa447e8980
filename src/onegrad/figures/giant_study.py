"""What a panel of giant steps is: a study (runs at two scales) and how they become a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from onegrad.figures.giant_cost import work
from onegrad.figures.panel import SCALES, Scale, StudyCost
from onegrad.machine.rates import Rates
from onegrad.steps.steps_problem import StepsProblem


@dataclass(frozen=True)
class GiantStudy:
    """Runs of giant steps: `fields` and `axes` of the paper, and what `quick` puts in place.

    Paths are dotted, `step_size.exponent`. `neurons`: every neuron's overlaps are stored too.
    """

    fields: dict[str, Any]
    axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    quick_fields: dict[str, Any] = field(default_factory=dict)
    quick_axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    trials: tuple[int, int] = (2, 4)  # quick, paper
    neurons: bool = False
    needs: str | None = None  # a data set that does not come with onegrad

    def settings(self, scale: Scale) -> list[tuple[dict[str, Any], StepsProblem]]:
        """Return the coordinates along the axes and the problem of every setting."""
        quick = scale == "quick"
        fields = {**self.fields, **(self.quick_fields if quick else {})}
        axes = {**self.axes, **(self.quick_axes if quick else {})}
        points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        return [(point, StepsProblem(**_nested(fields | point))) for point in points]

    def count(self, scale: Scale) -> int:
        """Return the trials at a scale."""
        return self.trials[SCALES.index(scale)]

    def cost(self, scale: Scale, rates: Rates) -> StudyCost:
        """Return what the runs take on one core of these rates."""
        settings, trials = self.settings(scale), self.count(scale)
        total = sum(work(problem, rates) for _, problem in settings)
        return StudyCost(len(settings), trials, trials * total)

    def sizes(self, scale: Scale) -> str:
        """Return the sizes of the first setting, as a caption says them."""
        _, problem = self.settings(scale)[0]
        return f"d = {problem.dimension}, p = {problem.width}; "


def _nested(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields by dotted path as tables in tables."""
    out: dict[str, Any] = {}
    for path, value in fields.items():
        outer, _, inner = path.partition(".")
        if inner:
            out[outer] = {**out.get(outer, {}), inner: value}
        else:
            out[outer] = value
    return out


@dataclass(frozen=True)
class GiantPanel:
    """One picture of giant steps, and what a reader should see in it.

    `kind` names how runs become a table and the table a picture (`panel_kinds.py`).
    """

    name: str
    study: str
    caption: str
    shows: str
    kind: str
    source: str = ""
    ours: bool = False
