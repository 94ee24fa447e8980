"""onegrad fetch: find or download Fashion-MNIST."""

from __future__ import annotations

import click


@click.command()
@click.option("--data-dir", metavar="DIR", help="Look only here, and download to it.")
def fetch(data_dir: str | None) -> None:
    """Find Fashion-MNIST on this machine, or download it to the user's cache."""
    from onegrad.data.rows.fashion_mnist import load_fashion_mnist

    data = load_fashion_mnist(data_dir, download=True)
    click.echo(f"{len(data.images)} images of 10 classes are here; use --data fashion-mnist")
