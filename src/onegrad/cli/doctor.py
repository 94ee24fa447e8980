"""onegrad doctor: what this installation has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import json_option

if TYPE_CHECKING:
    from rich.table import Table


INSTALL_DATA = "not here; pip install 'onegrad\\[data]'"  # escaped for rich
NOT_HERE = {"fashion-mnist": "not here; onegrad fetch"}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Tell versions, BLAS, threads, processors, memory, extras and data found; always succeeds."""
    from onegrad.cli.tables import print_rich
    from onegrad.machine.checkup import checkup

    found = {**checkup(), "data": _data_found()}
    if as_json:
        click.echo(json.dumps(found, allow_nan=False))
    else:
        print_rich(_table(found))


def _data_found() -> dict[str, str | None]:
    """Return where each named data set lies; None for what is not on this machine."""
    from onegrad.data.rows.fashion_mnist import fashion_mnist_folder
    from onegrad.data.rows.reading import PACKAGED_SETS
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
    versions = (f"{name} {said}" for name, said in found["packages"].items() if said is not None)
    table.add_row("packages", ", ".join(versions))
    for library in found["blas"]:
        table.add_row("BLAS", _library(library))
    if not found["blas"]:
        table.add_row("BLAS", "one that does not tell its threads")
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
    said = f"{threads} thread{'s' if threads != 1 else ''}"
    return f"{' '.join(str(name) for name in names if name)}{owner}, {said}"


def _extra(extra: str, absent: list[str]) -> str:
    if not absent:
        return "here"
    # Escaped for rich, which takes brackets for its markup.
    return f"{' and '.join(absent)} missing; pip install 'onegrad\\[{extra}]'"
