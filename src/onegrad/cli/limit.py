"""onegrad limit: the errors at the maximal rate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from onegrad.cli.common import json_option
from onegrad.cli.options import parse_numbers

if TYPE_CHECKING:
    pass


@click.command()
@click.option("--activation", default="tanh", show_default=True, help="An odd activation.")
@click.option("--target", default="sin", show_default=True, help="Link function of the teacher.")
@click.option("--step-ratio", type=float, required=True, help="Samples of the step, m̃/n.")
@click.option("--rate", type=float, required=True, help="η̃ in F̂ = F + η̃kG.")
@click.option("--width-ratio", type=float, required=True, help="k/n.")
@click.option("--sample-ratio", required=True, metavar="NUMBERS", help="m/n, or a comma list.")
@click.option(
    "--ridge", type=float, required=True, help="λ in that work's convention; ours is λ/m."
)
@json_option
def limit(
    activation: str,
    target: str,
    step_ratio: float,
    rate: float,
    width_ratio: float,
    sample_ratio: str,
    ridge: float,
    as_json: bool,
) -> None:
    """Errors in the limit at maximal rate (Cui et al.), as published and corrected."""
    from rich.table import Table

    from onegrad.cli.tables import print_rich
    from onegrad.theory.maximal_rate import maximal_rate_limit

    found = maximal_rate_limit(
        activation,
        target,
        step_ratio=step_ratio,
        rate=rate,
        width_ratio=width_ratio,
        sample_ratio=parse_numbers("sample-ratio", sample_ratio),
        ridge=ridge,
    )
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    table = Table(
        "m/n", "test MSE, published", "corrected", "train MSE, published", "corrected", "iterations"
    )
    for ratio, old, new in zip(found.sample_ratios, found.published, found.corrected, strict=True):
        table.add_row(
            f"{ratio:g}",
            f"{old.test_mse:.6f}",
            f"{new.test_mse:.6f}",
            f"{old.train_mse:.6f}",
            f"{new.train_mse:.6f}",
            f"{old.iterations}, {new.iterations}",
        )
    print_rich(table)
