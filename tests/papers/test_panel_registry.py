"""The registry of panels: the paper's settings, what can be drawn, panels of one's own."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tiny_studies import tiny_studies

from conftest import onegrad_here
from onegrad import InvalidInput
from onegrad.core.instance import draw
from onegrad.data import rows_files
from onegrad.data.fashion_mnist import DataNotFound
from onegrad.data.rows_files import is_here
from onegrad.describe.registry import snapshot
from onegrad.machine.cost import measure_rates
from onegrad.papers.curve_panels import NAMES, SUFFIXES
from onegrad.papers.panel import SCALES, WIDTH, Panel, Study
from onegrad.papers.panel_registry import (
    KINDS,
    PANELS,
    STUDIES,
    chosen_panels,
    register_panel,
    study_of,
)
from onegrad.papers.published import published, published_values
from onegrad.papers.reproduction import plan_reproduction

IMAGES = ["3a", "3b", "7a", "7b", "8a", "8b"]
SYNTHETIC = ["1a", "1b", "1c", "2a", "2b", "2c", "4a", "4b", "5a", "5b", "5c", "6"]
OURS = ["degrees", "gap", "samples", "Z1", "R1", "R2", "digits", "T1", "T2", "T3", "T4"]
OURS += ["C1a", "C1b", "C2", "C3"]
GIANT = ["G1", "G2", "G3", "G4", "G5"]


@pytest.fixture
def registries(monkeypatch):
    """Forget after the test what it registers."""
    for registry in (PANELS, STUDIES, KINDS):
        monkeypatch.setattr(registry, "entries", dict(registry.entries))


@pytest.fixture
def only_images_that_ship(monkeypatch):
    """Hide the official images, also those that this process has read."""
    named = rows_files._named

    def without(name, *parts):
        if name == "fashion-mnist":
            raise DataNotFound("not here")
        return named(name, *parts)

    monkeypatch.setattr(rows_files, "_named", without)


def test_every_panel_of_the_papers_is_there_and_says_whether_it_is_ours():
    assert {*SYNTHETIC, *IMAGES, *OURS, *GIANT} == set(PANELS)
    assert [name for name in PANELS if PANELS[name].ours] == OURS


def test_every_panel_names_a_known_kind_and_a_study():
    for name in PANELS:
        panel = PANELS[name]
        assert panel.name == name
        assert panel.kind in KINDS
        assert isinstance(study_of(panel), Study)


@pytest.mark.parametrize(
    ("panel", "settings", "trials", "fields"),
    [
        ("1a", 39, 20, {"scaling": (0.74, 0.5), "redraw": "network"}),
        ("1b", 60, 20, {"redraw": "network"}),
        ("1c", 30, 20, {"scaling": (0.0, 0.5)}),
        ("2a", 30, 20, {"kind": "labels"}),
        ("2b", 60, 20, {"redraw": "all"}),
        ("2c", 30, 100, {"redraw": "all"}),
        ("4a", 900, 20, {"size": (400, 500), "direction": "spikes"}),
        ("5a", 30, 20, {"scaling": (0.0, 0.0)}),
        ("5c", 30, 20, {"scaling": (0.0, 1.0)}),
    ],
)
def test_paper_scale_has_the_published_settings(panel, settings, trials, fields):
    sweep = study_of(PANELS[panel]).sweep("paper", published_redraw=True)
    points = sweep.settings()
    problem = points[0].problem
    assert len(points) == settings
    assert sweep.trials == trials
    assert (problem.dimension, problem.samples) == fields.get("size", (1000, 1000))
    assert problem.width == problem.samples or panel == "1a"
    assert problem.ridges == (1e-4,)
    if "scaling" in fields:
        assert (problem.scaling.strength, problem.scaling.weighting) == fields["scaling"]
    if "redraw" in fields:
        assert problem.redraw == fields["redraw"]
    assert problem.teacher.kind == fields.get("kind", "index")
    if "direction" in fields:
        assert problem.teacher.direction == fields["direction"]


@pytest.mark.parametrize("panel", IMAGES)
def test_images_have_the_published_settings(panel):
    study = study_of(PANELS[panel])
    assert study.fields["data"]["classes"] == ("5,9" if panel in ("3b", "8b") else "0,1")
    assert (study.fields["readout.samples"], study.fields["test_samples"]) == (500, 2500)
    assert study.trials[1] == (50 if panel == "8a" else 20)
    assert study.fields.get("readout.ridge", 1e-4) == (1e-5 if panel.startswith("8") else 1e-4)
    centring = "midpoint" if panel.startswith("8") else "class"
    assert study.fields["data"].get("centring", "class") == centring
    if is_here("fashion-mnist"):
        problem = study.sweep("paper").problem
        scaling = problem.scaling
        assert (problem.dimension, scaling.spread_at(784)) == (784, 784.0)
        rate = scaling.learning_rate_at(dimension=784, width=500, samples=500)
        assert rate == 1.0 or panel == "7b"


@pytest.mark.usefixtures("only_images_that_ship")
@pytest.mark.parametrize("panel", IMAGES)
def test_quick_images_ship_and_have_the_published_sizes(panel):
    study = study_of(PANELS[panel])
    for setting in study.sweep("quick").settings():
        problem = setting.problem
        assert (problem.dimension, problem.samples, problem.samples_per_step) == (784, 500, 500)
        assert problem.ridges == (study.fields.get("readout.ridge", 1e-4),)
        assert problem.data.file == "fashion-mnist-sample"
        drawn = problem.samples + problem.samples_per_step + problem.samples_in_test
        assert drawn == 2 * 1200  # every image that ships, once per trial
    x = PANELS[panel].x
    shown = {
        round(float(np.log(v) / np.log(784) if x.exponent else v), 4)
        for v in study.sweep("quick").axes[x.path]
    }
    values = published()
    known = values[values["panel"] == panel]["x"].round(4)
    assert shown <= set(known)
    note = study.quick_caption.format(panel=panel)
    assert f"onegrad fetch && onegrad reproduce {panel} --scale paper" in note


@pytest.mark.parametrize("study", ["one line", "off the line"])
def test_the_planes_have_the_published_settings(study):
    problem = STUDIES[study].sweep("paper").problem
    assert (problem.dimension, problem.width, problem.samples_per_step) == (4096, 1024, 4096)
    assert draw(problem.replace(dimension=2)).scales.learning_rate == 2 * 1024
    assert (problem.training.steps, problem.training.rule) == (6, "gradient")
    assert (problem.network.second_layer, problem.network.activation) == ("sign", "relu")


def test_batches_have_the_published_settings():
    settings = STUDIES["batch"].sweep("paper").settings()
    assert len(settings) == 12 * 3 * 2
    for setting in settings:
        problem, size = setting.problem, setting.problem.samples_per_step
        assert (problem.dimension, problem.width) == (512, 1024)
        assert size == round(512 ** setting.coordinates["training.samples_exponent"])
        assert problem.scaling.learning_rate_at(
            dimension=512, width=1024, samples=size
        ) == pytest.approx(10 * np.sqrt(size * 1024))
        assert problem.samples == size
        assert problem.ridges == (1 / size,)
        assert problem.network.second_layer == "gaussian"
    assert settings[-1].problem.samples_per_step == 262_144


def test_spikes_are_looked_for_at_the_exponents_of_three_bands():
    settings = STUDIES["spikes"].sweep("paper").settings()
    exponents = [setting.problem.scaling.change_exponent for setting in settings]
    assert exponents == [0.0, 0.15, 0.29, 0.36]
    assert all(setting.problem.dimension >= 2000 for setting in settings)


def test_class_means_lie_on_both_sides_of_the_origin():
    for name in ("two classes", "losses"):
        for scale in SCALES:
            for setting in STUDIES[name].sweep(scale).settings():
                problem = setting.problem
                first, second = (part.mean for part in problem.data.components)
                assert first == -second
                assert [part.weight for part in problem.data.components] == [0.5, 0.5]
                assert problem.binary


def test_error_bars_are_honest_unless_the_published_protocol_is_asked_for():
    studies = [STUDIES[name] for name in STUDIES]
    for study in (s for s in studies if s.needs is None or is_here(s.needs)):
        assert study.sweep("paper").problem.redraw == "all"


def test_every_published_value_finds_its_point():
    matched = 0
    for name in ("1a", "1b", "1c", "2a", "2b", "2c", "4a", "4b", "5a", "5c", "6"):
        panel = PANELS[name]
        table = pd.DataFrame(
            [
                {
                    "panel": name,
                    "metric": panel.metric,
                    "activation": s.problem.network.activation,
                    "model": model,
                    "x": s.coordinates[panel.x.path],
                    "y": s.coordinates[panel.y.path] if panel.y else np.nan,
                }
                for s in study_of(panel).sweep("paper").settings()
                for model in study_of(panel).models
            ]
        )
        of_panel = published_values(table).notna().sum()
        assert of_panel == (published()["panel"] == name).sum(), name
        matched += of_panel
    assert matched == 686 + 900 + 272  # curves, and the maps but for ends of a colour scale
    panel = PANELS["G3"]
    table = pd.DataFrame(
        [
            {"panel": "G3", "metric": "test_mse", "activation": "relu", "model": model, "x": x}
            for x in STUDIES["batch"].axes[panel.x.path]
            for model in (name + suffix for name in NAMES.values() for suffix in SUFFIXES.values())
        ]
    )
    assert published_values(table).notna().sum() == (published()["panel"] == "G3").sum() == 3
    images = {"3a", "3b", "7b", "8a", "8b"}
    assert set(published()["panel"]) - images <= {*PANELS} - images


def test_panels_that_were_not_published_have_no_published_values_whatever_their_x():
    table = pd.DataFrame({"panel": ["gap", "own"], "x": [0.5, "a word"]})
    assert published_values(table).isna().all()


def test_panels_are_chosen_by_name_in_the_order_that_is_asked_for():
    assert [panel.name for panel in chosen_panels(["G3", "1a", "G3"])] == ["G3", "1a"]
    assert set(GIANT) < {panel.name for panel in chosen_panels([])}
    with pytest.raises(InvalidInput, match="did you mean '1a'"):
        chosen_panels(["1aa"])


@pytest.mark.usefixtures("only_images_that_ship")
def test_panels_at_paper_scale_without_their_data_are_left_out_with_a_note():
    assert {panel.name for panel in chosen_panels([])} == set(PANELS)
    with pytest.warns(UserWarning, match="3a, 3b, 7a, 7b, 8a, 8b, R1, R2, T4, C3 are left out"):
        names = {panel.name for panel in chosen_panels([], "paper")}
    assert "digits" in names
    assert "3a" not in names
    with pytest.raises(InvalidInput, match="not here"):
        plan_reproduction(["3a"], out="never", scale="paper")


def test_the_list_of_figures_names_every_panel():
    with tiny_studies():
        done = onegrad_here("figures")
    assert done.returncode == 0, done.stderr
    for name in PANELS:
        assert f"│ {name} " in done.stdout


@pytest.mark.usefixtures("only_images_that_ship")
def test_the_list_of_figures_tells_what_a_panel_takes_and_what_it_lacks(monkeypatch):
    monkeypatch.setattr(PANELS, "entries", {name: PANELS.entries[name] for name in ("1a", "3a")})
    done = onegrad_here("figures")
    assert "│ 39 x 20 " in done.stdout
    assert "│ needs fashion-mnist " in done.stdout


def test_predictions_cost_nothing_where_theory_has_none():
    fields = {"dimension": 20, "training.samples": 30, "network.width": 10}
    both = Study(axes={"readout.batch": ("same", "fresh")}, fields=fields, quick_fields={})
    rates = measure_rates()

    def seconds(study):
        return study.cost("quick", rates).seconds

    trained = seconds(replace(both, verbs=("simulate",)))
    predicted = seconds(replace(both, axes={"readout.batch": ("fresh",)}, verbs=("predict",)))
    assert seconds(both) == pytest.approx(trained + predicted)


def test_kinds_and_panels_are_known_without_matplotlib():
    code = "import sys, onegrad.papers.reproduction; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PANEL = Panel("widths", "narrow", "A caption.", "What to see.", WIDTH)
STUDY = Study(axes={WIDTH.path: (0.5, 1.0)}, quick_fields={"dimension": 20, "readout.samples": 24})


def test_a_panel_of_one_s_own_is_known_with_its_study_and_not_to_workers(registries):
    assert register_panel(PANEL, STUDY) is PANEL
    assert chosen_panels(["widths"]) == [PANEL]
    assert study_of(PANEL) is STUDY
    assert not {"panels", "studies", "panel kinds"} & set(snapshot())
    again = Panel("widths", "width", "The rows of 1a.", "Widths.", WIDTH)
    assert register_panel(again) is again
    assert study_of(PANELS["widths"]) is STUDIES["width"]


@pytest.mark.parametrize(
    ("panel", "study", "message"),
    [
        ("widths", None, "must be a Panel"),
        (Panel("1c", "narrow", "", "", WIDTH), STUDY, "rename it"),
        (Panel("gap", "narrow", "", "", WIDTH), STUDY, "is built in"),
        (Panel("widths", "width", "", "", WIDTH), STUDY, "is built in"),
        (Panel("widths", "narow", "", "", WIDTH), None, "study='narow': must be one of"),
        (Panel("widths", "narrow", "", "", WIDTH, kind="curve"), STUDY, "did you mean 'curves'"),
        (Panel("widths", "narrow", "", "", WIDTH), {"axes": {}}, "must be a Study"),
    ],
)
def test_a_panel_that_cannot_be_drawn_is_refused(registries, panel, study, message):
    with pytest.raises(InvalidInput, match=message):
        register_panel(panel, study)
    assert "widths" not in PANELS
