"""Pictures from tables: simulation as markers with error bars, models as lines, theory thin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from onegrad.describe.arrays import Floats
from onegrad.figures.panel import Panel

# Okabe and Ito's colours, apart for colour-blind readers; luminance and markers differ too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#56B4E9", "^"), ("#000000", "D"), ("#009E73", "v")]
VALUE_LABELS = {
    "half_test_mse": "½ test MSE",
    "objective": "training objective",
    "gap": "|gap to network| / network",
}
FIT_STYLES = [("#56B4E9", ":"), ("#D55E00", "--"), ("#0072B2", "-")]
WIDE_RANGE = 300.0  # of a logarithmic axis, from which only powers of ten are labelled
DPI = 160
PUBLISHED = "#444444"
DEGREE_COLOURS = ["#f7f7f7", "#d9d9d9", "#bdbdbd", "#6baed6", "#2171b5", "#08306b"]


def draw(panel: Panel, table: pd.DataFrame, *, show_published: bool = False) -> Figure:
    """Return the panel's figure; the same table gives the same figure."""
    if panel.kind in ("map", "linear_map"):
        return _draw_maps(panel, table)
    if panel.kind == "degree_map":
        return _draw_degrees(panel, table)
    if panel.kind == "fits":
        return _draw_fits(panel, table)
    if panel.kind == "two_ways":
        return _draw_two_ways(panel, table)
    figure = Figure(figsize=(6.6, 4.0), layout="constrained")
    axes = figure.add_subplot()
    handles = _draw_curves(axes, panel, table, show_published=show_published)
    _finish_axes(axes, panel)
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize="small")
    axes.set_title(panel.name, loc="left", fontweight="bold")
    return figure


def _finish_axes(axes: Axes, panel: Panel) -> None:
    """Label and scale the axes of a panel of curves."""
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(VALUE_LABELS[panel.metric])
    if panel.x.log:
        axes.set_xscale("log")
        _number_ticks(axes.xaxis)
    if panel.log_value:
        axes.set_yscale("log")
        _number_ticks(axes.yaxis)
    axes.grid(alpha=0.25, linewidth=0.6)


def _number_ticks(axis: XAxis | YAxis) -> None:
    """Label a logarithmic axis with short numbers at 1, 2 and 5 times powers of ten."""
    low, high = axis.get_view_interval()
    if high / low > WIDE_RANGE:
        return  # powers of ten are enough
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path, *, kind: str) -> None:
    """Write png or pdf without dates or versions, so that equal figures are equal files."""
    stamps = ["Software"] if kind == "png" else ["Creator", "Producer", "CreationDate"]
    figure.savefig(path, format=kind, dpi=DPI, metadata=dict.fromkeys(stamps))


def _draw_curves(
    axes: Axes, panel: Panel, table: pd.DataFrame, *, show_published: bool
) -> list[Line2D]:
    """Draw every curve and return the legend: colours for series, grey for kinds of lines."""
    handles = []
    for (label, group), (colour, marker) in zip(_series(panel, table), STYLES, strict=False):
        for model, lines in group.groupby("model", sort=False):
            ordered = lines.sort_values("x")
            x, value = ordered["x"].to_numpy(float), ordered["value"].to_numpy(float)
            look = _look(panel, str(model))
            if look["marker"]:
                error = ordered["stderr"].to_numpy(float)
                axes.errorbar(
                    x, value, error, color=colour, capsize=2, ms=5, **{**look, "marker": marker}
                )
            else:
                axes.plot(x, value, color=colour, **look)
        theirs = group[(group["model"] == "network") & group["published"].notna()]
        if show_published:
            axes.plot(theirs["x"], theirs["published"], "x", color=PUBLISHED, ms=5, zorder=3)
        line = "-" if panel.kind == "gaps" else "none"
        handles.append(Line2D([], [], color=colour, marker=marker, ls=line, label=label))
    if panel.kind == "gaps":
        return handles
    for model in table["model"].unique():
        look = _look(panel, model)
        look["marker"] = "o" if look["marker"] else ""
        handles.append(Line2D([], [], color="#777777", label=_model_name(model), **look))
    if show_published and table["published"].notna().any():
        handles.append(Line2D([], [], color=PUBLISHED, marker="x", ls="none", label="published"))
    return handles


def _look(panel: Panel, model: str) -> dict[str, Any]:
    """Return how a model is drawn: markers, a line, or a thin line for theory."""
    if panel.kind == "gaps":
        return {"marker": "o", "ls": "-", "lw": 1.2}
    if model.endswith("_theory"):
        return {"marker": "", "ls": ":" if model.startswith("network") else "--", "lw": 1.0}
    if model == "network":
        return {"marker": "o", "ls": "none", "lw": 1.2}
    return {"marker": "", "ls": "-", "lw": 1.8}


def _series(panel: Panel, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return what gets a colour of its own: activations, values of a second axis, or degrees."""
    if panel.kind == "gaps":
        degrees = table["model"].str.extract(r"(\d+)", expand=False)
        return [(f"degree {d}", table[degrees == d]) for d in degrees.unique()]
    if panel.y is not None:
        return [(f"{panel.y.name} {v:g}", table[table["y"] == v]) for v in table["y"].unique()]
    return [(name, table[table["activation"] == name]) for name in table["activation"].unique()]


def _model_name(model: str) -> str:
    name = {"hermite": "Hermite model"}.get(model.removesuffix("_theory"))
    name = name or model.removesuffix("_theory")
    return f"{name}, theory" if model.endswith("_theory") else name


def _draw_maps(panel: Panel, table: pd.DataFrame) -> Figure:
    """Draw the simulated map beside the theory's, on one colour scale."""
    names = [name for name in table["model"].unique() if not name.endswith("_theory")]
    grids = [_grid(table[table["model"] == name]) for name in (names[0], f"{names[0]}_theory")]
    values = np.concatenate([grid[2].ravel() for grid in grids])
    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    if panel.kind == "linear_map":
        shared: dict[str, Any] = {"norm": LogNorm(4, 100), "cmap": "cividis"}
        label = "gap of the linear model, %"
    else:
        shared = {"vmin": values.min(), "vmax": values.max(), "cmap": "cividis"}
        label = VALUE_LABELS[panel.metric]
    for axes, title, (x, y, z) in zip((left, right), ("simulated", "theory"), grids, strict=True):
        shown = np.clip(z, 4, 100) if panel.kind == "linear_map" else z
        image = axes.pcolormesh(x, y, shown, shading="nearest", **shared)
        axes.set_title(f"{panel.name}, {title}", loc="left", fontweight="bold")
        axes.set_xlabel(panel.x.label)
    assert panel.y is not None
    left.set_ylabel(panel.y.label)
    figure.colorbar(image, ax=(left, right), label=label)
    return figure


def _draw_degrees(panel: Panel, table: pd.DataFrame) -> Figure:
    """Draw the smallest sufficient degree with the theorem's boundaries."""
    x, y, z = _grid(table)
    most = len(DEGREE_COLOURS)
    colours = ListedColormap(DEGREE_COLOURS, bad="#D55E00")
    norm = BoundaryNorm(np.arange(0.5, most + 1.5), most)
    figure = Figure(figsize=(6.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    shown = np.ma.masked_invalid(z)
    image = axes.pcolormesh(x, y, shown, shading="nearest", cmap=colours, norm=norm)
    for degree in range(1, most):
        boundary = degree / (degree + 1)
        if boundary <= y.max():
            axes.axhline(boundary, color="black", lw=1, ls="--")
            label = f"degree {degree + 1}"
            place: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
            }
            # Boundaries crowd together: every other label stands further left.
            shift = (-52 - 60 * (degree % 2), 2)
            axes.annotate(label, (1, boundary), xytext=shift, fontsize="x-small", **place)
    assert panel.y is not None
    axes.set(xlabel=panel.x.label, ylabel=panel.y.label)
    axes.set_title(f"{panel.name} (orange: none up to {most})", loc="left", fontweight="bold")
    figure.colorbar(image, ax=axes, ticks=range(1, most + 1), label="smallest sufficient degree")
    return figure


def _draw_fits(panel: Panel, table: pd.DataFrame) -> Figure:
    """Draw trained networks as markers and theory on each fit as a line, activations in columns."""
    places = table["facet"].unique() if "facet" in table else [None]
    names = table["activation"].unique()
    figure = Figure(figsize=(3.0 * len(names), 2.6 * len(places) + 0.6), layout="constrained")
    grid = figure.subplots(len(places), len(names), squeeze=False, sharex=True, sharey="row")
    fits = sorted(table["y"].dropna().unique())
    for line, place in zip(grid, places, strict=True):
        for axes, name in zip(line, names, strict=True):
            mine = table[table["activation"] == name]
            if place is not None:
                mine = mine[mine["facet"] == place]
            real = mine[mine["model"] == "network"].sort_values("x")
            axes.errorbar(
                real["x"], real["value"], real["stderr"], fmt="o", color="#000000", ms=4, capsize=2
            )
            for fit, (colour, style) in zip(fits, FIT_STYLES, strict=False):
                theory = mine[mine["y"] == fit].sort_values("x")
                axes.plot(theory["x"], theory["value"], color=colour, ls=style, lw=1.5)
            where = "" if place is None else f", classes {place}"
            axes.set_title(f"{name}{where}", fontsize="medium")
            axes.grid(alpha=0.25, linewidth=0.6)
    for axes in grid[-1]:
        axes.set_xlabel(panel.x.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(VALUE_LABELS[panel.metric])
    handles = [Line2D([], [], color="#000000", marker="o", ls="none", label="real data")]
    handles += [
        Line2D([], [], color=colour, ls=style, label=f"theory, {fit:g} per class")
        for fit, (colour, style) in zip(fits, FIT_STYLES, strict=False)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    figure.suptitle(panel.name, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_two_ways(panel: Panel, table: pd.DataFrame) -> Figure:
    """Draw the curves against x, one per y, and beside them against y, one per some of the x."""
    assert panel.y is not None
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    turned = replace(panel, x=panel.y, y=panel.x)
    places = np.sort(table["x"].unique())
    kept = places[np.linspace(0, len(places) - 1, min(len(places), len(STYLES))).astype(int)]
    swapped = table[table["x"].isin(kept)].rename(columns={"x": "y", "y": "x"})
    for axes, one, lines in zip(
        figure.subplots(1, 2, sharey=True), (panel, turned), (table, swapped), strict=True
    ):
        handles = _draw_curves(axes, one, lines, show_published=False)
        _finish_axes(axes, one)
        axes.legend(handles=handles, frameon=False, fontsize="x-small", ncols=2, loc="upper right")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.25 if panel.log_value else 1.3 * high)
    figure.suptitle(panel.name, x=0.01, ha="left", fontweight="bold")
    return figure


def _grid(table: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return x, y and the values over them, y × x."""
    wide = table.pivot(index="y", columns="x", values="value").sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)
