"""Panels of maps over two axes: tables, views and comparisons of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from onegrad.papers.curve_panels import gap_sizes
from onegrad.papers.panel import Panel
from onegrad.papers.panel_kinds import PanelKind
from onegrad.papers.panel_table import (
    CLOSED,
    has_closed,
    metric_lines,
    panel_table,
    panes,
    placed_lines,
)
from onegrad.papers.published import Deviation, closed_deviation, curve_deviations
from onegrad.plotting.maps import Grids, heat_maps, value_grid
from onegrad.plotting.view import View
from onegrad.sweeps.results import Results

GAP_RANGE = (4.0, 100.0)  # per cent; the colours of gaps end here
DEGREES = 6  # that have colours
SUFFICIENT_GAP = 0.02


def _view(panel: Panel, grids: Grids, **more: Any) -> View:
    assert panel.y is not None
    labels = panel.x.label, panel.y.label, panel.value_label
    return View(maps=heat_maps(grids, labels, **more))


def _grids(table: pd.DataFrame) -> Grids:
    """Return the simulated, the predicted and the published values over both axes.

    Those at the published size follow, if the table has them.
    """
    grids: Grids = {}
    for size, part in panes(table).items():
        own = _grids_of_size(part)
        trained = part["value"].notna().any()
        size = size.partition(" (")[0]
        grids |= own if trained else {f"{title}, {size}": grid for title, grid in own.items()}
    return grids


def _grids_of_size(table: pd.DataFrame) -> Grids:
    model = next(name for name in table["model"].unique() if not name.endswith("_theory"))
    simulated = table[table["model"] == model]
    grids = {"simulated": value_grid(simulated)} if simulated["value"].notna().any() else {}
    theory = table[table["model"] == f"{model}_theory"]
    if not theory.empty:
        grids["theory"] = value_grid(theory)
    for column, title in ((CLOSED, f"{CLOSED} theory"), ("published", "published")):
        if column in simulated and simulated[column].notna().any():
            grids[title] = value_grid(simulated, column)
    return grids


# The network's metric.


def map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the network's metric over both axes, simulated and predicted."""
    table = panel_table(panel, results, metric_lines(panel, results))
    return table[table["model"].str.startswith("network")].reset_index(drop=True)


def map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the maps of the panel's metric, coloured from its least to its largest value."""
    return _view(panel, _grids(table))


# The same, with theory without draws at more points.


def fine_map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the simulated metric, and that of theory without draws at more points."""
    lines = metric_lines(panel, results)
    # The coarse map's rows of other theory are not shown again.
    shown = (lines["verb"] == "simulate") | (lines["method"] == CLOSED)
    return placed_lines(panel, results, lines[shown])


def fine_map_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory without draws, between its points on straight lines, against simulation."""
    simulated = table[table["model"] == "network"]
    fine = table[table["model"] == f"network_{CLOSED}"]
    x, y, values = value_grid(fine)
    from scipy.interpolate import interpn  # late: it takes half a second to import

    closed = interpn((x, y), values.T, simulated[["x", "y"]].to_numpy(float))
    return [closed_deviation(simulated.assign(closed=closed), panel)]


def fine_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the simulated map beside that of theory without draws, which has more points."""
    titles = {"network": "simulated", f"network_{CLOSED}": f"{CLOSED} theory"}
    grids = {}
    for model, title in titles.items():
        x, y, z = value_grid(table[table["model"] == model])
        grids[f"{title}, {len(x)} × {len(y)}"] = x, y, z
    return _view(panel, grids)


# The linear model's gap to the network.


def linear_map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the linear model's relative gap to the network in per cent over both axes."""
    return panel_table(panel, results, linear_gap_lines(results))


def linear_gap_lines(results: Results) -> pd.DataFrame:
    """Return the linear model's gaps in per cent as value and stderr, beside the sweep's axes.

    Gaps above the colours' end are shown as this.
    """
    gaps = results.gaps()
    lines = gaps[gaps["model"] == "linear"].copy()
    lines["value"] = np.minimum(100 * lines["gap"].abs(), GAP_RANGE[1])
    lines["stderr"] *= 100
    return lines


def linear_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the maps of the linear model's gap, coloured by its logarithm."""
    return _view(panel, _grids(table), ends=GAP_RANGE, log=True)


# The smallest sufficient Hermite degree.


def degree_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the smallest Hermite degree within 2 % of the network, NaN if no degree is."""
    assert panel.y is not None
    lines = []
    place = ["method", panel.x.path, panel.y.path]
    for where, group in gap_sizes(results).groupby(place, sort=False):
        degrees = group["model"].str.removeprefix("hermite:").astype(int)
        enough = degrees[group["value"] <= SUFFICIENT_GAP]
        smallest = float(enough.min()) if len(enough) else np.nan
        lines.append((*where, "predict", "smallest_degree", smallest, np.nan, group["count"].max()))
    columns = [*place, "verb", "model", "value", "stderr", "count"]
    return panel_table(panel, results, pd.DataFrame(lines, columns=columns))


def degree_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the map of the smallest sufficient degree, with the theorem's boundaries.

    The theorem asks for degree d + 1 above the strength d/(d + 1).
    """
    grids = {"theory": value_grid(table)}
    if has_closed(table):
        grids[f"{CLOSED} theory"] = value_grid(table, CLOSED)
    top = float(table["y"].max())
    steps = [(d / (d + 1), f"degree {d + 1}") for d in range(1, DEGREES)]
    guides = tuple((y, label) for y, label in steps if y <= top)
    return _view(panel, grids, ends=(1, DEGREES), levels=DEGREES, guides=guides)


KINDS: dict[str, PanelKind] = {
    "map": PanelKind(map_table, deviations=curve_deviations, view=map_view),
    "fine_map": PanelKind(fine_map_table, deviations=fine_map_deviations, view=fine_map_view),
    "linear_map": PanelKind(linear_map_table, view=linear_map_view),
    "degree_map": PanelKind(degree_table, view=degree_map_view),
}
