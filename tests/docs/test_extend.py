"""The examples of the page "Extend onegrad" run from outside the package, on two workers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from onegrad.papers.panel_table import COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text("utf-8")
START, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
COMPARED = ["A function", "A model", "A data source", "A teacher", "An update rule"]
NUMBERS = r"(relu|tanh): correlation -?[01]\.\d\d"


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def program_of(title):
    """Return the example of a section, after the comparison with which the first five end."""
    (section,) = (text for text in SECTIONS if text.startswith(f"{title}\n"))
    (example,) = blocks(section)
    return "\n\n".join([*blocks(START), example]) if title in COMPARED else example


def run(folder):
    command = [sys.executable, "page.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def is_as_promised(printed, folder):
    pairs = re.findall(r"trained ([\d.]+), theory ([\d.]+)", printed)
    assert pairs
    for trained, theory in pairs:
        # 16 paired draws at n = 60: standard errors of 3 %, and C/n with C = 6 as in the theory's
        # own tests.
        assert float(theory) == pytest.approx(float(trained), rel=4 * 0.03 + 6 / 60)
    assert re.search(r"[1-9]\d* values, 0 failures", printed)
    assert list((folder / "runs").glob("rows-*"))


def test_every_section_has_one_example():
    titles = [section.partition("\n")[0] for section in SECTIONS]
    assert titles == [*COMPARED, "A convex loss", "A kind of panel"]


@pytest.mark.parametrize("title", COMPARED[1:])
def test_an_example_goes_through_simulate_predict_and_a_sweep(title, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(program_of(title), title, "exec", dont_inherit=True), {"__name__": "__main__"})
    is_as_promised(capsys.readouterr().out, tmp_path)


def test_an_example_runs_in_its_own_process(tmp_path):
    (tmp_path / "page.py").write_text(program_of(COMPARED[0]), "utf-8")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    is_as_promised(done.stdout, tmp_path)


def test_the_example_of_a_loss_fits_quantiles(capsys):
    exec(compile(program_of("A convex loss"), "loss", "exec"), {"__name__": "__main__"})
    found = re.findall(r"quantile ([\d.]+): ([\d.]+) of the labels", capsys.readouterr().out)
    assert len(found) == 3
    # The fit passes through as many labels as it has weights, 40 of 300.
    assert all(float(share) == pytest.approx(float(level), abs=40 / 300) for level, share in found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which the example of a panel has run."""
    place = tmp_path_factory.mktemp("page")
    (place / "page.py").write_text(program_of("A kind of panel"), "utf-8")
    done = run(place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["16 trials to run", str(Path("figures", "report.html"))]
    return place


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
