"""onegrad fetch: find or download Fashion-MNIST."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import TaskID

MEGABYTE = 1e6


@click.command()
@click.option("--data-dir", metavar="DIR", help="Search only this folder, and download to it.")
def fetch(data_dir: str | None) -> None:
    """Find Fashion-MNIST on this machine, or download it (31 MB).

    Downloads go to --data-dir, $ONEGRAD_DATA, or the user's cache. Proxies are those of the
    variables http_proxy and https_proxy. Files that are already there are not downloaded again.
    """
    from onegrad.data.rows.fashion_mnist import (
        DataNotFound,
        fashion_mnist_folder,
        load_fashion_mnist,
    )

    try:
        data = load_fashion_mnist(data_dir)
    except DataNotFound:
        _download(data_dir)
        data = load_fashion_mnist(data_dir)
    folder = fashion_mnist_folder(data_dir)
    click.echo(f"{len(data.images)} images of 10 classes in {folder}; use --data fashion-mnist")


def _download(data_dir: str | None) -> None:
    """Download what is missing: a bar per file on a terminal, else a line per file."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from onegrad.data.rows.fashion_mnist import download_fashion_mnist

    terminal = sys.stderr.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    tasks: dict[str, TaskID] = {}

    def show(name: str, done: int, total: int) -> None:
        if name not in tasks:
            tasks[name] = bars.add_task(name)
            size = f" ({total / MEGABYTE:.3g} MB)" if total else ""
            if not terminal:
                click.echo(f"onegrad: downloading {name}{size}", err=True)
        bars.update(tasks[name], completed=done, total=total or None)

    with Progress(*columns, TransferSpeedColumn(), console=console, disable=not terminal) as bars:
        download_fashion_mnist(data_dir, progress=show)
