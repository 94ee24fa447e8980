"""The figures: the registry holds the paper's settings, and rows become tables and pictures."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from conftest import onegrad
from onegrad import InvalidInput
from onegrad.data.rows import labelled
from onegrad.data.rows.fashion_mnist import DataNotFound
from onegrad.data.rows.labelled import is_here
from onegrad.describe.registry import Entry
from onegrad.figures import reproduction as module
from onegrad.figures.panel import Panel, Study
from onegrad.figures.panel_registry import PANELS as ALL_PANELS
from onegrad.figures.panel_registry import STUDIES as ALL_STUDIES
from onegrad.figures.panel_registry import chosen_panels
from onegrad.figures.reproduction import plan_reproduction, reproduce
from onegrad.figures.tables.panel_table import COLUMNS
from onegrad.figures.tables.published_values import published, published_values

# Ten samples in 784 dimensions make neurons almost parallel.
parallel = pytest.mark.filterwarnings("ignore:exact moments")
PANELS = {n: ALL_PANELS[n] for n in ALL_PANELS if isinstance(ALL_PANELS[n], Panel)}
STUDIES = {n: ALL_STUDIES[n] for n in ALL_STUDIES if isinstance(ALL_STUDIES[n], Study)}
IMAGES = ["3a", "3b", "7a", "7b", "8a", "8b"]
SYNTHETIC = ["1a", "1b", "1c", "2a", "2b", "2c", "4a", "4b", "5a", "5b", "5c", "6"]
TINY_AXES = {
    "network.width_ratio": [0.5, 1.0],
    "scaling.weighting": [0.0, 1.0],
    "scaling.strength": [0.0, 0.74],
    "data.components.0.weight": [0.0, 0.5],
    "data.components.1.weight": [1.0, 0.5],
    "data.alignment": [-1.0, 0.5],
    "data.components.*.rank": [1, 2],
    "dimension": [20, 30],
    "samples": [20, 30],
    "data.fit.components_per_class": [1, 2],
    "scaling.learning_rate": [1.0, 28.0],
}


@pytest.fixture
def tiny(monkeypatch, tiny_steps):
    """Make every study small enough to run all panels in seconds."""
    for name, study in STUDIES.items():
        axes = {path: TINY_AXES[path] for path in study.axes if path in TINY_AXES}
        fields = {"dimension": 20, "samples": 24}
        if "network.width" in study.fields:
            fields = {"dimension": 20, "network.width": 24, "step_samples": 24}
        if "data" in study.fields:
            fit = {"components_per_class": 1, "rank": 2}
            data = {**study.fields["data"], "fit": fit}
            if study.needs:
                data["file"] = "fashion-mnist-sample"
            study = replace(study, fields={**study.fields, "data": data}, needs=None)
            fields = {**fields, "samples": 12, "step_samples": 10, "test_samples": 10}
            del fields["dimension"]
        small = replace(study, quick_axes=axes, quick_fields=fields, trials=(2, 20), draws=(2, 4))
        monkeypatch.setitem(ALL_STUDIES.entries, name, Entry(name, small))


def test_every_panel_of_the_paper_is_there():
    assert {*SYNTHETIC, *IMAGES} <= set(PANELS)
    assert all(PANELS[name].ours == (name not in SYNTHETIC + IMAGES) for name in PANELS)


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
    sweep = STUDIES[PANELS[panel].study].sweep("paper", published_redraw=True)
    found = sweep.settings()
    problem = found[0].problem
    assert len(found) == settings
    assert sweep.trials == trials
    assert (problem.dimension, problem.samples) == fields.get("size", (1000, 1000))
    assert problem.width == problem.samples or panel == "1a"
    assert problem.ridge == 1e-4
    if "scaling" in fields:
        assert (problem.scaling.strength, problem.scaling.weighting) == fields["scaling"]
    if "redraw" in fields:
        assert problem.redraw == fields["redraw"]
    assert problem.teacher.kind == fields.get("kind", "index")
    if "direction" in fields:
        assert problem.teacher.direction == fields["direction"]


def test_error_bars_are_honest_unless_the_published_protocol_is_asked_for():
    for study in (s for s in STUDIES.values() if s.needs is None or is_here(s.needs)):
        assert study.sweep("paper").problem.redraw == "all"


def test_every_published_value_finds_its_point():
    matched = 0
    for name in ("1a", "1b", "2b"):
        panel = PANELS[name]
        sweep = STUDIES[panel.study].sweep("paper")
        table = pd.DataFrame(
            [
                {
                    "panel": name,
                    "metric": "half_test_mse",
                    "activation": s.problem.network.activation,
                    "model": model,
                    "x": s.coordinates[panel.x.path],
                }
                for s in sweep.settings()
                for model in ("network", "hermite")
            ]
        )
        matched += published_values(table).notna().sum()
    assert matched == len(published()) == 312


def test_panels_that_share_rows_share_their_study():
    assert PANELS["5b"].study == PANELS["1c"].study
    assert PANELS["6"].study == PANELS["1a"].study
    assert PANELS["4a"].study == PANELS["4b"].study


@parallel
def test_all_panels_are_drawn_and_again_without_computing(tiny, tmp_path):
    task = plan_reproduction(out=tmp_path / "a")
    report = reproduce(task)
    text = report.read_text("utf-8")
    for name in PANELS:
        table = pd.read_csv(tmp_path / "a" / f"{name}.csv")
        assert list(table.columns)[: len(COLUMNS)] == COLUMNS
        assert np.isfinite(table["value"]).all() or name == "degrees"
        assert (tmp_path / "a" / f"{name}.pdf").stat().st_size > 1000
        assert f'id="panel-{name}"' in text
        assert PANELS[name].caption.split(",")[0].replace("'", "&#x27;") in text
    assert 'src="http' not in text
    assert "onegrad reproduce 1a --scale quick" in text
    again = plan_reproduction(out=tmp_path / "a")
    assert again.plan.missing == ()
    reproduce(plan_reproduction(["1a", "4b"], out=tmp_path / "b"))
    for name in ("1a.csv", "1a.png", "1a.pdf", "4b.png"):
        one, other = (tmp_path / folder / name for folder in "ab")
        assert one.read_bytes() == other.read_bytes(), name


def test_a_table_has_simulation_and_theory_of_both_models(tiny, tmp_path):
    reproduce(plan_reproduction(["6", "1a", "4b"], out=tmp_path))
    table = pd.read_csv(tmp_path / "1a.csv")
    assert set(table["model"]) == {"network", "hermite", "network_theory", "hermite_theory"}
    assert set(table["trials"]) == {2}
    objective = pd.read_csv(tmp_path / "6.csv")
    assert set(objective["metric"]) == {"objective"}
    about = json.loads((tmp_path / "1a.json").read_text("utf-8"))
    assert [d["name"] for d in about["deviations"]] == [
        "Hermite model against network",
        "theory against simulation, network",
        "theory against simulation, hermite",
    ]
    gaps = pd.read_csv(tmp_path / "4b.csv")
    assert set(gaps["model"]) == {"linear", "linear_theory"}
    assert gaps["value"].max() <= 100
    assert table["published"].isna().all()  # not at the published size


@parallel
def test_fits_compare_theory_with_networks_trained_once(tiny, tmp_path):
    reproduce(plan_reproduction(["R1", "digits", "7b"], out=tmp_path))
    table = pd.read_csv(tmp_path / "R1.csv")
    assert set(table["facet"]) == {"0,1", "5,9"}
    trained = table[table["model"] == "network"]
    assert trained["y"].isna().all()
    assert not trained.duplicated(["facet", "activation", "x"]).any()
    assert set(table[table["model"] == "network_theory"]["y"]) == {1, 2}
    about = json.loads((tmp_path / "R1.json").read_text("utf-8"))
    names = [d["name"] for d in about["deviations"]]
    assert names[:2] == [f"theory on {n} per class" for n in ("1 Gaussian", "2 Gaussians")]
    assert "theory on 2 Gaussians per class: 5,9, tanh" in names
    rates = pd.read_csv(tmp_path / "7b.csv")
    assert sorted(set(rates["x"].round(9))) == [0.0, 0.5]  # log η/log n


@pytest.mark.parametrize("panel", IMAGES)
def test_images_have_the_published_settings(panel):
    study = STUDIES[PANELS[panel].study]
    assert study.fields["data"]["classes"] == ("5,9" if panel in ("3b", "8b") else "0,1")
    assert (study.fields["samples"], study.fields["test_samples"]) == (500, 2500)
    assert study.trials[1] == (50 if panel == "8a" else 20)
    assert study.fields.get("ridge", 1e-4) == (1e-5 if panel.startswith("8") else 1e-4)
    centring = "midpoint" if panel.startswith("8") else "class"
    assert study.fields["data"].get("centring", "class") == centring
    if is_here("fashion-mnist"):
        sweep = study.sweep("paper")
        problem = sweep.problem
        rate, spread = problem.scaling.rate_and_spread(784)
        assert (problem.dimension, spread) == (784, 784.0)
        assert rate == 1.0 or panel == "7b"


def test_panels_without_their_data_are_left_out_with_a_note(monkeypatch):
    def nowhere(name):
        raise DataNotFound("not here")

    monkeypatch.setattr(labelled, "_named", nowhere)
    with pytest.warns(UserWarning, match="3a, 3b, 7a, 7b, 8a, 8b, R1, R2 are left out"):
        found = chosen_panels([])
    assert "digits" in {panel.name for panel in found}
    assert "3a" not in {panel.name for panel in found}
    with pytest.raises(InvalidInput, match="not here"):
        plan_reproduction(["3a"], out="never")


def test_half_the_test_mse_is_half_the_test_mse(tiny, tmp_path):
    task = plan_reproduction(["1a"], out=tmp_path)
    reproduce(task)
    table = pd.read_csv(tmp_path / "1a.csv").set_index(["activation", "x", "model"])
    results = module.Results.load(tmp_path / "sweeps").to_frame()
    mine = results[(results["metric"] == "test_mse") & (results["verb"] == "simulate")]
    for line in mine.to_dict("records"):
        found = table.loc[(line["network.activation"], line["network.width_ratio"], line["model"])]
        assert found["value"] == pytest.approx(line["mean"] / 2)
        assert found["stderr"] == pytest.approx(line["stderr"] / 2)


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="did you mean '1a'"):
        chosen_panels(["1aa"])
    with pytest.raises(InvalidInput, match="must be one of quick, paper"):
        plan_reproduction(scale="huge", out=tmp_path)
    with pytest.raises(InvalidInput, match="all or published"):
        plan_reproduction(redraw="some", out=tmp_path)
    (tmp_path / "file").write_text("")
    done = onegrad("reproduce", "1a", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written" in done.stderr
    assert onegrad("reproduce", "9z", "--out", str(tmp_path)).returncode == 2


def test_the_list_of_figures_names_every_panel():
    done = onegrad("figures")
    assert done.returncode == 0, done.stderr
    for name in ALL_PANELS:
        assert f"│ {name} " in done.stdout
