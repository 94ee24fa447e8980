"""Every public function refuses odd values in one line, and takes none of them silently."""

import inspect

import pytest

import onegrad
from conftest import nothing_registered
from odd_values import NEVER, ODD, is_clear, outcome
from onegrad import InvalidInput, stages
from onegrad.describe.value import Document, Value
from public_doors import Door, result_doors, rows_of_two_classes, tiny, verb_doors
from register_doors import register_doors
from stage_doors import stage_doors

VALUES = {
    name: getattr(onegrad, name)
    for name in onegrad.__all__
    if isinstance(getattr(onegrad, name), type) and issubclass(getattr(onegrad, name), Value)
}
TRIED_ELSEWHERE = {
    *("OneStepClassifier", "OneStepRegressor", "OneStepFeatures"),  # scikit-learn's own checks
    "explore",  # serves until it is interrupted: tests/explorer
    # Results are made by functions that have checked their arguments.
    *("Errors", "Equivalence", "Tuned", "StepsResult"),
}
GOOD_FIELDS = {
    "Problem": {"dimension": 12, "readout": {"samples": 15}},
    "Sweep": {"problem": tiny()},
    "EmpiricalData": dict(zip(("inputs", "labels"), rows_of_two_classes(), strict=True))
    | {"names": ("a", "b")},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("doors") / "runs")


@pytest.fixture(scope="module")
def doors(folder):
    results = result_doors(folder)  # which fills the folder
    return {**results, **verb_doors(folder), **register_doors(), **stage_doors()}


def test_every_public_name_and_every_stage_has_a_door(doors):
    known = {*VALUES, "InvalidInput", "TheoryWarning", *doors, *TRIED_ELSEWHERE}
    assert not set(onegrad.__all__) - known, "a new public name needs an entry in public_doors.py"
    assert set(doors) >= set(stages.__all__)


def test_every_argument_of_a_door_is_tried(doors):
    by_function = {}
    for door in doors.values():
        tried = {*door.arguments, *door.left_out}
        expected = set(inspect.signature(door.function).parameters)
        assert tried == expected, f"{door.function} has other arguments than its door"
        by_function.setdefault(door.function, []).append(set(door.arguments))
    curve = by_function[onegrad.predict_curve]
    assert set.union(*curve) == set(inspect.signature(onegrad.predict_curve).parameters)


def wrongly_taken(door):
    """Yield (argument, odd value, what happened) wherever that is not right."""
    for argument, (_, accepted) in door.arguments.items():
        for name, value in ODD.items():
            with nothing_registered():
                said = outcome(lambda a=argument, v=value: door.call(**{a: v}))
            if said is None and name not in accepted.split():
                yield argument, name, "was accepted"
            if said is not None and not is_clear(said):
                yield argument, name, said


def test_odd_arguments_are_refused_in_one_line_that_names_the_remedy(doors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a few odd values are paths
    wrong = [(name, *found) for name, door in doors.items() for found in wrongly_taken(door)]
    assert not wrong


def test_a_door_without_checks_would_be_seen():
    taken = Door(lambda number: number, {"number": (1, "zero")})
    assert {name for _, name, _ in wrongly_taken(taken)} == set(ODD) - {"zero"}

    def said(number):
        raise InvalidInput("number is wrong")

    refused = Door(said, {"number": (1, "")})
    assert len(list(wrongly_taken(refused))) == len(ODD)


@pytest.mark.parametrize("name", VALUES)
def test_fields_are_refused_in_one_line_that_names_the_remedy(name):
    described, good = VALUES[name], GOOD_FIELDS.get(name, {})
    wrong = []
    for field in described.model_fields:
        for odd, value in ODD.items():
            said = outcome(lambda f=field, v=value: described(**{**good, f: v}))
            if said is None and odd in NEVER:
                wrong.append((field, odd, "was accepted"))
            if said is not None and not is_clear(said):
                wrong.append((field, odd, said))
    assert not wrong


@pytest.mark.parametrize("name", VALUES)
def test_fields_without_a_name_are_refused(name):
    for value in ODD.values():
        if name != "EmpiricalData" or value is not None:  # which takes inputs and labels so
            said = outcome(lambda v=value: VALUES[name](v))
            assert said is not None
            assert is_clear(said)


@pytest.mark.parametrize("name", VALUES)
def test_replace_load_and_save_refuse_odd_arguments(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    described = VALUES[name]
    value = described(**GOOD_FIELDS.get(name, {}))
    calls = {"replace": value.replace}
    if issubclass(described, Document):
        calls |= {"load": described.load, "save": value.save}
    wrong = []
    for method, call in calls.items():
        for odd, given in ODD.items():
            said = outcome(lambda c=call, g=given: c(g))
            if said is None and not (method == "replace" and odd in ("none", "table")):
                wrong.append((method, odd, "was accepted"))
            if said is not None and not is_clear(said):
                wrong.append((method, odd, said))
    assert not wrong
