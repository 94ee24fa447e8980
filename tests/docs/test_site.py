"""What the site is made of is complete before Sphinx is asked: tables, tasks, links."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from onegrad.papers.panel_registry import KINDS, PANELS
from onegrad.papers.panel_table import COLUMNS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TASKS = dict(
    re.findall(
        r"^## (\d+) · [^\n]+\n(.*?)(?=^## |\Z)",
        (DOCS / "frictions.md").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)


def test_the_gallery_has_a_table_for_every_panel_and_no_other():
    assert {table.stem for table in (DOCS / "gallery").glob("*.csv")} == set(PANELS)


@pytest.mark.parametrize("name", ["1a", "4b", "G4", "T1"])
def test_a_panel_is_drawn_from_its_table(name):
    table = pd.read_csv(DOCS / "gallery" / f"{name}.csv")
    assert set(COLUMNS) <= set(table.columns)
    assert KINDS[PANELS[name].kind].draw(PANELS[name], table).axes


def test_there_are_ten_tasks():
    assert list(TASKS) == [str(number) for number in range(1, 11)]


@pytest.mark.parametrize("number", sorted(TASKS, key=int))
def test_a_task_takes_at_most_five_lines(number):
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", TASKS[number], re.MULTILINE | re.DOTALL)
    answer = cells[-1]  # of task 5 the first cell is the accident
    assert 1 <= len([line for line in answer.splitlines() if line.strip()]) <= 5
    assert all(len(line) <= 100 for line in answer.splitlines())


def test_every_page_is_in_the_navigation():
    places = {"": DOCS / "index.md", "api/": DOCS / "api" / "index.md"}
    named = set()
    for folder, page in places.items():
        for listed in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            named |= {folder + line for line in listed.split("\n") if line and line[0] != ":"}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert named == pages - {"index"}


def check_links(folder):
    command = [sys.executable, str(ROOT / "benchmarks" / "site_links.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_check_of_links_finds_lost_files_and_anchors(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    index = tmp_path / "index.html"
    index.write_text('<a href="other.html#here">x</a><a href="https://example.org/x">y</a>')
    assert check_links(tmp_path).returncode == 0
    index.write_text('<a href="other.html#gone">x</a><img src="lost.png">')
    found = check_links(tmp_path)
    assert found.returncode == 1
    assert "other.html#gone" in found.stdout
    assert "lost.png" in found.stdout
    assert check_links(tmp_path / "nowhere").returncode == 2
