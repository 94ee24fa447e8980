"""The runs behind panels of giant steps: settings, what tables take from them, and kills."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from tiny_studies import tables_of, tiny_studies

from onegrad import InvalidInput, StepsProblem, take_steps
from onegrad.describe.registry import Entry
from onegrad.figures.giant_cost import work
from onegrad.figures.giant_runs import GiantPlan, run_giant
from onegrad.figures.panel_registry import STUDIES
from onegrad.figures.reproduction import panel_rows, plan_reproduction, reproduce
from onegrad.steps import saved


@pytest.fixture(scope="module")
def whole_runs(tmp_path_factory):
    """Return a folder with the runs of G1."""
    folder = tmp_path_factory.mktemp("whole")
    with tiny_studies():
        run_giant(plan_reproduction(["G1"], out=folder).giant_plan)
    return folder


@pytest.fixture
def stored(tiny, whole_runs, tmp_path):
    """Return the plan of G1 in a folder that holds its runs."""
    shutil.copytree(whole_runs, tmp_path, dirs_exist_ok=True)
    task = plan_reproduction(["G1"], out=tmp_path)
    assert task.missing == 0
    return task.giant_plan


@pytest.mark.parametrize("study", ["one line", "off the line"])
def test_the_planes_have_the_published_settings(study):
    ((_, problem),) = STUDIES[study].settings("paper")
    assert (problem.dimension, problem.width, problem.batch_size) == (4096, 1024, 4096)
    assert problem.learning_rate(1.0) == 2 * 1024
    assert (problem.steps, problem.second_layer, problem.activation) == (6, "sign", "relu")


def test_batches_have_the_published_settings():
    settings = STUDIES["batch"].settings("paper")
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
    settings = STUDIES["spikes"].settings("paper")
    assert [point["step_size.exponent"] for point, _ in settings] == [0.0, 0.15, 0.29, 0.36]
    assert all(problem.dimension >= 2000 for _, problem in settings)


def test_pictures_are_drawn_again_without_a_step_and_by_other_workers_alike(
    tiny, unarranged, tmp_path
):
    reproduce(plan_reproduction(["G2"], out=tmp_path / "a"))
    again = plan_reproduction(["G2"], out=tmp_path / "a")
    assert again.missing == 0
    names = ("G2.csv", "G2.png", "G2.pdf")
    before = {name: (tmp_path / "a" / name).read_bytes() for name in names}
    reproduce(again)
    assert {name: (tmp_path / "a" / name).read_bytes() for name in names} == before
    reproduce(plan_reproduction(["G2"], out=tmp_path / "b"), workers=2)
    assert {name: (tmp_path / "b" / name).read_bytes() for name in names} == before
    assert not list((tmp_path / "b").glob("steps/*.npz"))


def test_tables_hold_what_the_runs_found(tiny, tmp_path):
    drawn = tables_of(["G1", "G3", "G4"], tmp_path)
    ((_, problem),) = STUDIES["one line"].settings("quick")
    runs = [take_steps(problem, trial=trial) for trial in range(2)]
    table = drawn["G1"].table
    angles = table[(table["metric"] == "median_angle") & (table["model"] == "gradient")]
    measured = [run.records[2].gradient.angle for run in runs]
    line = angles[angles["x"] == 2].iloc[0]
    assert line["value"] == pytest.approx(np.mean(measured))
    assert line["stderr"] == pytest.approx(np.std(measured, ddof=1) / np.sqrt(2))
    assert line["trials"] == 2
    neurons = table[(table["metric"] == "overlap") & (table["y"] == 1)]
    places = neurons[neurons["model"].str.startswith("gradient")][["x", "value"]].to_numpy(float)
    assert places == pytest.approx(runs[0].records[1].gradient.overlaps)
    errors = drawn["G3"].table
    models = set(errors[errors["metric"] == "test_mse"]["model"])
    assert models == {
        "one step",
        "one step, subtracted",
        "untrained",
        "untrained, subtracted",
    }
    spikes = drawn["G4"].table
    assert set(spikes[spikes["metric"] == "predicted"]["value"]) == {0, 2}


def test_a_reproduction_that_was_killed_takes_only_what_is_missing(tiny, tmp_path):
    task = plan_reproduction(["G4"], out=tmp_path)
    goal = len(task.giant_plan.runs)
    assert goal == task.missing == 4
    run_giant(GiantPlan(task.giant_plan.runs[:3]))
    rest = plan_reproduction(["G4"], out=tmp_path)
    assert rest.missing == 1
    seen = []
    ((panel, runs),) = panel_rows(rest, progress=lambda p: seen.append((p.done, p.goal)))
    assert seen == [(1, 1)]
    assert (panel.name, len(runs)) == ("G4", goal)


def _without(path):
    def spoil(result):
        *outer, last = path
        for part in outer:
            result = result[part]
        del result[last]

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
        lambda result: result.update(first_direction=["1", "2"]),
        lambda result: result["steps"][1].update(gradient=None),
        lambda result: result.update(steps=3),
        lambda result: result.clear(),
    ],
)
def test_a_spoilt_run_is_named(stored, spoil):
    assert stored.of("one line")
    path = stored.runs[1].path
    result = json.loads(path.read_text("utf-8"))
    spoil(result)
    path.write_text(json.dumps(result))
    with pytest.raises(InvalidInput, match="remove it and start again"):
        stored.of("one line")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"'])
def test_a_torn_file_is_named(stored, tmp_path, text):
    stored.runs[0].path.write_text(text)
    with pytest.raises(InvalidInput, match="remove it and start again"):
        reproduce(plan_reproduction(["G1"], out=tmp_path))


def test_files_of_other_contents_have_other_names(tiny, tmp_path, monkeypatch):
    def names():
        return [run.path.name for run in plan_reproduction(["G1"], out=tmp_path).giant_plan.runs]

    before = names()
    assert names() == before
    monkeypatch.setattr(saved, "FORMAT", -1)
    assert not set(names()) & set(before)


@pytest.mark.parametrize("fields", [{"neurons": False}, {"quick_fields": {"steps": 3}}])
def test_what_is_stored_is_part_of_a_file_s_name(tiny, tmp_path, monkeypatch, fields):
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
