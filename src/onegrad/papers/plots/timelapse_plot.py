"""Overlaps over steps × directions, gradients beside weights, on one colour scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onegrad.describe.arrays import Floats
from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import finish_figure


def draw_timelapse(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of root mean square overlaps, with their values written on them."""
    overlaps = table[table["metric"] == "overlap"]
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    panes = figure.subplots(1, 2, sharey=True)
    most = float(overlaps["value"].max())
    for axes, name in zip(panes, ("gradient", "weights"), strict=True):
        wide = overlaps[overlaps["model"] == name].pivot(index="y", columns="x", values="value")
        x, y = wide.columns.to_numpy(float), wide.index.to_numpy(float)
        values = wide.to_numpy(float)
        image = axes.pcolormesh(
            x, y, values, shading="nearest", cmap="cividis", vmin=0.0, vmax=most
        )
        _write_values(axes, x, y, values, most)
        axes.set(xlabel="step", xticks=x, yticks=y)
        axes.set_title("gradients" if name == "gradient" else name, loc="left", fontsize="medium")
    panes[0].invert_yaxis()  # shared
    panes[0].set_ylabel("direction of the staircase")
    figure.colorbar(image, ax=panes, label="root mean square overlap")
    finish_figure(figure, panel)
    return figure


def _write_values(axes: Axes, x: Floats, y: Floats, values: Floats, most: float) -> None:
    """Write every value on its place, dark on light colours and light on dark ones."""
    for (row, column), value in np.ndenumerate(values):
        colour = "black" if value > 0.55 * most else "white"
        place = (x[column], y[row])
        text = f"{value:.2f}".lstrip("0")
        axes.annotate(text, place, ha="center", va="center", fontsize="x-small", color=colour)
