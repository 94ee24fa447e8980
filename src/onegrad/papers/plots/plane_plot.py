"""Neurons in the plane of two teacher directions, step by step, with their median angles."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from onegrad.describe.arrays import Floats
from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import finish_figure
from onegrad.plotting.look import GRADIENT, LINE, WEIGHTS

COSINES = (-0.5, 0.0, 0.5)
NOISE = "#555555"


def draw_plane(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return every neuron's gradient and weights in the teacher's plane, and the median angles."""
    overlaps = table[table["metric"] == "overlap"]
    steps = sorted(overlaps["y"].unique())
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    columns = (len(steps) + 1) // 2
    grid = figure.add_gridspec(2, columns + 1, width_ratios=[1] * columns + [1.25])
    radius = table[table["metric"] == "noise_radius"]["value"].iloc[0]
    toward = _first_direction(table)
    reach = 1.08 * float(np.abs(overlaps[["x", "value"]].to_numpy(float)).max())
    for index, step in enumerate(steps):
        axes = figure.add_subplot(grid[index // columns, index % columns])
        _add_neurons(axes, overlaps[overlaps["y"] == step], toward, radius)
        axes.set_title(f"step {step:.0f}", fontsize="medium")
        axes.set(xticks=COSINES, yticks=COSINES)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        last = index + columns >= len(steps)
        left = index % columns == 0
        axes.tick_params(labelsize="x-small", labelbottom=last, labelleft=left)
        axes.set_ylabel("cosine with w*₂" if left else "", fontsize="small")
        axes.set_xlabel("cosine with w*₁" if last else "", fontsize="small")
    _add_angles(figure.add_subplot(grid[:, columns]), table)
    finish_figure(figure, panel, _legend())
    return figure


def _first_direction(table: pd.DataFrame) -> Floats:
    """Return the predicted first direction in the plane, of length one."""
    line = table[table["metric"] == "first_direction"].iloc[0]
    direction = np.array([line["x"], line["value"]], dtype=float)
    return direction / np.linalg.norm(direction)


def _add_neurons(axes: Axes, overlaps: pd.DataFrame, toward: Floats, radius: float) -> None:
    """Draw the neurons of one step over the predicted line, and the circle of noise."""
    axes.plot(*np.outer(toward, [-2, 2]), color=LINE, lw=0.8, ls="--")
    for name, colour, size in (("weights", WEIGHTS, 2.0), ("gradient", GRADIENT, 3.5)):
        neurons = overlaps[overlaps["model"].str.startswith(name)]
        axes.scatter(neurons["x"], neurons["value"], s=size, color=colour, lw=0, alpha=0.6)
    axes.add_patch(Circle((0, 0), radius, fill=False, color=NOISE, lw=1))


def _add_angles(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the median angles of gradients and weights over the steps."""
    angles = table[table["metric"] == "median_angle"]
    for name, colour, marker in (("gradient", GRADIENT, "o"), ("weights", WEIGHTS, "s")):
        by_step = angles[angles["model"] == name].sort_values("x")
        x, value = by_step["x"].to_numpy(float), by_step["value"].to_numpy(float)
        error = np.nan_to_num(by_step["stderr"].to_numpy(float))
        axes.errorbar(x, value, error, color=colour, marker=marker, ms=5, lw=1.2, capsize=2)
    axes.set(xlabel="step", xticks=x, ylim=(0, 90), yticks=range(0, 91, 15))
    axes.set_ylabel("median angle to the predicted direction, °")
    axes.yaxis.set_label_position("right")
    axes.yaxis.tick_right()
    axes.grid(alpha=0.25, linewidth=0.6)


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=GRADIENT, marker="o", ls="none", ms=4, label="gradients"),
        Line2D([], [], color=WEIGHTS, marker="s", ls="none", ms=4, label="weights"),
        Line2D([], [], color=LINE, ls="--", lw=0.8, label="predicted first direction"),
        Line2D([], [], color=NOISE, marker="o", mfc="none", ls="none", label="noise circle"),
    ]
