"""What is embedded in the page: its style and script with their digests, data, pictures."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

SCRIPTS = ("chart.js", "heat_map.js", "report.js")
# Inside a script element no text may end it, whatever a table or a caption says.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def shipped(name: str) -> str:
    """Return a text file that comes with the package."""
    return resources.files("onegrad.papers.report").joinpath(name).read_text("utf-8")


def style() -> str:
    """Return the page's style sheet."""
    return shipped("report.css")


def script() -> str:
    """Return the page's script, its files one after the other in a function of their own."""
    return '"use strict";\n(() => {\n' + "\n".join(shipped(name) for name in SCRIPTS) + "})();\n"


def policy(*, style_text: str, script_text: str) -> str:
    """Return the content-security policy: this style, this script, pictures in the page alone."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style_text)}'; "
        f"script-src '{_digest(script_text)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def data_block(value: Any) -> str:
    """Return plain values as a data block, which no browser runs and no text in it can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return f'<script type="application/json">{text}</script>'


def picture(data: bytes) -> str:
    """Return a PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
