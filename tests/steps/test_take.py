"""Giant steps: the core's network in the simplest case, streams, and what the steps must show."""

import json
import tracemalloc

import numpy as np
import pytest

from conftest import small_steps
from onegrad import InvalidInput, Problem, StepsProblem, take_steps
from onegrad.calculus import functions
from onegrad.models.resolve import resolve_models
from onegrad.steps import blocks as stream
from onegrad.steps import streamed_features
from onegrad.steps import take as module
from onegrad.steps.blocks import LowDegree, draw_layers, draw_steps_instance, estimate_low_degree
from onegrad.steps.saved import Saved
from onegrad.steps.spectra import matrix_spectrum
from onegrad.training.instance import draw
from onegrad.training.layers import Layers, initialise
from onegrad.training.step import gradient_step
from onegrad.verbs.trial import run_trial

STAIRCASE = {"links": ["z+z**2", "z-z**2"]}
STAYS = {"links": ["4*z+z**2", "z"]}


def one_direction(**changes):
    """Return the same network as a giant-steps problem and as a problem of the core."""
    giant = {
        "dimension": 30,
        "width": 40,
        "batch": 2500,
        "activation": "tanh",
        "step_size": {"learning_rate": 7.0},
        "readout": "fresh",
        "samples": 700,
        "ridge": 1e-3,
        "test_samples": 900,
        "teacher": {"links": ["relu"], "noise": 0.3},
        **changes,
    }
    core = Problem(
        dimension=giant["dimension"],
        samples=700,
        step_samples=2500,
        test="sampled",
        test_samples=900,
        ridge=1e-3,
        scaling={"learning_rate": 7.0, "spread": 0.0},
        data={"components": [{"rank": 0}]},
        teacher={"link": "relu", "noise": 0.3},
        network={
            "width": 40,
            "activation": giant["activation"],
            "second_layer": giant.get("second_layer", "gaussian"),
        },
    )
    return StepsProblem(**giant), core


@pytest.mark.parametrize(
    ("second_layer", "activation", "dimension"),
    [
        ("gaussian", "tanh", 30),
        ("sign", "tanh", 30),
        ("constant", "tanh", 30),
        ("gaussian", "relu", 30),
        ("sign", "relu", 211),
    ],
)
@pytest.mark.parametrize(("seed", "trial"), [(0, 0), (5, 3)])
def test_one_step_in_one_direction_is_the_core_s_network_bit_by_bit(
    second_layer, activation, dimension, seed, trial
):
    giant, core = one_direction(
        second_layer=second_layer, activation=activation, dimension=dimension
    )
    instance = draw(core, seed=seed, trial=trial)
    layers = initialise(instance)
    batch = instance.step_batch()
    trained = gradient_step(
        layers,
        batch.inputs,
        batch.labels,
        activation=functions.get(activation),
        learning_rate=7.0,
    )
    steps_instance = draw_steps_instance(giant, seed=seed, trial=trial)
    drawn = draw_layers(steps_instance)
    assert np.array_equal(drawn.first, layers.first)
    assert np.array_equal(drawn.second, layers.second)
    assert np.array_equal(steps_instance.teacher.directions, instance.teacher.directions)
    taken = module._step(steps_instance, drawn, 1, low=LowDegree("none"))
    assert np.array_equal(taken.first, trained)
    # The whole pipeline too: readout on fresh points and test error.
    theirs = run_trial(core, resolve_models(core, ["network"]), seed=seed, trial=trial)["network"]
    record = take_steps(giant, seed=seed, trial=trial).records[1]
    assert record.train_mse == theirs["train_mse"][0]
    assert record.test_mse == pytest.approx(theirs["test_mse"][0], rel=1e-13)
    other = take_steps(giant, seed=seed + 1, trial=trial).records[1]
    assert other.train_mse != theirs["train_mse"][0]


def test_a_fresh_batch_per_step_and_the_same_test_points():
    instance = draw_steps_instance(small_steps(), seed=0, trial=0)
    batches = [next(instance.step_blocks(step)) for step in (1, 2, 3)]
    assert not np.array_equal(batches[0].inputs, batches[1].inputs)
    assert not np.array_equal(batches[1].inputs, batches[2].inputs)
    again = next(instance.step_blocks(2))
    assert np.array_equal(again.inputs, batches[1].inputs)
    assert np.array_equal(again.labels, batches[1].labels)
    tests = [list(instance.test_blocks()) for _ in range(2)]
    assert sum(len(block.labels) for block in tests[0]) == 500
    for earlier, later in zip(*tests, strict=True):
        assert np.array_equal(earlier.inputs, later.inputs)
        assert np.array_equal(earlier.labels, later.labels)
    for batch in batches:
        assert not np.array_equal(batch.inputs[:100], tests[0][0].inputs[:100])


def test_the_readout_s_batch_is_the_step_s_or_one_fresh_one_for_all_steps():
    instance = draw_steps_instance(small_steps(), seed=0, trial=0)
    for step in (1, 2):
        readout, step_block = next(instance.readout_blocks(step)), next(instance.step_blocks(step))
        assert np.array_equal(readout.inputs, step_block.inputs)
    instance = draw_steps_instance(small_steps(readout="fresh", samples=70), seed=0, trial=0)
    earlier, later = (next(instance.readout_blocks(step)) for step in (1, 2))
    assert np.array_equal(earlier.inputs, later.inputs)
    assert len(earlier.labels) == 70
    assert not np.array_equal(earlier.inputs, next(instance.step_blocks(1)).inputs[:70])


def test_steps_are_those_of_the_gradient_step_on_each_batch():
    problem = small_steps(subtract="none", step_size={"learning_rate": 3.0})
    instance = draw_steps_instance(problem, seed=2, trial=0)
    layers = draw_layers(instance)
    first = layers.first
    for step in (1, 2, 3):
        block = next(instance.step_blocks(step))
        first = gradient_step(
            Layers(first, layers.second),
            block.inputs,
            block.labels,
            activation=functions.get("relu"),
            learning_rate=3.0,
        )
    result = take_steps(problem, seed=2)
    expected = module.align(first, instance)
    assert np.array_equal(result.records[-1].weights.overlaps, expected.overlaps)


def test_the_streamed_readout_is_the_held_one(monkeypatch):
    problem = small_steps(batch=5000, ridge=1e-4, subtract="linear")
    taken = []
    for name in ("_streamed_fit", "fit_readout"):
        original = getattr(streamed_features, name)

        def noted(*given, name=name, original=original, **named):
            taken.append(name)
            return original(*given, **named)

        monkeypatch.setattr(streamed_features, name, noted)
    streamed = take_steps(problem)
    assert taken == ["_streamed_fit"] * 4
    monkeypatch.setattr(streamed_features, "HELD_ROWS", 10_000)
    whole = take_steps(problem)
    assert taken[4:] == ["fit_readout"] * 4
    for expected, record in zip(whole.records, streamed.records, strict=True):
        assert expected.test_mse == pytest.approx(record.test_mse, rel=1e-9)
        assert expected.train_mse == pytest.approx(record.train_mse, rel=1e-9)


def test_memory_does_not_grow_with_the_batch():
    peaks = []
    for batch in (8_000, 64_000):
        problem = small_steps(dimension=48, width=32, batch=batch, steps=1, subtract="linear")
        take_steps(problem)  # so that nothing is allocated for the first time
        tracemalloc.start()
        take_steps(problem)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 64_000 * 48 * 8 / 4  # a quarter of the inputs alone


def test_the_linear_part_is_estimated_on_the_training_batch_alone():
    problem = small_steps(batch=400, subtract="linear", teacher={"links": ["4*z+z**2", "z"]})
    instance = draw_steps_instance(problem, seed=0, trial=0)
    block = next(instance.step_blocks(1))
    low_degree = estimate_low_degree(problem, instance.step_blocks(1), 400)
    design = np.concatenate([np.ones((400, 1)), block.inputs], axis=1)
    expected = np.linalg.lstsq(design, block.labels)[0]
    assert low_degree.method == "least squares"
    assert np.concatenate([[low_degree.constant], low_degree.slope]) == pytest.approx(
        expected, rel=1e-9
    )
    few = small_steps(batch=30, subtract="linear")
    instance = draw_steps_instance(few, seed=0, trial=0)
    block = next(instance.step_blocks(1))
    low_degree = estimate_low_degree(few, instance.step_blocks(1), 30)
    assert low_degree.method == "moments"
    assert low_degree.slope == pytest.approx(
        np.mean((block.labels - block.labels.mean())[:, None] * block.inputs, axis=0)
    )


def test_least_squares_hold_one_matrix(monkeypatch):
    """Blocks of 32 rows are small beside (d + 1)²; a second such matrix would be seen."""
    monkeypatch.setattr(stream, "STEP_ROWS", 32)
    problem = small_steps(dimension=500, batch=1002, subtract="linear")
    instance = draw_steps_instance(problem, seed=0, trial=0)
    tracemalloc.start()
    low_degree = estimate_low_degree(problem, instance.step_blocks(1), 1002)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert low_degree.method == "least squares"
    assert peak < 1.6 * 8 * 501**2


def test_adding_a_linear_part_to_the_target_changes_nothing_after_subtraction():
    bare = small_steps(subtract="linear", batch=2000, teacher={"links": ["z**2"]}, steps=1)
    tilted = small_steps(subtract="linear", batch=2000, teacher={"links": ["5*z+z**2+3"]}, steps=1)
    plain, subtracted = take_steps(bare).records[1], take_steps(tilted).records[1]
    assert plain.weights.overlaps == pytest.approx(subtracted.weights.overlaps, abs=1e-9)
    assert plain.test_mse == pytest.approx(subtracted.test_mse, rel=1e-6)
    untouched = take_steps(small_steps(batch=2000, teacher={"links": ["5*z+z**2+3"]}, steps=1))
    assert untouched.records[1].test_mse != pytest.approx(subtracted.test_mse, rel=1e-2)


def test_a_killed_run_continues_with_the_same_bits(tmp_path, monkeypatch):
    problem = small_steps()
    whole = take_steps(problem)
    state = tmp_path / "state.npz"
    original = module._step

    def dies(instance, layers, step, *, low):
        if step == 3:
            raise KeyboardInterrupt
        return original(instance, layers, step, low=low)

    monkeypatch.setattr(module, "_step", dies)
    with pytest.raises(KeyboardInterrupt):
        take_steps(problem, state=state)
    assert len(Saved.load(state, problem, 0, 0).records) == 3
    seen = []

    def counts(instance, layers, step, *, low):
        seen.append(step)
        return original(instance, layers, step, low=low)

    monkeypatch.setattr(module, "_step", counts)
    continued = take_steps(problem, state=state)
    assert seen == [3]
    assert json.dumps(continued.to_dict(neurons=True)) == json.dumps(whole.to_dict(neurons=True))
    with pytest.raises(InvalidInput, match="another problem or seed"):
        take_steps(problem, seed=1, state=state)
    # The steps' number is no part of a state: more are taken from it, fewer are read off.
    longer = small_steps(steps=4)
    more = take_steps(longer, state=state)
    assert seen == [3, 4]
    alone = take_steps(longer)
    assert json.dumps(more.to_dict(neurons=True)) == json.dumps(alone.to_dict(neurons=True))
    fewer = take_steps(problem, state=state)
    assert json.dumps(fewer.to_dict(neurons=True)) == json.dumps(whole.to_dict(neurons=True))
    state.write_bytes(b"torn")
    with pytest.raises(InvalidInput, match="cannot be read"):
        take_steps(problem, state=state)


def test_the_untrained_network_s_record_is_kept_too(tmp_path, monkeypatch):
    def dies(*_given, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_step", dies)
    state = tmp_path / "state.npz"
    with pytest.raises(KeyboardInterrupt):
        take_steps(small_steps(), state=state)
    assert len(Saved.load(state, small_steps(), 0, 0).records) == 1


def test_a_step_of_size_zero_has_no_direction():
    """The Gram matrix of zeros has eigenvectors, which are no directions of a change."""
    zero = matrix_spectrum(np.zeros((30, 20)))
    assert zero.direction is None
    assert zero.norm == 0
    assert matrix_spectrum(np.zeros((20, 30))).direction is None
    problem = small_steps(dimension=20, width=30, step_size={"learning_rate": 0.0}, steps=1)
    before, after = take_steps(problem).records
    assert after.features.overlaps.size == 0
    assert after.features.exponent is None
    assert after.test_mse == before.test_mse


def test_the_first_step_points_along_the_predicted_direction_and_outside_the_noise():
    """At d = N = 1024 the angle's own noise is a few degrees; a random row's median is 45°."""
    for teacher in (STAIRCASE, STAYS):
        problem = StepsProblem(
            dimension=1024, width=128, second_layer="sign", teacher=teacher, test_samples=100
        )
        record = take_steps(problem).records[1]
        assert record.gradient.angle < 10
        assert record.gradient.outside == 1.0
        assert record.gradient_spectrum.rank >= 1
        leading = record.gradient_spectrum.values
        assert leading[0] > 4 * leading[1]
        # Negative control: an untrained network's neurons point anywhere.
        before = take_steps(problem).records[0]
        assert before.weights.angle > 35
        assert before.weights.outside < 0.3


def test_the_staircase_leaves_the_line_and_the_other_target_stays():
    angles = {}
    for name, teacher in (("leaves", STAIRCASE), ("stays", STAYS)):
        problem = StepsProblem(
            dimension=1024,
            width=256,
            steps=6,
            second_layer="sign",
            teacher=teacher,
            test_samples=100,
        )
        angles[name] = take_steps(problem).records[6].gradient.angle
    assert angles["leaves"] > 55
    assert angles["stays"] < 35


def test_subtraction_and_a_large_batch_make_neurons_specialise():
    link = "He4/24 + He2/2 + He1"
    fields = {
        "dimension": 64,
        "width": 128,
        "batch_exponent": 2.0,
        "step_size": {"per_root": 10.0},
        "teacher": {"links": [link, link]},
        "test_samples": 8000,
    }
    plain = take_steps(StepsProblem(**fields))
    bare = take_steps(StepsProblem(**fields, subtract="linear"))
    small_batch = take_steps(StepsProblem(**(fields | {"batch_exponent": 1.3}), subtract="linear"))
    assert bare.records[1].test_mse < 0.6 * plain.records[0].test_mse
    assert bare.records[1].test_mse < 0.8 * plain.records[1].test_mse
    assert bare.records[1].test_mse < 0.6 * small_batch.records[1].test_mse
