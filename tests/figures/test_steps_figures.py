"""The panels of giant steps: published settings, tables, pictures, and runs that survive a kill."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from onegrad import InvalidInput, StepsProblem, take_steps
from onegrad.describe.registry import Entry
from onegrad.figures import giant_runs
from onegrad.figures.giant_cost import work
from onegrad.figures.panel_registry import STUDIES, chosen_panels
from onegrad.figures.panels.giant import STEPS_PANELS, STEPS_STUDIES
from onegrad.figures.reproduction import plan_reproduction, reproduce
from onegrad.figures.tables.panel_table import COLUMNS
from onegrad.steps import saved

GIANT = ["G1", "G2", "G3", "G4", "G5"]


def test_all_panels_of_giant_steps_are_in_the_registry():
    assert [panel.name for panel in STEPS_PANELS] == GIANT
    assert [panel.name for panel in chosen_panels(["G3", "1a"])] == ["G3", "1a"]
    assert set(GIANT) < {panel.name for panel in chosen_panels([])}


@pytest.mark.parametrize("study", ["one line", "off the line"])
def test_the_planes_have_the_published_settings(study):
    ((_, problem),) = STEPS_STUDIES[study].settings("paper")
    assert (problem.dimension, problem.width, problem.batch_size) == (4096, 1024, 4096)
    assert problem.learning_rate(1.0) == 2 * 1024
    assert (problem.steps, problem.second_layer, problem.activation) == (6, "sign", "relu")


def test_batches_have_the_published_settings():
    settings = STEPS_STUDIES["batch"].settings("paper")
    assert len(settings) == 22
    for point, problem in settings:
        assert (problem.dimension, problem.width) == (512, 1024)
        assert problem.batch_size == round(512 ** point["batch_exponent"])
        size = problem.batch_size
        assert problem.learning_rate(1.0) == pytest.approx(10 * np.sqrt(size * 1024))
        assert problem.readout_ridge == 1 / size
        assert (problem.readout, problem.second_layer) == ("same", "gaussian")
    assert settings[-1][1].batch_size == 262_144


def test_spikes_are_looked_for_at_the_exponents_of_three_bands():
    settings = STEPS_STUDIES["spikes"].settings("paper")
    assert [point["step_size.exponent"] for point, _ in settings] == [0.0, 0.15, 0.29, 0.36]
    assert all(problem.dimension >= 2000 for _, problem in settings)


def test_panels_are_drawn_from_their_runs_and_again_without_taking_a_step(tiny_steps, tmp_path):
    reproduce(plan_reproduction(GIANT, out=tmp_path / "a"))
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    for name in GIANT:
        table = pd.read_csv(tmp_path / "a" / f"{name}.csv")
        assert list(table.columns)[: len(COLUMNS)] == COLUMNS
        assert (tmp_path / "a" / f"{name}.pdf").stat().st_size > 1000
        about = json.loads((tmp_path / "a" / f"{name}.json").read_text("utf-8"))
        assert about["numbers"]
        assert f'id="panel-{name}"' in page
    again = plan_reproduction(GIANT, out=tmp_path / "a")
    assert again.missing == 0
    before = (tmp_path / "a" / "G2.png").read_bytes()
    reproduce(again)
    assert (tmp_path / "a" / "G2.png").read_bytes() == before
    reproduce(plan_reproduction(["G2"], out=tmp_path / "b"), workers=2)
    for name in ("G2.csv", "G2.png", "G2.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert not list((tmp_path / "b").glob("steps/*.npz"))


def test_tables_hold_what_the_runs_found(tiny_steps, tmp_path):
    reproduce(plan_reproduction(["G1", "G3", "G4"], out=tmp_path))
    ((_, problem),) = STUDIES["one line"].settings("quick")
    runs = [take_steps(problem, trial=trial) for trial in range(2)]
    table = pd.read_csv(tmp_path / "G1.csv")
    angles = table[(table["metric"] == "median_angle") & (table["model"] == "gradient")]
    found = [run.records[2].gradient.angle for run in runs]
    line = angles[angles["x"] == 2].iloc[0]
    assert line["value"] == pytest.approx(np.mean(found))
    assert line["stderr"] == pytest.approx(np.std(found, ddof=1) / np.sqrt(2))
    assert line["trials"] == 2
    neurons = table[(table["metric"] == "overlap") & (table["y"] == 1)]
    mine = neurons[neurons["model"].str.startswith("gradient")]
    assert mine[["x", "value"]].to_numpy() == pytest.approx(runs[0].records[1].gradient.overlaps)
    errors = pd.read_csv(tmp_path / "G3.csv")
    models = set(errors[errors["metric"] == "test_mse"]["model"])
    assert models == {
        "one step",
        "one step, subtracted",
        "untrained",
        "untrained, subtracted",
    }
    spikes = pd.read_csv(tmp_path / "G4.csv")
    assert set(spikes[spikes["metric"] == "predicted"]["value"]) == {0, 2}


def test_a_reproduction_that_was_killed_takes_only_what_is_missing(tiny_steps, tmp_path):
    task = plan_reproduction(["G4"], out=tmp_path)
    goal = len(task.giant_plan.runs)
    assert goal == task.missing == 4
    giant_runs.run_giant(giant_runs.GiantPlan(task.giant_plan.runs[:3]))
    rest = plan_reproduction(["G4"], out=tmp_path)
    assert rest.missing == 1
    seen = []
    reproduce(rest, progress=lambda p: seen.append((p.done, p.goal)))
    assert seen == [(1, 1)]


def _without(path):
    def spoil(found):
        *outer, last = path
        for part in outer:
            found = found[part]
        del found[last]

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _without(["digest"]),
        _without(["trial"]),
        _without(["noise_radius"]),
        _without(["first_direction"]),
        _without(["steps"]),
        _without(["steps", 1]),
        _without(["steps", 1, "test_mse"]),
        _without(["steps", 1, "features", "observed"]),
        _without(["steps", 1, "gradient"]),
        _without(["steps", 1, "weights", "overlaps", 3]),
        lambda found: found.update(first_direction=["1", "2"]),
        lambda found: found["steps"][1].update(gradient=None),
        lambda found: found.update(steps=3),
        lambda found: found.clear(),
    ],
)
def test_a_spoilt_run_is_named(tiny_steps, tmp_path, spoil):
    task = plan_reproduction(["G1"], out=tmp_path)
    giant_runs.run_giant(task.giant_plan)
    assert task.giant_plan.of("one line")
    path = task.giant_plan.runs[1].path
    found = json.loads(path.read_text("utf-8"))
    spoil(found)
    path.write_text(json.dumps(found))
    with pytest.raises(InvalidInput, match="remove it and start again"):
        task.giant_plan.of("one line")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"'])
def test_a_torn_file_is_named(tiny_steps, tmp_path, text):
    task = plan_reproduction(["G1"], out=tmp_path)
    giant_runs.run_giant(task.giant_plan)
    task.giant_plan.runs[0].path.write_text(text)
    with pytest.raises(InvalidInput, match="remove it and start again"):
        reproduce(plan_reproduction(["G1"], out=tmp_path))


def test_files_of_other_contents_have_other_names(tiny_steps, tmp_path, monkeypatch):
    def names():
        return [run.path.name for run in plan_reproduction(["G1"], out=tmp_path).giant_plan.runs]

    before = names()
    assert names() == before
    monkeypatch.setattr(saved, "FORMAT", -1)
    assert not set(names()) & set(before)


@pytest.mark.parametrize("fields", [{"neurons": False}, {"quick_fields": {"steps": 3}}])
def test_what_is_stored_is_part_of_a_file_s_name(tiny_steps, tmp_path, monkeypatch, fields):
    before = {run.path.name for run in plan_reproduction(["G1"], out=tmp_path).giant_plan.runs}
    study = STUDIES["one line"]
    if "quick_fields" in fields:
        fields = {"quick_fields": study.quick_fields | fields["quick_fields"]}
    changed = Entry("one line", replace(study, **fields))
    monkeypatch.setitem(STUDIES.entries, "one line", changed)
    after = {run.path.name for run in plan_reproduction(["G1"], out=tmp_path).giant_plan.runs}
    assert not before & after


def test_the_linear_part_of_a_batch_is_counted_once():
    fields = {"dimension": 100, "width": 10, "batch": 1000, "steps": 2}
    plain = work(StepsProblem(**fields))
    linear = work(StepsProblem(**fields, subtract="linear"))
    assert linear - plain == pytest.approx(100**2 * 2 * 1000)
    fresh = {**fields, "readout": "fresh", "samples": 500}
    plain = work(StepsProblem(**fresh))
    linear = work(StepsProblem(**fresh, subtract="linear"))
    assert linear - plain == pytest.approx(100**2 * (2 * 1000 + 500))
