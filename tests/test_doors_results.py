"""Arrays in any form give the result of plain ones, stay as they are, and are not in results."""

import numpy as np
import pytest

import onegrad
from array_forms import FORMS, arrays_in, same
from conftest import nothing_registered
from onegrad.calculus import functions
from onegrad.calculus.expectations import expand
from onegrad.core.instance import Layers
from onegrad.stages import take_step
from public_doors import Door, rows_of_two_classes, tiny, verb_doors
from stage_doors import batch, stage_doors

HOLDERS = (np.ndarray, Layers)
SINGLE = 1e-5  # where a first layer in single precision is trained in it


def orthonormal():
    """Return orthonormal columns whose numbers single precision holds."""
    return np.eye(12)[:, :2]


def value_doors():
    """Return the doors of descriptions that hold arrays."""
    inputs, labels = rows_of_two_classes()
    numbers = batch()[0][0]
    return {
        "EmpiricalData": Door(
            lambda inputs, labels: onegrad.EmpiricalData(inputs, labels),
            {"inputs": (inputs, ""), "labels": (labels, "")},
        ),
        "Component": Door(
            onegrad.Component,
            {
                "mean": (numbers, ""),
                "directions": (orthonormal(), ""),
                "strengths": (np.array([1.0, 0.5]), ""),
            },
        ),
        "SingleIndex": Door(onegrad.SingleIndex, {"direction": (numbers, "")}),
        "SignIndex": Door(onegrad.SignIndex, {"direction": (numbers, "")}),
        "MultiIndex": Door(
            lambda directions: onegrad.MultiIndex(links=["z", "z"], directions=directions),
            {"directions": (orthonormal(), "")},
        ),
        "Readout": Door(onegrad.Readout, {"ridge": (np.array([0.5, 0.25]), "")}),
        "predict_curve": Door(
            lambda samples, ridge: onegrad.predict_curve(
                tiny(), samples=samples, ridge=ridge, models="network", draws=1
            ),
            {"samples": (np.array([10, 20]), ""), "ridge": (np.array([0.5, 0.25]), "")},
        ),
        "maximal_rate_limit": Door(
            lambda ratios: onegrad.maximal_rate_limit(
                "tanh", "sin", step_ratio=2, rate=2, width_ratio=1, sample_ratio=ratios, ridge=0.1
            ),
            {"ratios": (np.array([0.5, 2.0]), "")},
        ),
    }


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    verbs = verb_doors(str(tmp_path_factory.mktemp("doors")))
    return {**value_doors(), "fit_mixture": verbs["fit_mixture"], **stage_doors()}


def array_arguments(door):
    return {name: v for name, (v, _) in door.arguments.items() if isinstance(v, np.ndarray)}


def forms_of(name, argument, array):
    """Yield the forms of an array that an argument takes, with the tolerance of its result."""
    for form, changed in FORMS.items():
        whole = name == "predict_curve" and argument == "samples"
        if whole and form in ("float32", "big-endian", "long double"):
            continue  # counts are whole numbers
        if array.ndim > 2 and form == "pandas":
            continue
        single = form == "float32"
        yield form, changed(array), (SINGLE if single else 0.0)


def test_every_form_of_an_array_gives_the_result_of_a_plain_one(doors):
    wrong, tried = [], 0
    for name, door in doors.items():
        arrays = array_arguments(door)
        if not arrays:
            continue
        expected = door.call()
        for argument, array in arrays.items():
            for form, given, tolerance in forms_of(name, argument, array):
                tried += 1
                if name.startswith("feature_map") and not list(arrays_in(expected)):
                    door.call(**{argument: given})  # which reads no number of it
                elif not same(door.call(**{argument: given}), expected, tolerance=tolerance):
                    wrong.append((name, argument, form))
    assert not wrong
    assert tried > 200


def test_arguments_stay_as_they_are_and_results_do_not_share_their_memory(doors):
    wrong = []
    for name, door in doors.items():
        given = {argument: value for argument, (value, _) in door.arguments.items()}
        arrays = dict(arrays_in({a: v for a, v in given.items() if isinstance(v, HOLDERS)}))
        before = {argument: array.tobytes() for argument, array in arrays.items()}
        result = door.call()
        for argument, array in arrays.items():
            if array.tobytes() != before[argument] or not array.flags.writeable:
                wrong.append((name, argument, "was changed"))
            for path, found in arrays_in(result):
                if np.shares_memory(found, array):
                    wrong.append((name, argument, f"is {path} of the result"))
    assert not wrong


def test_a_function_that_keeps_its_argument_or_returns_other_numbers_would_be_seen():
    array = np.arange(3.0)
    assert [np.shares_memory(found, array) for _, found in arrays_in({"kept": array[1:]})] == [True]
    assert not same({"a": array}, {"a": array + 1e-9}, tolerance=0.0)
    assert not same({"a": array}, {"b": array}, tolerance=1.0)


def test_a_step_of_no_size_returns_a_layer_of_its_own():
    inputs, labels = batch()
    layers = Layers(np.ones((3, 12)), np.ones(3))
    after = take_step(layers, inputs, labels, activation="tanh", learning_rate=0)
    assert np.array_equal(after, layers.first)
    assert not np.shares_memory(after, layers.first)


def test_a_step_of_layers_in_single_precision_is_taken_in_it():
    inputs, labels = batch()
    layers = Layers(np.ones((3, 12), dtype=np.float32), np.ones(3))
    after = take_step(layers, inputs, labels, activation="tanh", learning_rate=0.1)
    assert after.dtype == np.float32


@pytest.mark.parametrize("text", ["relu", "Tanh", "max(u, 0.1*u)", "hermite:3"])
def test_names_and_formulas_stand_wherever_an_activation_does(text):
    inputs, labels = batch()
    layers = Layers(np.ones((3, 12)), np.ones(3))
    function = functions.get(text)
    named, given = (
        take_step(layers, inputs, labels, activation=activation, learning_rate=0.1)
        for activation in (text, function)
    )
    assert np.array_equal(named, given)
    assert same(expand(text, 1.5, degree=3), expand(function, 1.5, degree=3), tolerance=0.0)


def test_an_odd_function_object_stands_for_its_name_in_the_limit():
    sizes = {"step_ratio": 2, "rate": 2, "width_ratio": 1, "sample_ratio": 1, "ridge": 0.1}
    named = onegrad.maximal_rate_limit("tanh", "sin", **sizes)
    given = onegrad.maximal_rate_limit(functions.get("tanh"), functions.get("sin"), **sizes)
    assert named == given


def test_values_of_a_users_function_must_not_be_masked():
    with (
        nothing_registered(),
        pytest.raises(onegrad.InvalidInput, match="its values are masked"),
    ):
        onegrad.register_function("masked_log", np.ma.log)
