"""What varied problems, commands and refusals give, recorded to the last bit and compared.

    python benchmarks/bits.py record FILE.json
    python benchmarks/bits.py compare FILE.json           # with the code as it is now
    python benchmarks/bits.py compare FILE.json NOW.json  # with another record

Recorded are the numbers of `bits_problems.py` with the notes of theory, the JSON of the commands
and of the explorer, and refusals by exception, field and exit code (`bits_commands.py`). Numbers
are hexadecimal floats; another processor or BLAS may differ in the last digits, so record before a
change on the same machine. Sentences are recorded too, but a difference in them is no failure.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import onegrad as og
from bits_commands import COMMANDS, REFUSALS, explored, prepare, printed, refused
from bits_problems import CASES

AGAIN = {"problem", "digest", "versions", "seconds", "milliseconds"}

# Notes by a fragment of their sentence: where a sentence is reworded, its key stays.
NOTES = {
    "amplified noise": "noise is amplified",
    "loud step": "the step adds",
    "few neurons": "few neurons: modes",
    "uneven features": "features of a few samples or neurons",
    "random overlap": "one random overlap",
    "coarse types": "types are coarser",
    "few margins at a corner": "few margins lie at the corner",
    "near separability": "outputs are very large",
    "small training rate": "train_misclassification below 1 %",
    "auto takes types": "method='auto' takes types",
    "several steps or another rule": "the Hermite theorem covers one gradient step",
    "strength of 1 or more": "the Hermite theorem covers strengths below 1",
    "coarse grid": "a grid of",
    "sizes differ": "E‖x‖² of components differs",
    "isotropic limit": "takes the step's noise as isotropic",
    "edge of the search": "lies at the edge of the searched range",
    "poor fit": "the fit is poor",
    "prepared by class": "prepares a test point by its own class",
    "constant features": "are constant in every class",
    "high degree": "the theorem asks for degree",
    "truncated series": "exact moments:",
}
NOT_OURS = (RuntimeWarning, DeprecationWarning, ResourceWarning, FutureWarning)

Found = dict[str, Any]


def numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Yield every number in nested dictionaries, lists, arrays and tables, by its path."""
    if isinstance(value, pd.DataFrame):
        yield from numbers(value.to_dict("list"))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from ((f"{name}.{path}", number) for path, number in numbers(inner))
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        for index, inner in enumerate(value):
            yield from ((f"{index}.{path}", number) for path, number in numbers(inner))
    elif isinstance(value, float | int | np.number | np.ndarray) and not isinstance(value, bool):
        yield "", float(value)


def plain_result(result: Any) -> Any:
    """Return the numbers of a result, those that its description for JSON leaves out too."""
    if isinstance(result, og.Errors):
        runs = [run.to_dict(neurons=True) for run in result.runs]
        return {**result.metrics, "runs": runs, "best_constant": result.best_constant}
    if hasattr(result, "to_dict"):
        found = {k: v for k, v in result.to_dict().items() if k not in AGAIN}
        parts = (result, *result.sizes) if isinstance(result, og.Equivalence) else ()
        return {**found, "errors": [part.errors.metrics for part in parts]}
    return result


def measured(name: str) -> tuple[Found, list[str]]:
    """Return the numbers of one case as exact strings and the keys of its notes; its notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = dict(numbers(plain_result(CASES[name]())))
    noted = [w for w in caught if not issubclass(w.category, NOT_OURS)]
    texts = [f"{w.category.__name__}: {w.message}" for w in noted]
    keys = {key for text in texts for key, part in NOTES.items() if part in text}
    keys |= {"unknown" for text in texts if not any(part in text for part in NOTES.values())}
    return {"numbers": {path: n.hex() for path, n in values.items()}, "notes": sorted(keys)}, texts


def tried(give: Callable[[str], tuple[Found, list[str]]], name: str) -> tuple[Found, list[str]]:
    """Return what a case gives, or the name of the exception that ended it, and its sentences."""
    try:
        found, sentences = give(name)
    except Exception as error:
        found, sentences = {"failed": type(error).__name__}, [str(error)]
    return found, [text.replace(str(Path.cwd()), "") for text in sentences]


def recorded() -> dict[str, Found]:
    """Return everything: cases, printed values, refusals, the explorer's answers, sentences."""
    parts: dict[str, tuple[Any, Any]] = {
        "cases": (measured, CASES),
        "commands": (printed, COMMANDS),
        "refusals": (refused, REFUSALS),
    }
    found: dict[str, Found] = {part: {} for part in (*parts, "explorer", "sentences")}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare()
        for part, (give, names) in parts.items():
            for name in names:
                found[part][name], found["sentences"][name] = tried(give, name)
        found["explorer"] = dict(explored())
    return found


def leaf_values(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings of a record by path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        yield path, " | ".join(value)
    else:
        for name, inner in value.items():
            yield from leaf_values(inner, f"{path} {name}".strip())


def compared(part: str, before: Found, now: Found) -> int:
    """Print how the entries of a part differ; return how many do."""
    differing, count = 0, 0
    for name in dict.fromkeys([*before, *now]):
        old, new = (dict(leaf_values(found.get(name, {}))) for found in (before, now))
        count += len(old)
        if old == new:
            continue
        differing += 1
        apart = [path for path in old if path in new and old[path] != new[path]]
        sizes = [_deviation(old[path], new[path]) for path in apart]
        if part != "sentences":
            print(
                f"{part}: {name!r}: {len(apart)} of {len(old)} values differ, by up to "
                f"{max(sizes, default=0.0):.1e}; {len(set(old) - set(new))} are missing, "
                f"{len(set(new) - set(old))} are new"
            )
            for path in [p for p, size in zip(apart, sizes, strict=True) if size == np.inf][:5]:
                print(f"    {path}: {old[path]} -> {new[path]}")
    print(f"{part}: {len(before)} entries with {count} values, {differing} differ")
    return 0 if part == "sentences" else differing


def _deviation(before: str, now: str) -> float:
    """Return the relative deviation of two numbers, infinity for other values."""
    if "0x" not in before or "0x" not in now:
        return np.inf
    old, new = float.fromhex(before), float.fromhex(now)
    return abs(new - old) / (abs(old) or 1.0)


def is_unexpected(entry: Found) -> bool:
    """Return whether a case failed, has a note without a key, or was not refused."""
    accepted = entry.get("code") == "0" or entry.get("error") == "none"
    return accepted or "failed" in entry or "unknown" in entry.get("notes", ())


def main() -> None:
    """Record, or compare and list what differs."""
    action, file, *others = sys.argv[1:]
    if action == "record":
        found = recorded()
        Path(file).write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")
        for part, entries in found.items():
            print(f"{part}: {len(entries)} entries with {len(list(leaf_values(entries)))} values")
        for part in ("cases", "commands", "refusals"):
            for name, entry in found[part].items():
                if is_unexpected(entry):
                    print(f"{part}: {name!r} is unexpected: {found['sentences'][name]}")
        return
    before = json.loads(Path(file).read_text())
    now = json.loads(Path(others[0]).read_text()) if others else recorded()
    sys.exit(sum(compared(part, before[part], now[part]) for part in now) > 0)


if __name__ == "__main__":
    main()
