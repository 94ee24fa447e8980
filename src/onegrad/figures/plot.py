"""Pictures from tables: simulation as markers with error bars, models as lines, theory thin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm
from matplotlib.figure import Figure

from onegrad.arrays import Floats
from onegrad.figures.study import Panel

# Okabe and Ito's colours, apart for colour-blind readers; luminance and markers differ too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#56B4E9", "^"), ("#000000", "D"), ("#009E73", "v")]
VALUE_LABELS = {
    "half_test_mse": "½ test MSE",
    "objective": "training objective",
    "gap": "|gap to network| / network",
}
DPI = 160
DEGREE_COLOURS = ["#f7f7f7", "#d9d9d9", "#bdbdbd", "#6baed6", "#2171b5", "#08306b"]


def draw(panel: Panel, table: pd.DataFrame, *, show_published: bool = False) -> Figure:
    """Return the panel's figure; the same table gives the same figure."""
    if panel.kind in ("map", "linear_map"):
        return _draw_maps(panel, table)
    if panel.kind == "degree_map":
        return _draw_degrees(panel, table)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    _draw_curves(axes, panel, table, show_published=show_published)
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(VALUE_LABELS[panel.metric])
    if panel.x.log:
        axes.set_xscale("log")
    if panel.log_value:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25, linewidth=0.6)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    axes.set_title(panel.name, loc="left", fontweight="bold")
    return figure


def save(figure: Figure, path: Path, *, kind: str) -> None:
    """Write png or pdf without dates or versions, so that equal figures are equal files."""
    stamps = ["Software"] if kind == "png" else ["Creator", "Producer", "CreationDate"]
    figure.savefig(path, format=kind, dpi=DPI, metadata=dict.fromkeys(stamps))


def _draw_curves(axes: Axes, panel: Panel, table: pd.DataFrame, *, show_published: bool) -> None:
    split = _series(panel, table)
    for (label, group), (colour, marker) in zip(split, STYLES, strict=False):
        for model, lines in group.groupby("model", sort=False):
            ordered = lines.sort_values("x")
            x, value = ordered["x"].to_numpy(float), ordered["value"].to_numpy(float)
            named = f"{label}, {_model_name(str(model))}"
            if panel.kind == "gaps" or not str(model).endswith("_theory"):
                style: dict[str, Any] = {"color": colour, "label": named}
                if model == "network" or panel.kind == "gaps":
                    stderr = ordered["stderr"].to_numpy(float)
                    line = "-" if panel.kind == "gaps" else "none"
                    axes.errorbar(
                        x, value, stderr, marker=marker, ms=5, capsize=2, ls=line, **style
                    )
                else:
                    axes.plot(x, value, lw=1.8, **style)
            else:
                dashes = ":" if str(model).startswith("network") else "--"
                axes.plot(x, value, color=colour, lw=0.9, ls=dashes, label=named)
        theirs = group[(group["model"] == "network") & group["published"].notna()]
        if show_published and not theirs.empty:
            named = f"{label}, paper"
            axes.plot(theirs["x"], theirs["published"], "x", color="#777777", ms=5, label=named)


def _series(panel: Panel, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return what gets a colour of its own: activations, values of a second axis, or degrees."""
    if panel.kind == "gaps":
        column, form = table["model"], "{}"
    elif panel.y is not None:
        column, form = table["y"], panel.y.name + " {:g}"
    else:
        column, form = table["activation"], "{}"
    return [(_model_name(form.format(value)), table[column == value]) for value in column.unique()]


def _model_name(model: str) -> str:
    name = model.removesuffix("_theory")
    if name.startswith("hermite:"):
        return f"degree {name.removeprefix('hermite:')}"
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
            axes.annotate(label, (1, boundary), xytext=(-52, 3), fontsize="x-small", **place)
    assert panel.y is not None
    axes.set(xlabel=panel.x.label, ylabel=panel.y.label)
    axes.set_title(f"{panel.name} (orange: none up to {most})", loc="left", fontweight="bold")
    figure.colorbar(image, ax=axes, ticks=range(1, most + 1), label="smallest sufficient degree")
    return figure


def _grid(table: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return x, y and the values over them, y × x."""
    wide = table.pivot(index="y", columns="x", values="value").sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)
