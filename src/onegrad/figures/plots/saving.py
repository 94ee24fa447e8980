"""Pictures as files."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

DPI = 160


def save(figure: Figure, path: Path, *, form: str) -> None:
    """Write png or pdf without dates or versions, so that equal figures are equal files."""
    stamps = ["Software"] if form == "png" else ["Creator", "Producer", "CreationDate"]
    figure.savefig(path, format=form, dpi=DPI, metadata=dict.fromkeys(stamps))
