"""The verdict: how many points agree, over all panels and in each, and what agreeing means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from onegrad.papers.report.drawn_panel import DrawnPanel

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


def totals(panels: Sequence[DrawnPanel]) -> list[Total]:
    """Return every comparison's sum over the panels."""
    sums: dict[str, list[int]] = {}
    for deviation in (d for panel in panels for d in panel.deviations if d["total"]):
        counts = sums.setdefault(str(deviation["total"]), [0, 0])
        counts[0] += deviation["known"] - deviation["beyond"]
        counts[1] += deviation["known"]
    return [Total(name, *counts) for name, counts in sums.items()]


def bound(tolerance: float) -> str:
    """Return what a point may differ by, in the words that are used everywhere."""
    return f"{100 * tolerance:g} % plus four standard errors"


def verdict_section(panels: Sequence[DrawnPanel]) -> str:
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
        f'aria-label="share that agrees">{100 * share:.0f} %</meter> {100 * share:.1f} %</td></tr>'
    )


def _others(panels: Sequence[DrawnPanel]) -> str:
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


def _apart_words(apart: Sequence[DrawnPanel]) -> str:
    """Return links to the panels that have points apart."""
    if not apart:
        return "<p>No panel has a point apart.</p>"
    links = ", ".join(
        f'<a href="#panel-{escape(p.name)}">{escape(p.name)}</a> ({p.apart})' for p in apart
    )
    return f"<p>Panels with points apart, and how many: {links}.</p>"


def panel_verdict(panel: DrawnPanel) -> str:
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


def _alone(panel: DrawnPanel) -> str:
    """Return what stands in place of comparisons where a panel has none."""
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
