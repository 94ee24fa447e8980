"""Deviations between columns: Hermite model and network, theory and simulation, published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.panel_table import ACTIVATION, CLOSED, has_closed, shown_x, source_metric
from onegrad.papers.published import published_chance, published_values
from onegrad.running.table import Results

NEGLIGIBLE = 1e-3  # of a panel's largest value: relative deviations of less say nothing


@dataclass(frozen=True)
class Deviation:
    """The largest and the mean absolute relative deviation between two columns of a panel.

    `stderr` is that of the largest one; `beyond` counts points that differ by more than the
    `tolerance` plus four standard errors, of the `known` points that have one.
    """

    name: str
    largest: float
    stderr: float
    where: str
    mean: float
    points: int
    known: int
    beyond: int
    tolerance: float
    total: str  # the comparison that the report counts it under; empty for parts of another one


def curve_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return network–Hermite, simulation–theory and ours–published, where a panel has them."""
    metric, _ = source_metric(panel)
    deviations = []
    if "hermite" in set(table["model"]):
        gaps = results.gaps(metric)
        trained = gaps[(gaps["verb"] == "simulate") & (gaps["model"] == "hermite")]
        lines = _placed(panel, table, results, trained)
        deviations.append(deviation("Hermite model against network", lines, panel))
    theory = results.theory_gaps(metric)
    theory = theory[theory["method"] != CLOSED]
    for model in table["model"].unique():
        gaps = theory[theory["model"] == model]
        if not gaps.empty:
            lines = _placed(panel, table, results, gaps)
            deviations.append(deviation(f"theory against simulation, {model}", lines, panel))
    deviations += closed_deviations(panel, table)
    beside = table[table["published"].notna()]
    if not beside.empty:
        deviations.append(_published_deviation("ours", beside, panel))
        if has_closed(beside):
            closed = beside.assign(value=beside[CLOSED], stderr=0.0).dropna(subset="value")
            deviations.append(_published_deviation("closed theory", closed, panel))
    return deviations


def pane_deviation(panel: Panel, pane: pd.DataFrame) -> Deviation:
    """Return closed theory at the published size against the published values."""
    lines = pane.assign(value=pane[CLOSED], stderr=0.0).dropna(subset=["value", "published"])
    return _published_deviation("closed theory at the published size", lines, panel)


def closed_deviations(panel: Panel, table: pd.DataFrame) -> list[Deviation]:
    """Return theory without draws against simulation for every model that has both."""
    if CLOSED not in table:
        return []
    known = table[table[CLOSED].notna() & ~table["model"].str.endswith("_theory")]
    return [closed_deviation(lines, panel) for _, lines in known.groupby("model", sort=False)]


def closed_deviation(lines: pd.DataFrame, panel: Panel) -> Deviation:
    """Return the column `closed` against the simulated values of one model.

    Means are compared: what draws nothing has no trial of its own.
    """
    gap, stderr = lines[CLOSED] / lines["value"] - 1, lines["stderr"] / lines["value"]
    name = f"closed theory against simulation, {lines['model'].iloc[0]}"
    return deviation(name, lines.assign(gap=gap, stderr=stderr), panel)


def _published_deviation(ours: str, lines: pd.DataFrame, panel: Panel) -> Deviation:
    """Return values with their stderr against the published ones."""
    published = lines["published"]
    stderr = np.hypot(lines["stderr"], published_values(lines, "uncertainty")) / published
    stderr = np.hypot(stderr, published_chance(panel.name))
    lines = lines.assign(gap=lines["value"] / published - 1, stderr=stderr)
    return deviation(f"{ours} against published", lines, panel)


def _placed(
    panel: Panel, table: pd.DataFrame, results: Results, gaps: pd.DataFrame
) -> pd.DataFrame:
    """Return gaps with the panel's own columns, and the simulated network's value beside them."""
    paths = {"x": panel.x.path, "activation": ACTIVATION}
    paths |= {name: axis.path for name, axis in (("y", panel.y), ("facet", panel.facet)) if axis}
    if "ridge" in table:  # one of several penalties per point
        paths["ridge"] = "ridge"
    places = {name: gaps[path] for name, path in paths.items() if path in gaps}
    dimension = results.contents.settings[0]["fields"]["dimension"]
    places["x"] = shown_x(panel, places["x"], dimension)
    lines = gaps[["gap", "stderr"]].assign(**places)
    network = table[table["model"] == "network"]
    return lines.merge(network[[*places, "value"]].drop_duplicates([*places]), on=[*places])


def deviation(
    name: str, lines: pd.DataFrame, panel: Panel, *, total: str | None = None
) -> Deviation:
    """Return the summary of lines with a relative `gap`, its `stderr`, x and the value there.

    `total` is the comparison that the report counts it under, by default `name` up to its comma.
    """
    lines = lines[lines["x"] >= panel.compared_from]
    lines = lines[lines["value"] > NEGLIGIBLE * lines["value"].max()]
    gap, stderr = lines["gap"].to_numpy(float), lines["stderr"].to_numpy(float)
    worst = int(np.argmax(np.abs(gap)))
    line = lines.iloc[worst]
    place = [
        line[c] if isinstance(line[c], str) else f"{line[c]:g}"
        for c in ("facet", "activation", "x", "y")
        if c in lines
    ]
    return Deviation(
        name,
        float(gap[worst]),
        float(stderr[worst]),
        ", ".join(place),
        float(np.mean(np.abs(gap))),
        len(gap),
        int(np.sum(np.isfinite(stderr))),
        int(np.sum(np.abs(gap) > panel.tolerance + 4 * stderr)),
        panel.tolerance,
        name.split(",")[0] if total is None else total,
    )
