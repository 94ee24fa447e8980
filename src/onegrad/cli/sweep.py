"""onegrad sweep: run settings × trials into a folder."""

from __future__ import annotations

import click

from onegrad.cli.common import plan_option, workers_option
from onegrad.cli.failures import tell_failures
from onegrad.cli.unused import note_unused


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option("--out", required=True, metavar="DIR", help="Folder that keeps every row.")
@workers_option
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Run on a Dask cluster: its scheduler's address, or local for one on this machine.",
)
@click.option("--retry-failed", is_flag=True, help="Compute failed trials again, as they were.")
@plan_option
def sweep(
    file: str, out: str, workers: int, dask: str | None, retry_failed: bool, only_plan: bool
) -> None:
    """Run the settings × trials of FILE.toml that DIR does not hold yet.

    Every trial is stored when it is done: after a kill, start the same command again.
    """
    from onegrad.cli.progress import SweepProgress
    from onegrad.cli.sweep_tables import announced
    from onegrad.running.dask_engine import check_address, try_address
    from onegrad.running.driver import run_plan
    from onegrad.running.plan import check_plan, plan_sweep
    from onegrad.running.sweeps import Sweep

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
