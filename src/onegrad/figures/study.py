"""What a panel is: a study (a sweep at two scales) and how its rows become a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from onegrad.problem import Problem
from onegrad.sweep import Sweep, Verb

Scale = Literal["quick", "paper"]
Kind = Literal["curves", "map", "linear_map", "degree_map", "gaps"]
SCALES: tuple[Scale, ...] = ("quick", "paper")
QUICK_SIZE = 300
BOTH: tuple[Verb, ...] = ("simulate", "predict")


@dataclass(frozen=True)
class Study:
    """A sweep at two scales: `fields` and `axes` of the paper, and what `quick` puts in place."""

    axes: dict[str, Sequence[Any]]
    fields: dict[str, Any] = field(default_factory=dict)
    quick_axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    quick_fields: dict[str, Any] = field(
        default_factory=lambda: {"dimension": QUICK_SIZE, "samples": QUICK_SIZE}
    )
    zip: tuple[str, ...] = ()
    models: tuple[str, ...] = ("network", "hermite")
    verbs: tuple[Verb, ...] = BOTH
    trials: tuple[int, int] = (6, 20)  # quick, paper
    draws: tuple[int, int] = (6, 4)
    redraw: Literal["all", "network"] = "network"  # of the published protocol

    def sweep(self, scale: Scale, *, published_redraw: bool = False, seed: int = 0) -> Sweep:
        """Return the sweep at a scale, everything redrawn per trial unless said."""
        which = SCALES.index(scale)
        fields = {**self.fields, **(self.quick_fields if scale == "quick" else {})}
        if published_redraw:
            fields["redraw"] = self.redraw
        changes = {path.replace(".", "__"): value for path, value in fields.items()}
        axes = {**self.axes, **(self.quick_axes if scale == "quick" else {})}
        return Sweep(
            problem=Problem().replace(**changes),
            axes={path: tuple(values) for path, values in axes.items()},
            zip=(self.zip,) if self.zip else (),
            models=self.models,
            verbs=self.verbs,
            trials=self.trials[which],
            draws=self.draws[which],
            seed=seed,
        )


@dataclass(frozen=True)
class Axis:
    """A field of the problem as an axis of a picture: its path, short name and label."""

    path: str
    name: str
    label: str
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """One picture: a study, a metric, axes, and what a reader should see in it."""

    name: str
    study: str
    caption: str
    shows: str
    x: Axis
    metric: str = "half_test_mse"
    kind: Kind = "curves"
    y: Axis | None = None  # the second axis of a map, or what tells curves of one activation apart
    log_value: bool = False
    published: bool = False
    ours: bool = False
