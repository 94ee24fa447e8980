"""What the page asks for: curves, map, degrees, step, copies, simulated points."""

import json

import numpy as np
import pytest
from explorer_cases import SMALL, state_of

from onegrad.core.problem import Problem
from onegrad.explorer.curves import MOST_TYPED_NEURONS, TYPES_TOGETHER
from onegrad.explorer.presets import PRESETS
from onegrad.verbs.predict import predict, predict_curve
from onegrad.verbs.simulate import simulate


@pytest.fixture
def post(client):
    def ask(name, **document):
        answer = client.post(f"/api/{name}", json=document)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


def small(**fields):
    return Problem().replace({**SMALL, **fields})


def test_a_curve_is_that_of_predict(post):
    models = ["network", "hermite:2"]
    curve = post("curve", state=state_of(models=models), points=3, draft=False)
    assert curve["method"] == "closed"
    expected = predict_curve(
        small(), over={"network.width_ratio": curve["x"]}, models=models, method="closed"
    )
    for place, model in enumerate(models):
        for metric in ("test_mse", "train_mse", "theory_error"):
            values = expected.estimate(metric).mean[place, :, 0]
            np.testing.assert_allclose(curve["curves"][model][metric], values, rtol=1e-5)
    gaps = expected.gap("test_mse").mean[1, :, 0]
    np.testing.assert_allclose(curve["gap"]["hermite:2"], gaps, atol=2e-5)
    assert curve["current"] == 1.0


@pytest.mark.parametrize("axis", ["readout.samples", "readout.ridge"])
def test_samples_and_penalties_are_solved_together(post, axis):
    curve = post("curve", state=state_of(axis=axis), points=5, draft=False)
    name = axis.partition(".")[2]
    expected = predict_curve(
        small(), **{name: curve["x"]}, models=["network", "hermite:3"], method="closed"
    )
    values = expected.estimate("test_mse").mean
    np.testing.assert_allclose(
        curve["curves"]["network"]["test_mse"], np.ravel(values[0]), rtol=1e-5
    )


def test_what_theory_without_draws_refuses_is_answered_by_types_and_said(post):
    changes = {"training.subtract": "mean"}
    curve = post("curve", state=state_of(changes, axis="readout.ridge"), points=3)
    assert curve["method"] == "types"
    assert any("does not know training.subtract" in note for note in curve["notes"])
    expected = predict(
        small(**changes, **{"readout.ridge": tuple(curve["x"])}),
        ["network", "hermite:3"],
        method="types",
        draws=1,
    )
    values = expected.estimate("test_mse").mean[0]
    np.testing.assert_allclose(curve["curves"]["network"]["test_mse"], values, rtol=1e-5)


def test_an_axis_that_leaves_theory_without_draws_is_answered_by_types(post):
    state = state_of(axis="scaling.change_exponent", models=["network"])
    curve = post("curve", state=state, points=3)
    assert curve["method"] == "types"
    assert all(value > 0 for value in curve["curves"]["network"]["test_mse"])


def test_by_types_an_axis_ends_where_a_point_would_take_minutes(post):
    state = state_of({"training.subtract": "mean"}, axis="network.width", models=["network"])
    answer = post("curve", state=state, points=5)
    assert 2 <= len(answer["x"]) < 5
    assert max(answer["x"]) <= MOST_TYPED_NEURONS
    assert any("more than 2000 neurons" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ["test_mse", "train_mse"]),
        ({"teacher.kind": "labels"}, ["misclassification", "test_mse"]),
        ({"teacher.kind": "sign"}, ["misclassification", "test_mse"]),
        (
            {"teacher.kind": "labels", "readout.loss": "logistic"},
            ["misclassification", "test_loss"],
        ),
    ],
)
def test_a_task_shows_its_own_metrics_first(post, changes, shown):
    answer = post("curve", state=state_of(changes), points=2)
    assert answer["shown"] == shown
    for metric in shown:
        values = answer["curves"]["network"][metric]
        assert all(0 <= value <= (1 if metric == "misclassification" else 100) for value in values)


def test_a_model_without_theory_leaves_the_others_their_curves(post, client):
    models = ["network", "conditional"]
    answer = post("curve", state=state_of(models=models), points=2)
    assert all(answer["curves"]["network"]["test_mse"])
    assert answer["curves"]["conditional"]["test_mse"] == [None, None]
    assert any("has no theory of its own" in note for note in answer["notes"])
    alone = client.post("/api/curve", json={"state": state_of(models=["conditional"]), "points": 2})
    assert alone.status_code == 422


def test_curves_by_types_have_fewer_points_and_say_why(post):
    state = state_of({"training.steps": 2}, axis="readout.ridge")
    answer = post("curve", state=state, points=60, draft=False)
    assert answer["method"] == "types"
    assert len(answer["x"]) == len(answer["flags"]) == TYPES_TOGETHER
    note = "theory without draws does not know training.steps=2: these curves are by types"
    assert answer["notes"][0].startswith(note)


def test_curves_of_other_losses_are_without_draws(post):
    state = state_of({"readout.loss": "logistic", "teacher.kind": "labels"}, axis="readout.ridge")
    answer = post("curve", state=state, points=8, draft=True)
    assert answer["method"] == "closed"
    assert {"test_loss", "misclassification"} <= set(answer["curves"]["network"])


def test_the_map_is_the_gap_at_every_point(post):
    grid = post("map", state=state_of(models=["network", "linear"]), size=3)
    values = np.array(grid["values"])
    assert values.shape == (3, 3)
    row, column = 2, 1
    problem = small(
        **{
            grid["paths"]["alpha"]: grid["alpha"][column],
            grid["paths"]["beta"]: grid["beta"][row],
        }
    )
    gap = predict(problem, grid["models"], method="closed").gap().mean[1, 0]
    # A draft has fewer types: it is a per cent or two less exact.
    assert values[row, column] == pytest.approx(gap, abs=0.04)
    exact = predict(small(), grid["models"], method="closed").gap().mean[1, 0]
    assert grid["here"] == {"alpha": 0.5, "beta": 0.74, "gap": pytest.approx(exact, abs=2e-5)}
    assert grid["name"] == "the linear model"


def test_the_degrees_are_those_of_predict(post):
    answer = post("degree", state=state_of({"scaling.strength": 0.9}))
    names = ["network", *(f"hermite:{d}" for d in answer["degrees"])]
    gaps = predict(small(**{"scaling.strength": 0.9}), names, method="closed").gap().mean[1:, 0]
    np.testing.assert_allclose(answer["gaps"], gaps, atol=2e-5)
    enough = [d for d, gap in zip(answer["degrees"], gaps, strict=True) if abs(gap) <= 0.01]
    assert answer["smallest"] == min(enough, default=None)
    assert "degree" in answer["sentence"].lower()
    linear = abs(gaps[answer["degrees"].index(1)])
    if linear > 0.01:
        assert f"The linear model makes {100 * linear:.1f} % " in answer["sentence"]


def test_the_controls_of_a_state_have_its_values(post):
    document = post("controls", state=state_of({"teacher.kind": "sign"}))
    values = {c["path"]: c["value"] for c in document["controls"]}
    assert values["dimension"] == 100
    assert values["teacher.kind"] == "sign"
    assert {m["name"] for m in document["models"]} >= {"network", "hermite", "linear", "untrained"}
    assert document["sources"][0]["name"] == "start"


def test_every_preset_here_has_a_curve_and_a_story(post):
    document = post("controls", state={})
    here = {preset["name"] for preset in document["presets"]}
    assert len(PRESETS) - len(here) <= 1  # images may be missing
    for preset in document["presets"]:
        assert 1 <= preset["story"].count(". ") + preset["story"].endswith(".") <= 3
        if preset["state"]["base"] != "start":
            continue
        state = {**preset["state"], "problem": {**preset["state"]["problem"], **SMALL}}
        curve = post("curve", state=state, points=2)
        assert all(curve["curves"][m]["test_mse"] for m in state["models"]), preset["name"]


def test_simulated_points_are_those_of_simulate_with_standard_errors(client):
    document = {"state": state_of(), "points": 2, "trials": 2}
    answer = client.post("/api/simulate", json=document)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-1] == {"done": True}
    points = [line for line in lines if "x" in line]
    assert len(points) == 4
    point = next(line for line in points if line["x"] == 5.0 and line["model"] == "network")
    expected = simulate(small(**{"network.width_ratio": 5.0}), ["network", "hermite:3"], trials=2)
    estimate = expected.estimate("test_mse")
    assert point["metrics"]["test_mse"]["mean"] == pytest.approx(estimate.mean[0, 0], rel=1e-5)
    assert point["metrics"]["test_mse"]["stderr"] == pytest.approx(estimate.stderr[0, 0], rel=1e-3)
    assert {"progress": 4, "total": 4} in lines


@pytest.mark.parametrize("document", [{"points": 1000}, {"trials": 0}, {"points": 2.5}])
def test_simulations_are_bounded(client, document):
    answer = client.post("/api/simulate", json={"state": state_of(), **document})
    assert answer.status_code == 422
