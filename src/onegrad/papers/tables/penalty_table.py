"""Tables of curves at the least penalty, and at the one that theory finds best for each point."""

from __future__ import annotations

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_predictor import with_constant
from onegrad.papers.tables.curve_table import metric_lines
from onegrad.papers.tables.panel_table import panel_table
from onegrad.running.table import Results

BEST = "best λ"


def penalty_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the metric of every model at the least λ, and at that of the least mean prediction.

    Simulated points are those of the same λ: no trained network has a say in its choice. `facet`
    tells the two apart, `ridge` is λ.
    """
    lines = metric_lines(panel, results)
    place = [*results.axes, "model", "step"]
    theory = lines[lines["verb"] == "predict"]
    best = theory.loc[theory.groupby(place, dropna=False)["value"].idxmin(), [*place, "ridge"]]
    least = lines["ridge"].min()
    parts = {f"λ = {least:g}": lines[lines["ridge"] == least], BEST: lines.merge(best)}
    tables = []
    for name, part in parts.items():
        table = panel_table(panel, results, part)
        table = table.assign(facet_name="penalty", facet=name, ridge=part["ridge"].to_numpy())
        tables.append(with_constant(panel, results, part, table))
    return pd.concat(tables, ignore_index=True)


def penalty_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return what every y's predicted error is of the first one's, and which penalties are best."""
    theory = table[table["model"] == "network_theory"].sort_values("x")
    first, *others = [str(name) for name in theory["y"].unique()]
    sentences = []
    for facet, part in theory.groupby("facet", sort=False):
        values = part.pivot(index="x", columns="y", values="value")
        for name in others:
            ratios = values[name] / values[first]
            sentences.append(
                f"{facet}: {name} has {ratios.min():.3f} to {ratios.max():.3f} times the predicted "
                f"{panel.metric} of {first}"
            )
    best = theory[theory["facet"] == BEST]
    for name in (first, *others):
        listed = ", ".join(f"{ridge:g}" for ridge in best[best["y"] == name]["ridge"])
        sentences.append(f"{name}: best λ {listed} along {panel.x.label}")
    return sentences
