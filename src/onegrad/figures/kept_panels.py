"""Panels on disk: what was drawn before is read again only as it was written.

PANEL.json carries a format, its own checksum and those of PANEL.csv, .png and .pdf. A damaged file
is said and set aside, and its panel is left out until it is drawn anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.digests import checksum_of_bytes
from onegrad.describe.files import replace_file, set_aside
from onegrad.describe.guarded import Damaged, seal, unseal

FORMAT = 1  # of PANEL.json
NEEDED = ("csv", "png")  # without one of them a panel is not whole; a PDF may be removed
_FIELDS = {"panel", "title", "caption", "shows", "scale", "trials", "command", "seed", "versions"}
_FIELDS |= {"ours", "words", "settings", "deviations", "redraw", "files"}


@dataclass(frozen=True)
class KeptPanel:
    """What was said of a panel, and where its picture and its table are."""

    about: dict[str, Any]
    picture: Path
    table: Path


def keep_panel(directory: Path, name: str, files: dict[str, bytes], about: dict[str, Any]) -> None:
    """Write PANEL.csv, .png and .pdf, then what is said of them with all checksums.

    Damaged files that are in their places are set aside first.
    """
    _checked(directory, name, "and it is drawn anew")
    for form, data in files.items():
        replace_file(directory / f"{name}.{form}", lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    sums = {f"{name}.{form}": checksum_of_bytes(data) for form, data in files.items()}
    text = seal({**about, "files": sums}, FORMAT, indent=1)
    replace_file(directory / f"{name}.json", lambda path: path.write_text(text, "utf-8"))


def kept_panels(directory: Path, names: Iterable[str]) -> list[KeptPanel]:
    """Return those of the panels that are in the folder and whole; the rest is said."""
    kept = []
    for name in names:
        about = _checked(directory, name, f"onegrad reproduce {name} draws it anew")
        if about is not None:
            places = (directory / f"{name}.{form}" for form in ("png", "csv"))
            kept.append(KeptPanel(about, *places))
    return kept


def _checked(directory: Path, name: str, remedy: str) -> dict[str, Any] | None:
    """Return what was said of a panel, None unless all is whole; damaged files are set aside."""
    place = directory / f"{name}.json"
    if not place.exists():
        return None
    try:
        about = _about(place.read_bytes(), name)
    except Damaged as damage:
        _say(place, f"is damaged ({damage}); set aside as {set_aside(place).name}", remedy)
        return None
    whole = True
    for form in ("csv", "png", "pdf"):
        file = directory / f"{name}.{form}"
        if not file.exists():
            if form in NEEDED:
                _say(file, "is missing", remedy)
                whole = False
            continue
        try:
            _require_unaltered(file, about)
        except Damaged as damage:
            _say(file, f"is damaged ({damage}); set aside as {set_aside(file).name}", remedy)
            whole = whole and form not in NEEDED
    return about if whole else None


def _say(file: Path, what: str, remedy: str) -> None:
    warnings.warn(f"{file.name}: {what}; {remedy}", stacklevel=5)


def _about(data: bytes, name: str) -> dict[str, Any]:
    """Return what is said of the panel of that name; raise Damaged where it is not that."""
    about = unseal(data.decode("utf-8", errors="replace"), FORMAT)
    if not set(about) >= _FIELDS:
        raise Damaged("it does not describe a panel")
    if about["panel"] != name:
        raise Damaged("it describes another panel")
    return about


def _require_unaltered(file: Path, about: dict[str, Any]) -> None:
    """Raise Damaged unless a file is the one that was written with what is said of it."""
    if about["files"].get(file.name) != checksum_of_bytes(file.read_bytes()):
        raise Damaged("the checksum does not fit")
