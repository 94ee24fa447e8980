"""Pictures of giant steps from their tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.ticker import ScalarFormatter

from onegrad.figures.steps_study import StepsPanel

COSINES = (-0.5, 0.0, 0.5)
GRADIENT, WEIGHTS, LINE = "#0072B2", "#D55E00", "#000000"
CURVES = {  # model: colour, marker, line, label
    "untrained": ("#777777", "D", "--", "untrained network"),
    "untrained, subtracted": ("#777777", "v", ":", "untrained, subtracted"),
    "one step": (WEIGHTS, "s", "-", "one step"),
    "one step, subtracted": (GRADIENT, "o", "-", "one step, subtracted"),
}


def draw_steps(panel: StepsPanel, table: pd.DataFrame) -> Figure:
    """Return the panel's figure; the same table gives the same figure."""
    return {
        "plane": _draw_plane,
        "curves": _draw_curves,
        "spikes": _draw_spikes,
        "timelapse": _draw_timelapse,
    }[panel.kind](panel, table)


def _draw_plane(panel: StepsPanel, table: pd.DataFrame) -> Figure:
    """Draw every neuron's gradient and weights in the teacher's plane, and the median angles."""
    overlaps = table[table["metric"] == "overlap"]
    steps = sorted(overlaps["y"].unique())
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    columns = (len(steps) + 1) // 2
    grid = figure.add_gridspec(2, columns + 1, width_ratios=[1] * columns + [1.25])
    radius = table[table["metric"] == "noise_radius"]["value"].iloc[0]
    line = table[table["metric"] == "first_direction"].iloc[0]
    toward = np.array([line["x"], line["value"]], dtype=float)
    toward /= np.linalg.norm(toward)
    reach = 1.08 * float(np.abs(overlaps[["x", "value"]].to_numpy(float)).max())
    for index, step in enumerate(steps):
        axes = figure.add_subplot(grid[index // columns, index % columns])
        axes.plot(*np.outer(toward, [-2, 2]), color=LINE, lw=0.8, ls="--")
        for name, colour, size in (("weights", WEIGHTS, 2.0), ("gradient", GRADIENT, 3.5)):
            mine = overlaps[(overlaps["y"] == step) & overlaps["model"].str.startswith(name)]
            axes.scatter(mine["x"], mine["value"], s=size, color=colour, lw=0, alpha=0.6)
        axes.add_patch(Circle((0, 0), radius, fill=False, color="#555555", lw=1))
        axes.set_title(f"step {step:.0f}", fontsize="medium")
        axes.set(xticks=COSINES, yticks=COSINES)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        last = index + columns >= len(steps)
        left = index % columns == 0
        axes.tick_params(labelsize="x-small", labelbottom=last, labelleft=left)
        axes.set_ylabel("cosine with w*₂" if left else "", fontsize="small")
        axes.set_xlabel("cosine with w*₁" if last else "", fontsize="small")
    _draw_angles(figure.add_subplot(grid[:, columns]), table)
    handles = [
        Line2D([], [], color=GRADIENT, marker="o", ls="none", ms=4, label="gradients"),
        Line2D([], [], color=WEIGHTS, marker="s", ls="none", ms=4, label="weights"),
        Line2D([], [], color=LINE, ls="--", lw=0.8, label="predicted first direction"),
        Line2D([], [], color="#555555", marker="o", mfc="none", ls="none", label="noise circle"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(panel.name, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_angles(axes: Axes, table: pd.DataFrame) -> None:
    angles = table[table["metric"] == "median_angle"]
    for name, colour, marker in (("gradient", GRADIENT, "o"), ("weights", WEIGHTS, "s")):
        mine = angles[angles["model"] == name].sort_values("x")
        x, value = mine["x"].to_numpy(float), mine["value"].to_numpy(float)
        error = np.nan_to_num(mine["stderr"].to_numpy(float))
        axes.errorbar(x, value, error, color=colour, marker=marker, ms=5, lw=1.2, capsize=2)
    axes.set(xlabel="step", xticks=x, ylim=(0, 90), yticks=range(0, 91, 15))
    axes.set_ylabel("median angle to the predicted direction, °")
    axes.yaxis.set_label_position("right")
    axes.yaxis.tick_right()
    axes.grid(alpha=0.25, linewidth=0.6)


def _draw_curves(panel: StepsPanel, table: pd.DataFrame) -> Figure:
    """Draw test errors against log N/log d."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    errors = table[table["metric"] == "test_mse"]
    for model, (colour, marker, line, label) in CURVES.items():
        mine = errors[errors["model"] == model].sort_values("x")
        axes.errorbar(
            mine["x"].to_numpy(float),
            mine["value"].to_numpy(float),
            np.nan_to_num(mine["stderr"].to_numpy(float)),
            color=colour,
            marker=marker,
            ls=line,
            ms=5,
            lw=1.3,
            capsize=2,
            label=label,
        )
    axes.set(xlabel="batch size, log N / log d", ylabel="test MSE")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25, linewidth=0.6)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    axes.set_title(panel.name, loc="left", fontweight="bold")
    return figure


def _draw_spikes(panel: StepsPanel, table: pd.DataFrame) -> Figure:
    """Draw the leading singular values of the features for every exponent, outliers in red."""
    exponents = sorted(table["x"].unique())
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panes = np.atleast_1d(figure.subplots(1, len(exponents), sharey=True))
    for axes, exponent in zip(panes, exponents, strict=True):
        mine = table[table["x"] == exponent]
        values = mine[mine["metric"] == "singular_value"]
        seen = int(mine[mine["metric"] == "observed_first_trial"]["value"].iloc[0])
        predicted = mine[mine["metric"] == "predicted"]["value"].iloc[0]
        edge = mine[mine["metric"] == "edge"]["value"].iloc[0]
        before = values[values["model"] == "untrained"].sort_values("y")
        after = values[values["model"] == "network"].sort_values("y")
        axes.plot(before["y"], before["value"], "_", color="#777777", ms=6)
        axes.plot(after["y"].iloc[seen:], after["value"].iloc[seen:], ".", color=GRADIENT, ms=5)
        axes.plot(after["y"].iloc[:seen], after["value"].iloc[:seen], "D", color="#CC0000", ms=6)
        axes.axhline(edge, color=LINE, lw=0.8, ls="--")
        for index, (place, value) in enumerate(
            zip(after["y"].iloc[:seen], after["value"].iloc[:seen], strict=True), start=1
        ):
            found = mine[(mine["metric"] == f"overlap_{index}") & (mine["y"] == index)]
            if not found.empty:
                text = f"H{index}: {found['value'].iloc[0]:.2f}"
                shift = {"xytext": (7, -3), "textcoords": "offset points"}
                axes.annotate(text, (place, value), fontsize="small", **shift)
        axes.set_yscale("log")
        for ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            ticks(ScalarFormatter())
        axes.set_title(
            f"a = {exponent:g}\npredicted {predicted:g}, observed {seen}", fontsize="medium"
        )
        axes.set_xlabel("j-th largest")
        axes.grid(alpha=0.25, linewidth=0.6, which="both")
    panes[0].set_ylabel("singular value of centred features")
    handles = [
        Line2D([], [], color="#777777", marker="_", ls="none", label="untrained"),
        Line2D([], [], color=GRADIENT, marker=".", ls="none", label="trained, bulk"),
        Line2D([], [], color="#CC0000", marker="D", ls="none", label="outside, with its overlap"),
        Line2D([], [], color=LINE, ls="--", lw=0.8, label="edge of the trained bulk"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(panel.name, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_timelapse(panel: StepsPanel, table: pd.DataFrame) -> Figure:
    """Draw overlaps over steps × directions, gradients beside weights, on one colour scale."""
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
        for (row, column), value in np.ndenumerate(values):
            colour = "black" if value > 0.55 * most else "white"
            place = (x[column], y[row])
            text = f"{value:.2f}".lstrip("0")
            axes.annotate(text, place, ha="center", va="center", fontsize="x-small", color=colour)
        axes.set(xlabel="step", xticks=x, yticks=y)
        axes.set_title(f"{panel.name}, {'gradients' if name == 'gradient' else name}", loc="left")
    panes[0].invert_yaxis()  # shared
    panes[0].set_ylabel("direction of the staircase")
    figure.colorbar(image, ax=panes, label="root mean square overlap")
    return figure
