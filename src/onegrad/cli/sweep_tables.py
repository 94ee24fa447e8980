"""What a person reads of a sweep: what it will take, and its results."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.table import Table

from onegrad.cli.progress import duration
from onegrad.cli.tables import print_rich
from onegrad.running.plan import Plan


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
    varied += [name for name in ("seed", "step", "ridge", "method") if frame[name].nunique() > 1]
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
