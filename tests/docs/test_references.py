"""Docstrings cite papers by the numbers of the page of references."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCES = (ROOT / "docs" / "references.md").read_text("utf-8")
NUMBERS = {
    "Demir & Dogan": 1,
    "Hu and Lu": 2,
    "Cui et al.": 3,
    "Moniri et al.": 4,
    "Dandi et al.": 5,
    "Abbe et al.": 6,
    "Tipping & Bishop": 7,
}
NAMED = re.compile("|".join(re.escape(name) for name in NUMBERS))
COMMANDS = ROOT / "src" / "onegrad" / "cli"  # whose docstrings are help texts, far from the page


def docstrings():
    """Yield the docstrings of the package and its benchmarks, in one line each."""
    for file in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]):
        if COMMANDS in file.parents:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield " ".join((ast.get_docstring(node) or "").split())


def uncited(text):
    """Return the authors that a text names without their number."""
    return [
        named[0]
        for named in NAMED.finditer(text)
        if not text.startswith(f" [{NUMBERS[named[0]]}]", named.end())
    ]


def test_papers_in_docstrings_have_their_numbers():
    named = [text for text in docstrings() if NAMED.search(text)]
    assert len(named) > 10
    assert [missing for text in named for missing in uncited(text)] == []
    # Negative control: a name alone, and a wrong number.
    assert uncited("as Dandi et al. publish it") == ["Dandi et al."]
    assert uncited("as Dandi et al. [4] publish it") == ["Dandi et al."]


def test_the_numbers_are_those_of_the_references():
    for name, number in NUMBERS.items():
        entry = re.search(rf"^\*\*\[{number}\]\*\* ([^*]*)\*", REFERENCES, re.MULTILINE)[1]
        assert name.split()[0] in entry
    cited = {int(n) for text in docstrings() for n in re.findall(r" \[(\d+)\]", text)}
    assert {*NUMBERS.values()} <= cited
    assert all(f"(ref-{number})=" in REFERENCES for number in cited)
