"""Pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 160
STAMPS = {
    "png": ["Software"],
    "pdf": ["Creator", "Producer", "CreationDate"],
    "svg": ["Creator", "Date"],
}


def save(
    figure: Figure, path: Path | BinaryIO, *, form: str, dpi: float | str | None = None
) -> None:
    """Write png, pdf or svg without dates or versions, so that equal figures are equal files."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "onegrad"}):  # else the names of its parts are random
        metadata = dict.fromkeys(STAMPS[form])
        figure.savefig(path, format=form, dpi=DPI if dpi is None else dpi, metadata=metadata)


def picture_form(path: Path) -> str:
    """Return pdf, png or svg by the end of a file's name."""
    form = path.suffix.removeprefix(".").lower()
    if form not in STAMPS:
        raise InvalidInput(f"out={str(path)!r}: must end in .pdf, .png or .svg; rename it")
    if path.is_dir():
        raise InvalidInput(f"out={str(path)!r}: is a folder; name a file")
    return form


def save_whole(figure: Figure, path: Path, *, dpi: float | str | None = None) -> None:
    """Write a picture in the form that its name says, whole or not at all."""
    form = picture_form(path)
    replace_file(path, lambda part: save(figure, part, form=form, dpi=dpi))
