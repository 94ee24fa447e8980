"""The house in one picture and a few numbers: which folder imports which, read from the code.

    python benchmarks/house.py

writes docs/house.svg (an arrow is an import; one that follows from others is left out) and prints
the sizes of the source and the files that `onegrad simulate` walks through.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PICTURE = ROOT / "docs" / "house.svg"
LONGEST_FUNCTION = 40
WALK = ["simulate", "--dimension", "20", "--samples", "20", "--trials", "1", "--models", "network"]

# The picture: a column of the longest chain of imports, and one of what stands beside it.
WIDTH, MARGIN, ROW, LINE = 900, 20, 82, 16
MAIN_WIDTH, SIDE_LEFT, SIDE_WIDTH, NAME_WIDTH = 580, 650, 230, 100
LETTER, SMALL_LETTER = 6.4, 5.3  # of a sentence and of the list of imports, in pixels
CAPTION = "An arrow is an import; what follows from other arrows has none."

Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Box:
    """A folder in the picture."""

    name: str
    sentence: list[str]
    imports: list[str]
    left: float
    top: float
    width: float

    @property
    def height(self) -> float:
        """As its lines need, and the name where it stands above them."""
        above = 0 if self.width == MAIN_WIDTH else 22
        return above + LINE * len(self.sentence + self.imports) + 14

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height

    @property
    def middle(self) -> float:
        """Half of its height."""
        return self.top + self.height / 2


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


def below(graph: Graph, folder: str) -> set[str]:
    """Return everything that a folder imports, itself or through others."""
    direct = graph[folder]
    return direct.union(*(below(graph, other) for other in direct))


def reduced(graph: Graph) -> Graph:
    """Return the imports that do not follow from others."""
    return {
        folder: {o for o in direct if not any(o in below(graph, other) for other in direct - {o})}
        for folder, direct in graph.items()
    }


def longest_chain(graph: Graph) -> list[str]:
    """Return the longest chain of imports, from the top folder down."""

    def chain(folder: str) -> list[str]:
        return [
            folder,
            *max((chain(other) for other in sorted(graph[folder])), key=len, default=[]),
        ]

    return max((chain(folder) for folder in sorted(graph)), key=len)


def sentences() -> dict[str, str]:
    """Return the first sentence of every folder's docstring."""
    found = {}
    for path in sorted(SOURCE.glob("*/__init__.py")):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        found[path.parent.name] = " ".join(said.split("\n\n")[0].split()).rstrip(".")
    return found


def boxed(graph: Graph, name: str, row: int, *, beside: bool) -> Box:
    """Return the box of a folder in its row, in the column of the chain or beside it."""
    left, width = (SIDE_LEFT, SIDE_WIDTH) if beside else (MARGIN, MAIN_WIDTH)
    room = width - 20 if beside else width - NAME_WIDTH - 10
    direct = f"imports {', '.join(sorted(graph[name]))}" if graph[name] else "imports none of these"
    return Box(
        name,
        textwrap.wrap(sentences()[name], int(room / LETTER)),
        textwrap.wrap(direct, int(room / SMALL_LETTER)),
        left,
        MARGIN + row * ROW,
        width,
    )


def placed(graph: Graph) -> dict[str, Box]:
    """Return a box for each folder: the longest chain in a column, the others beside it.

    A folder beside the chain stands a row below the lowest one of the chain that imports it.
    """
    rows = {name: row for row, name in enumerate(longest_chain(graph))}
    boxes = {name: boxed(graph, name, row, beside=False) for name, row in rows.items()}
    free = 0
    for name in sorted(graph.keys() - rows.keys(), key=lambda n: -len(below(graph, n))):
        above = [rows[other] for other, direct in graph.items() if name in direct and other in rows]
        row = max(max(above, default=-1) + 1, free)
        free = row + 2
        boxes[name] = boxed(graph, name, row, beside=True)
    return boxes


def drawn_box(box: Box) -> list[str]:
    """Return a box as SVG: its name, beside or below it the sentence, then what it imports."""
    if box.width == MAIN_WIDTH:
        name_y, left, top = box.middle + 5, box.left + NAME_WIDTH, box.top + 18
    else:
        name_y, left, top = box.top + 20, box.left + 10, box.top + 40
    styles = ["said"] * len(box.sentence) + ["imports"] * len(box.imports)
    return [
        f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="6" '
        'fill="#eef3f8" stroke="#5b7590"/>',
        f'<text x="{box.left + 10}" y="{name_y:g}" class="name">{box.name}</text>',
        *(
            f'<text x="{left}" y="{top + LINE * i}" class="{style}">{escape(line)}</text>'
            for i, (style, line) in enumerate(zip(styles, box.sentence + box.imports, strict=True))
        ),
    ]


def drawn_arrows(boxes: dict[str, Box], graph: Graph) -> list[str]:
    """Return the arrows as SVG: straight in a column, with bends between the columns."""
    out, lane = [], 0
    for name, direct in sorted(reduced(graph).items()):
        for other in sorted(direct):
            start, end = boxes[name], boxes[other]
            if start.left == end.left:
                path = f"M{start.left + start.width / 2:g},{start.bottom:g} V{end.top - 1:g}"
            elif start.left < end.left:
                path = f"M{start.right:g},{start.bottom - 8:g} H{end.right - 40:g} V{end.top - 1:g}"
            else:
                lane += 1
                x = SIDE_LEFT - 16 * lane
                path = f"M{start.left},{start.middle:g} H{x} V{end.middle:g} H{end.right + 1:g}"
            out.append(f'<path d="{path}" class="arrow" marker-end="url(#tip)"/>')
    return out


def picture(graph: Graph) -> str:
    """Return the whole picture as SVG."""
    boxes = placed(graph)
    height = max(box.bottom for box in boxes.values()) + MARGIN
    shapes = drawn_arrows(boxes, graph)
    for name in sorted(boxes):
        shapes += drawn_box(boxes[name])
    for i, line in enumerate(textwrap.wrap(CAPTION, int(SIDE_WIDTH / LETTER))):
        y = height - MARGIN - 2 * LINE + LINE * i
        shapes.append(f'<text x="{SIDE_LEFT}" y="{y:g}" class="said">{line}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}" '
            'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">',
            "<title>The folders of onegrad; an arrow is an import</title>",
            "<style>.name{font-size:15px;font-weight:bold;fill:#1d2f40}"
            ".said{font-size:12px;fill:#33475b}.imports{font-size:10px;fill:#7a8a99}"
            ".arrow{fill:none;stroke:#5b7590;stroke-width:1}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0,0.5 L8,4 L0,7.5 Z" fill="#5b7590"/></marker>',
            f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def long_functions() -> Iterator[tuple[int, str]]:
    """Yield length and place of the functions that are longer than they should be."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    yield length, f"{path}:{node.name}"


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


def public_names() -> list[str]:
    """Return what `from onegrad import …` offers."""
    sys.path.insert(0, str(SOURCE.parent))
    import onegrad

    return onegrad.__all__


def report() -> None:
    """Write the picture and print the numbers."""
    PICTURE.write_text(picture(import_graph()))
    lengths = {path: len((SOURCE / path).read_text().splitlines()) for path, _ in trees()}
    largest = max(lengths, key=lambda path: lengths[path])
    longest = sorted(long_functions(), reverse=True)
    print(f"{sum(lengths.values())} lines in {len(lengths)} files, largest {largest} with", end=" ")
    print(f"{lengths[largest]}; {len(public_names())} public names")
    print(f"{len(longest)} functions of more than {LONGEST_FUNCTION} lines")
    for length, place in longest:
        print(f"  {length} {place}")
    imported, executed = walk()
    print(f"onegrad {' '.join(WALK)}")
    for title, files in (("imports", imported), ("executes functions of", executed)):
        print(f"{title} {len(files)} files, {sum(lengths[Path(f)] for f in files)} lines:")
        print(textwrap.fill(" ".join(files), 100, initial_indent="  ", subsequent_indent="  "))


if __name__ == "__main__":
    walked() if "--walk" in sys.argv else report()
