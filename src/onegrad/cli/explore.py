"""onegrad explore: sliders and curves in the browser."""

from __future__ import annotations

from typing import Any

import click

from onegrad.cli.options import problem_options


@click.command()
@problem_options
@click.option("--port", type=int, default=0, show_default=True, help="Port; 0 takes a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def explore(problem_file: str | None, port: int, browser: bool, **options: Any) -> None:
    """Open a page where sliders move the predicted curves, on this machine alone."""
    from onegrad.cli.building import build_problem
    from onegrad.cli.common import single_samples
    from onegrad.explorer.serve import explore as run

    run(build_problem(problem_file, single_samples(options)), port=port, browser=browser)
