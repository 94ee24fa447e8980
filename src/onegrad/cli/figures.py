"""The commands figures, reproduce and plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onegrad.cli.options import plan_option, retry_failed_option, seed_option

if TYPE_CHECKING:
    from onegrad.papers.panel import Panel


@click.command()
def figures() -> None:
    """List the panels with caption, settings and estimated time on one core."""
    from functools import cache

    from rich.table import Table

    from onegrad.cli.output import print_rich
    from onegrad.describe.numbers import duration
    from onegrad.machine.cost import measure_rates
    from onegrad.papers.panel_registry import PANELS, STUDIES, available

    rates = measure_rates()
    table = Table(
        "panel",
        "caption",
        "paper: settings x trials",
        "quick",
        "paper",
        caption="times on one core; panels with the same rows share them",
    )
    cost = cache(lambda study, scale: STUDIES[study].cost(scale, rates))
    for name in PANELS:
        panel = PANELS[name]
        quick = duration(cost(panel.study, "quick").seconds)
        if available(panel, "paper"):
            paper = cost(panel.study, "paper")
            count, time = f"{paper.settings} x {paper.trials}", duration(paper.seconds)
        else:
            count, time = f"needs {STUDIES[panel.study].needs}", ""
        table.add_row(name, panel.caption, count, quick, time)
    print_rich(table)


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
@seed_option
@retry_failed_option
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

    from onegrad.cli.output import SweepProgress, announced
    from onegrad.describe.numbers import whole_number
    from onegrad.papers.reproduction import plan_reproduction
    from onegrad.papers.reproduction import reproduce as run

    count = cpu_count() if workers is None else whole_number("workers", workers, least=1)
    task = plan_reproduction(
        panels, scale=scale, out=out, redraw=redraw, seed=seed, retry_failed=retry_failed
    )
    points = sum(len(part.jobs) for part in task.closed_tasks)
    beside = f", {points} theory points, {len(task.panels)} panels"
    line = announced(task.plan, count, beside=beside, seconds=task.seconds_beside)
    click.echo(f"onegrad: {line}", err=True)
    if only_plan:
        return
    with SweepProgress(task.missing + points, "trials and theory points") as bar:
        names: list[str] = []

        def report_panel(panel: Panel) -> None:
            names.append(panel.name)
            count = f"{len(names)} of {len(task.panels)}"
            bar.say(f"onegrad: panel {panel.name} is finished ({count}); look at {out}/report.html")

        report = run(task, workers=count, progress=bar.update, drawn=report_panel)
    written = f"{len(names)} panel{'s' if len(names) > 1 else ''}"
    click.echo(f"Wrote {written} to {out}; open {report}")


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--x", metavar="FIELD", help="Axis, by path.  [default: the only one that varies]")
@click.option("--hue", metavar="FIELD", help="What has a colour of its own.  [default: model]")
@click.option("--facet", metavar="FIELD", help="What pictures beside each other differ in.")
@click.option("--metric", default="test_mse", show_default=True, help="Metric to draw.")
@click.option(
    "--theory",
    is_flag=True,
    help="Lines of theory: closed where it knows the problem, else stored rows of predict.",
)
@click.option("--style", metavar="STYLE", help="paper, or a style or file that matplotlib knows.")
@click.option("--width", metavar="one|two", help="As wide as one column (3.4 in) or two (7 in).")
@click.option("--out", default="plot.png", show_default=True, metavar="FILE.pdf|png|svg")
def plot(
    directory: str,
    x: str | None,
    hue: str | None,
    facet: str | None,
    metric: str,
    theory: bool,
    style: str | None,
    width: str | None,
    out: str,
) -> None:
    """Draw the sweeps in DIR: a metric against a field, with standard errors.

    Fields are named by path, as the columns of onegrad results DIR --csv -.
    """
    from onegrad.cli.sweeps import tell_failures
    from onegrad.describe.numbers import one_of, path_of
    from onegrad.plotting.curves import facet_view
    from onegrad.plotting.matplotlib_figure import draw
    from onegrad.plotting.style import WIDTHS, picture_form, save_whole, style_dpi, styled
    from onegrad.sweeps.results import Results, sweep_picture

    file = path_of("out", out)
    picture_form(file)
    if width is None and style == "paper":
        width = "one" if facet is None else "two"
    if width is not None:
        one_of("width", width, WIDTHS)
    stored = Results.load(directory)
    with styled(style):  # refuses an unknown style before theory is computed
        picture = sweep_picture(stored, x=x, hue=hue, facet=facet, metric=metric, theory=theory)
        view = facet_view(picture.table, picture.words, facet=picture.facet)
        figure = draw(view, width=width)
        save_whole(figure, file, dpi=None if style is None else style_dpi())
    click.echo(f"wrote {out}")
    tell_failures(stored, directory)
