"""The registries of panels, of their studies and kinds; panels declared in a file.

Panels declared in a TOML file: a sweep, an axis and a caption, drawn like all others.

name = "rates"
caption = "What the figure shows."
x = "scaling.strength"

[sweep.problem]
dimension = 100

[sweep.axes]
"scaling.strength" = [0.2, 0.5, 0.8]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from onegrad.data.rows_files import is_here
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import path_of, positive_number, shown
from onegrad.describe.registry import Registry
from onegrad.describe.toml import read_fields
from onegrad.describe.value import Document, Text, Value
from onegrad.papers import (
    classification,
    curve_panels,
    demir_dogan,
    giant_steps,
    images,
    map_panels,
    observed_panels,
    several_steps,
)
from onegrad.papers.panel import BOTH, Axis, Panel, Scale, Study
from onegrad.papers.panel_kinds import PanelKind
from onegrad.papers.panel_table import ACTIVATION, source_metric
from onegrad.plotting.style import STYLES, field_label
from onegrad.sweeps.sweep import RIDGE, Sweep
from onegrad.verbs.fit_check import COMPARED, require_metric

Kind = Literal["curves", "points", "two_ways", "map"]


def _axis_table(value: Any) -> Any:
    """Return an axis as a table; a string is its path."""
    return {"path": value} if isinstance(value, str) else value


class DeclaredAxis(Value):
    """An axis of a declared panel: the field's path, its label, a scale."""

    path: Text = Field(description="field of the problem, by path; `step` after every step")
    label: Text = Field(default="", description="label of the axis")
    log: bool = Field(default=False, strict=True, description="logarithmic")

    def axis(self) -> Axis:
        """Return the axis as panels have it."""
        path = "ridge" if self.path == RIDGE else self.path
        name = field_label(path)
        return Axis(path, name, self.label or name, self.log)


AxisField = Annotated[DeclaredAxis, BeforeValidator(_axis_table)]


class PanelDeclaration(Document):
    """A panel as its file declares it; `sweep` is a table as in a sweep's file, or its path."""

    name: Text
    caption: Text
    x: AxisField
    sweep: Sweep
    y: AxisField | None = None
    facet: AxisField | None = None
    metric: Text = "test_mse"
    kind: Kind = "curves"
    title: Text = ""
    shows: Text = ""
    tolerance: Annotated[float, BeforeValidator(lambda v: positive_number("tolerance", v))] = 0.03
    log_value: bool = Field(default=False, strict=True)
    closed: bool = Field(default=False, strict=True)

    @classmethod
    def load(cls, path: str | Path) -> PanelDeclaration:
        """Return the declaration in a TOML file; a sweep's file is looked for beside it."""
        file = path_of("panel", path)
        return cls(**_with_sweep(read_fields(file), file.parent))


def is_panel_file(name: object) -> bool:
    """Return whether a panel is named by its file."""
    return isinstance(name, str | Path) and str(name).endswith(".toml")


def load_panel(path: str | Path) -> tuple[Panel, Study]:
    """Return the panel and the study that a TOML file declares, checked before anything runs."""
    declared = PanelDeclaration.load(path)
    panel = Panel(
        name=declared.name,
        study=declared.name,
        caption=declared.caption,
        shows=declared.shows,
        x=declared.x.axis(),
        metric=declared.metric,
        kind=declared.kind,
        y=None if declared.y is None else declared.y.axis(),
        facet=None if declared.facet is None else declared.facet.axis(),
        tolerance=declared.tolerance,
        log_value=declared.log_value,
        ours=True,
        title=declared.title,
        file=str(path),
    )
    PANELS.require_free(panel.name)
    _require_metric(panel, declared.sweep)
    _require_places(panel, declared.sweep)
    return panel, Study(axes={**declared.sweep.axes}, given=declared.sweep, closed=declared.closed)


def register_panel_file(path: str | Path) -> Panel:
    """Return the panel of a file after registering it and its study."""
    return register_panel(*load_panel(path))


def _with_sweep(fields: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the fields with the sweep read, which by default predicts as well as simulates."""
    sweep = fields.get("sweep")
    if sweep is None:
        raise InvalidInput("sweep: missing; give a table [sweep], or the path of a sweep's file")
    if isinstance(sweep, str):
        sweep = read_fields(path_of("sweep", folder / sweep))
    if not isinstance(sweep, dict):
        raise InvalidInput(
            f"sweep={shown(sweep)}: must be a table, or the path of a sweep's file; write [sweep]"
        )
    try:
        return {**fields, "sweep": Sweep(**{"verbs": BOTH, **sweep})}
    except InvalidInput as error:
        raise InvalidInput(f"sweep.{error}") from None


def _require_metric(panel: Panel, sweep: Sweep) -> None:
    """Raise InvalidInput if the rows will not have the panel's metric."""
    metric, _ = source_metric(panel)
    if metric in COMPARED:
        for setting in sweep.settings():
            require_metric(setting.problem, metric)


def _require_places(panel: Panel, sweep: Sweep) -> None:
    """Raise InvalidInput unless every place of the picture is one setting, and can be drawn."""
    values = dict(sweep.axes)
    ridges = values.pop(RIDGE, sweep.problem.ridges)
    steps = sweep.problem.recorded_steps
    values |= {"ridge": ridges} if len(ridges) > 1 else {}
    values |= {"step": steps} if len(steps) > 1 else {}
    axes = {"x": panel.x, "y": panel.y, "facet": panel.facet}
    places = {name: axis.path for name, axis in axes.items() if axis is not None}
    for name, path in places.items():
        if path not in values:
            known = ", ".join(values) or "none"
            raise InvalidInput(
                f"{name}={path!r}: must be an axis of the sweep ({known}); add it to sweep.axes"
            )
    together = {path for group in sweep.zip if set(group) & {*places.values()} for path in group}
    mixed = [path for path in values if path not in {*places.values(), *together, ACTIVATION}]
    if mixed or len(set(places.values())) < len(places):
        what = ", ".join(mixed) or "one axis twice"
        raise InvalidInput(
            f"panel={panel.name!r}: several settings share a place ({what}); give each axis of "
            "the sweep to x, y or facet"
        )
    if panel.kind in ("map", "two_ways") and panel.y is None:
        raise InvalidInput(f"kind={panel.kind!r}: needs a second axis; give y")
    _require_drawable(panel, values)


def _require_drawable(panel: Panel, values: dict[str, Any]) -> None:
    """Raise InvalidInput if x is not a number, or colours are too few."""
    wanted = [panel.x, *([panel.y] if panel.y and panel.kind in ("map", "two_ways") else [])]
    for axis in wanted:
        for value in values[axis.path]:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInput(
                    f"{axis.path}={shown(value)}: must be numbers along an axis; give it to y or "
                    "facet of curves, or use onegrad plot"
                )
    colour = ACTIVATION if panel.y is None else panel.y.path
    most = len(values.get(colour, ()))
    if panel.kind in ("curves", "points") and most > len(STYLES):
        raise InvalidInput(
            f"{colour}: {most} values, at most {len(STYLES)} colours are known; take fewer"
        )
    if panel.kind in ("curves", "two_ways", "map") and panel.facet is not None:
        raise InvalidInput(f"facet={panel.facet.path!r}: kind 'points' has facets; use it")
    several = len(values.get(ACTIVATION, ())) > 1
    if several and panel.kind != "points" and panel.y is not None and panel.y.path != ACTIVATION:
        raise InvalidInput(f"{ACTIVATION}: colours show y in this kind; use kind 'points'")


_HOMES = (demir_dogan, images, giant_steps, several_steps, classification)
_FAMILIES = (curve_panels, map_panels, observed_panels)


def _place(panel: Panel) -> tuple[bool, bool, str]:
    """Return a key that sorts panels: the paper's by number, those after other papers, ours."""
    papers = not panel.ours and not panel.source
    return panel.ours, not papers, panel.name if papers else ""


_ALL = sorted((panel for home in _HOMES for panel in home.PANELS), key=_place)
PANELS: Registry[Panel] = Registry("panels", {panel.name: panel for panel in _ALL})
STUDIES: Registry[Study] = Registry(
    "studies", {name: study for home in _HOMES for name, study in home.STUDIES.items()}
)
KINDS: Registry[PanelKind] = Registry(
    "panel kinds", {name: kind for family in _FAMILIES for name, kind in family.KINDS.items()}
)


def kind_of(panel: Panel) -> PanelKind:
    """Return the panel's kind."""
    return KINDS.get(panel.kind, field="kind")


def study_of(panel: Panel) -> Study:
    """Return the study whose rows the panel shows."""
    return STUDIES[panel.study]


def caption_at(panel: Panel, scale: Scale) -> str:
    """Return the panel's caption, at quick scale with what differs there."""
    more = study_of(panel).quick_caption if scale == "quick" else ""
    return f"{panel.caption} {more.format(panel=panel.name)}".strip()


def register_panel(panel: Panel, study: Study | None = None) -> Panel:
    """Return the panel after registering it and its study, for `reproduction` to draw.

    The study gets the name that the panel has for it; without a study, that name must be
    registered already. Registering a panel again under its name replaces the one before.
    """
    if not isinstance(panel, Panel):
        raise InvalidInput(f"panel={shown(panel)}: must be a Panel; make one")
    kind_of(panel)
    rows = STUDIES.get(panel.study, field="study") if study is None else study
    if not isinstance(rows, Study):
        raise InvalidInput(f"study={shown(study)}: must be a Study; pass one")
    PANELS.require_free(panel.name)
    if study is not None:
        STUDIES.add(panel.study, study, mark=panel.study)
    return PANELS.add(panel.name, panel, mark=panel.name)


def register_panel_kind(name: str, kind: PanelKind) -> PanelKind:
    """Return the kind after registering it under `name` for panels.

    Registering a kind again under its name replaces the one before.
    """
    if not isinstance(kind, PanelKind):
        raise InvalidInput(f"kind={shown(kind)}: must be a PanelKind; make one of your functions")
    for part in fields(kind):
        function = getattr(kind, part.name)
        if not callable(function) and not (part.name == "figure" and function is None):
            raise InvalidInput(f"{part.name}={shown(function)}: must be a function; pass one")
    return KINDS.add(name, kind, mark=name)


def chosen_panels(names: Sequence[str], scale: Scale = "quick") -> list[Panel]:
    """Return the panels of these names; if none is given, all whose data are on this machine."""
    if names:
        return [PANELS.get(name, field="panel") for name in dict.fromkeys(names)]
    absent = [name for name in PANELS if not available(PANELS[name], scale)]
    if absent:
        warnings.warn(
            f"panels {', '.join(absent)} are left out: their data are not on this machine; onegrad "
            "fetch downloads them",
            stacklevel=3,
        )
    return [PANELS[name] for name in PANELS if name not in absent]


def available(panel: Panel, scale: Scale) -> bool:
    """Return whether the data that the panel needs at this scale are on this machine."""
    needs = study_of(panel).needs
    return scale == "quick" or needs is None or is_here(needs)
