"""Networks on real data as markers, theory on each fitted mixture as a line."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import add_constant, finish_figure
from onegrad.papers.value_labels import value_label

REAL = "#000000"
FIT_STYLES = [("#56B4E9", ":"), ("#D55E00", "--"), ("#0072B2", "-")]


def draw_fits(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return pictures with activations in columns and facets in rows."""
    facets = table["facet"].unique() if "facet" in table else [None]
    names = table["activation"].unique()
    size = (max(3.0 * len(names), 6.0), 2.6 * len(facets) + 0.6)  # room for the title
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(facets), len(names), squeeze=False, sharex=True, sharey="row")
    fits = sorted(table["y"].dropna().unique())
    for row, facet in zip(grid, facets, strict=True):
        for axes, name in zip(row, names, strict=True):
            lines = table[table["activation"] == name]
            if facet is not None:
                lines = lines[lines["facet"] == facet]
            _add_fits(axes, lines, fits)
            constant = add_constant(axes, panel, lines)
            where = "" if facet is None else f", classes {facet}"
            axes.set_title(f"{name}{where}", fontsize="medium")
            axes.grid(alpha=0.25, linewidth=0.6)
    for axes in grid[-1]:
        axes.set_xlabel(panel.x.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(value_label(panel))
    finish_figure(figure, panel, [*_legend(fits), *constant])
    return figure


def _add_fits(axes: Axes, lines: pd.DataFrame, fits: list[float]) -> None:
    """Draw trained networks, and theory on each fit."""
    real = lines[lines["model"] == "network"].sort_values("x")
    axes.errorbar(real["x"], real["value"], real["stderr"], fmt="o", color=REAL, ms=4, capsize=2)
    for fit, (colour, style) in zip(fits, FIT_STYLES, strict=False):
        theory = lines[lines["y"] == fit].sort_values("x")
        axes.plot(theory["x"], theory["value"], color=colour, ls=style, lw=1.5)


def _legend(fits: list[float]) -> list[Line2D]:
    return [
        Line2D([], [], color=REAL, marker="o", ls="none", label="real data"),
        *(
            Line2D([], [], color=colour, ls=style, label=f"theory, {fit:g} per class")
            for fit, (colour, style) in zip(fits, FIT_STYLES, strict=False)
        ),
    ]
