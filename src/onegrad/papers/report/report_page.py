"""The report: one HTML file that opens offline, the verdict first, then panel by panel."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from onegrad.describe.files import replace_file
from onegrad.papers.report.drawn_panel import DrawnPanel, drawn_panels
from onegrad.papers.report.embedding import policy, script, style
from onegrad.papers.report.panel_section import panel_section, panel_title
from onegrad.papers.report.verdicts import bound, verdict_section

TITLE = "Two-layer networks after one or several steps: the figures, reproduced"
PAPER = "Figures of the paper"


def write_report(directory: Path) -> Path:
    """Write report.html over all panels in the folder, and return its path."""
    text = page(drawn_panels(directory))
    path = directory / "report.html"
    replace_file(path, lambda p: p.write_text(text, "utf-8"))
    return path


def page(panels: Sequence[DrawnPanel]) -> str:
    """Return the whole page."""
    styled, scripted = style(), script()
    allowed = policy(style_text=styled, script_text=scripted)
    sections = "\n".join(panel_section(panel) for panel in panels)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<title>onegrad: the paper, reproduced</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{styled}</style></head><body>
<a class="skip" href="#verdict">Skip the list of panels</a>
<div class="page"><header><h1>{TITLE}</h1></header>
{_navigation(panels)}
<main>
{verdict_section(panels)}
{_reading()}
{sections}
</main></div>
<script>{scripted}</script></body></html>
"""


def _reading() -> str:
    """Return how pictures and comparisons are to be read."""
    return f"""<section id="reading" aria-labelledby="reading-heading">
<h2 id="reading-heading">How to read it</h2>
<p>A two-layer network is trained in two stages: its first layer takes one or several gradient
steps, then its second layer is fitted. The claim of Demir &amp; Dogan (ICLR 2025) is that a network
whose activation is replaced by a polynomial plus noise, its Hermite model, has the same errors.
Markers with standard errors are networks trained here, lines their Hermite models, thin lines
theory that trains nothing, dash-dotted lines closed theory, which draws nothing either, crosses
the published values.</p>
<p>Deviations are relative. A point counts as apart when it differs by more than {bound(0.03)},
unless the panel names another tolerance. Theory is compared on the trials whose first layers it
saw; of closed theory, and where mixtures of several sizes are fitted to real data, means are
compared. Points below a thousandth of a panel's largest value are left out of deviations.</p>
<p>Panels are numbered as in the paper; G1 to G5 are giant steps, after Dandi et al. and Moniri et
al.; those marked ours are not in any of them.</p></section>"""


def _navigation(panels: Sequence[DrawnPanel]) -> str:
    """Return the list of panels by whom they are after, each with its verdict."""
    groups: dict[str, list[DrawnPanel]] = {}
    for panel in panels:
        source = panel.about.get("source")
        name = "Ours" if panel.about["ours"] else f"After {source}" if source else PAPER
        groups.setdefault(name, []).append(panel)
    lists = "\n".join(
        f"<h2>{escape(name)}</h2><ul>{''.join(_link(panel) for panel in group)}</ul>"
        for name, group in groups.items()
    )
    return f"""<nav aria-label="Panels"><details><summary>{len(panels)} panels</summary>
<div class="list"><ul><li><a href="#verdict"><b>Verdict</b></a></li>
<li><a href="#reading"><b>Reading</b></a></li></ul>{lists}</div></details></nav>"""


def _link(panel: DrawnPanel) -> str:
    """Return a panel's line in the list: its name, its title, and whether its points agree."""
    mark = '<span class="mark" title="all points agree">✓</span>'
    if not any(d["total"] for d in panel.deviations):
        mark = "<span></span>"
    elif panel.apart:
        mark = f'<span class="mark apart" title="points apart">{panel.apart} apart</span>'
    name = escape(panel.name)
    return (
        f'<li><a href="#panel-{name}"><b>{name}</b><span>{panel_title(panel)}</span>{mark}</a></li>'
    )
