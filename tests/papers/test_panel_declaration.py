"""Panels that a TOML file declares are drawn as all others, and checked before anything runs."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from conftest import onegrad_here
from onegrad import InvalidInput
from onegrad.papers.panel_registry import KINDS, PANELS, STUDIES, load_panel
from onegrad.papers.reproduction import panel_rows, plan_reproduction

PAGE = Path(__file__).parents[2] / "docs" / "figures.md"
DECLARED = """
name = "own"
caption = "A <caption> & more."
x = { path = "scaling.strength", label = "strength β" }
closed = true

[sweep]
trials = 3
draws = 2

[sweep.problem]
dimension = 20
readout = { samples = 24 }

[sweep.axes]
"scaling.strength" = [0.2, 0.6]
"network.activation" = ["relu", "tanh"]
"""

pytestmark = pytest.mark.filterwarnings("ignore:theory")


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    for registry in (PANELS, STUDIES, KINDS):
        monkeypatch.setattr(registry, "entries", dict(registry.entries))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(DECLARED)
    return path


def test_a_declared_panel_has_tables_pictures_theory_and_error_bars(file, tmp_path):
    done = onegrad_here("reproduce", "own.toml", "--out", "figs", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Wrote 1 panel to figs; open {Path('figs', 'report.html')}\n"
    table = pd.read_csv(tmp_path / "figs" / "own.csv")
    models = {"network", "hermite", "network_theory", "hermite_theory"}
    assert set(table["model"]) == models
    assert len(table) == len(models) * 2 * 2
    assert (table["stderr"] > 0).all()
    assert table["closed"].notna().all()
    for form in ("png", "pdf"):
        assert (tmp_path / "figs" / f"own.{form}").stat().st_size > 1000
    about = json.loads((tmp_path / "figs" / "own.json").read_text("utf-8"))
    assert about["command"].startswith("onegrad reproduce own.toml ")
    report = (tmp_path / "figs" / "report.html").read_text("utf-8")
    assert "A &lt;caption&gt; &amp; more." in report
    assert "A <caption>" not in report


def test_both_scales_run_the_sweep_as_it_is_and_a_seed_replaces_its_own(file):
    panel, study = load_panel(file)
    assert panel.x.label == "strength β"
    assert study.sweep("quick") == study.sweep("paper") == study.given
    assert study.sweep("quick", seed=7) == study.given.replace(seed=7)
    assert study.given.verbs == ("simulate", "predict")


def test_a_sweep_of_a_file_of_its_own_is_read_beside_it(file, tmp_path):
    _, study = load_panel(file)
    study.given.save(tmp_path / "sweep.toml")
    head = DECLARED.partition("[sweep]")[0]
    file.write_text(f'sweep = "sweep.toml"\n{head}')
    assert load_panel(file)[1].given == study.given


def test_facets_penalties_and_steps_are_axes(file, tmp_path):
    file.write_text(
        DECLARED.replace("closed = true", 'kind = "points"\nfacet = "readout.ridge"').replace(
            '"network.activation" = ["relu", "tanh"]', '"readout.ridge" = [0.01, 0.1]'
        )
    )
    task = plan_reproduction([str(file)], out=tmp_path / "figs")
    (ready,) = panel_rows(task)
    panel = ready.panel
    table = KINDS[panel.kind].table(panel, ready.rows)
    assert sorted(table["facet"].unique()) == [0.01, 0.1]
    KINDS[panel.kind].draw(panel, table)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "own"', "", "name: missing; give it a value"),
        ('name = "own"', 'name = "gap"', "name='gap': is built in"),
        ('name = "own"', 'name = "../up"', "must be a word"),
        ('name = "own"', 'name = "own"\ncolour = "red"', "colour='red': no such field"),
        ("closed = true", 'metric = "loss"', "metric='loss': must be one of"),
        ("closed = true", 'metric = "misclassification"', "needs one output per class"),
        ("closed = true", 'kind = "pie"', "kind='pie': must be 'curves'"),
        ("closed = true", 'closed = "yes"', "closed='yes': must be true or false"),
        ("closed = true", "tolerance = -1", "tolerance=-1: must be finite and greater than 0"),
        ("closed = true", 'kind = "map"', "kind='map': needs a second axis; give y"),
        ("closed = true", 'facet = "network.activation"', "kind 'points' has facets"),
        ('path = "scaling.strength"', 'path = "scaling.weighting"', "must be an axis of the sweep"),
        (
            'path = "scaling.strength"',
            'path = "network.activation"',
            "several settings share a place",
        ),
        ('"relu", "tanh"]', '"relu", "tanh"]\n"readout.ridge" = [0.1, 1]', "share a place (ridge)"),
        ("dimension = 20", "dimension = -2", "sweep.problem.dimension=-2: must be a whole number"),
        ("[sweep]\ntrials = 3\ndraws = 2", "", None),
        (
            "[sweep]\ntrials = 3",
            '[sweep]\ntrials = 3\nverbs = ["dance"]',
            "sweep.verbs.0='dance': must be",
        ),
        (
            '["relu", "tanh"]',
            '["relu", "tanh", "sigmoid", "erf", "sin", "gelu", "silu"]',
            "7 values",
        ),
        ("x = {", "x = [", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_before_anything_runs(
    file, tmp_path, old, new, message
):
    assert old in DECLARED
    file.write_text(DECLARED.replace(old, new))
    if message is None:
        load_panel(file)  # a sweep's own table may be left out
        return
    done = onegrad_here("reproduce", "own.toml", "--out", "figs", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "figs").exists()


def test_a_file_without_a_sweep_or_that_is_not_there_is_said(file, tmp_path):
    file.write_text(DECLARED.partition("[sweep]")[0])
    with pytest.raises(InvalidInput, match="sweep: missing; give a table"):
        load_panel(file)
    with pytest.raises(InvalidInput, match="No such file or directory; check the path"):
        load_panel(tmp_path / "none.toml")
    file.write_text(DECLARED)
    with pytest.raises(InvalidInput, match="has no published protocol"):
        plan_reproduction([str(file)], redraw="published", out=tmp_path / "figs")


def test_the_example_of_the_page_is_drawn(tmp_path):
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (example,) = (block for block in blocks if "caption" in block)
    (tmp_path / "my.toml").write_text(example)
    done = onegrad_here("reproduce", "my.toml", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    name = re.search(r'^name = "(\w+)"', example, re.MULTILINE)[1]
    table = pd.read_csv(tmp_path / "figures" / f"{name}.csv")
    assert {"network", "network_theory"} <= set(table["model"])
    assert table.loc[table["model"] == "network", "stderr"].gt(0).all()
