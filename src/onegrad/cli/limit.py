"""onegrad limit: the errors at the maximal rate."""

from __future__ import annotations

from typing import Any

import click

from onegrad.cli.common import json_option, show
from onegrad.cli.options import parse_numbers


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
def limit(activation: str, target: str, sample_ratio: str, as_json: bool, **numbers: Any) -> None:
    """Errors in the limit at maximal rate (Cui et al.), as published and corrected."""
    from onegrad.theory.maximal_rate import maximal_rate_limit

    ratios = parse_numbers("sample-ratio", sample_ratio)
    errors = maximal_rate_limit(activation, target, sample_ratio=ratios, **numbers)
    show(errors, as_json=as_json)
