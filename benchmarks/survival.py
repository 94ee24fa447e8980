"""Sweeps whose driver and workers are killed together, and files that are damaged.

    nice python benchmarks/survival.py                       # 50 kills, 20 files of each kind
    nice python benchmarks/survival.py --kills 5 --files 2

A kill is a SIGKILL to the driver's whole process group, at a random moment before its first row or
after a random number of rows. Afterwards the sweep is finished, and every row is compared with the
rows of an undisturbed run. Drivers are forks of this process, which saves their imports.

A file is damaged in one of six ways and then used. The damage must be reported in one line that
names the file, the file must be moved aside and not be used, and the same bytes or numbers must
come back.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from onegrad import Problem, Results, Sweep, run_sweep
from onegrad.cli.main import run_command
from onegrad.describe.files import seal
from onegrad.papers.report import write_report
from onegrad.papers.saved_panels import save_panel
from onegrad.plotting.style import save
from onegrad.sweeps.store import decode

LONGEST = 120.0  # until a run stores its first row, on a busy machine


def tiny_sweep(trials: int) -> Sweep:
    """Return a sweep of so many trials of a few milliseconds."""
    problem = Problem(dimension=40, readout={"samples": 50}, network={"width": 30})
    axes = {"network.activation": ["relu", "tanh"], "scaling.strength": [0.1, 0.3, 0.74]}
    return Sweep(problem=problem, axes=axes, models="network", trials=trials // 6)


def stored_rows(folder: Path) -> list[dict[str, object]]:
    """Return every stored row, once for each line that holds it, without its time."""
    lines = [
        line
        for path in folder.glob("rows-*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]
    records = [record for line in lines if (record := decode(line)) is not None]
    rows = [record for record in records if record["kind"] == "row"]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@dataclass
class Killed:
    """The state of a sweep after its kills; `early` counts kills before a run's first row."""

    kills: int
    early: int
    rows: int
    twice: int
    other: int
    failed: int
    damaged: int
    reported: str

    @property
    def is_whole(self) -> bool:
        """Whether every row is there once, with the same bits, and nothing was reported."""
        return not (self.twice or self.other or self.failed or self.damaged or self.reported)


class Pace:
    """Moments of kills that leave rows for the kills to come, on a machine of any speed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.quickest = 3.0  # seconds until a run's first row
        self.surplus = 10  # rows that were stored while the kill was on its way, at most

    def next(self, rows: int, kills: int) -> tuple[int, float]:
        """Return after how many rows or seconds to kill a run; `rows` are left for `kills`."""
        share = rows / kills
        if rows > 2 * self.surplus and self.chance.random() < min(0.7, share / 20):
            return self.chance.randint(1, max(1, int(share / 2))), LONGEST
        return 1, self.chance.uniform(0.0, self.quickest)

    def learn(self, asked: int, stored: int, seconds: float) -> None:
        """Update the pace of the machine from a run that was killed."""
        if stored:
            self.surplus = max(self.surplus, stored - asked)
        if stored and asked == 1:
            self.quickest = min(self.quickest, seconds)


def killed_sweep(folder: Path, *, kills: int, trials: int, seed: int = 0) -> Killed:
    """Return the state of a sweep that was killed so often, then finished."""
    chance = random.Random(seed)
    sweep = tiny_sweep(trials)
    sweep.save(folder / "sweep.toml")
    run_sweep(sweep, folder / "whole")
    out = folder / "killed"
    early, done, after = 0, 0, 0
    pace = Pace(chance)
    while done < kills:
        before = after
        asked, longest = pace.next(trials - before, kills - done)
        driver, start = _start(folder, out), time.monotonic()
        _wait(driver, out, before + asked, longest)
        seconds = time.monotonic() - start
        os.killpg(driver, signal.SIGKILL)
        code, after = _exit_code(driver), len(stored_rows(out))
        pace.learn(asked, after - before, seconds)
        if code == -signal.SIGKILL:
            done += 1
            early += after == before
        elif after == trials:
            raise SystemExit(f"the sweep was finished after {done} kills; take more trials")
    code = _exit_code(_start(folder, out))
    lines = (folder / "stderr").read_text("utf-8").splitlines()
    rows = stored_rows(out)
    counts = Counter(str(row["key"]) for row in rows)
    whole = {str(row["key"]): row for row in stored_rows(folder / "whole")}
    return Killed(
        kills=done,
        early=early,
        rows=len(rows),
        twice=sum(count > 1 for count in counts.values()),
        other=sum(whole.get(str(row["key"])) != row for row in rows)
        + len(set(whole) - set(counts)),
        failed=sum(row["status"] == "failed" for row in rows),
        damaged=len(list(out.glob("*.damaged*"))),
        reported="; ".join(line for line in lines if "trials in" not in line)
        + f"code {code}" * bool(code),
    )


def _start(folder: Path, out: Path) -> int:
    """Return the process of a driver in its own group, with its stderr in a file."""
    driver = os.fork()
    if driver:
        while os.getpgid(driver) != driver:
            time.sleep(0.001)
        return driver
    os.setsid()
    with (folder / "stderr").open("w") as file:
        os.dup2(file.fileno(), 2)
    with Path(os.devnull).open("w") as file:
        os.dup2(file.fileno(), 1)
    os._exit(run_command(["sweep", f"{folder}/sweep.toml", "--out", str(out), "--workers", "2"]))


def _exit_code(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _wait(driver: int, out: Path, rows: int, seconds: float) -> None:
    """Wait so long, or until so many rows are stored, or until the driver has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and _is_running(driver) and len(stored_rows(out)) < rows:
        time.sleep(0.003)


def _is_running(driver: int) -> bool:
    """Return whether a child runs; one that has ended is left for the caller to see."""
    return os.waitid(os.P_PID, driver, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


Damage = Callable[[Path, random.Random], None]
FOREIGN = "other"  # stem of a file of the same sort that belongs to something else


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
    """Write the same contents with a valid checksum and an unknown format."""
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
    """A sort of file: `make` fills a folder and returns its contents, `use` uses the folder.

    `use` returns the same contents if no damaged file was used. `look` only reads; it returns
    whether everything that it read belongs to the undamaged contents.
    """

    pattern: str
    make: Callable[[Path], str]
    use: Callable[[Path], str]
    look: Callable[[Path, str], bool]


def judge(
    owner: Owner, folder: Path, kind: str, original: str, chance: random.Random
) -> dict[str, int]:
    """Return 1 for each of: reported in one line, unused, moved aside, restored the same."""
    files = [path for path in sorted(folder.glob(owner.pattern)) if path.stem != FOREIGN]
    path = chance.choice(files)
    DAMAGES[kind](path, chance)
    damaged = path.read_bytes()
    unused = owner.look(folder, original)
    path.write_bytes(damaged)
    for aside in folder.glob("*.damaged*"):
        aside.unlink()
    again, warned = _warnings_of(lambda: owner.use(folder))
    naming = [line for line in warned if path.name in line and "\n" not in line]
    moved = [aside for aside in folder.glob(f"{path.name}*") if aside.read_bytes() == damaged]
    return {
        "reported": len(naming) >= 1,
        "unused": unused and again == original,
        "aside": len(moved) == 1 and moved[0] != path,
        "restored": again == original and owner.use(folder) == original,
    }


def _warnings_of(use: Callable[[], str]) -> tuple[str, list[str]]:
    """Return the result and the text of every warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = use()
    return result, [str(warning.message) for warning in caught]


SWEEP = Sweep(
    problem=Problem(dimension=20, readout={"samples": 24}, network={"width": 16}),
    axes={"network.activation": ["relu", "tanh"]},
    models="network",
    trials=3,
)


def _use_rows(folder: Path) -> str:
    return _lines(run_sweep(SWEEP, folder))


def _lines(results: Results) -> str:
    """Return the sorted lines of the table of trials: a setting that was lost comes last."""
    table = results.of(SWEEP).trials.to_csv(index=False, header=False)
    return "\n".join(sorted(table.splitlines()))


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
    """Return the text of the report; warnings that the tables are not real are ignored."""
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


def damaged_files(folder: Path, files: int) -> list[tuple[str, str, Counter[str]]]:
    """Return the outcomes for each owner of files and kind of damage."""
    table = []
    for name, owner in OWNERS.items():
        made = folder / name
        made.mkdir(parents=True)
        original = owner.make(made)
        for kind in DAMAGES:
            counts: Counter[str] = Counter()
            for number in range(files):
                copy = folder / "copy"
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(made, copy)
                counts.update(judge(owner, copy, kind, original, random.Random(f"{kind} {number}")))
            table.append((name, kind, counts))
    return table


def main() -> None:
    """Print how kills and damage ended; exit with 1 if anything was lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--files", type=int, default=20)
    asked = parser.parse_args()
    right = True
    with tempfile.TemporaryDirectory() as folder:
        if asked.kills:
            start = time.monotonic()
            found = killed_sweep(Path(folder), kills=asked.kills, trials=asked.trials)
            print(f"{found} in {time.monotonic() - start:.0f} s")
            print("every row once, bit-identical, none failed:", found.is_whole)
            right = found.is_whole and found.rows == asked.trials
        if asked.files:
            start = time.monotonic()
            table = damaged_files(Path(folder) / "files", asked.files)
            right = _print_damaged(table, asked.files) and right
            print(f"in {time.monotonic() - start:.0f} s")
    sys.exit(0 if right else 1)


def _print_damaged(table: list[tuple[str, str, Counter[str]]], files: int) -> bool:
    """Print a line per owner and kind of damage; return whether every file was handled."""
    columns = ("reported", "unused", "aside", "restored")
    print(f"{'file':8}{'damage':14}" + "".join(f"{column:>10}" for column in columns))
    for name, kind, counts in table:
        numbers = "".join(f"{counts[column]:>10}" for column in columns)
        print(f"{name:8}{kind:14}{numbers} of {files}")
    return all(counts[column] == files for _, _, counts in table for column in columns)


if __name__ == "__main__":
    main()
