"""A panel as the folder holds it: what is said of it, its picture, and its view to touch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from onegrad.papers.kept_panels import kept_panels
from onegrad.papers.panel import Panel
from onegrad.papers.panel_kinds import KINDS
from onegrad.papers.panel_registry import PANELS
from onegrad.papers.views.view import View


@dataclass(frozen=True)
class DrawnPanel:
    """A panel with what `reproduce` left of it in a folder; the view may be empty."""

    panel: Panel
    about: dict[str, Any]
    picture: bytes
    view: View

    @property
    def name(self) -> str:
        """The panel's name."""
        return self.panel.name

    @property
    def deviations(self) -> list[dict[str, Any]]:
        """The comparisons of the panel."""
        return list(self.about["deviations"])

    @property
    def apart(self) -> int:
        """How many compared points differ by more than tolerance and errors allow."""
        return sum(int(d["beyond"]) for d in self.deviations if d["total"])


def drawn_panels(directory: Path) -> list[DrawnPanel]:
    """Return the panels that the folder holds whole, in the order in which they are registered."""
    return [
        DrawnPanel(
            PANELS[name], kept.about, kept.picture.read_bytes(), _view(PANELS[name], kept.table)
        )
        for kept in kept_panels(directory, PANELS)
        for name in [kept.about["panel"]]
    ]


def _view(panel: Panel, path: Path) -> View:
    """Return the view of the table; an empty one, which is said, where it is another's table."""
    kind = KINDS.get(panel.kind, field="kind")
    try:
        return kind.view(panel, pd.read_csv(path, dtype={"panel": str}))
    except (LookupError, ValueError, TypeError, AttributeError):
        warnings.warn(
            f"{path.name}: is no table of this panel; its picture is shown alone, onegrad "
            f"reproduce {panel.name} draws it anew",
            stacklevel=4,
        )
        return View()
