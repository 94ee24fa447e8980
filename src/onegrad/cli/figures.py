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
    from onegrad.figures.panel import SCALES
    from onegrad.figures.panel_registry import PANELS, STUDIES, available
    from onegrad.machine.rates import measure_rates

    rates = measure_rates()
    table = Table(
        "panel",
        "caption",
        "paper: settings x trials",
        "quick",
        "paper",
        caption="times on one core; panels with the same rows share them",
    )
    costs = cache(lambda study: [STUDIES[study].cost(scale, rates) for scale in SCALES])
    for name in PANELS:
        panel = PANELS[name]
        if not available(panel):
            needs = f"needs {STUDIES[panel.study].needs}"
            table.add_row(name, panel.caption, needs, "", "")
            continue
        quick, paper = costs(panel.study)
        count = f"{paper.settings} x {paper.trials}"
        times = (duration(quick.seconds), duration(paper.seconds))
        table.add_row(name, panel.caption, count, *times)
    print_rich(table)
