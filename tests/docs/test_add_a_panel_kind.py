"""The page "Add a panel kind" does what it says, word by word, outside the package."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from onegrad.papers.panel_table import COLUMNS

PAGE = Path(__file__).parents[2] / "docs" / "add_a_panel_kind.md"
NUMBERS = r"(relu|tanh): correlation -?[01]\.\d\d"


def blocks():
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run(folder):
    command = [sys.executable, "page.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which the page's code has run."""
    place = tmp_path_factory.mktemp("page")
    (place / "page.py").write_text("\n".join(blocks()), "utf-8")
    done = run(place)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said == ["16 trials to run", str(Path("figures", "report.html"))]
    return place


def test_the_page_is_short_and_its_first_block_is_a_whole_file():
    code = blocks()[0]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 60
    assert '\nif __name__ == "__main__":\n' in code


def test_the_panel_has_a_line_per_trial_a_picture_and_its_numbers(folder):
    table = pd.read_csv(folder / "figures" / "pairs.csv")
    assert list(table.columns) == COLUMNS
    assert len(table) == 16
    assert (folder / "figures" / "pairs.png").stat().st_size > 1000
    assert (folder / "figures" / "pairs.pdf").stat().st_size > 1000
    about = json.loads((folder / "figures" / "pairs.json").read_text("utf-8"))
    assert all(re.fullmatch(NUMBERS, sentence) for sentence in about["numbers"])
    report = (folder / "figures" / "report.html").read_text("utf-8")
    assert "Test MSE of both models, trial by trial." in report
    assert len(re.findall(f"<li>{NUMBERS}</li>", report)) == 2


def test_points_follow_the_diagonal(folder):
    about = json.loads((folder / "figures" / "pairs.json").read_text("utf-8"))
    # At n = 60 models differ trial by trial; a good half of the errors' variance is common.
    assert all(float(sentence.split()[-1]) > 0.75 for sentence in about["numbers"])


def test_run_again_it_computes_nothing_and_draws_the_same(folder):
    before = (folder / "figures" / "pairs.png").read_bytes()
    done = run(folder)
    assert done.stdout.startswith("0 trials to run")
    assert (folder / "figures" / "pairs.png").read_bytes() == before
