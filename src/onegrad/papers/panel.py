"""A panel: a study, which is a sweep at two scales, and the axes and captions of its picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from onegrad.core.problem import Problem
from onegrad.machine.cost import Rates
from onegrad.plotting.style import metric_label, value_text
from onegrad.sweeps.results import closed_seconds
from onegrad.sweeps.sweep import Sweep, Verb
from onegrad.verbs.cost import seconds

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")
QUICK_SIZE = 300
BOTH: tuple[Verb, ...] = ("simulate", "predict")


def problem_of(fields: dict[str, Any]) -> Problem:
    """Return the problem of fields by dotted path, those of one table given to it together."""
    whole: dict[str, Any] = {name: v for name, v in fields.items() if "." not in name}
    inner = {}
    for path, value in fields.items():
        outer, _, name = path.partition(".")
        if name and "." not in name and outer not in fields:
            whole[outer] = {**whole.get(outer, {}), name: value}
        elif name:
            inner[path] = value
    problem = Problem(**whole)
    return problem.replace(inner) if inner else problem


@dataclass(frozen=True)
class StudyCost:
    """What a study takes: settings, trained trials of each, and about how many seconds."""

    settings: int
    trials: int
    seconds: float


@dataclass(frozen=True)
class Study:
    """A sweep at two scales: `fields` and `axes` of the paper, and what `quick` puts in place."""

    axes: dict[str, Sequence[Any]]
    fields: dict[str, Any] = field(default_factory=dict)
    quick_axes: dict[str, Sequence[Any]] = field(default_factory=dict)
    quick_fields: dict[str, Any] = field(
        default_factory=lambda: {"dimension": QUICK_SIZE, "readout.samples": QUICK_SIZE}
    )
    zip: tuple[str, ...] = ()
    models: tuple[str, ...] = ("network", "hermite")
    verbs: tuple[Verb, ...] = BOTH
    quick_verbs: tuple[Verb, ...] | None = None  # in place of verbs
    observe: Literal["no", "steps", "neurons"] = "no"
    trials: tuple[int, int] = (6, 20)  # quick, paper
    draws: tuple[int, int] = (3, 4)
    redraw: Literal["all", "network"] = "network"  # of the published protocol
    needs: str | None = None  # a data set of the paper scale that does not come with onegrad
    published_sizes: tuple[Scale, ...] = ("paper",)  # scales that published values are beside
    quick_caption: str = ""  # after captions at quick scale; {panel} is the panel's name
    closed: bool | Scale = False  # whether theory without draws is added, or at which scale
    given: Sweep | None = None  # taken as it is at both scales, in place of fields and axes
    # Axes of that theory which differ from the study's: quick, paper.
    closed_axes: tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]] = ({}, {})

    def sweep(self, scale: Scale, *, published_redraw: bool = False, seed: int = 0) -> Sweep:
        """Return the sweep at a scale, by default with everything redrawn per trial."""
        if self.given is not None:
            return self.given.replace(seed=seed) if seed else self.given
        which = SCALES.index(scale)
        fields = {**self.fields, **(self.quick_fields if scale == "quick" else {})}
        if published_redraw:
            fields["redraw"] = self.redraw
        axes = {**self.axes, **(self.quick_axes if scale == "quick" else {})}
        return Sweep(
            problem=problem_of(fields),
            axes={path: tuple(values) for path, values in axes.items()},
            zip=(self.zip,) if self.zip else (),
            models=self.models,
            verbs=self.verbs if scale == "paper" else self.quick_verbs or self.verbs,
            observe=self.observe,
            trials=self.trials[which],
            draws=self.draws[which],
            seed=seed,
        )

    def closed_at(self, scale: Scale) -> bool:
        """Return whether theory without draws is added to the study's rows at a scale."""
        return self.closed is True or self.closed == scale

    def closed_sweep(self, sweep: Sweep, scale: Scale) -> Sweep:
        """Return the sweep of theory without draws that is added to the study's."""
        own = self.closed_axes[SCALES.index(scale)]
        axes = {**sweep.axes, **{path: tuple(values) for path, values in own.items()}}
        return sweep.replace(axes=axes, verbs=("predict",), method="closed", observe="no")

    def cost(self, scale: Scale, rates: Rates) -> StudyCost:
        """Return what the sweep takes on one core of these rates."""
        sweep = self.sweep(scale)
        settings = sweep.settings()
        counts = {"simulate": sweep.trials, "predict": sweep.draws}
        total = sum(
            counts[verb] * seconds(setting.problem, setting.models, rates, verb=verb)
            for setting in settings
            for verb in sweep.verbs
            if verb == "simulate" or setting.problem.has_theory
        )
        if self.closed_at(scale):
            total += sum(
                closed_seconds(s.problem) for s in self.closed_sweep(sweep, scale).settings()
            )
        return StudyCost(len(settings), sweep.trials if "simulate" in sweep.verbs else 0, total)

    def sizes(self, scale: Scale) -> str:
        """Return the sizes that no axis changes, as a caption says them."""
        sweep = self.sweep(scale)
        names = {"dimension": "n", "readout.samples": "m"}
        fixed = [
            f"{symbol} = {getattr(sweep.problem, name.rpartition('.')[2])}"
            for name, symbol in names.items()
            if name not in sweep.axes
        ]
        return ", ".join(fixed) + "; " if fixed else ""


@dataclass(frozen=True)
class Axis:
    """A field of the problem as an axis of a picture: its path, short name and label.

    `exponent` shows log value/log n in place of the value.
    """

    path: str
    name: str
    label: str
    log: bool = False
    exponent: bool = False

    def with_value(self, value: Any) -> str:
        """Return a number with the symbol that ends the label, or a word with the label."""
        if isinstance(value, str):
            return f"{self.label} {value_text(value)}"
        return f"{self.label.split()[-1]} = {value:g}"


def spaced(start: float, stop: float, count: int) -> list[float]:
    """Return evenly spaced values, rounded so that they are short when printed."""
    return [round(float(x), 12) for x in np.linspace(start, stop, count)]


WIDTH = Axis("network.width_ratio", "k/m", "width per sample, k/m")
ALPHA = Axis("scaling.weighting", "alpha", "weighting α")
BETA = Axis("scaling.strength", "beta", "strength β")
ACTIVATION_NAMES = {"relu": "ReLU"}
ACTIVATION_AXIS: dict[str, Sequence[Any]] = {"network.activation": ("relu", "tanh", "sigmoid")}


@dataclass(frozen=True)
class Panel:
    """One picture: a study, a metric, axes, and what a reader should see in it.

    `kind` names how rows become a table and the table a picture (`panel_kinds.py`).
    """

    name: str
    study: str
    caption: str
    shows: str
    x: Axis
    metric: str = "half_test_mse"
    kind: str = "curves"
    y: Axis | None = None  # the second axis of a map, or what tells curves of one activation apart
    facet: Axis | None = None  # what pictures beside each other differ in
    tolerance: float = 0.03  # relative deviation that counts as agreement, beside four errors
    compared_from: float = -math.inf  # points with smaller x are shown and not compared
    log_value: bool = False
    ours: bool = False
    source: str = ""  # whom the picture is after, where it is not after the paper
    title: str = ""  # what a reader should take away, in a line
    file: str = ""  # the TOML file that declares it, where it is one's own

    @property
    def heading(self) -> str:
        """The name with the title, or with what is shown against what."""
        metric = self.metric.replace("_", " ")
        return f"{self.name}  {self.title or f'{metric} against {self.x.label}'}"

    @property
    def value_label(self) -> str:
        """The label of the values' axis."""
        return metric_label(self.metric)

    def series_label(self, value: float | str) -> str:
        """Return the name of a series: an activation, or a value of the second axis."""
        text = value_text(value)
        if self.y is None:
            return ACTIVATION_NAMES.get(text, text)
        return text if isinstance(value, str) else f"{self.y.name} {text}"
