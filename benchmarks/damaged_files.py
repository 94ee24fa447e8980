"""Ways to damage a file, and who owns files: how they are made, used, and told whole."""

from __future__ import annotations

import io
import json
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from onegrad import Problem, Results, Sweep, run_sweep
from onegrad.describe.files import seal
from onegrad.papers.report import write_report
from onegrad.papers.saved_panels import save_panel
from onegrad.plotting.style import save
from onegrad.sweeps.store import decode

Damage = Callable[[Path, random.Random], None]
FOREIGN = "other"  # the name, without its ending, of a file of the same sort that is another's


def _truncated(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    # Cut between lines, rows look like those of a killed run, and nothing in them is wrong.
    stops = [stop for stop in range(1, len(data) - 1) if data[stop - 1 : stop] != b"\n"]
    path.write_bytes(data[: chance.choice(stops)].rstrip(b"\n"))


def _flipped(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for place in chance.sample(range(len(data) - 1), chance.randint(1, 3)):
        data[place] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _swapped(path: Path, chance: random.Random) -> None:
    others = [file for file in path.parent.iterdir() if file != path and file.is_file()]
    foreign = [file for file in others if file.stem == FOREIGN]
    path.write_bytes(chance.choice(foreign or others).read_bytes())


def _emptied(path: Path, _chance: random.Random) -> None:
    path.write_bytes(b"")


def _garbage(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randint(1, 5000)))


def _of_another_format(path: Path, chance: random.Random) -> None:
    """Write the same contents soundly, under a format that nobody knows."""
    if path.suffix == ".json":
        record = json.loads(path.read_text("utf-8"))
        del record["checksum"], record["format"]
        path.write_text(seal(record, 99, indent=1), "utf-8")
    elif path.suffix == ".jsonl":
        records = [decode(line) for line in path.read_text("utf-8").splitlines()]
        path.write_text("".join(seal(record or {}, 99) + "\n" for record in records), "utf-8")
    else:  # tables and pictures have no format of their own: text of another kind
        path.write_text(f"<html>{chance.random()}</html>", "utf-8")


DAMAGES: dict[str, Damage] = {
    "truncated": _truncated,
    "flipped": _flipped,
    "swapped": _swapped,
    "emptied": _emptied,
    "garbage": _garbage,
    "wrong format": _of_another_format,
}


@dataclass(frozen=True)
class Owner:
    """Who writes a sort of file: `make` fills a folder and returns what is whole, `use` uses it.

    `use` returns the same when nothing damaged was used; `look` returns whether what is read before
    anything is computed anew is part of what is whole.
    """

    pattern: str
    make: Callable[[Path], str]
    use: Callable[[Path], str]
    look: Callable[[Path, str], bool]


def judge(
    owner: Owner, folder: Path, kind: str, original: str, chance: random.Random
) -> dict[str, int]:
    """Return 1 for each of: said in one line, unused, kept aside, and computed anew the same."""
    files = [path for path in sorted(folder.glob(owner.pattern)) if path.stem != FOREIGN]
    path = chance.choice(files)
    DAMAGES[kind](path, chance)
    damaged = path.read_bytes()
    unused = owner.look(folder, original)
    path.write_bytes(damaged)
    for aside in folder.glob("*.damaged*"):
        aside.unlink()
    again, said = _said_of(lambda: owner.use(folder))
    naming = [line for line in said if path.name in line and "\n" not in line]
    kept = [aside for aside in folder.glob(f"{path.name}*") if aside.read_bytes() == damaged]
    return {
        "said": len(naming) >= 1,
        "unused": unused and again == original,
        "aside": len(kept) == 1 and kept[0] != path,
        "anew": again == original and owner.use(folder) == original,
    }


def _said_of(use: Callable[[], str]) -> tuple[str, list[str]]:
    """Return the result and every line that is said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = use()
    return result, [str(warning.message) for warning in caught]


# Rows of a sweep.

SWEEP = Sweep(
    problem=Problem(dimension=20, readout={"samples": 24}, network={"width": 16}),
    axes={"network.activation": ["relu", "tanh"]},
    models="network",
    trials=3,
)


def _use_rows(folder: Path) -> str:
    return _lines(run_sweep(SWEEP, folder))


def _lines(results: Results) -> str:
    """Return the table of trials, its lines in order: a setting that was lost comes last."""
    return "\n".join(
        sorted(results.of(SWEEP).trials.to_csv(index=False, header=False).splitlines())
    )


def _look_at_rows(folder: Path, original: str) -> bool:
    """Return whether every line of the table that is read is one of the whole table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = _lines(Results.load(folder)).splitlines()
    return set(lines) <= set(original.splitlines())


def _make_rows(folder: Path) -> str:
    whole = _use_rows(folder)
    (folder / f"{FOREIGN}.jsonl").write_text(seal({"a": 1}, 1) + "\n")
    return whole


# Files of panels.


def _draw(folder: Path, name: str) -> None:
    pictures = {}
    figure = Figure(figsize=(1, 1))
    figure.add_subplot().plot([1, 2, len(name) + ord(name[-1])])
    for form in ("png", "pdf"):
        file = io.BytesIO()
        save(figure, file, form=form)
        pictures[form] = file.getvalue()
    about = {"panel": name, "caption": f"Panel {name}", "shows": "points", "scale": "quick"}
    about |= {
        "title": f"Panel {name}",
        "words": [],
        "command": "onegrad reproduce",
        "settings": "",
        "redraw": "all",
        "deviations": [],
    }
    numbers = {"trials": 2, "seed": 0, "ours": False, "versions": {}}
    table = f"x,value\n1,{ord(name[-1])}\n".encode()
    save_panel(folder, name, {"csv": table, **pictures}, {**about, **numbers})


def _make_panels(folder: Path) -> str:
    _draw(folder, "1b")
    for form in ("csv", "json", "png", "pdf"):
        (folder / f"1b.{form}").rename(folder / f"{FOREIGN}.{form}")
    return _use_panels(folder)


def _use_panels(folder: Path) -> str:
    _draw(folder, "1a")
    files = [folder / f"1a.{form}" for form in ("csv", "json", "png", "pdf")]
    return _report_of(folder) + "".join(file.read_bytes().hex() for file in files)


def _report_of(folder: Path) -> str:
    """Return the report's text; that our tables are no real ones is not its subject."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is not a table of this panel")
        return write_report(folder).read_text("utf-8")


def _look_at_panels(folder: Path, _original: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 'id="panel-1a"' not in _report_of(folder)


def _look_at_pdf(folder: Path, _original: str) -> bool:
    _look_at_panels(folder, _original)
    return not (folder / "1a.pdf").exists()


OWNERS = {
    "rows": Owner("rows-*.jsonl", _make_rows, _use_rows, _look_at_rows),
    **{
        form: Owner(f"1a.{form}", _make_panels, _use_panels, _look_at_panels)
        for form in ("csv", "json", "png")
    },
    "pdf": Owner("1a.pdf", _make_panels, _use_panels, _look_at_pdf),
}
