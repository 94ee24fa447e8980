"""Pages that name code name code that is there."""

import ast
import re
from pathlib import Path

import pytest

import onegrad
from onegrad import Problem
from onegrad.describe.value import field_table

SOURCE = Path(onegrad.__file__).parent
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def rows():
    for line in (DOCS / "equations.md").read_text("utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 5 and ".py`" in cells[3]:
            yield re.findall(r"`([\w.]+)`", cells[2]), re.findall(r"`([\w/]+\.py)`", cells[3])


def defined(path):
    """Return names of a file's functions and classes, methods as Class.method."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return names


@pytest.mark.parametrize(("functions", "files"), list(rows()))
def test_an_equation_s_function_is_in_the_file_that_the_table_names(functions, files):
    present = set().union(*(defined(SOURCE / file) for file in files))
    wanted = {name for name in functions if name not in ("linear", "EmpiricalData")}
    assert wanted <= present


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_and_links_of_a_page_exist(page):
    text = page.read_text("utf-8")
    for file in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text):
        assert (SOURCE / file).is_file() or (ROOT / file).is_file(), file
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def test_the_table_of_fields_is_that_of_the_problem():
    text = (DOCS / "problems.md").read_text("utf-8")
    assert text.partition("<!-- fields of Problem -->")[2].strip() == field_table(Problem)
