"""Tables as plain data, shown as text on one screen, as HTML, or as a terminal's table.

Commands and results show the same table: `cli/output.py` prints it whole, `repr` shows as much as
fits on a screen, a notebook shows HTML.
"""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import dataclass, fields

LINES, COLUMNS = 24, 100  # of a screen
HTML_ROWS = 60
LONGEST_CELL = 48
LEAST_ROWS = 6  # of a table, however long its words
SHOWN_NUMBERS = 8  # of an array
GAP = 2  # spaces between columns
STYLE = "text-align:{};padding:0 0.6em;white-space:nowrap"


@dataclass(frozen=True)
class Table:
    """Rows of texts under column titles; the first `left` columns are words, the others numbers.

    `title` stands above, `caption` and each of the `notes` below.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    caption: str = ""
    notes: tuple[str, ...] = ()
    left: int = 1

    def to_text(self) -> str:
        """Return at most a screenful: long tables lose rows in the middle, wide ones columns."""
        head = _wrapped([self.title], 2)
        words = _wrapped([self.caption, *self.notes], LINES - len(head) - LEAST_ROWS - 1)
        room = LINES - len(head) - len(words) - 1
        rows = _shortened([tuple(_plain(cell) for cell in row) for row in self.rows], room)
        return "\n".join([*head, *_aligned(self.columns, rows, self.left), *words])

    def to_html(self) -> str:
        """Return an HTML table; whatever stands in it is escaped."""
        rows = _shortened(list(self.rows), HTML_ROWS)
        parts = ["<table>"]
        if self.title:
            parts.append(f"<caption><b>{_escaped(self.title)}</b></caption>")
        parts += ["<thead>", self._html_row("th", self.columns), "</thead><tbody>"]
        parts += [self._html_row("td", row) for row in rows]
        parts.append("</tbody></table>")
        words = [line for text in (self.caption, *self.notes) for line in text.split("\n") if line]
        parts += [f"<div><small>{_escaped(line)}</small></div>" for line in words]
        return "".join(parts)

    def _html_row(self, tag: str, cells: tuple[str, ...]) -> str:
        styled = (
            f'<{tag} style="{STYLE.format("left" if i < self.left else "right")}">{_escaped(c)}'
            f"</{tag}>"
            for i, c in enumerate(cells)
        )
        return f"<tr>{''.join(styled)}</tr>"


class ShownAsTable:
    """Base of results: shows the table that `summary_table` returns, as text and in notebooks."""

    def summary_table(self) -> Table:
        """Return what there is to see, as the command line shows it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.summary_table().to_text()

    def _repr_html_(self) -> str:
        return self.summary_table().to_html()


class FieldsAsTable(ShownAsTable):
    """Base of dataclasses that show a row per field, large arrays by their shapes."""

    def summary_table(self) -> Table:
        """Return names and values of the fields."""
        rows = tuple((f.name, _field_text(getattr(self, f.name))) for f in fields(self))  # type: ignore[arg-type]
        return Table(("field", "value"), rows, title=type(self).__name__, left=2)


def _field_text(value: object) -> str:
    """Return a field in one line."""
    shape = getattr(value, "shape", ())
    if math.prod(shape) > SHOWN_NUMBERS:
        return f"array({' × '.join(str(size) for size in shape)})"
    if isinstance(value, list | tuple | dict) and len(value) > SHOWN_NUMBERS:
        return f"{len(value)} entries"
    return " ".join(repr(value).split())


def clipped(text: str, length: int) -> str:
    """Return the text, cut to this length with an ellipsis if it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _plain(cell: str) -> str:
    """Return a cell in one line, without characters that move a terminal's cursor."""
    return "".join(c if c.isprintable() else " " for c in cell)


def _escaped(text: str) -> str:
    return html.escape(_plain(text), quote=True)


def _wrapped(texts: list[str], most: int) -> list[str]:
    """Return texts as lines that fit on a screen, at most so many."""
    parts = [part for text in texts for part in text.split("\n") if part]
    lines = [
        line
        for part in parts
        for line in textwrap.wrap(_plain(part), COLUMNS, break_on_hyphens=False)
    ]
    return lines if len(lines) <= most else [*lines[: most - 1], "…"]


def _shortened(rows: list[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
    """Return at most so many rows: the first and the last, and how many are left out between."""
    if len(rows) <= most:
        return rows
    first, last = (most - 1) - (most - 1) // 3, (most - 1) // 3
    said = f"… {len(rows) - first - last} more rows …"
    return [*rows[:first], (said, *[""] * (len(rows[0]) - 1)), *rows[len(rows) - last :]]


def _aligned(titles: tuple[str, ...], rows: list[tuple[str, ...]], left: int) -> list[str]:
    """Return lines of aligned cells; columns that a screen has no room for are left out."""
    table = [tuple(clipped(cell, LONGEST_CELL) for cell in row) for row in [titles, *rows]]
    widths = [max(len(row[i]) for row in table) for i in range(len(titles))]
    kept = _columns_that_fit(widths)
    lines = []
    for row in table:
        cells = [
            row[i].ljust(widths[i]) if i < left else row[i].rjust(widths[i]) for i in kept if i >= 0
        ]
        if -1 in kept:
            cells.insert(kept.index(-1), "…")
        lines.append((" " * GAP).join(cells).rstrip())
    return lines


def _columns_that_fit(widths: list[int]) -> list[int]:
    """Return the places of the columns to show; −1 stands for those left out before the last."""
    if sum(widths) + GAP * (len(widths) - 1) <= COLUMNS:
        return list(range(len(widths)))
    used, kept = widths[-1] + GAP + 1, list[int]()
    for place, width in enumerate(widths[:-1]):
        if used + GAP + width > COLUMNS:
            break
        kept.append(place)
        used += GAP + width
    return [*kept, -1, len(widths) - 1]
