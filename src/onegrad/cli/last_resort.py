"""What nobody foresaw, in one line: a report file that a user can attach to an issue."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

DEFECT_CODE = 70  # EX_SOFTWARE of sysexits.h
PACKAGES = ("onegrad", "numpy", "scipy", "pydantic", "click", "rich", "pandas", "joblib")
LONGEST_PART = 200_000  # characters of a traceback or command line in a report


def defect_line(error: BaseException, arguments: Sequence[str]) -> str:
    """Return one line about an error that is onegrad's own, with the report that it has written."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    said = f"defect: onegrad met an error that it does not know ({reason[:160]})"
    path = write_report(report(error, arguments))
    if path is None:
        return f"{said} {_place(error)}; please report it, no report file could be written"
    return f"{said}; please report it and attach {path}"


def report(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the text of a report: versions, command line and traceback."""
    lines = traceback.format_exception(error, limit=-200)
    versions = [f"{name} {version}" for name, version in _versions()]
    return "\n".join(
        [
            "onegrad: report of a defect",
            "",
            f"time     {time.strftime('%Y-%m-%d %H:%M:%S %z')}",
            f"command  {shlex.join(['onegrad', *arguments])[:LONGEST_PART]}",
            f"python   {platform.python_version()} on {platform.platform()}",
            *(f"package  {version}" for version in versions),
            "",
            "".join(lines)[-LONGEST_PART:],
        ]
    )


def write_report(text: str) -> Path | None:
    """Return the file that holds the text, whole: in the temporary folder, else in the cache."""
    name = f"onegrad-report-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=f".{name}-", dir=folder)
        except OSError:
            continue  # the next folder may do; that none did is said by the caller
        target = folder / f"{name}{Path(part).name[-9:]}.txt"
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            Path(part).replace(target)
        except OSError:
            Path(part).unlink(missing_ok=True)
            continue
        return target
    return None


def _folders() -> Iterator[Path]:
    """Yield the folders that may hold a report, in order; one that is not known is left out."""
    with suppress(OSError):  # no folder for temporary files on this machine
        yield Path(tempfile.gettempdir()).absolute()
    with suppress(RuntimeError):  # no home either
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onegrad"


def _versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "is not installed"


def _place(error: BaseException) -> str:
    """Return the last line of our own code that an error went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "onegrad" in f.filename]
    return f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"


def open_closed_streams() -> bool:
    """Return whether standard output was open; put the null device in the place of what is closed.

    A file that is opened later would else take the number of a closed stream, and what a library
    prints there would end up in it.
    """
    open_before = sys.stdout is not None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    return open_before


def give_up_output() -> None:
    """Send what is still to be written nowhere: who read it is gone, and Python would say so."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(null, stream.fileno())
    os.close(null)
