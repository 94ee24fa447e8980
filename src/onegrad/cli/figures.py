"""onegrad figures: list the panels."""

from __future__ import annotations

import click


@click.command()
def figures() -> None:
    """List the panels with caption, settings and estimated time on one core."""
    from rich.table import Table

    from onegrad.cli.progress import duration
    from onegrad.cli.tables import print_rich
    from onegrad.figures.panels.giant import STEPS_PANELS, STEPS_STUDIES
    from onegrad.figures.registry import PANELS, STUDIES, available
    from onegrad.figures.reproduction import estimated_seconds
    from onegrad.figures.steps_runs import estimated_steps_seconds
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
