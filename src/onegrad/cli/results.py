"""onegrad results: show what a folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from onegrad.cli.failures import tell_failures

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--csv", metavar="FILE", help="Write the long table as CSV; - for stdout.")
@click.option("--parquet", metavar="FILE", help="Write it as Parquet (extra: parquet).")
@click.option("--metric", default="test_mse", show_default=True, help="Metric to print.")
def results(directory: str, csv: str | None, parquet: str | None, metric: str) -> None:
    """Show what DIR holds: mean, standard error and count per setting, model and metric."""
    from onegrad.cli.tables import print_table
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.running.constant_errors import constant_errors
    from onegrad.running.results_table import results_table
    from onegrad.running.table import Results

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
        from onegrad.describe.exceptions import InvalidInput

        raise InvalidInput(f"{option}={target!r}: is a folder; name a file")
    replace_file(path, write)  # type: ignore[arg-type]
    click.echo(f"wrote {target}")
