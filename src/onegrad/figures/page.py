"""The report: one HTML file that opens offline, from what each panel left in the folder."""

from __future__ import annotations

import base64
import json
import math
from html import escape
from pathlib import Path
from typing import Any

from onegrad.describe.files import replace_file
from onegrad.figures.panel_registry import PANELS

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
h1, h2 { line-height: 1.2; } section { border-top: 1px solid #ccc; margin-top: 2rem; }
img { max-width: 100%; height: auto; } code { background: #f2f2f2; padding: 0.1em 0.3em; }
table { border-collapse: collapse; font-size: 0.92rem; } td, th { padding: 0.2rem 0.8rem 0.2rem 0;
  text-align: left; vertical-align: top; } .ours { color: #0072B2; font-size: 0.8em; }
td:nth-child(n+4), th:nth-child(n+4) { white-space: nowrap; }
.small { font-size: 0.85rem; color: #555; }
"""


def write_report(directory: Path) -> Path:
    """Write report.html over all panels in the folder, and return its path."""
    drawn = []
    for name in PANELS:
        about, picture = directory / f"{name}.json", directory / f"{name}.png"
        if about.exists() and picture.exists():
            drawn.append((json.loads(about.read_text("utf-8")), picture))
    text = page(drawn)
    path = directory / "report.html"
    replace_file(path, lambda p: p.write_text(text, "utf-8"))
    return path


def page(panels: list[tuple[dict[str, Any], Path]]) -> str:
    """Return the whole page."""
    sections = "\n".join(_section(about, picture) for about, picture in panels)
    rows = "\n".join(_overview(about) for about, _ in panels)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>onegrad: the paper, reproduced</title>
<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>
<h1>Two-layer networks after one or several steps: the figures, reproduced</h1>
<p>Networks trained here (markers with standard errors), their Hermite models (lines), theory
that trains nothing (thin lines) and closed theory, which draws nothing either (dash-dotted), after
Demir &amp; Dogan, ICLR 2025. Panels named with a word, R1, R2, T1 to T4, C1 to C3 and Z1 are ours.
A deviation is relative; a point counts as apart when it
differs by more than a tolerance (3 % on synthetic data, else as said) plus four standard errors.
Theory is compared on the trials whose first layers it saw; of closed theory, and where mixtures of
several sizes are fitted to real data, means are compared. Points below a thousandth of a panel's
largest value are left out of deviations. G1 to G5 are giant steps, after Dandi et al. and Moniri et
al.</p>
<ul>{_verdicts(panels)}</ul>
<table><tr><th>panel</th><th>scale</th><th>comparison</th><th>largest</th><th>mean</th>
<th>points apart</th></tr>
{rows}
</table>
{sections}
</body></html>
"""


def _overview(about: dict[str, Any]) -> str:
    """Return the panel's lines of the table at the top, one per comparison."""
    name = escape(about["panel"])
    link = f'<a href="#panel-{name}">{name}</a>'
    if not about["deviations"]:
        return f"<tr><td>{link}</td><td>{about['scale']}</td><td>{_alone(about)}</td></tr>"
    return "\n".join(
        f"<tr><td>{link if i == 0 else ''}</td><td>{about['scale'] if i == 0 else ''}</td>"
        f"<td>{escape(d['name'])}</td><td>{_percent(d['largest'], d['stderr'])}</td>"
        f"<td>{100 * d['mean']:.2f} %</td><td>{d['beyond']} of {d['known']}</td></tr>"
        for i, d in enumerate(about["deviations"])
    )


def _alone(about: dict[str, Any]) -> str:
    """Return what stands in place of comparisons where a panel has none."""
    if "numbers" in about:
        after = f"after {escape(about['source'])}: " if "source" in about else ""
        return after + escape(about["numbers"][0])
    return "by theory alone" if about["ours"] else "the picture holds simulation and theory"


def _verdicts(panels: list[tuple[dict[str, Any], Path]]) -> str:
    """Return one sentence per comparison over all panels."""
    totals: dict[str, list[int]] = {}
    for about, _ in panels:
        for d in about["deviations"]:
            if not d["total"]:
                continue
            total = totals.setdefault(d["total"], [0, 0])
            total[0] += d["known"] - d["beyond"]
            total[1] += d["known"]
    return "".join(
        f"<li>{escape(name)}: {agree} of {points} points agree</li>"
        for name, (agree, points) in totals.items()
    )


def _section(about: dict[str, Any], picture: Path) -> str:
    """Return the panel's section: caption, picture, comparisons, and how to draw it again."""
    name = escape(about["panel"])
    data = base64.b64encode(picture.read_bytes()).decode()
    ours = ' <span class="ours">ours</span>' if about["ours"] else ""
    points = "".join(
        f"<li>{escape(d['name'])}: largest {_percent(d['largest'], d['stderr'])} at "
        f"{escape(d['where'])}; {100 * d['mean']:.2f} % on average; {_verdict(d)}</li>"
        for d in about["deviations"]
    ) + "".join(f"<li>{escape(text)}</li>" for text in about.get("numbers", ()))
    redrawn = "everything" if about["redraw"] == "all" else "what the paper redrew"
    versions = ", ".join(f"{escape(k)} {escape(v)}" for k, v in about["versions"].items())
    return f"""<section id="panel-{name}"><h2>{name}{ours}</h2>
<p>{escape(about["caption"])} {escape(about["settings"])}at most {about["trials"]} trials per
point.</p>
<img alt="{escape(about["caption"])}" src="data:image/png;base64,{data}">
<p><strong>What to see:</strong> {escape(about["shows"])}</p>
<ul>{points}</ul>
<p class="small"><code>{escape(about["command"])}</code>; seed {about["seed"]}, {redrawn} redrawn
per trial; {versions}; numbers in <code>{name}.csv</code>.</p></section>"""


def _verdict(deviation: dict[str, Any]) -> str:
    """Return how many points are apart."""
    by = f"by more than {100 * deviation['tolerance']:g} %"
    if deviation["beyond"] == 0:
        return f"no point of {deviation['known']} is apart {by}"
    return f"<strong>{deviation['beyond']} of {deviation['known']} points are apart {by}</strong>"


def _percent(value: float, stderr: float | None) -> str:
    """Return a relative deviation in per cent, with its standard error where there is one."""
    if stderr is None or not math.isfinite(stderr):
        return f"{100 * value:+.2f} %"
    return f"{100 * value:+.2f} ± {100 * stderr:.2f} %"
