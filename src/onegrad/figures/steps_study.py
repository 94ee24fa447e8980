"""What a panel of giant steps is: a study (runs at two scales) and how they become a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from onegrad.figures.panel import SCALES, Scale
from onegrad.steps.steps_problem import StepsProblem

Kind = Literal["plane", "curves", "spikes", "timelapse"]


@dataclass(frozen=True)
class StepsStudy:
    """Runs of giant steps: `fields` and `axes` of the paper, and what `quick` puts in place.

    Paths are dotted, `step_size.exponent`. `neurons`: every neuron's overlaps are stored too.
    """

    fields: dict[str, Any]
    axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    quick_fields: dict[str, Any] = field(default_factory=dict)
    quick_axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    trials: tuple[int, int] = (2, 4)  # quick, paper
    neurons: bool = False

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


def _nested(fields: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for path, value in fields.items():
        outer, _, inner = path.partition(".")
        if inner:
            out[outer] = {**out.get(outer, {}), inner: value}
        else:
            out[outer] = value
    return out


@dataclass(frozen=True)
class StepsPanel:
    """One picture of giant steps, and what a reader should see in it."""

    name: str
    study: str
    caption: str
    shows: str
    kind: Kind
    source: str
