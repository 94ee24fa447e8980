"""onegrad reproduce: draw the panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onegrad.cli.common import plan_option

if TYPE_CHECKING:
    from onegrad.papers.panel import Panel


@click.command()
@click.argument("panels", nargs=-1, metavar="[PANEL|FILE.toml …]")
@click.option("--scale", default="quick", show_default=True, help="quick, or paper: as published.")
@click.option("--out", default="figures", show_default=True, metavar="DIR")
@click.option("--workers", type=int, help="Processes, one BLAS thread each.  [default: all cores]")
@click.option(
    "--redraw",
    default="all",
    show_default=True,
    help="Per trial: all, or published for what the paper redrew.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--retry-failed", is_flag=True, help="Compute failed trials again, as they were.")
@plan_option
def reproduce(
    panels: tuple[str, ...],
    scale: str,
    out: str,
    workers: int | None,
    redraw: str,
    seed: int,
    retry_failed: bool,
    only_plan: bool,
) -> None:
    """Draw the paper's panels, all when none is named: tables, pictures and DIR/report.html.

    FILE.toml declares a panel of your own: a sweep, an axis, a caption (docs/figures.md).

    After a kill, start the same command again: what is stored is not computed twice.
    """
    from joblib import cpu_count

    from onegrad.cli.progress import SweepProgress
    from onegrad.cli.sweep_tables import announced
    from onegrad.describe.checks import whole_number
    from onegrad.papers.reproduction import plan_reproduction
    from onegrad.papers.reproduction import reproduce as run

    count = cpu_count() if workers is None else whole_number("workers", workers, least=1)
    task = plan_reproduction(
        panels, scale=scale, out=out, redraw=redraw, seed=seed, retry_failed=retry_failed
    )
    points = sum(len(part.jobs) for part in task.closed_tasks)
    beside = f", {points} theory points, {len(task.panels)} panels"
    said = announced(task.plan, count, beside=beside, seconds=task.seconds_beside)
    click.echo(f"onegrad: {said}", err=True)
    if only_plan:
        return
    with SweepProgress(task.missing + points, "trials and theory points") as bar:
        names: list[str] = []

        def told(panel: Panel) -> None:
            names.append(panel.name)
            count = f"{len(names)} of {len(task.panels)}"
            bar.say(f"onegrad: panel {panel.name} is finished ({count}); look at {out}/report.html")

        report = run(task, workers=count, progress=bar.update, drawn=told)
    written = f"{len(names)} panel{'s' if len(names) > 1 else ''}"
    click.echo(f"Wrote {written} to {out}; open {report}")
