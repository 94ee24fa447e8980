"""Panels of curves: tables, views, comparisons and numbers of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.panel_kinds import PanelKind
from onegrad.papers.panel_table import (
    CLOSED,
    has_closed,
    metric_lines,
    near_constants,
    panel_table,
    panes,
    unique,
    with_constant,
)
from onegrad.papers.published import Deviation, curve_deviations, deviation
from onegrad.plotting.style import model_name
from onegrad.plotting.view import Curve, Plot, View, along
from onegrad.sweeps.results import Results

WAYS = 5  # curves of the second way


def curve_of(lines: pd.DataFrame, look: Curve, *, column: str = "value") -> Curve:
    """Return lines of a table along x, with errors if the column was measured."""
    known = lines[lines[column].notna()].sort_values("x")
    measured = column == "value"
    return along(
        look,
        known["x"].astype(float),
        known[column],
        stderr=known["stderr"].astype(float) if measured else (),
        trials=known["trials"].astype(int) if measured else (),
    )


def plot_of(panel: Panel, curves: list[Curve], title: str = "") -> Plot:
    """Return a pair of axes labelled as the panel's."""
    labels = panel.x.label, panel.value_label
    return Plot(title, *labels, tuple(curves), panel.x.log, panel.log_value)


def _side_curves(lines: pd.DataFrame, *, series: str, colour: int) -> list[Curve]:
    """Return theory without draws beside a network's lines, and published values."""
    curves = []
    own = lines[lines["model"] == "network"]
    if has_closed(own):
        look = Curve(series, f"network, {CLOSED} theory", colour, "dashdot")
        curves.append(curve_of(own, look, column=CLOSED))
    for model, of_model in lines.groupby("model", sort=False):
        if of_model["published"].notna().any():
            role = "published" if model == "network" else f"published, {model_name(str(model))}"
            look = Curve(series, role, colour, "cross" if model == "network" else "plus")
            curves.append(curve_of(of_model, look, column="published"))
    return curves


# Curves: the metric of every model, a colour per activation or per value of a second axis.


def curve_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the panel's metric of every model and verb, and of the best constant."""
    lines = metric_lines(panel, results)
    return with_constant(panel, results, lines, panel_table(panel, results, lines))


def curve_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the models' curves, beside them those at the published size."""
    return View(
        plots=tuple(
            replace(_curve_plot(panel, part), title=title) for title, part in panes(table).items()
        ),
        shared=False,
    )


def _curve_plot(panel: Panel, table: pd.DataFrame) -> Plot:
    """Return one pair of axes with every curve."""
    column = "activation" if panel.y is None else "y"
    curves: list[Curve] = []
    for colour, value in enumerate(unique(table[column])):
        lines, name = table[table[column] == value], panel.series_label(value)
        for model, of_model in lines.dropna(subset="value").groupby("model", sort=False):
            role, mark = model_name(str(model)), _model_mark(str(model))
            curves.append(curve_of(of_model, Curve(name, role, colour, mark)))
        curves += _side_curves(lines, series=name, colour=colour)
    curves += near_constants(panel, table, by=column)
    return plot_of(panel, curves)


def _model_mark(model: str) -> str:
    """Return how a model is drawn: markers for the network, lines for others, thin for theory."""
    if model.endswith("_theory"):
        return "dotted" if model.startswith("network") else "dashed"
    return "points" if model == "network" else "line"


def two_ways_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the curves against x, and beside them against y for some of the x."""
    assert panel.y is not None
    places = np.sort(table["x"].unique())
    some = places[np.linspace(0, len(places) - 1, min(len(places), WAYS)).astype(int)]
    swapped = table[table["x"].isin(some)].rename(columns={"x": "y", "y": "x"})
    turned = replace(panel, x=panel.y, y=panel.x)
    return View(plots=(_curve_plot(panel, table), _curve_plot(turned, swapped)))


# Points: simulation as points, theory as lines, a plot per facet.


def points_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return plots by facet, with a colour per model, or per y of a single model.

    Further plots are activations, and values of y if colours are models.
    """
    models = table["model"].str.removesuffix("_theory")
    by_model = models.nunique() > 1 or panel.y is None
    table = table.assign(colour=models if by_model else table["y"])
    rows = ["activation", *(["y"] if by_model and panel.y is not None else [])]
    facets = unique(table["facet"]) if "facet" in table else [None]
    names = unique(table["colour"])
    plots = []
    for row, of_row in table.groupby(rows, sort=False):
        for facet in facets:
            here = of_row if facet is None else of_row[of_row["facet"] == facet]
            if not here.empty:
                plots.append(_points_plot(panel, here, names, _title(panel, row, facet)))
    return View(plots=tuple(plots), columns=len(facets) if len(facets) > 1 else 0)


def _points_plot(panel: Panel, lines: pd.DataFrame, names: list[str | float], title: str) -> Plot:
    """Return simulated points and predicted lines of one facet."""
    curves = []
    for colour, name in enumerate(names):
        own = lines[lines["colour"] == name]
        theory = own["model"].str.endswith("_theory")
        label = model_name(name) if isinstance(name, str) else panel.series_label(name)
        for role, mark, part in (
            ("simulation", "open", own[~theory]),
            ("theory", "line", own[theory]),
        ):
            if not part.empty:
                curves.append(curve_of(part, Curve(label, role, colour, mark)))
        curves += _side_curves(own, series=label, colour=colour)
    curves += near_constants(panel, lines, by=None)
    return plot_of(panel, curves, title)


def _title(panel: Panel, row: tuple[Any, ...], facet: str | float | None) -> str:
    """Return the activation of a plot, with its values of y and facet."""
    activation, *y = row
    parts = [str(activation)]
    if y and panel.y is not None:
        parts.append(panel.y.with_value(y[0]))
    if facet is not None:
        parts.append(str(facet) if panel.facet is None else panel.facet.with_value(facet))
    return ", ".join(parts)


# Penalties: points at the least penalty, and at the one that theory finds best for each point.

BEST = "best λ"


def penalty_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the metric of every model at the least λ, and at that of the least mean prediction.

    Simulated points have the same λ: no trained network has a say in its choice. `facet` names
    the two, `ridge` is λ.
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
    """Return every y's predicted error relative to the first one's, and the best penalties."""
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


# Fits: networks on real data beside theory on mixtures of several sizes fitted to them.


def fit_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the metric of trained networks, and of theory for each fit, whose size is y."""
    table = curve_table(panel, results)
    # Networks are trained on the data themselves, once for all fits.
    table["y"] = table["y"].astype(float).where(table["model"].str.endswith("_theory"))
    return table.drop_duplicates().reset_index(drop=True)


def fit_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory against trained networks for each fit, and for the largest by facet.

    Means are compared, not pairs: few trials have a prediction of their own.
    """
    place = [name for name in ("facet", "activation", "x") if name in table]
    real = table[table["model"] == "network"][[*place, "value", "stderr"]]
    theory = table[table["model"] == "network_theory"][[*place, "y", "value", "stderr"]]
    lines = theory.merge(real, on=place, suffixes=("_theory", ""))
    lines["gap"] = lines["value_theory"] / lines["value"] - 1
    lines["stderr"] = np.hypot(lines["stderr_theory"], lines["stderr"]) / lines["value"]
    by_fit = [
        (f"theory on {y:g} Gaussian{'s' if y != 1 else ''} per class", lines[lines["y"] == y])
        for y in np.sort(lines["y"].unique())
    ]
    largest, finest = by_fit[-1]
    parts = [
        (f"{largest}: {', '.join(str(name) for name in names)}", group)
        for names, group in finest.groupby([c for c in place if c != "x"], sort=False)
    ]
    return [
        *(deviation(name, group, panel) for name, group in by_fit),
        *(deviation(name, group, panel, total="") for name, group in parts),
    ]


def fit_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return networks on real data as points and theory on each fit as a line, plot by plot."""
    fits = sorted(unique(table["y"]))
    activations = unique(table["activation"])
    plots = []
    for facet in unique(table["facet"]) if "facet" in table else [None]:
        of_facet = table if facet is None else table[table["facet"] == facet]
        for activation in activations:
            lines = of_facet[of_facet["activation"] == activation]
            real = lines[lines["model"] == "network"]
            curves = [curve_of(real, Curve("real data", "network", 3, "points"))]
            for colour, fit in enumerate(fits):
                look = Curve(f"{fit:g} per class", "theory", colour, "line")
                curves.append(curve_of(lines[lines["y"] == fit], look))
            curves += near_constants(panel, lines, by=None)
            where = "" if facet is None else f", classes {facet}"
            plots.append(plot_of(panel, curves, f"{activation}{where}"))
    return View(plots=tuple(plots), columns=len(activations) if len(activations) > 1 else 0)


# Gaps: each Hermite model's relative gap to the network.


def gap_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return each model's absolute relative gap to the network."""
    return panel_table(panel, results, gap_sizes(results))


def gap_sizes(results: Results) -> pd.DataFrame:
    """Return the relative gaps to the network with their size as the value."""
    gaps = results.gaps()
    return gaps.assign(value=gaps["gap"].abs())


def gap_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the gap of every degree as a curve with markers."""
    degrees = table["model"].str.extract(r"(\d+)", expand=False)
    curves = []
    for colour, degree in enumerate(unique(degrees)):
        lines, name = table[degrees == degree], f"degree {degree}"
        curves.append(curve_of(lines, Curve(name, "theory", colour, "joined")))
        if has_closed(lines):
            look = Curve(name, f"{CLOSED} theory", colour, "dashdot")
            curves.append(curve_of(lines, look, column=CLOSED))
    return View(plots=(plot_of(panel, curves),))


# Batches: errors after one step against the size of its batch.

BATCH, SUBTRACT = "readout.batch", "training.subtract"
SUFFIXES = {"none": "", "linear": ", subtracted", "moments": ", subtracted by moments"}
NAMES = {"network": "one step", "untrained": "untrained"}
FRESH = ", fresh samples"


def batch_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return errors before and after the step against log N/log n, means over trials.

    A readout on the step's own batch, as published, has the plain name; one on fresh samples, which
    theory describes, is named so.
    """
    lines = metric_lines(panel, results)
    names = lines["model"].map(NAMES) + lines[SUBTRACT].map(SUFFIXES)
    fresh = (lines[BATCH] == "fresh") & (lines["verb"] == "simulate")
    lines["model"] = names.where(~fresh, names + FRESH)
    return with_constant(panel, results, lines, panel_table(panel, results, lines))


def batch_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory against simulation on fresh samples, and ours against published."""
    gaps = results.theory_gaps("test_mse")
    simulated = table[table["model"].str.endswith(FRESH)]
    deviations = []
    for name, label in NAMES.items():
        for subtract, suffix in SUFFIXES.items():
            part = gaps[(gaps["model"] == name) & (gaps[SUBTRACT] == subtract)]
            lines = part[["gap", "stderr"]].assign(x=part[panel.x.path])
            of_model = simulated[simulated["model"] == f"{label}{suffix}{FRESH}"]
            lines = lines.merge(of_model[["x", "value"]], on="x")
            if not lines.empty:
                what = f"theory against simulation, {label}{suffix}"
                deviations.append(deviation(what, lines, panel))
    beside = table[table["published"].notna()]
    if not beside.empty:
        lines = beside.assign(gap=beside["value"] / beside["published"] - 1)
        lines["stderr"] = beside["stderr"] / beside["published"]
        deviations.append(deviation("ours against published", lines, panel))
    return deviations


def batch_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return how the errors at the largest batch compare, and whether they fell up to there."""
    errors = table.pivot(index="x", columns="model", values="value")
    last = errors.iloc[-1]
    subtracted = last["one step, subtracted"]
    falling = errors["one step, subtracted"][errors.index >= 1.3]
    words = "falls monotonically" if falling.is_monotonic_decreasing else "does not fall everywhere"
    return [
        f"at κ = {errors.index[-1]:g} the step with subtraction has {subtracted:.4f} (by moments, "
        f"as published, {last['one step, subtracted by moments']:.4f}): "
        f"{subtracted / last['untrained']:.3f} times the untrained network's "
        f"{last['untrained']:.4f}, {subtracted / last['one step']:.3f} times the step's without "
        f"subtraction ({last['one step']:.4f}), "
        f"{subtracted / last['untrained, subtracted']:.3f} times that of untrained features with "
        f"subtraction ({last['untrained, subtracted']:.4f})",
        f"with subtraction the error {words} for κ from 1.3 on",
    ]


def batch_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return errors against the size of the batch, those on its own samples as markers."""
    models = [m for m in unique(table["model"]) if not m.endswith(("_theory", FRESH))]
    looks = {
        "": ("on the step's samples", "points"),
        FRESH: ("on fresh samples", "open"),
        "_theory": ("theory, fresh samples", "line"),
    }
    curves = []
    for colour, model in enumerate(models):
        for suffix, (role, mark) in looks.items():
            lines = table[table["model"] == model + suffix]
            if not lines.empty:
                curves.append(curve_of(lines, Curve(model, role, colour, mark)))
        theirs = table[(table["model"] == model) & table["published"].notna()]
        if not theirs.empty:
            look = Curve(model, "published", colour, "cross")
            curves.append(curve_of(theirs, look, column="published"))
    curves += near_constants(panel, table, by=None)
    return View(plots=(plot_of(panel, curves),))


KINDS: dict[str, PanelKind] = {
    "curves": PanelKind(curve_table, deviations=curve_deviations, view=curve_view),
    "points": PanelKind(curve_table, deviations=curve_deviations, view=points_view),
    "penalties": PanelKind(
        penalty_table, deviations=curve_deviations, numbers=penalty_numbers, view=points_view
    ),
    "two_ways": PanelKind(curve_table, deviations=curve_deviations, view=two_ways_view),
    "gaps": PanelKind(gap_table, view=gap_view),
    "fits": PanelKind(fit_table, deviations=fit_deviations, view=fit_view),
    "batch_curves": PanelKind(
        batch_table, deviations=batch_deviations, numbers=batch_numbers, view=batch_view
    ),
}
