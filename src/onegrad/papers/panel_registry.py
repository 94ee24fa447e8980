"""The registries of panels, of the studies whose rows they show, and of kinds of panels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields

from onegrad.data.rows.reading import is_here
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry
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
from onegrad.papers.panel import Panel, Scale, Study
from onegrad.papers.panel_kinds import PanelKind

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
