"""What a kind of panels is: how rows become a table, and the table a view.

Everything that differs between kinds is one of a kind's functions. The kinds of onegrad are in
`curve_panels.py`, `map_panels.py` and `observed_panels.py`; docs/extend.md adds one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.published import Deviation
from onegrad.plotting.matplotlib_figure import draw
from onegrad.plotting.view import View
from onegrad.sweeps.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def no_deviations(panel: Panel, table: pd.DataFrame, rows: Results) -> list[Deviation]:
    """Return nothing: the kind compares nothing."""
    return []


def no_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return nothing: the picture shows everything."""
    return []


def no_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return an empty view: the report shows the figure."""
    return View()


@dataclass(frozen=True)
class PanelKind:
    """How a study's rows become a table, the table a picture, and what the report adds to it.

    table(panel, rows): a line per point, with the columns `panel_table.COLUMNS` and more if
    needed; `published` is NaN, values read off published plots are filled in afterwards.
    figure(panel, table): a matplotlib figure; without it, the view is drawn.
    deviations(panel, table, rows): comparisons of columns, for the report to count.
    numbers(panel, table): sentences with numbers to read off, the most important first.
    view(panel, table): curves and maps, for the figure and for the report.
    """

    table: Callable[[Panel, Results], pd.DataFrame]
    figure: Callable[[Panel, pd.DataFrame], Figure] | None = None
    deviations: Callable[[Panel, pd.DataFrame, Results], list[Deviation]] = no_deviations
    numbers: Callable[[Panel, pd.DataFrame], list[str]] = no_numbers
    view: Callable[[Panel, pd.DataFrame], View] = no_view

    def draw(self, panel: Panel, table: pd.DataFrame) -> Figure:
        """Return the figure of a panel; the same table gives the same figure."""
        if self.figure is not None:
            return self.figure(panel, table)
        return draw(self.view(panel, table), title=panel.heading)
