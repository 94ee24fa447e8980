"""The report: one HTML file that opens offline, the verdict first, then panel by panel.

Pictures are in it for readers without JavaScript; the script, inlined, replaces them by curves and
maps that show their values.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from onegrad.describe.files import replace_file
from onegrad.papers.saved_panels import SavedPanel, saved_panels

TITLE = "Two-layer networks after one or several steps: the figures, reproduced"
PAPER = "Figures of the paper"


def write_report(directory: Path) -> Path:
    """Write report.html over all panels in the folder, and return its path."""
    text = page(saved_panels(directory))
    path = directory / "report.html"
    replace_file(path, lambda p: p.write_text(text, "utf-8"))
    return path


def page(panels: Sequence[SavedPanel]) -> str:
    """Return the whole page."""
    styled, scripted = shipped("papers", "report.css"), script()
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
theory that trains nothing, dash-dotted lines closed theory, which draws nothing either; crosses
are published values of networks, plus signs those of Hermite models.</p>
<p>Deviations are relative. A point counts as apart when it differs by more than {bound(0.03)},
unless the panel names another tolerance. Theory is compared on the trials whose first layers it
saw; of closed theory, and where mixtures of several sizes are fitted to real data, means are
compared. Points below a thousandth of a panel's largest value are left out of deviations.</p>
<p>Panels are numbered as in the paper; G1 to G5 are giant steps, after Dandi et al. and Moniri et
al.; those marked ours are not in any of them.</p></section>"""


def _navigation(panels: Sequence[SavedPanel]) -> str:
    """Return the list of panels by whom they are after, each with its verdict."""
    groups: dict[str, list[SavedPanel]] = {}
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


def _link(panel: SavedPanel) -> str:
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


# The verdict.

PUBLISHED = "against published"
USUAL = 0.03


@dataclass(frozen=True)
class Total:
    """One comparison over all panels: its points, and how many of them agree."""

    name: str
    agree: int
    known: int

    @property
    def published(self) -> bool:
        """Whether published values are on one side."""
        return self.name.endswith(PUBLISHED)


def totals(panels: Sequence[SavedPanel]) -> list[Total]:
    """Return every comparison's sum over the panels."""
    sums: dict[str, list[int]] = {}
    for deviation in (d for panel in panels for d in panel.deviations if d["total"]):
        counts = sums.setdefault(str(deviation["total"]), [0, 0])
        counts[0] += deviation["known"] - deviation["beyond"]
        counts[1] += deviation["known"]
    return [Total(name, *counts) for name, counts in sums.items()]


def bound(tolerance: float) -> str:
    """Return the allowed difference of a point, in the words that the whole report uses."""
    return f"{100 * tolerance:g} % plus four standard errors"


def verdict_section(panels: Sequence[SavedPanel]) -> str:
    """Return the verdict as the page begins: one sentence, then a line for every comparison."""
    found = totals(panels)
    own = [total for total in found if not total.published]
    agree, known = sum(t.agree for t in own), sum(t.known for t in own)
    apart = [panel for panel in panels if panel.apart]
    mark = " apart" if agree < known else ""
    lead = (
        f"{agree:,} of {known:,} compared points agree." if known else "Nothing is compared here."
    )
    rows = "\n".join(_total_row(total) for total in found)
    table = (
        '<div class="scroll"><table><thead><tr><th scope="col">comparison, over all panels</th>'
        '<th scope="col" class="number">agree</th><th scope="col" class="number">points</th>'
        f'<th scope="col">share</th></tr></thead><tbody>\n{rows}\n</tbody></table></div>'
    )
    return f"""<section id="verdict" aria-labelledby="verdict-heading">
<h2 id="verdict-heading">The verdict</h2>
<div class="verdict{mark}"><p class="lead">{lead}</p>
<p>A point agrees when it differs by no more than {bound(USUAL)}{_others(panels)}.</p>
{_apart_words(apart)}</div>
{table if found else ""}
</section>"""


def _total_row(total: Total) -> str:
    share = total.agree / total.known if total.known else 1.0
    name = escape(total.name)
    note = " (one data set, or generated images, there)" if total.published else ""
    return (
        f'<tr><td>{name}{note}</td><td class="number">{total.agree:,}</td>'
        f'<td class="number">{total.known:,}</td><td><meter min="0" max="1" value="{share:.4f}" '
        f'aria-label="share that agrees">{100 * share:.0f} %</meter> '
        f"{100 * share:.1f}&nbsp;%</td></tr>"
    )


def _others(panels: Sequence[SavedPanel]) -> str:
    """Return the tolerances of panels that have another one."""
    by_size: dict[float, list[str]] = {}
    for panel in panels:
        for deviation in panel.deviations[:1]:
            if deviation["tolerance"] != USUAL:
                by_size.setdefault(deviation["tolerance"], []).append(panel.name)
    parts = [
        f"{bound(size)} in {escape(', '.join(names))}" for size, names in sorted(by_size.items())
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _apart_words(apart: Sequence[SavedPanel]) -> str:
    """Return links to the panels that have points apart."""
    if not apart:
        return "<p>No panel has a point apart.</p>"
    links = ", ".join(
        f'<a href="#panel-{escape(p.name)}">{escape(p.name)}</a> ({p.apart})' for p in apart
    )
    return f"<p>Panels with points apart, and how many: {links}.</p>"


def panel_verdict(panel: SavedPanel) -> str:
    """Return one panel's verdict in a sentence."""
    counted = [d for d in panel.deviations if d["total"]]
    known = sum(d["known"] for d in counted)
    if not known:
        return _alone(panel)
    limit = bound(counted[0]["tolerance"])
    if not panel.apart:
        return f"All {known:,} compared points agree within {limit}."
    return (
        f'<span class="apart-text">{panel.apart} of {known:,} compared points are apart by more '
        f"than {limit}.</span>"
    )


def _alone(panel: SavedPanel) -> str:
    """Return a sentence for a panel without comparisons."""
    about = panel.about
    if "numbers" in about:
        after = f"After {escape(str(about['source']))}: " if "source" in about else ""
        return f"{after}{escape(str(about['numbers'][0]))}."
    return "By theory alone." if about["ours"] else "Simulation and theory beside each other."


def comparison(deviation: dict[str, Any]) -> str:
    """Return one comparison of a panel as a line of a list."""
    limit = f"by more than {bound(deviation['tolerance'])}"
    known, beyond = int(deviation["known"]), int(deviation["beyond"])
    apart = f"no point of {known} is apart {limit}"
    if beyond:
        apart = f'<span class="apart-text">{beyond} of {known} points are apart {limit}</span>'
    return (
        f"<li>{escape(str(deviation['name']))}: largest "
        f"{percent(deviation['largest'], deviation['stderr'])} at "
        f"{escape(str(deviation['where']))}; {100 * deviation['mean']:.2f} % on average; "
        f"{apart}</li>"
    )


def percent(value: float, stderr: float | None) -> str:
    """Return a relative deviation in per cent, with its standard error where there is one."""
    if stderr is None or not math.isfinite(stderr):
        return f"{100 * value:+.2f} %"
    return f"{100 * value:+.2f} ± {100 * stderr:.2f} %"


# A panel's section.


def panel_title(panel: SavedPanel) -> str:
    """Return what the panel is about in a line, escaped."""
    return escape(str(panel.about.get("title") or panel.about["caption"].split(";")[0]))


def panel_section(panel: SavedPanel) -> str:
    """Return the panel's section."""
    about, name = panel.about, escape(panel.name)
    whose = "ours" if about["ours"] else f"after {escape(str(about.get('source', 'the paper')))}"
    plain = panel.view.to_plain()
    data = data_block(plain) if plain["plots"] or plain["maps"] else ""
    return f"""<section class="panel" id="panel-{name}" aria-labelledby="heading-{name}">
<h2 id="heading-{name}">{name} · {panel_title(panel)} <span class="ours">{whose}</span></h2>
<p>{panel_verdict(panel)}</p>
<figure class="panel-figure">
<img alt="{escape(about["caption"])}" src="{picture(panel.picture)}">
{data}<figcaption><p>{_caption(about)}</p></figcaption>
</figure>
<p><strong>What to see:</strong> {escape(about["shows"])}</p>
{_setting(about)}
{_published(about)}
{_comparisons(about)}
<p class="small">{_origin(about)} Numbers in <code>{name}.csv</code>.</p>
</section>"""


def _caption(about: dict[str, Any]) -> str:
    """Return caption, sizes, trials and the best constant predictor."""
    parts = [
        escape(about["caption"]),
        f"{escape(about['settings'])}at most {escape(str(about['trials']))} trials per point.",
        escape(about.get("constant", "")),
    ]
    return " ".join(part for part in parts if part)


def _setting(about: dict[str, Any]) -> str:
    """Return the fields of the panel's problem as a list that opens."""
    if not about.get("setting"):
        return ""
    terms = "\n".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in about["setting"]
    )
    return f"""<details class="setting"><summary>All fields of the setting</summary>
<dl>{terms}</dl></details>"""


def _published(about: dict[str, Any]) -> str:
    """Return what a deviation from published values rests on."""
    basis = about.get("published_basis", "")
    return f"<p><strong>Beside the paper:</strong> {escape(basis)}</p>" if basis else ""


def _comparisons(about: dict[str, Any]) -> str:
    """Return every comparison, and what else there is to read off."""
    lines = [comparison(d) for d in about["deviations"]]
    lines += [f"<li>{escape(str(text))}</li>" for text in about.get("numbers", ())]
    return f"<h3>In numbers</h3>\n<ul>{''.join(lines)}</ul>" if lines else ""


def _origin(about: dict[str, Any]) -> str:
    """Return how to draw the panel again, and with what it was drawn."""
    redrawn = "everything" if about["redraw"] == "all" else "what the paper redrew"
    versions = ", ".join(f"{escape(str(k))} {escape(str(v))}" for k, v in about["versions"].items())
    return (
        f"<code>{escape(about['command'])}</code>; scale {escape(str(about['scale']))}, seed "
        f"{escape(str(about['seed']))}, {redrawn} redrawn per trial; {versions}."
    )


# Parts that are embedded in the page.

# Modules by the folder of their page, each after those that it imports.
SCRIPTS = (
    ("plotting", "numbers.js"),
    ("plotting", "colours.js"),
    ("plotting", "elements.js"),
    ("plotting", "chart.js"),
    ("papers", "heat_map.js"),
    ("papers", "report.js"),
)
# Inside a script element no string may end it, whatever a table or a caption contains.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def shipped(folder: str, name: str) -> str:
    """Return a file of a page."""
    return resources.files(f"onegrad.{folder}").joinpath("page", name).read_text("utf-8")


def script() -> str:
    """Return the page's script: its modules, without imports and exports, in one function."""
    text = "\n".join(shipped(folder, name) for folder, name in SCRIPTS)
    text = re.sub(r"^export |^import [^;]*;\n", "", text, flags=re.MULTILINE)
    return f'"use strict";\n(() => {{\n{text}}})();\n'


def policy(*, style_text: str, script_text: str) -> str:
    """Return the content-security policy: this style, this script, pictures in the page alone."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style_text)}'; "
        f"script-src '{_digest(script_text)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def data_block(value: Any) -> str:
    """Return plain values as a data block, which no browser runs and no string in it can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return f'<script type="application/json">{text}</script>'


def picture(data: bytes) -> str:
    """Return a PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
