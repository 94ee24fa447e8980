"""What a person reads: tables of errors and results, and what a run will take."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from onegrad.cli.progress import duration
from onegrad.running.plan import Plan
from onegrad.verbs.errors import Errors

_TITLES = {
    "test_mse": "test MSE",
    "train_mse": "train MSE",
    "objective": "objective",
    "misclassification": "misclassified",
}


def announced(plan: Plan, workers: int, dask: str | None = None) -> str:
    """Return what a run will take: trials, time and memory."""
    where = f"{workers} worker{'s' if workers > 1 else ''}" if dask is None else "one Dask worker"
    share = plan.seconds / (workers if dask is None else 1)
    known = f", {plan.stored} stored already" if plan.stored else ""
    known += f" ({plan.failed} failed)" if plan.failed else ""
    return (
        f"{plan.total} trials in {len(plan.settings)} settings{known}; about {duration(share)} on "
        f"{where}, peak memory about {plan.bytes / 1e9:.2g} GB per worker"
    )


def print_results(frame: pd.DataFrame, axes: list[str], *, metric: str = "test_mse") -> None:
    """Print mean and standard error of one metric per setting and model."""
    varied = [axis for axis in axes if frame[axis].nunique(dropna=False) > 1]
    varied += [name for name in ("seed", "ridge", "method") if frame[name].nunique() > 1]
    table = Table(
        caption=f"{metric}, mean ± standard error; the other metrics are in the table that --csv "
        "writes",
        caption_justify="left",
    )
    for name in (*varied, "verb", "model"):
        table.add_column(name, overflow="fold")
    for name in (metric, "trials"):
        table.add_column(name, justify="right")
    for row in frame[frame["metric"] == metric].to_dict("records"):
        cells = [_cell(row[name]) for name in (*varied, "verb", "model")]
        mean, stderr = row["mean"], row["stderr"]
        number = f"{mean:.5g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.5g}"
        table.add_row(*cells, number, str(row["count"]))
    print_rich(table)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def print_table(errors: Errors) -> None:
    """Print means, standard errors and paired gaps, one row per model and point of the axes."""
    table = Table(caption=_caption(errors), caption_justify="left")
    axes = {
        name: values
        for name, values in errors.axes.items()
        if name == "samples" or (name == "ridge" and len(values) > 1)
    }
    table.add_column("model")
    for name in axes:
        table.add_column(name, justify="right")
    shown = [name for name in _TITLES if name in errors.metrics]
    for name in shown:
        table.add_column(_TITLES[name], justify="right")
    gap = errors.gap() if len(errors.models) > 1 else None
    if gap is not None:
        table.add_column("gap to network", justify="right")
    estimates = [errors.estimate(name) for name in shown]
    for index in np.ndindex(estimates[0].mean.shape):
        model = errors.models[index[0]]
        label = model.name if model.name != "hermite" else f"hermite (degree {model.degree})"
        places = dict(zip(list(errors.axes)[2:], index[1:], strict=True))
        cells = [label, *(f"{values[places[name]]:g}" for name, values in axes.items())]
        cells += [with_error(float(e.mean[index]), float(e.stderr[index])) for e in estimates]
        if gap is not None:
            cells.append(
                ""
                if model.name == "network"
                else percent(float(gap.mean[index]), float(gap.stderr[index]))
            )
        table.add_row(*cells)
    print_rich(table)


def print_rich(table: Table) -> None:
    """Print a table; in a pipe 120 columns wide."""
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _caption(errors: Errors) -> str:
    p = errors.problem
    sizes = f"n = {p.dimension}, k = {p.width}, {p.network.activation}"
    if errors.samples is None:
        sizes = f"n = {p.dimension}, m = {p.samples}, k = {p.width}, {p.network.activation}"
    if errors.predicted:
        return (
            f"{sizes}; predicted, nothing trained; {errors.trials} draws of the first layer, seed "
            f"{errors.seed}; ± standard error over draws"
        )
    method = (
        "integrated exactly" if p.test == "exact" else f"over {p.samples_in_test} sampled points"
    )
    redrawn = "everything" if p.redraw == "all" else "only the network"
    return (
        f"{sizes}; {errors.trials} trials, seed {errors.seed}, {redrawn} redrawn; "
        f"± standard error; test MSE {method}"
    )


def with_error(mean: float, stderr: float) -> str:
    """Return a number with its standard error, where there is one."""
    if not np.isfinite(stderr):
        return f"{mean:.4g}"
    if 1e-3 <= abs(mean) < 1e4:
        return f"{mean:.5f} ± {stderr:.5f}"
    return f"{mean:.3e} ± {stderr:.1e}"


def percent(gap: float, error: float) -> str:
    """Return a relative gap in per cent with its standard error, where there is one."""
    mean, stderr = 100 * gap, 100 * error
    if not np.isfinite(mean):
        return "undefined"
    return f"{mean:+.2f} %" if not np.isfinite(stderr) else f"{mean:+.2f} ± {stderr:.2f} %"
