"""Commands of the figures: reproduce draws them, figures lists them."""

from __future__ import annotations

import click


@click.command()
@click.argument("panels", nargs=-1, metavar="[PANEL …]")
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
def reproduce(
    panels: tuple[str, ...],
    scale: str,
    out: str,
    workers: int | None,
    redraw: str,
    seed: int,
    retry_failed: bool,
) -> None:
    """Draw the paper's panels, all when none is named: tables, pictures and DIR/report.html.

    After a kill, start the same command again: what is stored is not computed twice.
    """
    from joblib import cpu_count

    from onegrad.figures.reproduce import plan_reproduction
    from onegrad.figures.reproduce import reproduce as run
    from onegrad.progress import SweepProgress
    from onegrad.report import announced
    from onegrad.validation import whole_number

    count = cpu_count() if workers is None else whole_number("workers", workers, least=1)
    task = plan_reproduction(
        panels, scale=scale, out=out, redraw=redraw, seed=seed, retry_failed=retry_failed
    )
    if task.panels:
        click.echo(f"onegrad: {announced(task.plan, count)}", err=True)
    if task.steps_panels:
        stored = len(task.steps.runs) - len(task.steps.missing)
        click.echo(
            f"onegrad: {len(task.steps.runs)} runs of giant steps, {stored} stored already",
            err=True,
        )
    with SweepProgress(task.missing) as bar:
        report = run(
            task,
            workers=count,
            progress=lambda p: bar.update(p.done, p.failed),
        )
    names = " ".join([*(p.name for p in task.panels), *(p.name for p in task.steps_panels)])
    click.echo(f"drew {names} in {out}; open {report}")


@click.command()
@click.option("--data-dir", metavar="DIR", help="Look only here, and download to it.")
def fetch(data_dir: str | None) -> None:
    """Find Fashion-MNIST on this machine, or download it to the user's cache."""
    from onegrad.data.fashion_mnist import load_fashion_mnist

    found = load_fashion_mnist(data_dir, download=True)
    click.echo(f"{len(found.images)} images of 10 classes are here; use --data fashion-mnist")


@click.command()
def figures() -> None:
    """List the panels with caption, settings and estimated time on one core."""
    from rich.table import Table

    from onegrad.cost import measure_rates
    from onegrad.figures.registry import PANELS, STUDIES, available
    from onegrad.figures.reproduce import estimated_seconds
    from onegrad.figures.steps_panels import STEPS_PANELS, STEPS_STUDIES
    from onegrad.figures.steps_runs import estimated_steps_seconds
    from onegrad.progress import duration
    from onegrad.report import print_rich

    rates = measure_rates()
    table = Table(
        "panel",
        "caption",
        "paper: settings x trials",
        "quick",
        "paper",
        caption="times on one core; panels with the same rows share them",
    )
    for panel in PANELS.values():
        if not available(panel):
            table.add_row(panel.name, panel.caption, f"needs {STUDIES[panel.study].needs}", "", "")
            continue
        sweep = STUDIES[panel.study].sweep("paper")
        count = f"{len(sweep.settings())} x {sweep.trials if 'simulate' in sweep.verbs else 0}"
        times = [duration(estimated_seconds(panel, s, rates)) for s in ("quick", "paper")]
        table.add_row(panel.name, panel.caption, count, *times)
    for name, giant in STEPS_PANELS.items():
        study = STEPS_STUDIES[giant.study]
        count = f"{len(study.settings('paper'))} x {study.count('paper')}"
        times = [duration(estimated_steps_seconds(giant, s, rates)) for s in ("quick", "paper")]
        table.add_row(name, giant.caption, count, *times)
    print_rich(table)
