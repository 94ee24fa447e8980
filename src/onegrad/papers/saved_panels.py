"""Saved panels: the files of a panel, written together and read again only as they were written.

PANEL.json has a format, its own checksum and those of PANEL.csv, .png and .pdf. A damaged file is
renamed and named in a warning, and its panel is left out until it is drawn again.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import Damaged, checksum_of_bytes, replace_file, seal, set_aside, unseal
from onegrad.papers.captions import setting_rows
from onegrad.papers.map_panels import linear_gap_lines
from onegrad.papers.panel import Panel
from onegrad.papers.panel_registry import PANELS, caption_at, kind_of, study_of
from onegrad.papers.panel_table import CLOSED, COLUMNS, PANE, constant_words, metric_lines
from onegrad.papers.published import (
    PANED,
    pane_deviation,
    pane_words,
    published_basis,
    published_pane,
    published_values,
)
from onegrad.plotting.style import save
from onegrad.plotting.view import View
from onegrad.sweeps.plan import versions
from onegrad.sweeps.results import Results

if TYPE_CHECKING:
    from onegrad.papers.reproduction import PanelRows, Reproduction

FORMAT = 2  # of PANEL.json
NEEDED = ("csv", "png")  # without one of them a panel is not whole; a PDF may be removed


# Making: a panel's table, and what the report shows with it.


def write_panel(task: Reproduction, ready: PanelRows) -> None:
    """Write PANEL.csv, PANEL.png, PANEL.pdf, and PANEL.json for the report."""
    panel = ready.panel
    table, about = table_of_panel(task, ready)
    figure = kind_of(panel).draw(panel, table)
    # All is ready before the first file is replaced, which leaves a kill little time in between.
    files = {"csv": table.to_csv(index=False).encode()}
    for form in ("png", "pdf"):
        picture = io.BytesIO()
        save(figure, picture, form=form)
        files[form] = picture.getvalue()
    save_panel(task.directory, panel.name, files, about)


def table_of_panel(task: Reproduction, ready: PanelRows) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the panel's table with published values, and the description for the report."""
    panel, rows = ready.panel, ready.rows
    table = kind_of(panel).table(panel, rows)
    missing = [column for column in COLUMNS if column not in table]
    if missing or table.empty:
        what = f"the columns {', '.join(missing)}" if missing else "lines"
        raise InvalidInput(f"kind={panel.kind!r}: its table of {panel.name} lacks {what}; add them")
    if task.scale in study_of(panel).published_sizes:
        table["published"] = published_values(table)
    about = _description(task, panel, table, rows)
    if ready.published is not None and panel.name in PANED:
        table = _with_pane(task, panel, table, ready.published, about)
    return table, about


def _description(
    task: Reproduction, panel: Panel, table: pd.DataFrame, rows: Results
) -> dict[str, Any]:
    """Return everything that the report shows of a panel beside its picture."""
    study, kind = study_of(panel), kind_of(panel)
    options = "" if task.redraw == "all" else f" --redraw {task.redraw}"
    options += "" if task.seed == 0 else f" --seed {task.seed}"
    sweep = study.sweep(task.scale, published_redraw=task.redraw == "published", seed=task.seed)
    beside = task.scale in study.published_sizes or panel.name in PANED
    optional = {
        "published_basis": published_basis(panel.name, beside=beside),
        "constant": constant_words(panel, table),
        "source": panel.source,
        "numbers": kind.numbers(panel, table),
    }
    return {
        "panel": panel.name,
        "title": panel.title,
        "caption": caption_at(panel, task.scale),
        "shows": panel.shows,
        "scale": task.scale,
        "trials": int(table["trials"].max()),
        "command": f"onegrad reproduce {panel.file or panel.name} --scale {task.scale} --out "
        f"{task.directory.name}{options}",
        "seed": task.seed,
        "versions": versions(),
        "ours": panel.ours,
        "setting": setting_rows(sweep, panel.metric),
        "settings": study.sizes(task.scale),
        "deviations": [asdict(deviation) for deviation in kind.deviations(panel, table, rows)],
        "redraw": task.redraw,
        **{name: value for name, value in optional.items() if value},
    }


def _with_pane(
    task: Reproduction,
    panel: Panel,
    table: pd.DataFrame,
    published: Results,
    about: dict[str, Any],
) -> pd.DataFrame:
    """Return the table with the lines at the published size; `about` gets how they compare."""
    study = study_of(panel)
    here, there = (study.sizes(scale).removesuffix("; ") for scale in (task.scale, "paper"))
    gaps = panel.kind == "linear_map"
    lines = linear_gap_lines(published) if gaps else metric_lines(panel, published)
    pane = published_pane(panel, published, lines).assign(**{PANE: f"{there} (published size)"})
    if not (pane["published"].notna() & pane[CLOSED].notna()).any():
        return table
    about["published_basis"] = pane_words(panel, pane, there) + about["published_basis"]
    if not gaps:  # relative deviations of small gaps mean nothing
        about["deviations"].append(asdict(pane_deviation(panel, pane)))
    ours = table.assign(**{PANE: f"{here} (trained here)"})
    return pd.concat([ours, pane], ignore_index=True)


# Writing and reading.


def save_panel(directory: Path, name: str, files: dict[str, bytes], about: dict[str, Any]) -> None:
    """Write PANEL.csv, .png and .pdf, then their description with all checksums.

    Damaged files that are in their places are renamed first.
    """
    _read(directory, name, "and it is drawn again")
    for form, data in files.items():
        replace_file(directory / f"{name}.{form}", lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    sums = {f"{name}.{form}": checksum_of_bytes(data) for form, data in files.items()}
    text = seal({**about, "files": sums}, FORMAT, indent=1)
    replace_file(directory / f"{name}.json", lambda path: path.write_text(text, "utf-8"))


@dataclass(frozen=True)
class SavedPanel:
    """A panel with its description, its picture and its view, which may be empty."""

    panel: Panel
    about: dict[str, Any]
    picture: bytes
    view: View

    @property
    def name(self) -> str:
        """The panel's name."""
        return self.panel.name

    @property
    def deviations(self) -> list[dict[str, Any]]:
        """The comparisons of the panel."""
        return list(self.about["deviations"])

    @property
    def apart(self) -> int:
        """How many compared points differ by more than tolerance and errors allow."""
        return sum(int(d["beyond"]) for d in self.deviations if d["total"])


def saved_panels(directory: Path, names: Iterable[str] = PANELS) -> list[SavedPanel]:
    """Return the panels that the folder has whole, in the order of their names."""
    found = []
    for name in names:
        about = _read(directory, name, f"onegrad reproduce {name} draws it again")
        if about is not None:
            view = _view(PANELS[name], directory / f"{name}.csv")
            picture = (directory / f"{name}.png").read_bytes()
            found.append(SavedPanel(PANELS[name], about, picture, view))
    return found


def _view(panel: Panel, path: Path) -> View:
    """Return the view of the table; an empty one, with a warning, if it is no such table."""
    try:
        return kind_of(panel).view(panel, pd.read_csv(path, dtype={"panel": str}))
    except (LookupError, ValueError, TypeError, AttributeError):
        warnings.warn(
            f"{path.name}: is not a table of this panel; the report shows its picture alone, "
            f"onegrad reproduce {panel.name} draws it again",
            stacklevel=4,
        )
        return View()


def _read(directory: Path, name: str, remedy: str) -> dict[str, Any] | None:
    """Return the description of a panel, None unless all is whole; damaged files are renamed."""
    place = directory / f"{name}.json"
    if not place.exists():
        return None
    try:
        about = _unsealed(place, name)
    except Damaged as damage:
        _warn_damaged(place, damage, remedy)
        return None
    whole = True
    for form in ("csv", "png", "pdf"):
        file = directory / f"{name}.{form}"
        if not file.exists():
            if form in NEEDED:
                warnings.warn(f"{file.name}: is missing; {remedy}", stacklevel=4)
                whole = False
        elif about["files"].get(file.name) != checksum_of_bytes(file.read_bytes()):
            _warn_damaged(file, "the checksum does not fit", remedy)
            whole = whole and form not in NEEDED
    return about if whole else None


def _unsealed(place: Path, name: str) -> dict[str, Any]:
    """Return the description in a file; raise Damaged unless it is the one of that panel."""
    about = unseal(place.read_bytes().decode("utf-8", errors="replace"), FORMAT)
    if about.get("panel") != name:
        raise Damaged("it describes another panel")
    return about


def _warn_damaged(file: Path, damage: object, remedy: str) -> None:
    renamed = set_aside(file).name
    warnings.warn(
        f"{file.name}: is damaged ({damage}); renamed to {renamed}; {remedy}", stacklevel=5
    )
