"""onegrad figures: list the panels."""

from __future__ import annotations

import click


@click.command()
def figures() -> None:
    """List the panels with caption, settings and estimated time on one core."""
    from functools import cache

    from rich.table import Table

    from onegrad.cli.tables import print_rich
    from onegrad.describe.said_numbers import duration
    from onegrad.machine.rates import measure_rates
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
