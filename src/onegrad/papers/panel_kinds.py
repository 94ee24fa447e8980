"""The door for kinds of panels: how rows become a table, and the table a picture.

A panel names its kind; everything that differs between kinds is one of its five functions.
`register_panel_kind` adds one of your own (docs/add_a_panel_kind.md). Pictures are imported when
they are drawn, so that matplotlib is not needed to list panels or to make tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import pandas as pd

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry
from onegrad.papers.panel import Panel
from onegrad.papers.tables.batch_table import batch_deviations, batch_numbers, batch_table
from onegrad.papers.tables.curve_table import curve_table
from onegrad.papers.tables.deviations import Deviation, curve_deviations
from onegrad.papers.tables.fit_table import fit_deviations, fit_table
from onegrad.papers.tables.gap_table import degree_table, gap_table
from onegrad.papers.tables.map_table import (
    fine_map_deviations,
    fine_map_table,
    linear_map_table,
    map_table,
)
from onegrad.papers.tables.penalty_table import penalty_numbers, penalty_table
from onegrad.papers.tables.plane_table import plane_numbers, plane_table
from onegrad.papers.tables.spike_table import spike_numbers, spike_table
from onegrad.papers.tables.timelapse_table import timelapse_numbers, timelapse_table
from onegrad.papers.views.curve_view import batch_view, curve_view, gap_view, two_ways_view
from onegrad.papers.views.facet_view import fit_view, points_view
from onegrad.papers.views.map_view import (
    degree_map_view,
    fine_map_view,
    linear_map_view,
    map_view,
)
from onegrad.papers.views.observed_view import plane_view, spike_view, timelapse_view
from onegrad.papers.views.view import View
from onegrad.running.table import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def no_deviations(panel: Panel, table: pd.DataFrame, rows: Results) -> list[Deviation]:
    """Return nothing: the kind compares nothing."""
    return []


def no_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return nothing: the picture says it all."""
    return []


def no_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return nothing to draw in the report: it shows the picture."""
    return View()


@dataclass(frozen=True)
class PanelKind:
    """How a study's rows become a table, the table a picture, and what the report says of them.

    table(panel, rows): a line per point, with the columns `panel_table.COLUMNS` and more where
    needed; `published` is NaN, values read off published plots are filled in afterwards.
    figure(panel, table): a matplotlib figure; the same table gives the same figure.
    deviations(panel, table, rows): comparisons of columns, for the report to count.
    numbers(panel, table): sentences with numbers to read off, the most important first.
    view(panel, table): what the report draws for readers to touch; the picture where it is empty.
    """

    table: Callable[[Panel, Results], pd.DataFrame]
    figure: Callable[[Panel, pd.DataFrame], Figure]
    deviations: Callable[[Panel, pd.DataFrame, Results], list[Deviation]] = no_deviations
    numbers: Callable[[Panel, pd.DataFrame], list[str]] = no_numbers
    view: Callable[[Panel, pd.DataFrame], View] = no_view


def _drawn_by(module: str, function: str) -> Callable[[Panel, pd.DataFrame], Figure]:
    """Return a function of `plots/` that is imported when it is first called."""

    def figure(panel: Panel, table: pd.DataFrame) -> Figure:
        plots = importlib.import_module(f"onegrad.papers.plots.{module}")
        drawn: Figure = getattr(plots, function)(panel, table)
        return drawn

    return figure


BUILT_IN: dict[str, PanelKind] = {
    "curves": PanelKind(
        curve_table, _drawn_by("curve_plot", "draw_curves"), curve_deviations, view=curve_view
    ),
    "points": PanelKind(
        curve_table, _drawn_by("points_plot", "draw_points"), curve_deviations, view=points_view
    ),
    "penalties": PanelKind(
        penalty_table,
        _drawn_by("points_plot", "draw_points"),
        curve_deviations,
        penalty_numbers,
        points_view,
    ),
    "two_ways": PanelKind(
        curve_table,
        _drawn_by("two_ways_plot", "draw_two_ways"),
        curve_deviations,
        view=two_ways_view,
    ),
    "map": PanelKind(map_table, _drawn_by("map_plot", "draw_map"), curve_deviations, view=map_view),
    "fine_map": PanelKind(
        fine_map_table,
        _drawn_by("map_plot", "draw_fine_map"),
        fine_map_deviations,
        view=fine_map_view,
    ),
    "linear_map": PanelKind(
        linear_map_table, _drawn_by("map_plot", "draw_linear_map"), view=linear_map_view
    ),
    "degree_map": PanelKind(
        degree_table, _drawn_by("gap_plot", "draw_degrees"), view=degree_map_view
    ),
    "gaps": PanelKind(gap_table, _drawn_by("gap_plot", "draw_gaps"), view=gap_view),
    "fits": PanelKind(fit_table, _drawn_by("fit_plot", "draw_fits"), fit_deviations, view=fit_view),
    "plane": PanelKind(
        plane_table,
        _drawn_by("plane_plot", "draw_plane"),
        numbers=plane_numbers,
        view=plane_view,
    ),
    "batch_curves": PanelKind(
        batch_table,
        _drawn_by("batch_plot", "draw_batches"),
        batch_deviations,
        batch_numbers,
        batch_view,
    ),
    "spikes": PanelKind(
        spike_table, _drawn_by("spike_plot", "draw_spikes"), numbers=spike_numbers, view=spike_view
    ),
    "timelapse": PanelKind(
        timelapse_table,
        _drawn_by("timelapse_plot", "draw_timelapse"),
        numbers=timelapse_numbers,
        view=timelapse_view,
    ),
}
KINDS: Registry[PanelKind] = Registry("panel kinds", BUILT_IN)


def register_panel_kind(name: str, kind: PanelKind) -> PanelKind:
    """Return the kind after making it known under `name` to panels.

    A kind that you register again under its name takes the place of the one before.
    """
    if not isinstance(kind, PanelKind):
        raise InvalidInput(f"kind={shown(kind)}: must be a PanelKind; make one of your functions")
    for part in fields(kind):
        if not callable(getattr(kind, part.name)):
            value = shown(getattr(kind, part.name))
            raise InvalidInput(f"{part.name}={value}: must be a function; pass one")
    return KINDS.add(name, kind, mark=name)
