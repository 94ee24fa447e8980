"""The commands doctor, fetch and explore."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.options import build_problem, json_option, problem_options, single_samples

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.table import Table

INSTALL_DATA = "not here; pip install 'onegrad\\[data]'"  # escaped for rich
NOT_HERE = {"fashion-mnist": "not here; onegrad fetch"}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Tell versions, BLAS, threads, processors, memory, extras and data found; always succeeds."""
    from onegrad.cli.output import print_rich
    from onegrad.machine.environment import environment

    found = {**environment(), "data": _data_found()}
    if as_json:
        click.echo(json.dumps(found, allow_nan=False))
    else:
        print_rich(_table(found))


def _data_found() -> dict[str, str | None]:
    """Return the place of each named data set; None if it is not on this machine."""
    from onegrad.data.fashion_mnist import fashion_mnist_folder
    from onegrad.data.rows_files import PACKAGED_SETS
    from onegrad.describe.extras import missing

    folder = fashion_mnist_folder()
    return {
        "fashion-mnist": None if folder is None else str(folder),
        "fashion-mnist-sample": "1,200 images of classes 0, 1, 5 and 9, with onegrad",
        **dict.fromkeys(PACKAGED_SETS, None if missing("data") else "with scikit-learn"),
    }


def _table(found: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table("what", "found", caption="onegrad doctor --json for a report of a problem")
    table.add_row("onegrad", found["onegrad"])
    table.add_row("Python", f"{found['python']}, {found['system']}")
    versions = (f"{name} {v}" for name, v in found["packages"].items() if v is not None)
    table.add_row("packages", ", ".join(versions))
    for library in found["blas"]:
        table.add_row("BLAS", _library(library))
    if not found["blas"]:
        table.add_row("BLAS", "unknown library and threads")
    set_here = (f"{n}={v}" for n, v in found["thread_variables"].items() if v is not None)
    table.add_row("threads asked for", ", ".join(set_here) or "no variable is set")
    count = found["processors"]
    table.add_row("processors", f"{count['usable']} usable of {count['machine']}")
    memory = found["memory_bytes"]
    table.add_row("memory", "unknown" if memory is None else f"{memory / 1e9:.3g} GB")
    for extra, state in found["extras"].items():
        table.add_row(f"extra {extra}", _extra(extra, state["missing"]))
    for name, place in found["data"].items():
        table.add_row(f"data {name}", place or NOT_HERE.get(name, INSTALL_DATA))
    return table


def _library(library: dict[str, Any]) -> str:
    names = (library["library"], library["version"], library["kernel"])
    owner = "" if library["of"] is None else f" of {library['of']}"
    threads = library["threads"]
    count = f"{threads} thread{'s' if threads != 1 else ''}"
    return f"{' '.join(str(name) for name in names if name)}{owner}, {count}"


def _extra(extra: str, absent: list[str]) -> str:
    if not absent:
        return "here"
    # Escaped for rich, which takes brackets for its markup.
    return f"{' and '.join(absent)} missing; pip install 'onegrad\\[{extra}]'"


MEGABYTE = 1e6


@click.command()
@click.option("--data-dir", metavar="DIR", help="Search only this folder, and download to it.")
def fetch(data_dir: str | None) -> None:
    """Find Fashion-MNIST on this machine, or download it (31 MB).

    Downloads go to --data-dir, $ONEGRAD_DATA, or the user's cache. Proxies are those of the
    variables http_proxy and https_proxy. Files that are already there are not downloaded again.
    """
    from onegrad.data.fashion_mnist import DataNotFound, fashion_mnist_folder, load_fashion_mnist

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

    from onegrad.data.fashion_mnist import download_fashion_mnist

    terminal = sys.stderr.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    bars = Progress(*columns, TransferSpeedColumn(), console=Console(stderr=True))
    tasks: dict[str, TaskID] = {}

    def show(name: str, done: int, total: int) -> None:
        if name not in tasks:
            tasks[name] = bars.add_task(name)
            size = f" ({total / MEGABYTE:.3g} MB)" if total else ""
            if not terminal:
                click.echo(f"onegrad: downloading {name}{size}", err=True)
        bars.update(tasks[name], completed=done, total=total or None)

    with bars if terminal else nullcontext():  # older rich prints a line even for a disabled bar
        download_fashion_mnist(data_dir, progress=show)


@click.command()
@problem_options
@click.option("--port", type=int, default=0, show_default=True, help="Port; 0 takes a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def explore(problem_file: str | None, port: int, browser: bool, **options: Any) -> None:
    """Open a page where sliders move the predicted curves, on this machine alone."""
    from onegrad.explorer.server import explore as run

    run(build_problem(problem_file, single_samples(options)), port=port, browser=browser)
