"""The registry of panels and of the studies whose rows they show, and the door for your own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from onegrad.data.rows.reading import is_here
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry
from onegrad.papers.panel import Panel, Scale, Study
from onegrad.papers.panel_kinds import KINDS
from onegrad.papers.panels import classification, giant, images, paper, several_steps

_HOMES = (paper, images, giant, several_steps, classification)


def _place(panel: Panel) -> tuple[bool, bool, str]:
    """Return where a panel stands: the paper's by number, those after other papers, ours."""
    papers = not panel.ours and not panel.source
    return panel.ours, not papers, panel.name if papers else ""


_ALL = sorted((panel for home in _HOMES for panel in home.PANELS), key=_place)
PANELS: Registry[Panel] = Registry("panels", {panel.name: panel for panel in _ALL})
STUDIES: Registry[Study] = Registry(
    "studies", {name: study for home in _HOMES for name, study in home.STUDIES.items()}
)


def study_of(panel: Panel) -> Study:
    """Return the study whose rows the panel shows."""
    return STUDIES[panel.study]


def caption_at(panel: Panel, scale: Scale) -> str:
    """Return the panel's caption, at quick scale with what differs there."""
    more = study_of(panel).quick_caption if scale == "quick" else ""
    return f"{panel.caption} {more.format(panel=panel.name)}".strip()


def register_panel(panel: Panel, study: Study | None = None) -> Panel:
    """Return the panel after making it and its study known, for `reproduction` to draw.

    The study is known by the name that the panel calls it; without one, that name must be known
    already. A panel that you register again under its name takes the place of the one before.
    """
    if not isinstance(panel, Panel):
        raise InvalidInput(f"panel={shown(panel)}: must be a Panel; make one")
    KINDS.get(panel.kind, field="kind")
    rows = STUDIES.get(panel.study, field="study") if study is None else study
    if not isinstance(rows, Study):
        raise InvalidInput(f"study={shown(study)}: must be a Study; pass one")
    PANELS.require_free(panel.name)
    if study is not None:
        STUDIES.add(panel.study, study, mark=panel.study)
    return PANELS.add(panel.name, panel, mark=panel.name)


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
