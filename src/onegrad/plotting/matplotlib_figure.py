"""Views drawn by matplotlib: `draw` makes a figure of a view, `draw_plot` draws on given axes.

Everything that pictures decide is decided here: marks, error bars, scales, ticks, legends.
matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import one_of
from onegrad.plotting.style import (
    LEVEL_COLOURS,
    MARKS,
    NO_LEVEL,
    OWN_COLOURS,
    WIDTHS,
    axes_for,
    number_ticks,
    palette,
)
from onegrad.plotting.view import Curve, HeatMap, Plot, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANES = {1: 6.4, 2: 4.9, 3: 3.8}  # inches of a pane by the number of columns
NARROW = 3.0  # inches of a pane if there are more columns
MOST_COLUMNS = {None: 3, "one": 2, "two": 4}
LEGEND_COLUMN, LEGEND_LINE = 1.9, 0.2  # inches of a legend's entry, for letters of 10 points
FEW_CELLS = 40  # of a map, so that their values are written on them
LONG_LABEL = 28  # characters of a label beside a narrow pane
MOST_TICKS = 15  # whole numbers that are all labelled
CONSTANT_ORDER = 1  # drawn behind the values

Palette = list[tuple[str, str]]
Entries = dict[str, Any]  # a legend's samples by their labels


def draw_plot(plot: Plot, ax: Any = None) -> Axes:
    """Return axes with the plot: the given axes, or those of a new figure of pyplot.

    On axes that have curves already, a series that is there keeps its colour, and the legend gets
    the new entries.
    """
    axes = axes_for(ax)
    plot = _with_colours_of(axes, plot)
    colours = palette(_colours_in([plot]))
    _add_plot(axes, plot, colours)
    entries = _present_entries(axes)
    entries |= _series_entries([plot], colours) | _role_entries([plot], colours)
    if entries:
        axes.legend(
            list(entries.values()), list(entries), frameon=False, fontsize="small", loc="best"
        )
    return axes


def draw(view: View, *, title: str = "", width: str | None = None) -> Figure:
    """Return a figure of maps and plots side by side, with one legend below them.

    `width` is that of "one" column of a journal or "two"; None makes panes as wide as screens
    allow.
    """
    require_extra("plot", "figures")
    from matplotlib.figure import Figure

    if width is not None:
        one_of("width", width, WIDTHS)
    items: list[Plot | HeatMap] = [*view.maps, *view.plots]
    columns = view.columns or min(len(items), MOST_COLUMNS[width])
    rows = math.ceil(len(items) / columns)
    colours = palette(_colours_in(view.plots))
    apart = _colours_differ(view.plots)
    entries = _role_entries(view.plots, colours)
    if not apart:
        entries = _series_entries(view.plots, colours) | entries
    total = PANES.get(columns, NARROW) * columns if width is None else WIDTHS[width]
    height = rows * (_height(items, columns) * total / columns + 0.3) + (0.3 if title else 0.0)
    height += LEGEND_LINE * math.ceil(len(entries) / _entries_in_a_row(total))
    figure = Figure(figsize=(total, height), layout="constrained")
    panes = _panes(figure, items, rows, columns, shared=view.shared)
    _add_maps(figure, panes[: len(view.maps)], view.maps)
    for axes, plot in zip(panes[len(view.maps) :], view.plots, strict=True):
        _add_plot(axes, plot, colours, _reach(view.plots))
        if columns not in PANES:
            axes.set_ylabel(fill(plot.y_label, LONG_LABEL))
        axes.set_title(plot.title, loc="left", fontsize="medium")
        if apart:
            _add_own_legend(axes, _series_entries([plot], colours), log=plot.log_y)
    _label_outer(panes, items, columns)
    _finish(figure, title, entries)
    return figure


# Panes of a figure.


def _reach(plots: Sequence[Plot]) -> float:
    """Return how far square plots reach, the same for all: a little beyond their series."""
    curves = [curve for plot in plots if plot.square for curve in plot.curves if curve.series]
    return 1.08 * max((abs(v) for c in curves for v in (*c.x, *c.y)), default=1.0)


def _height(items: Sequence[Plot | HeatMap], columns: int) -> float:
    """Return the height of the panes relative to their width."""
    if any(isinstance(item, Plot) and item.square for item in items):
        return 1.0
    high = columns not in PANES or any(isinstance(item, HeatMap) for item in items)
    return 0.85 if high else 0.62


def _panes(
    figure: Figure, items: Sequence[Plot | HeatMap], rows: int, columns: int, *, shared: bool
) -> list[Axes]:
    """Return axes for all items; if `shared`, plots of a row or column share equal ones."""
    grid = figure.add_gridspec(rows, columns)
    panes: list[Axes] = []
    for place, item in enumerate(items):
        common = {}
        if shared and isinstance(item, Plot) and not item.square:
            left = place - place % columns
            common = {
                axis: panes[other]
                for axis, other in (("sharey", left), ("sharex", place % columns))
                if other < place and _axis(items[other], axis[-1]) == _axis(item, axis[-1])
            }
        panes.append(figure.add_subplot(grid[place // columns, place % columns], **common))
    return panes


def _axis(item: Plot | HeatMap, axis: str) -> tuple[Any, ...]:
    """Return what two items must have in common to share an axis."""
    kind = ("map",) if isinstance(item, HeatMap) else (getattr(item, f"log_{axis}"), item.square)
    return (getattr(item, f"{axis}_label"), *kind)


def _label_outer(panes: Sequence[Axes], items: Sequence[Plot | HeatMap], columns: int) -> None:
    """Take away labels that a neighbour on the left or below repeats."""
    for place, (axes, item) in enumerate(zip(panes, items, strict=True)):
        below, left = place + columns, place - 1
        if below < len(items) and _axis(item, "x") == _axis(items[below], "x"):
            axes.set_xlabel("")
        if place % columns and _axis(item, "y") == _axis(items[left], "y"):
            axes.set_ylabel("")
            if axes.get_ylim() == panes[left].get_ylim():
                axes.tick_params(labelleft=False)


def _finish(figure: Figure, title: str, entries: Entries) -> None:
    """Put the title above the figure, and the legend below it, where it takes no width."""
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium", fontweight="bold")
    if entries:
        columns = min(len(entries), _entries_in_a_row(figure.get_figwidth()))
        columns = math.ceil(len(entries) / math.ceil(len(entries) / columns))  # rows of one length
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize="small",
        )


def _entries_in_a_row(width: float) -> int:
    from matplotlib import rcParams

    return max(1, int(width / (LEGEND_COLUMN * float(rcParams["font.size"]) / 10)))


# Curves.


def _add_plot(axes: Axes, plot: Plot, colours: Palette, reach: float = 1.0) -> None:
    """Draw curves and levels; scale and label the axes."""
    for curve in plot.curves:
        _add_curve(axes, curve, colours, log=plot.log_y)
    drawn = {line.get_label() for line in axes.lines}
    for level in plot.levels:
        if level.name not in drawn:  # by a plot before on the same axes
            add: Callable[..., Any] = axes.axvline if level.upright else axes.axhline
            add(level.at, **_level_look(level.mark), label=level.name, zorder=CONSTANT_ORDER)
    _scale_x(axes, plot)
    if plot.log_y:
        axes.set_yscale("log")
        number_ticks(axes.yaxis)
    if plot.square:
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.grid(alpha=0.25, linewidth=0.6)


def _add_curve(axes: Axes, curve: Curve, colours: Palette, *, log: bool) -> None:
    """Draw a curve with its error bars, its band, and labels beside its points."""
    from matplotlib import rcParams

    if not curve.x:  # an entry of the legend alone
        return
    x, y = np.array(curve.x), np.array(curve.y, float)
    look = _look(curve, colours)
    constant = curve.mark == "longdash"
    axes.errorbar(
        x,
        y,
        _bars(curve, log=log),
        **look,
        capsize=2,
        elinewidth=0.7 * rcParams["lines.linewidth"],
        alpha=0.6 if curve.mark == "dots" else None,
        zorder=CONSTANT_ORDER if constant else None,
        label=curve.name,
    )
    if curve.band:
        off = np.array(curve.band)
        if curve.mark == "dash":
            axes.errorbar(
                x, y, off, color=look["color"], alpha=0.25, lw=6, ls="none", label="_band"
            )
        else:
            axes.fill_between(x, y - off, y + off, color=look["color"], alpha=0.15, lw=0)
    for place, label in zip(zip(x, y, strict=True), curve.labels, strict=False):
        axes.annotate(label, place, xytext=(7, -3), textcoords="offset points", fontsize="small")


def _bars(curve: Curve, *, log: bool) -> Any:
    """Return the error bars of markers, which stay above 0 on a logarithmic axis."""
    error = np.nan_to_num(np.array(curve.stderr, float))
    if not error.any() or not MARKS[curve.mark].marker or curve.mark == "dash":
        return None
    return (np.minimum(error, 0.9 * np.abs(curve.y)), error) if log else error


def _look(curve: Curve, colours: Palette) -> dict[str, Any]:
    """Return how matplotlib draws a curve."""
    from matplotlib import rcParams

    mark = MARKS[curve.mark]
    colour, shape = colours[curve.colour] if curve.colour >= 0 else (OWN_COLOURS[curve.colour], "o")
    if curve.marker is not None:
        shape = colours[curve.marker % len(colours)][1]
    return {
        "color": colour,
        "ls": mark.line,
        "lw": mark.width * float(rcParams["lines.linewidth"]),
        "marker": shape if mark.marker is True else mark.marker,
        "ms": mark.size * float(rcParams["lines.markersize"]),
        "mfc": "none" if mark.hollow else colour,
    }


def _level_look(mark: str) -> dict[str, Any]:
    look = _look(Curve("", "", -1, mark), [])
    return {name: look[name] for name in ("color", "ls", "lw")}


def _scale_x(axes: Axes, plot: Plot) -> None:
    """Make room beside words, and label whole numbers by whole numbers."""
    from matplotlib.ticker import MaxNLocator

    places = [x for curve in plot.curves for x in curve.x]
    if any(isinstance(place, str) for place in places):
        axes.margins(x=0.2)
    elif plot.log_x:
        axes.set_xscale("log")
        number_ticks(axes.xaxis)
    elif places and all(float(place).is_integer() for place in places):
        if max(places) - min(places) <= MOST_TICKS:
            axes.set_xticks(sorted({*places}))
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))


# Legends: an entry for every series, by its colour, and one for every role, by its mark.


def _series_entries(plots: Sequence[Plot], colours: Palette) -> Entries:
    """Return a sample of every series that is not named under the axis."""
    curves = [curve for plot in plots for curve in plot.curves]
    under = {x for curve in curves for x in curve.x if isinstance(x, str)}
    by_series: dict[str, list[Curve]] = {}
    for curve in curves:
        if curve.series and curve.series not in under:
            by_series.setdefault(curve.series, []).append(curve)
    entries = {}
    for series, own in by_series.items():
        marked = [curve for curve in own if MARKS[curve.mark].marker is True]
        curve = (marked or own)[0]
        entries[series] = _sample(curve, colours, series)
        if curve.marker is not None:  # the marker shows the model
            entries[series].set(marker="", linestyle="-", linewidth=2.5)
    return entries


def _role_entries(plots: Sequence[Plot], colours: Palette) -> Entries:
    """Return a sample of every role, grey if curves of several colours have it, and of levels."""
    by_role: dict[str, list[Curve]] = {}
    for curve in (curve for plot in plots for curve in plot.curves):
        if curve.role:
            by_role.setdefault(curve.role, []).append(curve)
    entries = {}
    for role, own in by_role.items():
        several = len({curve.colour for curve in own}) > 1
        curve = replace(own[0], colour=-1) if several else own[0]
        entries[role] = _sample(curve, colours, role)
    for level in (level for plot in plots for level in plot.levels):
        from matplotlib.lines import Line2D

        entries[level.name] = Line2D([], [], **_level_look(level.mark))
    return entries


def _sample(curve: Curve, colours: Palette, label: str) -> Line2D:
    from matplotlib.lines import Line2D

    look = _look(curve, colours)
    if curve.mark == "dots":
        look["ms"] = 5
    return Line2D([], [], **look, label=label)


def _present_entries(axes: Axes) -> Entries:
    """Return the entries of the legend of plots that were drawn before."""
    before = axes.get_legend()
    if before is None:
        return {}
    labels = [text.get_text() for text in before.get_texts()]
    return dict(zip(labels, before.legend_handles, strict=True))


def _add_own_legend(axes: Axes, entries: Entries, *, log: bool) -> None:
    """Put a legend into a plot whose colours show other series than its neighbour's."""
    axes.legend(
        list(entries.values()), list(entries), frameon=False, fontsize="x-small", ncols=2,
        loc="upper right",
    )  # fmt: skip
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.25 if log else high + 0.3 * (high - low))


# Colours.


def _colours_in(plots: Sequence[Plot]) -> int:
    return 1 + max((curve.colour for plot in plots for curve in plot.curves), default=0)


def _colours_differ(plots: Sequence[Plot]) -> bool:
    """Return whether a colour shows different series in different plots."""
    pairs = {(c.colour, c.series) for plot in plots for c in plot.curves if c.series}
    return len({colour for colour, _ in pairs}) < len(pairs)


def _with_colours_of(axes: Axes, plot: Plot) -> Plot:
    """Return the plot with the colours that its series have on the axes already."""
    names = [str(container.get_label()) for container in axes.containers]
    before = [name.rpartition(", ")[0] for name in names if ", " in name]
    if not before:
        return plot
    order = list(dict.fromkeys([*before, *(curve.series for curve in plot.curves if curve.series)]))
    return replace(
        plot,
        curves=tuple(
            replace(curve, colour=order.index(curve.series)) if curve.series else curve
            for curve in plot.curves
        ),
    )


# Maps.


def _add_maps(figure: Figure, panes: Sequence[Axes], maps: Sequence[HeatMap]) -> None:
    """Draw maps with one bar of colours."""
    if not maps:
        return
    for axes, heat_map in zip(panes, maps, strict=True):
        image = _add_map(axes, heat_map)
    first = maps[0]
    ticks: Any = {"ticks": range(1, first.levels + 1)} if first.levels else {}
    label = first.value_label + (f" (orange: above {first.levels})" if first.levels else "")
    figure.colorbar(image, ax=list(panes), label=label, **ticks)


def _add_map(axes: Axes, heat_map: HeatMap) -> Any:
    x, y, z = (np.array(part, float) for part in (heat_map.x, heat_map.y, heat_map.rows))
    if heat_map.log:
        z = np.clip(z, heat_map.low, heat_map.high)
    shown = np.ma.masked_invalid(z)
    image = axes.pcolormesh(x, y, shown, shading="nearest", **_map_colours(heat_map))
    for index, (at, label) in enumerate(heat_map.guides):
        axes.axhline(at, color="black", lw=1, ls="--")
        shift = (-52 - 60 * (index % 2), 2)  # guides crowd together: every other label moves left
        axes.annotate(
            label, (1, at), xycoords=("axes fraction", "data"), xytext=shift,
            textcoords="offset points", fontsize="x-small",
        )  # fmt: skip
    if z.size <= FEW_CELLS and not heat_map.levels:
        _write_values(axes, x, y, shown, heat_map)
    for axis, places in ((axes.xaxis, x), (axes.yaxis, y)):
        if len(places) <= MOST_TICKS and np.all(places == np.round(places)):
            axis.set_ticks(places)
    if heat_map.downwards:
        axes.invert_yaxis()
    axes.set(xlabel=heat_map.x_label, ylabel=heat_map.y_label)
    axes.set_title(heat_map.title, loc="left", fontsize="medium")
    return image


def _map_colours(heat_map: HeatMap) -> dict[str, Any]:
    from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm

    if heat_map.levels:
        colours = ListedColormap(LEVEL_COLOURS[: heat_map.levels]).with_extremes(bad=NO_LEVEL)
        edges = np.arange(0.5, heat_map.levels + 1.5)
        return {"cmap": colours, "norm": BoundaryNorm(edges, heat_map.levels)}
    if heat_map.log:
        return {"cmap": "cividis", "norm": LogNorm(heat_map.low, heat_map.high)}
    return {"cmap": "cividis", "vmin": heat_map.low, "vmax": heat_map.high}


def _write_values(axes: Axes, x: Any, y: Any, shown: Any, heat_map: HeatMap) -> None:
    """Write every value on its cell, dark on light colours and light on dark ones."""
    digits = max(0, 1 - math.floor(math.log10(heat_map.high or 1.0)))
    middle = heat_map.low + 0.55 * (heat_map.high - heat_map.low)
    for (row, column), value in np.ndenumerate(shown):
        colour = "black" if value > middle else "white"
        text = f"{value:.{digits}f}".removeprefix("0")
        axes.annotate(
            text, (x[column], y[row]), ha="center", va="center", fontsize="x-small", color=colour
        )
