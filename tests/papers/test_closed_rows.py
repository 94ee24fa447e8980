"""Theory without draws beside a panel's rows: where it stands, and what it leaves alone."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_studies import tables_of

from onegrad import Problem, predict
from onegrad.closed.problem import CLOSED_NEEDS
from onegrad.describe.registry import Entry
from onegrad.papers.panel_registry import PANELS, STUDIES, study_of
from onegrad.papers.published import curve_deviations
from onegrad.papers.reproduction import panel_rows, plan_reproduction
from onegrad.sweeps.results import Results
from onegrad.theory.methods import require

# Twenty neurons are few for any theory.
doubts = pytest.mark.filterwarnings("ignore:theory")
WITH_COLUMN = {"1a", "1b", "1c", "2a", "2b", "2c", "4a", "4b", "5a", "5b", "5c", "6"}
WITH_COLUMN |= {"degrees", "gap", "samples"}


def test_closed_theory_stands_where_it_knows_every_problem():
    for name in PANELS:
        study = study_of(PANELS[name])
        assert bool(study.closed) == (name in WITH_COLUMN | {"Z1"}), name
        if study.closed:
            for setting in study.sweep("quick").settings():
                require(setting.problem, CLOSED_NEEDS)


@doubts
def test_the_column_is_what_predict_returns(tiny, tmp_path):
    drawn = tables_of(["1a", "6", "samples"], tmp_path)
    for name, metric, factor in (("1a", "test_mse", 0.5), ("6", "objective", 1.0)):
        for (activation, ratio), lines in drawn[name].table.groupby(["activation", "x"]):
            problem = Problem(
                dimension=20,
                readout={"samples": 24},
                network={"activation": activation, "width_ratio": ratio},
            )
            models = list(lines["model"].str.removesuffix("_theory").unique())
            errors = predict(problem, models, method="closed")
            values = dict(zip(models, factor * errors.estimate(metric).mean[:, 0], strict=True))
            for line in lines.to_dict("records"):
                value = values[line["model"].removesuffix("_theory")]
                assert line["closed"] == pytest.approx(value, rel=1e-9), line
    penalties = drawn["samples"].table.groupby("y")["closed"].nunique()
    assert list(penalties) == [2, 2]  # two numbers of samples, and other values for each ridge
    assert drawn["samples"].table["closed"].nunique() == 4


@doubts
def test_closed_theory_is_compared_with_simulation_and_with_published_values(tiny, tmp_path):
    drawn = tables_of(["1a"], tmp_path)["1a"]
    trained = drawn.table[drawn.table["model"] == "network"]
    names = [deviation.name for deviation in drawn.deviations]
    assert names[-2:] == [f"closed theory against simulation, {m}" for m in ("network", "hermite")]
    gaps = (trained["closed"] / trained["value"] - 1).abs()
    assert drawn.deviations[-2].mean == pytest.approx(gaps.mean())
    assert abs(drawn.deviations[-2].largest) == pytest.approx(gaps.max())
    beside = drawn.table.assign(published=drawn.table["closed"] / 1.1)
    *_, ours, closed = curve_deviations(PANELS["1a"], beside, drawn.rows)
    assert [ours.name, closed.name] == [f"{w} against published" for w in ("ours", "closed theory")]
    assert closed.mean == pytest.approx(0.1)
    assert ours.mean != pytest.approx(0.1, rel=1e-3)


@doubts
def test_gaps_and_degrees_are_those_of_closed_theory_itself(tiny, tmp_path):
    drawn = tables_of(["4b", "gap", "degrees"], tmp_path)
    for name, model in (("4b", "linear"), ("gap", "hermite:1_theory")):
        lines = drawn[name].table
        line = lines[lines["model"] == model].iloc[-1]
        fields = drawn[name].rows.contents.settings[-1]["fields"]
        errors = predict(Problem(**fields), method="closed", models=["network", "hermite:1"])
        network, linear = errors.estimate().mean.ravel()
        gap = abs(linear / network - 1)
        assert line["closed"] == pytest.approx(100 * gap if name == "4b" else gap)
    degrees = drawn["degrees"].table["closed"].dropna()
    assert set(degrees) <= {1, 2, 3, 4, 5, 6}
    assert len(degrees)


@doubts
def test_the_fine_map_has_points_of_its_own_and_trials_of_the_coarse_one(tiny, tmp_path):
    drawn = tables_of(["4a", "Z1"], tmp_path)
    counts = drawn["Z1"].table["model"].value_counts()
    assert dict(counts) == {"network": 4, "network_closed": 9}
    coarse = drawn["4a"].table
    simulated = drawn["Z1"].table[drawn["Z1"].table["model"] == "network"]
    same = simulated.merge(coarse[coarse["model"] == "network"], on=["x", "y"])
    assert np.array_equal(same["value_x"], same["value_y"])
    (deviation,) = drawn["Z1"].deviations
    corners = same[same["y"] == 0]  # β = 0 is a point of both grids
    assert deviation.points == 4
    fine = drawn["Z1"].table.query("model == 'network_closed'").set_index(["x", "y"])["value"]
    for line in corners.to_dict("records"):
        assert fine[line["x"], 0.0] == pytest.approx(line["closed"])


@doubts
def test_closed_rows_are_not_stored_and_change_no_stored_row(tiny, tmp_path):
    task = plan_reproduction(["1c"], out=tmp_path)
    rows = panel_rows(task)[0].rows
    stored = Results.load(task.plan.directory)
    methods = {row.get("method") for row in stored.contents.rows.values()}
    assert methods == {None, "types"}
    assert stored.contents.rows.items() <= rows.contents.rows.items()
    assert plan_reproduction(["1c"], out=tmp_path).missing == 0


@doubts
def test_points_that_closed_theory_refuses_are_left_out(tiny, monkeypatch, tmp_path):
    refused = replace(STUDIES["strength"], axes={"training.steps": [1, 2]})
    monkeypatch.setitem(STUDIES.entries, "strength", Entry(refused))
    panel = replace(PANELS["1c"], x=replace(PANELS["1c"].x, path="training.steps"))
    monkeypatch.setitem(PANELS.entries, "1c", Entry(panel))
    table = tables_of(["1c"], tmp_path)["1c"].table
    assert set(table[table["closed"].notna()]["x"]) == {1}
    assert set(table[table["closed"].isna()]["x"]) == {2}


@pytest.mark.filterwarnings("ignore:exact moments")
def test_panels_of_real_data_have_no_such_column(tiny, tmp_path):
    drawn = tables_of(["7b"], tmp_path)["7b"]
    assert "closed" not in drawn.table
    assert not any("closed" in deviation.name for deviation in drawn.deviations)
