"""Whole figures for files: pictures beside each other, sizes of columns, styles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from onegrad.describe.checks import one_of, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.curves_picture import (
    CurveWords,
    axis_values,
    checked_table,
    draw_curves_of,
    legend_handles,
    series_looks,
    text_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"one": 3.375, "two": 7.0}  # inches: columns of 8.6 cm and 17.8 cm
SCREEN_WIDTH = 4.8  # inches of a picture where no column is asked for
HEIGHT = 0.72  # of a picture, in its width
LEGEND_COLUMN, LEGEND_LINE = 1.6, 0.18  # inches that an entry of the legend takes
MOST_FACETS = 24
MOST_BESIDE = {"one": 2, "two": 4}
PAPER = "onegrad.plotting.onegrad"  # as matplotlib.style.use names the file beside this one


@contextmanager
def styled(style: str | None) -> Iterator[None]:
    """Draw in a style inside: "paper" is ours, None the user's own, else one of matplotlib."""
    from matplotlib import rc_context
    from matplotlib import style as styles

    with rc_context():
        if style is not None:
            try:
                styles.use(PAPER if style == "paper" else style)
            except (OSError, ValueError, TypeError, ImportError, SyntaxError):
                raise InvalidInput(
                    f"style={shown(style)}: must be paper, or a style or file that matplotlib "
                    "knows; choose one"
                ) from None
        yield


def style_dpi() -> float | str:
    """Return the dots per inch that the style of now asks for in files."""
    from matplotlib import rcParams

    dpi: float | str = rcParams["savefig.dpi"]
    return dpi


def draw_facets(
    table: pd.DataFrame, words: CurveWords, *, facet: str = "", width: str | None = None
) -> Figure:
    """Return a figure with a picture per value of the table's column `facet`, one legend for all.

    `width` is that of "one" column or "two"; None makes every picture as wide as a screen allows.
    """
    if width is not None:
        one_of("width", width, WIDTHS)
    table = checked_table(table)
    known = table["facet"].astype(object).where(table["facet"].notna(), "none")
    table = table.assign(facet=known, x=axis_values(table["x"]))
    values = list(known.unique())
    if len(values) > MOST_FACETS:
        raise InvalidInput(
            f"facet: {len(values)} values, at most {MOST_FACETS} pictures are drawn; take another"
        )
    entries = 0 if len(values) == 1 else len(legend_handles(table, words, series_looks(table)))
    figure, grid = _panes(len(values), entries, width)
    for axes, value in zip(grid, values, strict=False):
        draw_curves_of(table[table["facet"] == value], words, ax=axes, looks_of=table)
        if len(values) > 1:
            axes.set_title(f"{facet} {text_of(value)}".strip(), fontsize="medium")
            axes.label_outer()
    if len(values) > 1:
        _share_legend(figure, grid)
    return figure


def _panes(count: int, entries: int, width: str | None) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with so many axes, and room for the entries of a legend below them."""
    from matplotlib.figure import Figure

    columns = min(count, 3 if width is None else MOST_BESIDE[width])
    rows = math.ceil(count / columns)
    total = SCREEN_WIDTH * max(columns, 4 / 3) if width is None else WIDTHS[width]
    below = math.ceil(entries / max(1, int(total / LEGEND_COLUMN)))
    height = rows * (HEIGHT * total / columns + 0.3) + LEGEND_LINE * below
    figure = Figure(figsize=(total, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, list(grid[:count])


def _share_legend(figure: Figure, grid: Sequence[Axes]) -> None:
    """Put the entries of all legends, each once, into one below the pictures."""
    entries: dict[str, Any] = {}
    for axes in grid:
        legend = axes.get_legend()
        if legend is not None:
            labels = [text.get_text() for text in legend.get_texts()]
            entries |= dict(zip(labels, legend.legend_handles, strict=True))
            legend.remove()
    beside = max(1, int(figure.get_figwidth() / LEGEND_COLUMN))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=min(beside, len(entries)),
        frameon=False,
        fontsize="small",
    )
