"""The commands sweep and results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onegrad.cli.options import (
    note_unused,
    plan_option,
    retry_failed_option,
    workers_option,
)
from onegrad.describe.exceptions import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from onegrad.sweeps.results import Results

SHOWN_FAILURES = 5


def tell_failures(results: Results, out: str) -> bool:
    """Summarise failed trials on stderr; return whether there are some."""
    errors = [str(row["error"]) for row in results.contents.failed]
    if not errors:
        return False
    click.echo(f"onegrad: {len(errors)} rows failed; --retry-failed computes them again", err=True)
    counts = Counter(errors)
    for error, count in counts.most_common(SHOWN_FAILURES):
        click.echo(f"onegrad: {count} x {' '.join(error.split())}", err=True)
    if len(counts) > SHOWN_FAILURES:
        click.echo(f"onegrad: and {len(counts) - SHOWN_FAILURES} other errors", err=True)
    click.echo(f"onegrad: tracebacks: Results.load({out!r}).failures", err=True)
    return True


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option("--out", required=True, metavar="DIR", help="Folder that keeps every row.")
@workers_option
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Run on a Dask cluster: its scheduler's address, or local for one on this machine.",
)
@retry_failed_option
@plan_option
def sweep(
    file: str, out: str, workers: int, dask: str | None, retry_failed: bool, only_plan: bool
) -> None:
    """Run the settings × trials of FILE.toml that DIR does not hold yet.

    Every trial is stored when it is done: after a kill, start the same command again.
    """
    from onegrad.cli.output import SweepProgress, announced
    from onegrad.sweeps.dask import check_address, try_address
    from onegrad.sweeps.driver import run_plan
    from onegrad.sweeps.plan import check_plan, plan_sweep
    from onegrad.sweeps.sweep import Sweep

    wanted = Sweep.load(file)
    if dask is not None:
        (check_address if only_plan else try_address)(dask)  # a plan needs no cluster that runs
    if dask not in (None, "local"):
        note_unused("a cluster has workers of its own", "workers")
    plan = plan_sweep(wanted, out, retry_failed=retry_failed)
    if dask is None:
        check_plan(plan, workers=workers)
    click.echo(f"onegrad: {announced(plan, workers, dask)}", err=True)
    if only_plan:
        return
    with SweepProgress(len(plan.missing)) as bar:
        results = run_plan(
            plan,
            workers=workers,
            dask=dask,
            progress=bar.update,
        )
    click.echo(f"{plan.total} trials are stored in {out}; onegrad results {out} shows them")
    if tell_failures(results.of(wanted), out):
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--csv", metavar="FILE", help="Write the long table as CSV; - for stdout.")
@click.option("--parquet", metavar="FILE", help="Write it as Parquet (extra: parquet).")
@click.option("--metric", default="test_mse", show_default=True, help="Metric to print.")
def results(directory: str, csv: str | None, parquet: str | None, metric: str) -> None:
    """Show what DIR holds: mean, standard error and count per setting, model and metric."""
    from onegrad.cli.output import print_table
    from onegrad.sweeps.results import Results, constant_errors, results_table

    stored = Results.load(directory)
    frame = stored.to_frame()
    if frame.empty:
        raise InvalidInput(f"results={directory!r}: holds no finished trials; run onegrad sweep")
    if metric not in set(frame["metric"]):
        known = ", ".join(frame["metric"].unique())
        raise InvalidInput(f"metric={metric!r}: must be one of {known}; choose one")
    if csv == "-":
        click.echo(frame.to_csv(index=False), nl=False)
    elif csv is not None:
        _write("csv", csv, lambda path: frame.to_csv(path, index=False))
    if parquet is not None:
        _write("parquet", parquet, lambda path: _to_parquet(frame, path))
    if csv is None and parquet is None:
        constants = constant_errors(stored, frame, metric)
        print_table(results_table(frame, stored.axes, metric=metric, constants=constants))
    tell_failures(stored, directory)


def _to_parquet(frame: pd.DataFrame, path: Path) -> None:
    from onegrad.describe.extras import require_extra

    require_extra("parquet", "parquet")
    frame.to_parquet(path, index=False)


def _write(option: str, target: str, write: object) -> None:
    from onegrad.describe.files import replace_file

    path = Path(target)
    if path.is_dir():
        raise InvalidInput(f"{option}={target!r}: is a folder; name a file")
    replace_file(path, write)  # type: ignore[arg-type]
    click.echo(f"wrote {target}")
