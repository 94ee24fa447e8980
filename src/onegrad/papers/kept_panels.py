"""Panels on disk: what was drawn before is read again only as it was written.

PANEL.json carries a format, its own checksum and those of PANEL.csv, .png and .pdf. A damaged file
is said and set aside, and its panel is left out until it is drawn anew.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.digests import checksum_of_bytes
from onegrad.describe.files import replace_file, set_aside
from onegrad.describe.guarded import Damaged, is_sealed, seal, unseal

FORMAT = 1  # of PANEL.json; earlier ones have no number and no checksums
NEEDED = ("csv", "png")  # without one of them a panel is not whole; a PDF may be removed
_TEXTS = ("panel", "caption", "shows", "scale", "command", "settings", "redraw")
_OF_DEVIATION = {"name": str, "where": str, "total": str, "largest": float, "mean": float}
_OF_DEVIATION |= {"tolerance": float, "known": int, "beyond": int}
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


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
    kept, older = [], []
    for name in names:
        about = _checked(directory, name, f"onegrad reproduce {name} draws it anew")
        if about is None:
            continue
        if "files" not in about:
            older.append(name)
        places = (directory / f"{name}.{form}" for form in ("png", "csv"))
        kept.append(KeptPanel(about, *places))
    if older:
        warnings.warn(
            f"{', '.join(older)}: drawn by an earlier onegrad, without checksums; shown as they "
            f"are, onegrad reproduce {' '.join(older)} draws them anew",
            stacklevel=2,
        )
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
    text = data.decode("utf-8", errors="replace")
    if is_sealed(text):
        about = unseal(text, FORMAT)
    else:
        try:
            about = json.loads(text)
        except (ValueError, RecursionError):
            raise Damaged("it is not JSON") from None
    if not isinstance(about, dict) or not _can_be_shown(about):
        raise Damaged("it does not describe a panel")
    if about["panel"] != name:
        raise Damaged("it describes another panel")
    return about


def _can_be_shown(about: dict[str, Any]) -> bool:
    """Return whether all that the report reads is there, of the right types."""
    deviations, numbers = about.get("deviations"), about.get("numbers", [])
    if not all(isinstance(about.get(field), str) for field in _TEXTS):
        return False
    if not isinstance(deviations, list) or not isinstance(numbers, list):
        return False
    return (
        all(isinstance(about.get(field), int) for field in ("trials", "seed", "ours"))
        and isinstance(about.get("versions"), dict)
        and all(isinstance(version, str) for version in about["versions"].values())
        and isinstance(about.get("source", ""), str)
        and all(isinstance(number, str) for number in numbers)
        and all(_is_deviation(deviation) for deviation in deviations)
    )


def _is_deviation(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("stderr"), float | int | None):
        return False
    kinds = {name: float | int if kind is float else kind for name, kind in _OF_DEVIATION.items()}
    return all(isinstance(value.get(name), kind) for name, kind in kinds.items())


def _require_unaltered(file: Path, about: dict[str, Any]) -> None:
    """Raise Damaged unless a file is the one that was written with what is said of it."""
    data = file.read_bytes()
    if "files" in about:
        if about["files"].get(file.name) != checksum_of_bytes(data):
            raise Damaged("the checksum does not fit")
    elif not data:
        raise Damaged("it is empty")
    elif file.suffix == ".png" and not _is_picture(data):
        raise Damaged("it is not a whole PNG")


def _is_picture(data: bytes) -> bool:
    """Return whether the data are a PNG with all its chunks, each with its checksum."""
    place, kind = len(_SIGNATURE), b""
    if data[:place] != _SIGNATURE:
        return False
    while kind != b"IEND":
        length = int.from_bytes(data[place : place + 4])
        kind, end = data[place + 4 : place + 8], place + 8 + length
        if len(data) < end + 4:
            return False
        if zlib.crc32(data[place + 4 : end]) != int.from_bytes(data[end : end + 4]):
            return False
        place = end + 4
    return place == len(data)
