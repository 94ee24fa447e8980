"""Where problems start: what was opened, real data that are here, presets that need them."""

import numpy as np
import pytest

from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.controls import control_at, controls_of
from onegrad.explorer.curves import TYPES, batched_points, closed_refusal
from onegrad.explorer.presets import (
    PRESETS,
    REAL,
    described_sources,
    first_problems,
    known_presets,
    real_problems,
)
from onegrad.explorer.state import changed, read_state


def test_the_default_stands_beside_another_problem_alone():
    assert list(first_problems(Problem())) == ["start"]
    assert list(first_problems(Problem(dimension=77))) == ["start", "default"]


def test_digits_are_here_and_theory_reads_them_by_types():
    bases = {**first_problems(Problem()), **real_problems()}
    assert "digits" in bases
    assert set(bases) <= {"start", *REAL}
    state = read_state({"base": "digits", "problem": {"network.width": 40}}, bases)
    problem = state.problem.replace(readout__ridge=(1e-3, 1e-1))
    assert "data.kind='empirical'" in closed_refusal(problem, ("network",))
    points = batched_points(problem, ("network",), None, TYPES, False)
    assert np.all(np.array(points.curves["network"]["test_mse"]) > 0)
    assert all(0 <= rate <= 1 for rate in points.curves["network"]["misclassification"])
    for source in described_sources(bases):
        assert source["label"]
        assert source["sentence"].endswith(".")
        assert source["drops"] == ["data", "teacher"]


def test_sliders_on_real_data_end_where_the_data_do():
    problem = real_problems()["digits"]
    controls = {control.path: control for control in controls_of(problem)}
    assert "dimension" not in controls  # the data have their own
    for control in controls.values():
        if control.low is None or not control.applies(problem):
            continue
        for value in (control.low, control.high):
            changed(problem, {control.path: value})  # raises where the data do not allow it
    samples = controls["readout.samples"]
    assert samples.low < samples.value < samples.high
    with pytest.raises(InvalidInput):
        changed(problem, {"readout.samples": samples.high + 2})
    assert control_at(problem, "readout.samples") == samples
    assert {c.path: c for c in controls_of(Problem())}["dimension"].high == 10_000


def test_a_preset_on_images_is_offered_only_where_they_are():
    here = {p["name"] for p in known_presets({"start": Problem()})}
    assert here == {p["name"] for p in PRESETS} - {"fashion-mnist"}
    with_images = known_presets({"start": Problem(), "fashion_mnist": Problem()})
    assert len(with_images) == len(PRESETS)


def test_presets_start_from_a_problem_of_which_their_story_is_true():
    def bases_of(presets):
        return {p["state"]["base"] for p in presets if p["name"] != "fashion-mnist"}

    larger = Problem(dimension=300, readout={"samples": 300}, training={"samples": 300})
    assert bases_of(known_presets(first_problems(larger))) == {"start"}
    for other in (real_problems()["digits"], Problem(teacher={"kind": "labels"})):
        assert bases_of(known_presets(first_problems(other))) == {"default"}


def test_presets_tell_of_every_figure_that_was_asked_for():
    names = {p["name"] for p in PRESETS}
    assert {f"figure-{n}" for n in ("1a", "1b", "1c", "2a", "2b", "2c")} <= names
    others = {"double-descent", "linear-fails", "spread-or-rate", "optimal-ridge", "fashion-mnist"}
    assert others <= names
