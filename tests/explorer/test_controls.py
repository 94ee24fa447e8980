"""Controls come from the fields of the problem."""

from typing import Literal

import pytest
from pydantic import Field

from onegrad.calculus.functions import FUNCTIONS, register_function
from onegrad.core.problem import Problem
from onegrad.data.teachers import TEACHERS, TeacherDescription, register_teacher
from onegrad.describe.value import Positive, Unit, control, nested_fields
from onegrad.explorer.controls import controls_of, number_controls


def by_path(problem):
    return {c.path: c for c in controls_of(problem)}


class Extended(Problem):
    dropout: Unit = Field(default=0.25, description="Share of neurons left out.")
    warmth: Positive = Field(
        default=2.0, description="Warmth.", json_schema_extra=control(label="Heat", symbol="T")
    )


def test_a_field_that_is_added_to_the_problem_has_a_control():
    assert "dropout" not in by_path(Problem())
    controls = by_path(Extended())
    dropout, warmth = controls["dropout"], controls["warmth"]
    assert (dropout.label, dropout.kind, dropout.low, dropout.high) == ("Dropout", "number", 0, 1)
    assert dropout.sentence == "Share of neurons left out."
    assert dropout.value == dropout.default == 0.25
    # No upper bound: a factor around the default, on a logarithmic scale.
    assert warmth.scale == "log"
    assert warmth.low < 2 < warmth.high
    assert (warmth.label, warmth.symbol) == ("Heat", "T")


def test_what_a_page_shows_of_a_field_stands_in_the_json_schema():
    schema = Problem.model_json_schema()["$defs"]["Network"]["properties"]["width_ratio"]
    assert schema["control"]["symbol"] == by_path(Problem())["network.width_ratio"].symbol == "k/m"


def test_a_registered_activation_is_offered():
    register_function(
        "bump_of_tests", lambda u: u / (1 + u**2), lambda u: (1 - u**2) / (1 + u**2) ** 2
    )
    try:
        assert "bump_of_tests" in by_path(Problem())["network.activation"].choices
    finally:
        del FUNCTIONS.entries["bump_of_tests"]
    assert "bump_of_tests" not in by_path(Problem())["network.activation"].choices


def test_a_registered_teacher_is_offered_with_its_own_fields():
    @register_teacher
    class Wave(TeacherDescription):
        kind: Literal["wave_of_tests"] = Field(default="wave_of_tests", description="A wave.")
        pitch: Positive = Field(default=3.0, description="How fast it turns.")

    try:
        controls = by_path(Problem())
        kinds = [choice["value"] for choice in controls["teacher.kind"].choices]
        assert "wave_of_tests" in kinds
        assert controls["teacher.pitch"].when == {
            "path": "teacher.kind",
            "values": ["wave_of_tests"],
        }
    finally:
        del TEACHERS.entries["wave_of_tests"]


def test_every_control_has_words_and_every_slider_a_range_that_holds_its_value():
    for c in controls_of(Problem()):
        assert c.label, c.path
        assert c.sentence, c.path
        assert c.group, c.path
        if c.kind in ("number", "count"):
            assert c.low < c.high, c.path
            assert c.scale != "log" or c.low > 0, c.path
            if c.value is not None:
                assert c.low <= c.value <= c.high, c.path


def test_controls_are_fields_and_show_what_follows_from_others():
    problem = Problem(dimension=400, readout={"samples": 200}, network={"width": 300})
    controls = by_path(problem)
    known = {path for path, _ in nested_fields(Problem)}
    for path in controls:
        plain = ".".join("*" if part.isdigit() else part for part in path.split("."))
        assert plain in known, path
    assert controls["network.width_ratio"].value == 1.5
    assert controls["scaling.learning_rate"].value == pytest.approx(400**0.37)
    assert controls["scaling.learning_rate"].companions == ["scaling.spread"]
    assert "network.width_ratio" in controls["network.width"].rivals


def test_a_value_outside_widens_its_slider():
    assert by_path(Problem(dimension=50_000))["dimension"].high == 50_000


def test_curves_go_along_numbers_that_apply():
    problem = Problem(teacher={"kind": "sign"})
    paths = {c.path for c in number_controls(controls_of(problem), problem)}
    assert {"teacher.flips", "network.width_ratio", "readout.ridge"} <= paths
    assert "teacher.noise" not in paths  # of another kind of teacher
    assert "network.activation" not in paths
