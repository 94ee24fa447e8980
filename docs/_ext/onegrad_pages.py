"""What the site makes of the package itself: tables of fields, docstrings, and the gallery."""

from __future__ import annotations

import importlib
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from panel_gallery import PanelGallery
from sphinx.application import Sphinx

from onegrad.describe.value import field_table

CODE = re.compile(r"(`[^`]+`)")
RULE = re.compile(r"-{3,}")
ENTRY = re.compile(r"([\w, ]+?) : (.*)")
CITED = re.compile(r" \[(\d+)\]")
SPECIAL = re.compile(r"([*_|\\])")


class FieldsOf(Directive):
    """The fields of a description as a table: what each holds, its default, what it is."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, parsed as the Markdown that `field_table` writes."""
        home, _, name = self.arguments[0].rpartition(".")
        table = field_table(getattr(importlib.import_module(home), name))
        place = nodes.container()
        lines = StringList(table.splitlines(), source=self.arguments[0])
        self.state.nested_parse(lines, self.content_offset, place)
        return [place]


def as_rst(text: str) -> str:
    """Return a line of a docstring, plain text with `code`, as reStructuredText.

    `[1]` becomes a link to the reference of that number.
    """
    parts = CODE.split(text)
    return "".join(
        f"`{part}`"
        if CODE.fullmatch(part)
        else CITED.sub(r" :ref:`[\1] <ref-\1>`", SPECIAL.sub(r"\\\1", part))
        for part in parts
    )


def docstring_as_rst(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn the lines of a docstring into reStructuredText, in place.

    Blocks are paragraphs; a headline over dashes is bold, and what is `name : meaning` an entry.
    """
    written: list[str] = []
    in_entries = False
    for line in lines:
        entry = ENTRY.match(line)
        if RULE.fullmatch(line) and written:
            written[-1:] = [f"**{written[-1].strip()}**", ""]
            in_entries = True
        elif in_entries and entry:
            written += [f"* `{entry[1]}`: {as_rst(entry[2])}"]
        elif in_entries and line.startswith(" "):
            written += [f"  {as_rst(line.strip())}"]
        else:
            written += [as_rst(line.strip())]
            in_entries = in_entries and not line.strip()
    lines[:] = written


def whole_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page of the repository's root in the place of the page that only names it."""
    named = re.fullmatch(r"<!-- the page (\S+) of the repository -->\s*", source[0])
    if named:
        text = (app.srcdir.parent / named[1]).read_text("utf-8")
        app.env.note_dependency(str(app.srcdir.parent / named[1]))
        for folder in ("src/", "tests/", "benchmarks/", "LICENSE", "CITATION.cff"):
            text = text.replace(f"]({folder}", f"](../{folder}")
        source[0] = text.replace("](docs/", "](")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directives and events."""
    app.add_directive("fields-of", FieldsOf)
    app.add_directive("panel-gallery", PanelGallery)
    app.connect("autodoc-process-docstring", docstring_as_rst)
    app.connect("source-read", whole_page)
    return {"parallel_read_safe": True}
