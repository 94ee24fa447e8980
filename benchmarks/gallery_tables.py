"""Renew the tables of the gallery: `onegrad reproduce --out figures`, then this with `figures`.

The site draws its gallery from `docs/gallery/PANEL.csv` when it is built. Numbers are kept to
five digits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from onegrad.papers.panel_registry import PANELS

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


def main(folder: Path) -> None:
    """Copy the table of every panel in the folder, and say which panels have none."""
    GALLERY.mkdir(exist_ok=True)
    for name in PANELS:
        table = folder / f"{name}.csv"
        if not table.is_file():
            print(f"{name}: no table in {folder}; onegrad reproduce {name} --out {folder}")
            continue
        kept = GALLERY / table.name
        pd.read_csv(table).to_csv(kept, index=False, float_format="%.5g")
        print(f"{name}: {kept.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/gallery_tables.py FOLDER")
    main(Path(sys.argv[1]))
