"""The folders as layers in one picture, and the sizes of the source.

    python benchmarks/house.py

writes docs/house.svg from the imports in the code. It prints lines and files, and the
files that `onegrad simulate` imports and runs.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PICTURE = ROOT / "docs" / "house.svg"
WALK = ["simulate", "--dimension", "20", "--samples", "20", "--trials", "1", "--models", "network"]

# The picture, in pixels.
WIDTH, MARGIN, GAP, LINE = 900, 16, 10, 15
LETTER = 6.6  # width of a letter of a sentence
MATHEMATICS = {"calculus", "data", "moments", "core", "theory", "closed"}
FILLS = {True: "#e6f0e4", False: "#eef3f8"}
CAPTION = "A folder imports only folders of lower layers. Green: the mathematics."
STYLE = (
    ".name{font-size:15px;font-weight:bold;fill:#1d2f40}"
    ".sentence{font-size:12px;fill:#33475b}"
    "rect{stroke:#5b7590}"
)

Graph = dict[str, set[str]]


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Yield every file of the source with its syntax tree."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE), ast.parse(path.read_text())


def import_graph() -> Graph:
    """Return which folders each folder imports, imports inside functions included."""
    graph: Graph = {}
    for path, tree in trees():
        if len(path.parts) > 1:
            imported = graph.setdefault(path.parts[0], set())
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onegrad."):
                    imported.add(str(node.module).split(".")[1])
            imported.discard(path.parts[0])
    return graph


def layers(graph: Graph) -> list[list[str]]:
    """Return the folders by layer, from the top: each is one above the highest that it imports."""

    def height(folder: str) -> int:
        return max((1 + height(other) for other in graph[folder]), default=0)

    heights = {folder: height(folder) for folder in sorted(graph)}
    return [
        [folder for folder in heights if heights[folder] == level]
        for level in range(max(heights.values()), -1, -1)
    ]


def sentences() -> dict[str, str]:
    """Return the first sentence of every folder's docstring."""
    found = {}
    for path in sorted(SOURCE.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        found[path.parent.name] = " ".join(text.split("\n\n")[0].split()).rstrip(".")
    return found


def drawn_layer(folders: list[str], top: float) -> tuple[list[str], float]:
    """Return the boxes of a layer as SVG, side by side, and their height."""
    width = (WIDTH - 2 * MARGIN - GAP * (len(folders) - 1)) / len(folders)
    texts = sentences()
    wrapped = {name: textwrap.wrap(texts[name], int((width - 24) / LETTER)) for name in folders}
    height = 32 + LINE * max(len(lines) for lines in wrapped.values())
    shapes = []
    for i, name in enumerate(folders):
        left = MARGIN + i * (width + GAP)
        shapes.append(
            f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6" '
            f'fill="{FILLS[name in MATHEMATICS]}"/>'
        )
        shapes.append(f'<text x="{left + 12:g}" y="{top + 20:g}" class="name">{name}</text>')
        for j, line in enumerate(wrapped[name]):
            y = top + 37 + LINE * j
            shapes.append(
                f'<text x="{left + 12:g}" y="{y:g}" class="sentence">{escape(line)}</text>'
            )
    return shapes, height


def picture(graph: Graph) -> str:
    """Return the whole picture as SVG."""
    shapes, top = [], float(MARGIN)
    for folders in layers(graph):
        drawn, height = drawn_layer(folders, top)
        shapes += drawn
        top += height + GAP
    shapes.append(f'<text x="{MARGIN}" y="{top + 8:g}" class="sentence">{CAPTION}</text>')
    top += 8 + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" '
            f'width="{WIDTH}" height="{top:g}" '
            'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">',
            "<title>The folders of onegrad as layers</title>",
            f"<style>{STYLE}</style>",
            f'<path d="M0,0 H{WIDTH} V{top:g} H0 Z" fill="#ffffff"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def walk() -> tuple[list[str], list[str]]:
    """Return the files that a command imports, and those whose functions it then executes."""
    command = [sys.executable, str(Path(__file__)), "--walk"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    imported, executed = json.loads(answer.stderr.splitlines()[-1])
    return imported, executed


def walked() -> None:
    """Run the command in this process, and write what it imported and executed to stderr."""
    from inspect import CO_OPTIMIZED

    prefix, executed = str(SOURCE), dict[str, None]()

    def note(frame, event, _argument):  # type: ignore[no-untyped-def]
        code = frame.f_code
        # A function's body, not a module's or a class's, and not one that runs at import.
        if event != "call" or not code.co_flags & CO_OPTIMIZED or code.co_filename in executed:
            return
        if code.co_filename.startswith(prefix):
            outer = frame.f_back
            while outer is not None:
                if outer.f_code.co_name == "<module>" and outer.f_globals["__name__"] != "__main__":
                    return
                outer = outer.f_back
            executed[code.co_filename] = None  # in the order of first calls

    sys.path.insert(0, str(SOURCE.parent))
    from onegrad.cli.main import main as run

    sys.argv = ["onegrad", *WALK]
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
        groups = [
            [str(Path(file).relative_to(SOURCE)) for file in group if file.startswith(prefix)]
            for group in (sorted(set(files)), executed)
        ]
        sys.stderr.write(json.dumps(groups))


def report() -> None:
    """Write the picture and print the numbers."""
    PICTURE.write_text(picture(import_graph()))
    lengths = {path: len((SOURCE / path).read_text().splitlines()) for path, _ in trees()}
    print(f"{sum(lengths.values())} lines in {len(lengths)} files")
    imported, executed = walk()
    print(f"onegrad {' '.join(WALK)}")
    for title, files in (("imports", imported), ("executes functions of", executed)):
        print(f"{title} {len(files)} files, {sum(lengths[Path(f)] for f in files)} lines:")
        print(textwrap.fill(" ".join(files), 100, initial_indent="  ", subsequent_indent="  "))


if __name__ == "__main__":
    walked() if "--walk" in sys.argv else report()
