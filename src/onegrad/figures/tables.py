"""A panel's table from its rows, with the published values beside ours, and what they differ by."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd

from onegrad.figures.panel import Panel
from onegrad.running.table import Results
from onegrad.verbs.errors import METRICS

COLUMNS = [
    "panel",
    "metric",
    "activation",
    "model",
    "x_name",
    "x",
    "value",
    "stderr",
    "trials",
    "published",
]
SUFFICIENT_GAP = 0.02
LARGEST_LINEAR_GAP = 100.0
NEGLIGIBLE = 1e-3  # of a panel's largest value: relative deviations of less say nothing
_SOURCES = {"half_test_mse": ("test_mse", 0.5), **{name: (name, 1.0) for name in METRICS}}


def panel_table(panel: Panel, results: Results, *, beside_published: bool = True) -> pd.DataFrame:
    """Return the panel's table; predictions are the models named …_theory.

    Maps and curves told apart by a second axis have columns y_name and y as well. Published values
    are filled in only at the published size.
    """
    if panel.kind in ("linear_map", "degree_map", "gaps"):
        found = _gap_table(panel, results)
    else:
        metric, factor = _SOURCES[panel.metric]
        frame = results.to_frame()
        found = frame[frame["metric"] == metric].copy()
        found["value"], found["stderr"] = factor * found["mean"], factor * found["stderr"]
    theory = found["verb"] == "predict"
    found["model"] = found["model"].where(~theory, found["model"] + "_theory")
    if panel.kind == "map":
        found = found[found["model"].str.startswith("network")]
    fields = results.contents.settings[0]["fields"]
    activation = "network.activation"
    if activation not in found:
        found[activation] = fields["network"]["activation"]
    table = pd.DataFrame(
        {
            "panel": panel.name,
            "metric": panel.metric,
            "activation": found[activation],
            "model": found["model"],
            "x_name": panel.x.name,
            "x": _shown_x(panel, found[panel.x.path], fields["dimension"]),
            "value": found["value"],
            "stderr": found["stderr"],
            "trials": found["count"],
        }
    )
    table["published"] = _published_values(panel, table) if beside_published else np.nan
    for name, axis in (("y", panel.y), ("facet", panel.facet)):
        if axis is not None:
            table[f"{name}_name"], table[name] = axis.name, found[axis.path]
    if panel.kind == "fits":
        # Networks are trained on the data themselves, once for all fits.
        table["y"] = table["y"].astype(float).where(theory)
        table = table.drop_duplicates()
    return table.reset_index(drop=True)


def _shown_x(panel: Panel, x: pd.Series, dimension: int) -> pd.Series:
    """Return x as the panel shows it: the value, or its exponent to the base n."""
    return np.log(x) / np.log(dimension) if panel.x.exponent else x


def _gap_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return relative gaps to the network in the form that the panel shows."""
    gaps = results.gaps()
    if panel.kind == "linear_map":
        gaps = gaps[gaps["model"] == "linear"].copy()
        gaps["value"] = np.minimum(100 * gaps["gap"].abs(), LARGEST_LINEAR_GAP)
        gaps["stderr"] *= 100
        return gaps
    gaps["value"] = gaps["gap"].abs()
    if panel.kind == "gaps":
        return gaps
    assert panel.y is not None
    lines = []
    for (x, y), group in gaps.groupby([panel.x.path, panel.y.path], sort=False):
        degrees = group["model"].str.removeprefix("hermite:").astype(int)
        enough = degrees[group["value"] <= SUFFICIENT_GAP]
        smallest = float(enough.min()) if len(enough) else np.nan
        lines.append((x, y, "predict", "smallest_degree", smallest, np.nan, group["count"].max()))
    columns = [panel.x.path, panel.y.path, "verb", "model", "value", "stderr", "count"]
    return pd.DataFrame(lines, columns=columns)


@functools.cache
def published() -> pd.DataFrame:
    """Return the values read off the published plots, with their uncertainty."""
    with resources.files("onegrad.figures").joinpath("published.csv").open() as file:
        return pd.read_csv(file, dtype={"panel": str})


def _published_values(panel: Panel, table: pd.DataFrame, column: str = "value") -> pd.Series:
    """Return the published value of every line or its uncertainty, NaN where there is none."""
    if not panel.published:
        return pd.Series(np.nan, index=table.index)
    mine = table.assign(place=table["x"].astype(float).round(4))
    theirs = published().assign(place=lambda p: p["x"].round(4)).rename(columns={column: "theirs"})
    keys = ["panel", "metric", "activation", "model", "place"]
    merged = mine[keys].merge(theirs[[*keys, "theirs"]], on=keys, how="left")
    return pd.Series(merged["theirs"].to_numpy(), index=table.index)


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


def deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return network–Hermite, simulation–theory and ours–published, where a panel has them."""
    if panel.kind == "fits":
        return _fit_deviations(panel, table)
    if panel.kind not in ("curves", "map", "two_ways"):
        return []
    metric, _ = _SOURCES[panel.metric]
    dimension = results.contents.settings[0]["fields"]["dimension"]
    where = {"x": panel.x.path, "activation": "network.activation"}
    if panel.y is not None:
        where["y"] = panel.y.path
    found = []
    if "hermite" in set(table["model"]):
        gaps = results.gaps(metric)
        gaps = gaps[(gaps["verb"] == "simulate") & (gaps["model"] == "hermite")]
        lines = _placed(panel, gaps, where, table, dimension)
        found.append(_summary("Hermite model against network", lines, panel))
    theory = results.theory_gaps(metric)
    for model in ("network", "hermite"):
        mine = theory[theory["model"] == model]
        if not mine.empty:
            name = f"theory against simulation, {model}"
            found.append(_summary(name, _placed(panel, mine, where, table, dimension), panel))
    both = table[table["published"].notna()]
    if not both.empty:
        both = both.assign(published_uncertainty=_published_values(panel, both, "uncertainty"))
        lines = both.assign(gap=both["value"] / both["published"] - 1)
        theirs = both["published_uncertainty"]
        lines["stderr"] = np.hypot(both["stderr"], theirs) / both["published"]
        found.append(_summary("ours against published", lines, panel))
    return found


def _fit_deviations(panel: Panel, table: pd.DataFrame) -> list[Deviation]:
    """Return theory against trained networks for each fit, for the largest in every facet too.

    Means are compared, not pairs: few trials have a prediction of their own.
    """
    where = [name for name in ("facet", "activation", "x") if name in table]
    real = table[table["model"] == "network"][[*where, "value", "stderr"]]
    theory = table[table["model"] == "network_theory"][[*where, "y", "value", "stderr"]]
    lines = theory.merge(real, on=where, suffixes=("_theory", ""))
    lines["gap"] = lines["value_theory"] / lines["value"] - 1
    lines["stderr"] = np.hypot(lines["stderr_theory"], lines["stderr"]) / lines["value"]
    by_fit = [
        (f"theory on {y:g} Gaussian{'s' if y != 1 else ''} per class", lines[lines["y"] == y])
        for y in np.sort(lines["y"].unique())
    ]
    groups = [name for name in where if name != "x"]
    last, finest = by_fit[-1]
    parts = [
        (f"{last}: {', '.join(str(part) for part in place)}", group)
        for place, group in finest.groupby(groups, sort=False)
    ]
    return [
        *(_summary(name, group, panel) for name, group in by_fit),
        *(_summary(name, group, panel, total="") for name, group in parts),
    ]


def _placed(
    panel: Panel,
    gaps: pd.DataFrame,
    where: dict[str, str],
    table: pd.DataFrame,
    dimension: int,
) -> pd.DataFrame:
    """Return gaps with the panel's own columns, and the simulated network's value beside them."""
    named = {name: gaps[path] for name, path in where.items() if path in gaps}
    named["x"] = _shown_x(panel, named["x"], dimension)
    lines = gaps[["gap", "stderr"]].assign(**named)
    network = table[table["model"] == "network"]
    return lines.merge(network[[*named, "value"]].drop_duplicates([*named]), on=[*named])


def _summary(
    name: str, lines: pd.DataFrame, panel: Panel, *, total: str | None = None
) -> Deviation:
    lines = lines[lines["x"] >= panel.compared_from]
    lines = lines[lines["value"] > NEGLIGIBLE * lines["value"].max()]
    size, stderr = lines["gap"].to_numpy(float), lines["stderr"].to_numpy(float)
    worst = int(np.argmax(np.abs(size)))
    line = lines.iloc[worst]
    place = [
        line[c] if isinstance(line[c], str) else f"{line[c]:g}"
        for c in ("facet", "activation", "x", "y")
        if c in lines
    ]
    return Deviation(
        name,
        float(size[worst]),
        float(stderr[worst]),
        ", ".join(place),
        float(np.mean(np.abs(size))),
        len(size),
        int(np.sum(np.isfinite(stderr))),
        int(np.sum(np.abs(size) > panel.tolerance + 4 * stderr)),
        panel.tolerance,
        name.split(",")[0] if total is None else total,
    )
