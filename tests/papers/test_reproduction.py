"""Reproductions: rows become tables, pictures and a report, and are computed once."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from tiny_studies import tables_of

from conftest import onegrad_here
from onegrad import InvalidInput, predict
from onegrad.describe.exceptions import Failure
from onegrad.describe.registry import Entry
from onegrad.papers.panel_registry import KINDS, PANELS, STUDIES
from onegrad.papers.report import write_report
from onegrad.papers.reproduction import plan_reproduction, reproduce
from onegrad.papers.saved_panels import save_panel

# Ten samples in 784 dimensions make neurons almost parallel.
parallel = pytest.mark.filterwarnings("ignore:exact moments")


def test_all_panels_are_planned_and_what_they_share_once(tiny, tmp_path):
    task = plan_reproduction(out=tmp_path)
    assert [panel.name for panel in task.panels] == [*PANELS]
    shared = plan_reproduction(["1a", "6"], out=tmp_path)
    assert shared.missing == plan_reproduction(["6"], out=tmp_path).missing == 16


def test_pictures_are_the_same_beside_others_and_alone(tiny, unarranged, tmp_path):
    report = reproduce(plan_reproduction(["1a", "4b"], out=tmp_path / "a"))
    assert plan_reproduction(["6", "1a", "4a"], out=tmp_path / "a").missing == 0
    assert "onegrad reproduce 1a --scale quick" in report.read_text("utf-8")
    reproduce(plan_reproduction(["1a"], out=tmp_path / "b"))
    reproduce(plan_reproduction(["4b"], out=tmp_path / "b"))
    for name in ("1a.csv", "1a.png", "1a.pdf", "4b.png"):
        first, second = (tmp_path / folder / name for folder in "ab")
        assert first.read_bytes() == second.read_bytes(), name


def test_the_report_holds_every_panel_that_is_in_the_folder(tmp_path):
    common = {"scale": "quick", "trials": 2, "command": "onegrad reproduce", "seed": 0}
    common |= {"versions": {}, "settings": "", "deviations": [], "redraw": "all"}
    common |= {"title": "", "words": [["Data", "none"]]}
    for name in PANELS:
        panel = PANELS[name]
        about = {**common, "panel": name, "ours": panel.ours}
        about |= {"caption": panel.caption, "shows": panel.shows}
        save_panel(tmp_path, name, {"csv": b"x", "png": b"a picture", "pdf": b"another"}, about)
    with pytest.warns(UserWarning, match="is not a table of this panel"):
        text = write_report(tmp_path).read_text("utf-8")
    for name in PANELS:
        assert f'id="panel-{name}"' in text
        assert PANELS[name].caption.split(",")[0].replace("'", "&#x27;") in text
    assert 'src="http' not in text


def test_a_table_has_simulation_and_theory_of_both_models(tiny, tmp_path):
    drawn = tables_of(["6", "1a", "4b"], tmp_path)
    table = drawn["1a"].table
    assert set(table["model"]) == {"network", "hermite", "network_theory", "hermite_theory"}
    assert set(table["trials"]) == {2}
    assert table["published"].isna().all()  # not at the published size
    assert [deviation.name for deviation in drawn["1a"].deviations] == [
        "Hermite model against network",
        "theory against simulation, network",
        "theory against simulation, hermite",
        "closed theory against simulation, network",
        "closed theory against simulation, hermite",
    ]
    assert set(drawn["6"].table["metric"]) == {"objective"}
    gaps = drawn["4b"].table
    assert set(gaps["model"]) == {"linear", "linear_theory"}
    assert gaps["value"].max() <= 100


def test_published_values_stand_beside_quick_images_of_the_published_size(
    tiny, unarranged, tmp_path
):
    small = replace(STUDIES["images rate"], published_sizes=("quick", "paper"))
    STUDIES.entries["images rate"] = Entry(small)  # of the tiny studies, which the test alone sees
    reproduce(plan_reproduction(["7b"], out=tmp_path))
    about = json.loads((tmp_path / "7b.json").read_text("utf-8"))
    assert "1,200 images per class that ship with onegrad" in about["caption"]
    assert "onegrad fetch && onegrad reproduce 7b --scale paper" in about["caption"]
    assert "--scale paper" not in about["published_basis"]
    assert "ours against published" in {d["name"] for d in about["deviations"]}
    table = pd.read_csv(tmp_path / "7b.csv")
    beside = table[table["published"].notna()]
    assert beside[["model", "x"]].to_numpy().tolist() == [["network", 0.0]]
    reproduce(plan_reproduction(["7b"], out=tmp_path, scale="paper"))
    about = json.loads((tmp_path / "7b.json").read_text("utf-8"))
    assert "Quick scale" not in about["caption"]


def test_half_the_test_mse_is_half_the_test_mse(tiny, tmp_path):
    drawn = tables_of(["1a"], tmp_path)["1a"]
    by_place = drawn.table.set_index(["activation", "x", "model"])
    means = drawn.rows.to_frame()
    trained = means[(means["metric"] == "test_mse") & (means["verb"] == "simulate")]
    assert len(trained) == 8
    for line in trained.to_dict("records"):
        place = (line["network.activation"], line["network.width_ratio"], line["model"])
        assert by_place.loc[place]["value"] == pytest.approx(line["mean"] / 2)
        assert by_place.loc[place]["stderr"] == pytest.approx(line["stderr"] / 2)


def test_closed_theory_stands_beside_published_values_at_their_size(tiny, unarranged, tmp_path):
    reproduce(plan_reproduction(["1a", "4a", "2c"], out=tmp_path))
    for name in ("1a", "4a"):
        table = pd.read_csv(tmp_path / f"{name}.csv", dtype={"panel": str})
        pane = table[table["pane"].str.endswith("(published size)")]
        assert pane["value"].isna().all()  # nothing is trained there
        assert table["pane"].iloc[0] == "n = 20, m = 24 (trained here)"
        line = pane[(pane["model"] == "network") & pane["published"].notna()].iloc[0].to_dict()
        sweep = STUDIES[PANELS[name].study].sweep("paper")
        where = {PANELS[name].x.path: line["x"], "network.activation": line["activation"]}
        where |= {PANELS[name].y.path: line["y"]} if "y" in line else {}
        errors = predict(sweep.problem.replace(where), ["network"], method="closed")
        assert line["closed"] == pytest.approx(errors.estimate().mean.item() / 2)
        about = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert "At the published size (n = 20, m = 24), closed theory" in about["published_basis"]
        said = float(re.search(r"by ([\d.]+) % on average", about["published_basis"])[1])
        apart = (pane["closed"] / pane["published"] - 1).abs()
        assert said == pytest.approx(100 * apart.mean(), abs=0.06)
    assert "pane" not in pd.read_csv(tmp_path / "2c.csv")


@pytest.mark.parametrize("workers", [1, 2])
def test_panels_are_finished_one_after_the_other_and_the_report_grows(
    tiny, unarranged, tmp_path, workers
):
    told = []

    def drawn(panel):
        report = (tmp_path / "report.html").read_text("utf-8")
        told.append((panel.name, report.count('<section class="panel"')))

    seen = []
    task = plan_reproduction(["4b", "1a", "6"], out=tmp_path)
    reproduce(task, workers=workers, progress=seen.append, drawn=drawn)
    assert [count for _, count in told] == [1, 2, 3]
    names = [name for name, _ in told]
    # Two workers may finish them in another order.
    assert (names if workers == 1 else sorted(names)) == (
        ["4b", "1a", "6"] if workers == 1 else ["1a", "4b", "6"]
    )
    points = sum(len(part.jobs) for part in task.closed_tasks)
    assert seen[-1].done == seen[-1].goal == task.missing + points
    assert seen[-1].left == pytest.approx(0, abs=1e-9)


def test_a_panel_whose_rows_failed_is_left_out_and_the_others_are_drawn(
    tiny, unarranged, monkeypatch, tmp_path
):
    from onegrad.sweeps import plan

    def fails(problem, models, **where):
        if problem.scaling.weighting == 0:
            raise ValueError("not today")
        return run_trial(problem, models, **where)

    run_trial = plan.run_trial
    monkeypatch.setattr(plan, "run_trial", fails)
    with pytest.raises(Failure, match="rows failed, their panels are not drawn"):
        reproduce(plan_reproduction(["1a", "1b"], out=tmp_path))
    assert (tmp_path / "1a.png").exists()
    assert not (tmp_path / "1b.png").exists()
    monkeypatch.undo()


@parallel
def test_fits_compare_theory_with_networks_trained_once(tiny, tmp_path):
    drawn = tables_of(["R1", "7b"], tmp_path)
    table = drawn["R1"].table
    assert set(table["facet"]) == {"0,1", "5,9"}
    trained = table[table["model"] == "network"]
    assert trained["y"].isna().all()
    assert not trained.duplicated(["facet", "activation", "x"]).any()
    assert set(table[table["model"] == "network_theory"]["y"]) == {1, 2}
    names = [deviation.name for deviation in drawn["R1"].deviations]
    assert names[:2] == [f"theory on {n} per class" for n in ("1 Gaussian", "2 Gaussians")]
    assert "theory on 2 Gaussians per class: 5,9, tanh" in names
    rates = drawn["7b"].table
    assert sorted(set(rates["x"].round(9))) == [0.0, 0.5]  # log η/log n


def test_every_picture_beside_another_is_compared_by_the_panel_s_metric(tiny, tmp_path):
    drawn = tables_of(["C1a", "C1b"], tmp_path)
    for name, metric in (("C1a", "misclassification"), ("C1b", "test_loss")):
        assert set(drawn[name].table["metric"]) == {metric}
        names = [deviation.name for deviation in drawn[name].deviations]
        models = ("network", "hermite", "linear")
        assert names[1:] == [f"theory against simulation, {model}" for model in models]
        assert {deviation.points for deviation in drawn[name].deviations} == {8}
    gaps = drawn["C1b"].rows.theory_gaps("test_loss")
    own = gaps[gaps["model"] == "linear"]["gap"].abs()
    assert drawn["C1b"].deviations[-1].mean == pytest.approx(own.mean())


def test_penalties_are_the_least_and_theory_s_best_for_every_loss(tiny, tmp_path):
    drawn = tables_of(["C2"], tmp_path)["C2"]
    table, means = drawn.table, drawn.rows.to_frame()
    least, best = (part for _, part in table.groupby("facet", sort=False))
    assert set(least["ridge"]) == {1e-4}
    assert len(least) == len(best) == 2 * 2 * 2
    predicted = means[(means["verb"] == "predict") & (means["metric"] == "misclassification")]
    for _, pair in best.groupby(["x", "y"]):
        trained, theory = pair.sort_values("model").to_dict("records")
        assert trained["ridge"] == theory["ridge"]
        here = predicted["data.components.0.mean"] == theory["x"]
        here &= predicted["readout.loss"] == theory["y"]
        assert theory["value"] == predicted[here]["mean"].min()
    numbers = KINDS["penalties"].numbers(PANELS["C2"], table)
    assert "best λ: logistic has" in " ".join(numbers)
    (compared,) = drawn.deviations
    assert compared.points == len(table.drop_duplicates(["x", "y", "ridge"]))


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="must be one of quick, paper"):
        plan_reproduction(scale="huge", out=tmp_path)
    with pytest.raises(InvalidInput, match="all or published"):
        plan_reproduction(redraw="some", out=tmp_path)
    (tmp_path / "file").write_text("")
    done = onegrad_here("reproduce", "1a", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written" in done.stderr
    assert onegrad_here("reproduce", "9z", "--out", str(tmp_path)).returncode == 2
