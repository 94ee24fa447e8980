"""A panel's section of the report: verdict, picture, the setting in words, comparisons."""

from __future__ import annotations

from html import escape
from typing import Any

from onegrad.papers.report.drawn_panel import DrawnPanel
from onegrad.papers.report.embedding import data_block, picture
from onegrad.papers.report.verdicts import comparison, panel_verdict


def panel_title(panel: DrawnPanel) -> str:
    """Return what the panel is about in a line, escaped."""
    return escape(str(panel.about.get("title") or panel.about["caption"].split(";")[0]))


def panel_section(panel: DrawnPanel) -> str:
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
{_words(about)}
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


def _words(about: dict[str, Any]) -> str:
    """Return the setting in plain words, part by part."""
    if not about.get("words"):
        return ""
    terms = "\n".join(
        f"<dt>{escape(str(heading))}</dt><dd>{escape(str(text))}</dd>"
        for heading, text in about["words"]
    )
    return f"<h3>The setting in words</h3>\n<dl>{terms}</dl>"


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
