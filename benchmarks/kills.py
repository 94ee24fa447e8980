"""What survives: a sweep whose driver and workers are killed together, and damaged files.

    nice python benchmarks/kills.py                       # 50 kills, 20 files of each kind
    nice python benchmarks/kills.py --kills 5 --files 2

Kills are SIGKILL to the driver's whole process group, at random moments from its start to its first
row (as long as the quickest run took for it), or at a random number of rows, while enough are left.
Afterwards the sweep is finished and every row compared with those of a
run that nobody disturbed. Drivers are copies of this process, which saves their imports, not those
of their workers. A file is damaged in one of six ways, then used as its owner would:
it must be said in one line that names it, kept under another name, used for nothing, and come back
with the same bytes or numbers.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from damaged_files import DAMAGES, OWNERS, judge
from onegrad import Problem, Sweep, run_sweep
from onegrad.cli.main import run_command
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
    """What a killed sweep came to; `early` are the kills before a run's first row."""

    kills: int
    early: int
    rows: int
    twice: int
    other: int
    failed: int
    damaged: int
    said: str

    @property
    def is_whole(self) -> bool:
        """Whether every row is there once, with the same bits, and nothing was said."""
        return not (self.twice or self.other or self.failed or self.damaged or self.said)


@dataclass(frozen=True)
class Wait:
    """When to kill a run: after so many rows, or so many seconds."""

    rows: int
    seconds: float


class Pace:
    """Moments of kills that leave rows for the kills to come, on a machine of any speed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.quickest = 3.0  # seconds until a run's first row
        self.surplus = 10  # rows that were stored while the kill was on its way, at most

    def next(self, rows: int, kills: int) -> Wait:
        """Return when to kill the next run, with so many rows left for so many kills."""
        share = rows / kills
        if rows > 2 * self.surplus and self.chance.random() < min(0.7, share / 20):
            return Wait(self.chance.randint(1, max(1, int(share / 2))), LONGEST)
        return Wait(1, self.chance.uniform(0.0, self.quickest))

    def learn(self, wait: Wait, stored: int, seconds: float) -> None:
        """Read off a run that was killed how quick the machine is."""
        if stored:
            self.surplus = max(self.surplus, stored - wait.rows)
        if stored and wait.rows == 1:
            self.quickest = min(self.quickest, seconds)


def killed_sweep(folder: Path, *, kills: int, trials: int, seed: int = 0) -> Killed:
    """Return what became of a sweep that was killed so often, then finished."""
    chance = random.Random(seed)
    sweep = tiny_sweep(trials)
    sweep.save(folder / "sweep.toml")
    run_sweep(sweep, folder / "whole")
    out = folder / "killed"
    early, done, after = 0, 0, 0
    pace = Pace(chance)
    while done < kills:
        before = after
        wait = pace.next(trials - before, kills - done)
        driver, start = _start(folder, out), time.monotonic()
        _wait(driver, out, before + wait.rows, wait.seconds)
        seconds = time.monotonic() - start
        os.killpg(driver, signal.SIGKILL)
        code, after = _ended(os.waitpid(driver, 0)), len(stored_rows(out))
        pace.learn(wait, after - before, seconds)
        if code == -signal.SIGKILL:
            done += 1
            early += after == before
        elif after == trials:
            raise SystemExit(f"the sweep was finished after {done} kills; take more trials")
    code = _ended(os.waitpid(_start(folder, out), 0))
    said = (folder / "said").read_text("utf-8").splitlines()
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
        said="; ".join(line for line in said if "trials in" not in line)
        + f"code {code}" * bool(code),
    )


def _start(folder: Path, out: Path) -> int:
    """Return the process of a driver with a group of its own, whose words go to a file."""
    driver = os.fork()
    if driver:
        while os.getpgid(driver) != driver:
            time.sleep(0.001)
        return driver
    os.setsid()
    with (folder / "said").open("w") as file:
        os.dup2(file.fileno(), 2)
    with Path(os.devnull).open("w") as file:
        os.dup2(file.fileno(), 1)
    os._exit(run_command(["sweep", f"{folder}/sweep.toml", "--out", str(out), "--workers", "2"]))


def _ended(waited: tuple[int, int]) -> int:
    return os.waitstatus_to_exitcode(waited[1])


def _wait(driver: int, out: Path, rows: int, seconds: float) -> None:
    """Wait so long, or until so many rows are stored, or until the driver has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and _is_running(driver) and len(stored_rows(out)) < rows:
        time.sleep(0.003)


def _is_running(driver: int) -> bool:
    """Return whether a child runs; one that has ended is left for the caller to see."""
    return os.waitid(os.P_PID, driver, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def damaged_files(folder: Path, files: int) -> list[tuple[str, str, Counter[str]]]:
    """Return for each owner of files and kind of damage how many were said, unused and anew."""
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
    """Print what survived."""
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
    """Print a line per owner and kind of damage; return whether all were handled as they must."""
    columns = ("said", "unused", "aside", "anew")
    print(f"{'file':8}{'damage':14}" + "".join(f"{column:>8}" for column in columns))
    for name, kind, counts in table:
        numbers = "".join(f"{counts[column]:>8}" for column in columns)
        print(f"{name:8}{kind:14}{numbers} of {files}")
    return all(counts[column] == files for _, _, counts in table for column in columns)


if __name__ == "__main__":
    main()
