"""Commands of sweeps: sweep runs one into a folder, results shows what a folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import pandas as pd

    from onegrad.sweep_results import Results

SHOWN_FAILURES = 5


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option("--out", required=True, metavar="DIR", help="Folder that keeps every row.")
@click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the rows do not depend on it.",
)
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Run on a Dask cluster: its scheduler's address, or local for one on this machine.",
)
@click.option("--retry-failed", is_flag=True, help="Compute failed trials again, as they were.")
@click.option("--plan", "only_plan", is_flag=True, help="Tell trials, time and memory, and stop.")
def sweep(
    file: str, out: str, workers: int, dask: str | None, retry_failed: bool, only_plan: bool
) -> None:
    """Run the settings × trials of FILE.toml that DIR does not hold yet.

    Every trial is stored when it is done: after a kill, start the same command again.
    """
    from onegrad.driver import check_plan, plan_sweep, run_plan
    from onegrad.progress import SweepProgress
    from onegrad.report import announced
    from onegrad.sweep import Sweep

    wanted = Sweep.load(file)
    plan = plan_sweep(wanted, out, retry_failed=retry_failed)
    if dask is None:
        check_plan(plan, workers=workers)
    click.echo(f"onegrad: {announced(plan, workers, dask)}", err=True)
    if only_plan:
        return
    with SweepProgress(len(plan.missing)) as bar:
        found = run_plan(
            plan,
            workers=workers,
            dask=dask,
            progress=lambda p: bar.update(p.done, p.failed),
        )
    click.echo(f"{plan.total} trials are stored in {out}; onegrad results {out} shows them")
    if tell_failures(found.of(wanted), out):
        raise click.exceptions.Exit(1)


def tell_failures(found: Results, out: str) -> bool:
    """Summarise failed trials on stderr; return whether there are some."""
    failures = found.failures
    if failures.empty:
        return False
    click.echo(
        f"onegrad: {len(failures)} rows failed; --retry-failed computes them again", err=True
    )
    counts = failures["error"].value_counts()
    for error, count in counts.head(SHOWN_FAILURES).items():
        click.echo(f"onegrad: {count} x {' '.join(str(error).split())}", err=True)
    if len(counts) > SHOWN_FAILURES:
        click.echo(f"onegrad: and {len(counts) - SHOWN_FAILURES} other errors", err=True)
    click.echo(f"onegrad: tracebacks: Results.load({out!r}).failures", err=True)
    return True


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--csv", metavar="FILE", help="Write the long table as CSV; - for stdout.")
@click.option("--parquet", metavar="FILE", help="Write it as Parquet (extra: parquet).")
@click.option("--metric", default="test_mse", show_default=True, help="Metric to print.")
def results(directory: str, csv: str | None, parquet: str | None, metric: str) -> None:
    """Show what DIR holds: mean, standard error and count per setting, model and metric."""
    from onegrad.report import print_results
    from onegrad.sweep_results import Results
    from onegrad.validation import InvalidInput

    found = Results.load(directory)
    frame = found.to_frame()
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
        print_results(frame, found.axes, metric=metric)
    tell_failures(found, directory)


def _to_parquet(frame: pd.DataFrame, path: Path) -> None:
    from onegrad.validation import InvalidInput

    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise InvalidInput(
            "parquet: needs the package pyarrow; pip install 'onegrad[parquet]'"
        ) from None


def _write(option: str, target: str, write: object) -> None:
    from onegrad.files import replace_file

    path = Path(target)
    if path.is_dir():
        from onegrad.validation import InvalidInput

        raise InvalidInput(f"{option}={target!r}: is a folder; name a file")
    replace_file(path, write)  # type: ignore[arg-type]
    click.echo(f"wrote {target}")
