"""The gallery: every registered panel with its title, caption and picture.

Pictures are drawn when the site is built, from the tables in `docs/gallery`; `gallery_tables.py`
of benchmarks/ renews these from a folder of `onegrad reproduce`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas as pd
from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib.figure import Figure
from sphinx.util import logging

from onegrad.papers.panel import Panel
from onegrad.papers.panel_registry import PANELS, caption_at, kind_of, study_of

LOGGER = logging.getLogger(__name__)
DPI = 110


class PanelGallery(Directive):
    """A card for every panel that comes with onegrad, in the order of the registry.

    The argument is `paper` for the panels of the paper, or `ours`.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a container of cards."""
        source = Path(self.state.document.settings.env.srcdir)
        ours = self.arguments[0] == "ours"
        cards = nodes.container(classes=["panels"])
        for name in PANELS:
            panel = PANELS[name]
            if (panel.ours or bool(panel.source)) == ours:
                cards += self._card(panel, source)
        return [cards]

    def _card(self, panel: Panel, source: Path) -> nodes.Node:
        """Return title, picture, caption and command of a panel."""
        card = nodes.container(classes=["panel"])
        title = nodes.paragraph(classes=["panel-title"])
        title += nodes.strong(text=panel.heading)
        card += title
        table = source / "gallery" / f"{panel.name}.csv"
        if table.is_file():
            picture = source / "_drawn" / f"{panel.name}.png"
            draw(panel, table, picture)
            card += nodes.image(
                uri=f"/_drawn/{picture.name}", alt=f"{panel.heading}. {panel.caption}"
            )
            self.state.document.settings.env.note_dependency(str(table))
        else:
            LOGGER.warning("docs/gallery/%s.csv: a panel without a table", panel.name)
        card += nodes.paragraph(text=f"{caption_at(panel, 'quick')} {panel.shows}")
        said = nodes.paragraph()
        said += nodes.literal(text=f"onegrad reproduce {panel.name}")
        said += nodes.Text(f" · {study_of(panel).sizes('quick')}".rstrip("; ·"))
        card += said
        return card


def draw(panel: Panel, table: Path, picture: Path) -> None:
    """Draw the panel from its table."""
    mpl.use("Agg")
    figure: Figure = kind_of(panel).draw(panel, pd.read_csv(table))
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=DPI, metadata={"Software": None})
