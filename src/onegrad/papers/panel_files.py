"""The files of one panel: its table, its pictures, and what the report says of it."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from onegrad.describe.exceptions import InvalidInput
from onegrad.papers.kept_panels import keep_panel
from onegrad.papers.panel import Panel
from onegrad.papers.panel_kinds import KINDS, PanelKind
from onegrad.papers.panel_registry import caption_at, study_of
from onegrad.papers.problem_words import sweep_words
from onegrad.papers.tables.constant_lines import constant_words
from onegrad.papers.tables.curve_table import metric_lines
from onegrad.papers.tables.deviations import pane_deviation
from onegrad.papers.tables.map_table import linear_gap_lines
from onegrad.papers.tables.panel_table import CLOSED, COLUMNS
from onegrad.papers.tables.published_basis import pane_words, published_basis
from onegrad.papers.tables.published_values import (
    PANE,
    PANED,
    published_pane,
    published_values,
)
from onegrad.running.jobs import versions
from onegrad.running.table import Results

if TYPE_CHECKING:
    from onegrad.papers.reproduction import PanelRows, Reproduction


def write_panel(task: Reproduction, ready: PanelRows) -> None:
    """Write PANEL.csv, PANEL.png, PANEL.pdf, and what the report says of it as PANEL.json."""
    from onegrad.plotting.saving import save

    panel = ready.panel
    table, about = table_of_panel(task, ready)
    figure = KINDS.get(panel.kind, field="kind").figure(panel, table)
    # All is ready before the first file is replaced: a kill in between must be quick to come.
    files = {"csv": table.to_csv(index=False).encode()}
    for form in ("png", "pdf"):
        picture = io.BytesIO()
        save(figure, picture, form=form)
        files[form] = picture.getvalue()
    keep_panel(task.directory, panel.name, files, about)


def table_of_panel(task: Reproduction, ready: PanelRows) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the panel's table, published values with it, and what the report says of it."""
    panel, rows = ready.panel, ready.rows
    kind = KINDS.get(panel.kind, field="kind")
    table = _checked(panel, kind.table(panel, rows))
    if task.scale in study_of(panel).published_sizes:
        table["published"] = published_values(table)
    about = _about(task, panel, table) | _said(task, panel, kind, table, rows)
    if ready.published is not None and panel.name in PANED:
        table = _beside_pane(task, panel, table, ready.published, about)
    return table, about


def _beside_pane(
    task: Reproduction,
    panel: Panel,
    table: pd.DataFrame,
    published: Results,
    about: dict[str, Any],
) -> pd.DataFrame:
    """Return the table with the lines at the published size, and say in `about` what they show."""
    study = study_of(panel)
    here, there = (study.sizes(scale).removesuffix("; ") for scale in (task.scale, "paper"))
    gaps = panel.kind == "linear_map"
    lines = linear_gap_lines(published) if gaps else metric_lines(panel, published)
    pane = published_pane(panel, published, lines).assign(**{PANE: f"{there} (published size)"})
    if not (pane["published"].notna() & pane[CLOSED].notna()).any():
        return table
    about["published_basis"] = pane_words(panel, pane, there) + about["published_basis"]
    if not gaps:  # relative deviations of small gaps say nothing
        about["deviations"].append(asdict(pane_deviation(panel, pane)))
    ours = table.assign(**{PANE: f"{here} (trained here)"})
    return pd.concat([ours, pane], ignore_index=True)


def _checked(panel: Panel, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table after checking that it has lines and the columns of every table."""
    missing = [column for column in COLUMNS if column not in table]
    if missing or table.empty:
        what = f"the columns {', '.join(missing)}" if missing else "lines"
        raise InvalidInput(f"kind={panel.kind!r}: its table of {panel.name} lacks {what}; add them")
    return table


def _about(task: Reproduction, panel: Panel, table: pd.DataFrame) -> dict[str, Any]:
    """Return what there is to say of a panel whatever its kind."""
    redraw, seed = task.redraw, task.seed
    options = "" if redraw == "all" else f" --redraw {redraw}"
    options += "" if seed == 0 else f" --seed {seed}"
    return {
        "panel": panel.name,
        "title": panel.title,
        "caption": caption_at(panel, task.scale),
        "shows": panel.shows,
        "scale": task.scale,
        "trials": int(table["trials"].max()),
        "command": f"onegrad reproduce {panel.file or panel.name} --scale {task.scale} --out "
        f"{task.directory.name}{options}",
        "seed": seed,
        "versions": versions(),
        "ours": panel.ours,
    }


def _said(
    task: Reproduction,
    panel: Panel,
    kind: PanelKind,
    table: pd.DataFrame,
    rows: Results,
) -> dict[str, Any]:
    """Return what the panel's kind says in numbers, and what that depends on."""
    numbers = kind.numbers(panel, table)
    study = study_of(panel)
    sweep = study.sweep(task.scale, published_redraw=task.redraw == "published", seed=task.seed)
    beside = task.scale in study.published_sizes or panel.name in PANED
    said = {
        "published_basis": published_basis(panel.name, beside=beside),
        "constant": constant_words(panel, table),
    }
    return {
        "words": sweep_words(sweep, panel.metric),
        **{name: text for name, text in said.items() if text},
        **({"source": panel.source} if panel.source else {}),
        "settings": study.sizes(task.scale),
        "deviations": [asdict(deviation) for deviation in kind.deviations(panel, table, rows)],
        **({"numbers": numbers} if numbers else {}),
        "redraw": task.redraw,
    }
