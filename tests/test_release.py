"""One version, one citation, and a description without broken pictures or links."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import onegrad
from onegrad.cli.main import cli

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#|mailto:)[^)]*\)")
PICTURE = re.compile(r"!\[|<img\b")


def test_the_version_has_one_place():
    assert "version" in PYPROJECT["project"]["dynamic"]
    assert "version" not in PYPROJECT["project"]
    read_by_build = ROOT / PYPROJECT["tool"]["hatch"]["version"]["path"]
    said = re.findall(r'^__version__ = "(.*)"$', read_by_build.read_text("utf-8"), re.MULTILINE)
    assert said == [onegrad.__version__]


def test_the_citation_file_has_this_version():
    assert re.search(r"^version: (.*)$", CITATION, re.MULTILINE)[1] == onegrad.__version__


def test_the_printed_citation_says_what_the_citation_file_says():
    printed = CliRunner().invoke(cli, ["--cite"], catch_exceptions=False)
    assert printed.exit_code == 0
    text = " ".join(printed.stdout.split())
    assert f"version = {{{onegrad.__version__}}}" in text
    title = re.search(r'title: "(Asymptotic Analysis[^"]*)"', CITATION)[1]
    url = re.search(r'url: "([^"]*)"', CITATION)[1]
    for said in (title, url, "Demir, Samet and Dogan, Zafer", "2025"):
        assert said in text
    assert printed.stdout.count("{") == printed.stdout.count("}")
    assert "license = {MIT}" in text
    assert "license: MIT" in CITATION


def test_how_to_cite_in_the_readme_is_what_is_printed():
    printed = CliRunner().invoke(cli, ["--cite"], catch_exceptions=False).stdout
    assert f"```bibtex\n{printed.strip()}\n```" in (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def description():
    """The README as the build puts it into the metadata."""
    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert [part["path"] for part in hook["fragments"]] == ["README.md"]
    text = (ROOT / "README.md").read_text("utf-8")
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    return text


def test_the_description_has_no_picture_or_link_into_the_repository(description):
    assert not PICTURE.search(description)
    assert not RELATIVE_LINK.search(description)
    # Negative control: the page in the repository has both.
    readme = (ROOT / "README.md").read_text("utf-8")
    assert PICTURE.search(readme)
    assert RELATIVE_LINK.search(readme)


def test_the_description_keeps_the_text(description):
    headings = re.findall(r"^## .*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert re.findall(r"^## .*$", description, re.MULTILINE) == headings
    assert "- Notation: the symbols" in description  # the names of pages stay, as text
    assert "plotted by `onegrad reproduce" not in description  # no caption without its pictures


def test_pythons_of_hosted_ci_are_those_declared():
    declared = [
        line.rpartition(" ")[2]
        for line in PYPROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    matrix = re.search(r"python: \[(.*)\]", workflow)[1]
    assert re.findall(r"[\d.]+", matrix) == declared


def test_every_lower_bound_is_tested():
    """The oldest releases that `.ci/versions` installs are the bounds that are declared."""
    pinned = dict(
        line.split("==")
        for line in (ROOT / ".ci" / "oldest.txt").read_text("utf-8").splitlines()
        if "==" in line
    )
    extras = PYPROJECT["project"]["optional-dependencies"]
    lists = [PYPROJECT["project"]["dependencies"]]
    lists += [needs for extra, needs in extras.items() if extra in pinned_extras(extras)]
    for requirement in (entry for needs in lists for entry in needs if ">=" in entry):
        name, _, bound = requirement.partition(">=")
        padded = [*map(int, pinned[name].split("."))]
        assert padded[: len(bound.split("."))] == [*map(int, bound.split("."))], requirement
        assert not any(padded[len(bound.split(".")) :]), f"{requirement}: {pinned[name]} is newer"


def pinned_extras(extras):
    """Return the extras that `.ci/versions` installs: all that the tests need."""
    wanted, waiting = set(), ["test"]
    while waiting:
        extra = waiting.pop()
        wanted.add(extra)
        for entry in extras[extra]:
            inner = re.fullmatch(r"onegrad\[(.*)\]", entry)
            waiting += inner[1].split(",") if inner else []
    return wanted


def test_the_page_on_installation_names_every_extra():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    for extra in PYPROJECT["project"]["optional-dependencies"]:
        assert f"`onegrad[{extra}]`" in page
