"""What the step did, by its law and from a drawn step: the same picture."""

import numpy as np
import pytest

from onegrad.core.instance import draw, initialise
from onegrad.core.problem import Problem
from onegrad.core.run import finished_run
from onegrad.describe.exceptions import Failure
from onegrad.explorer.curves import CLOSED
from onegrad.explorer.state import changed
from onegrad.explorer.views import DRAWN, step_view

STRONG = Problem(
    dimension=400,
    readout={"samples": 1600},
    network={"width": 400},
    teacher={"direction": "spikes"},
    scaling={"strength": 0.95, "weighting": 0.9},
)


def drawn_values(problem, trials):
    """Return leading singular values and overlaps with the teacher of drawn layers."""
    tops, overlaps = [], []
    for trial in range(trials):
        run = finished_run(draw(problem, seed=3, trial=trial))
        _, values, right = np.linalg.svd(run.first, full_matrices=False)
        direction = run.instance_at(1).teacher.directions[:, 0]
        tops.append(values[:2])
        overlaps.append(abs(right[0] @ direction) / np.linalg.norm(direction))
    return np.array(tops), np.array(overlaps)


def test_the_law_of_the_step_predicts_the_spike_and_the_overlap():
    view = step_view(STRONG, CLOSED)
    trials = 6
    tops, overlaps = drawn_values(STRONG, trials)
    spike = view["spectrum"]["spikes"][0]
    # Four standard errors of the mean, and terms of relative size 1/√n: the draft's types, and ω².
    error = 4 * tops[:, 0].std(ddof=1) / np.sqrt(trials) + spike / np.sqrt(400)
    assert abs(spike - tops[:, 0].mean()) < error
    assert abs(spike / 2 - tops[:, 0].mean()) > error  # half of it would be noticed
    share = 4 * overlaps.std(ddof=1) / np.sqrt(trials) + 1 / np.sqrt(400)
    _, layer = overlaps_of(view)
    assert abs(layer - overlaps.mean()) < share
    assert abs(layer - overlaps.mean() + 0.5) > share
    edge = view["spectrum"]["bulk"][1]
    assert tops[:, 0].min() > edge


def overlaps_of(view):
    """Return the step's overlap with the teacher, and the first layer's."""
    return [overlap["value"] for overlap in view["overlaps"]]


def drawn_steps(problem, trials):
    """Return the step's overlap with the teacher and its relative size, of drawn layers."""
    seen = []
    for trial in range(trials):
        run = finished_run(draw(problem, seed=3, trial=trial))
        before = initialise(run.instance).first
        step = run.first - before
        right = np.linalg.svd(step, full_matrices=False)[2][0]
        direction = run.instance_at(1).teacher.directions[:, 0]
        cosine = abs(right @ direction) / np.linalg.norm(direction)
        seen.append((cosine, np.linalg.norm(step) / np.linalg.norm(before)))
    return np.array(seen)


def test_a_step_too_small_to_show_in_the_layer_still_points_at_the_teacher():
    weak = STRONG.replace(dimension=300, scaling__strength=0.8, scaling__weighting=0.25)
    view = step_view(weak, CLOSED)
    aim, layer = overlaps_of(view)
    assert layer == 0  # no direction stands out of F̂
    change = next(n["value"] for n in view["numbers"] if n["label"] == "Change of the weights")
    trials = 6
    seen = drawn_steps(weak, trials)
    spread = 4 * seen.std(axis=0, ddof=1) / np.sqrt(trials)
    # Beside four standard errors, the terms of relative size 1/√n that the law leaves out.
    for value, drawn, error in zip((aim, change), seen.mean(axis=0), spread, strict=True):
        assert abs(value - drawn) < error + drawn / np.sqrt(300)
        assert abs(value / 2 - drawn) > error + drawn / np.sqrt(300)  # half would be noticed
    assert "points at the teacher" in view["overlaps"][0]["sentence"]
    assert "still a random one" in view["overlaps"][1]["sentence"]


def test_labels_by_component_have_no_direction_to_point_at():
    labels = changed(Problem(), {"teacher.kind": "labels"})
    assert step_view(labels, CLOSED)["overlaps"] == []


def test_without_a_step_nothing_stands_out():
    weak = STRONG.replace(scaling__strength=0.1)
    view = step_view(weak, CLOSED)
    assert view["spectrum"]["spikes"] == []
    assert "No direction stands out" in view["spectrum"]["sentence"]
    tops, _ = drawn_values(weak, 2)
    # The largest value of the bulk lies at its edge but for n^{−2/3}.
    assert tops[:, 0] == pytest.approx(view["spectrum"]["bulk"][1], rel=2 * 400 ** (-2 / 3))


def test_the_density_of_the_bulk_has_area_one():
    density = step_view(STRONG, CLOSED)["spectrum"]["density"]
    assert np.trapezoid(density["y"], density["x"]) == pytest.approx(1, abs=1e-3)


def test_a_drawn_step_shows_the_same():
    small = STRONG.replace(dimension=200, network__width=200, readout__samples=800)
    law, seen = step_view(small, CLOSED), step_view(small, DRAWN)
    assert len(law["spectrum"]["spikes"]) == len(seen["spectrum"]["spikes"]) == 1
    assert overlaps_of(seen) == pytest.approx(overlaps_of(law), abs=0.2)
    labels = {number["label"] for number in seen["numbers"]}
    assert {"Learning rate", "Data spread", "Directions that stand out"} <= labels


def test_a_layer_too_large_to_draw_is_refused():
    with pytest.raises(Failure, match="too many to draw"):
        step_view(STRONG.replace(dimension=100_000), DRAWN)
