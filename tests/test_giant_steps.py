"""Giant steps: the core's network in the simplest case, streams, and what the steps must show."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onegrad
from onegrad import InvalidInput, Problem, StepsProblem, activations, take_steps
from onegrad.giant import features, stream
from onegrad.giant import steps as module
from onegrad.giant.saved import Saved
from onegrad.giant.spectra import matrix_spectrum, predicted_spikes, spectrum
from onegrad.giant.stream import LowDegree, draw_layers, draw_source, estimate_low_degree

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
    instance = onegrad.draw(core, seed=seed, trial=trial)
    layers = onegrad.initialise(instance)
    batch = instance.step_batch()
    trained = onegrad.gradient_step(
        layers,
        batch.inputs,
        batch.labels,
        activation=activations.get(activation),
        learning_rate=7.0,
    )
    source = draw_source(giant, seed=seed, trial=trial)
    mine = draw_layers(source)
    assert np.array_equal(mine.first, layers.first)
    assert np.array_equal(mine.second, layers.second)
    assert np.array_equal(source.teacher.directions, instance.teacher.directions)
    taken = module._step(source, mine, 1, low=LowDegree("none"))
    assert np.array_equal(taken.first, trained)
    # The whole pipeline too: readout on fresh points and test error.
    theirs = onegrad.run_trial(
        core, onegrad.resolve_models(core, ["network"]), seed=seed, trial=trial
    )["network"]
    record = take_steps(giant, seed=seed, trial=trial).records[1]
    assert record.train_mse == theirs["train_mse"][0]
    assert record.test_mse == pytest.approx(theirs["test_mse"][0], rel=1e-13)
    other = take_steps(giant, seed=seed + 1, trial=trial).records[1]
    assert other.train_mse != theirs["train_mse"][0]


def small(**changes):
    fields = {
        "dimension": 24,
        "width": 20,
        "batch": 300,
        "steps": 3,
        "test_samples": 500,
        "teacher": STAIRCASE,
    }
    return StepsProblem(**(fields | changes))


def test_a_fresh_batch_per_step_and_the_same_test_points():
    source = draw_source(small(), seed=0, trial=0)
    batches = [next(source.step_blocks(step)) for step in (1, 2, 3)]
    assert not np.array_equal(batches[0].inputs, batches[1].inputs)
    assert not np.array_equal(batches[1].inputs, batches[2].inputs)
    again = next(source.step_blocks(2))
    assert np.array_equal(again.inputs, batches[1].inputs)
    assert np.array_equal(again.labels, batches[1].labels)
    tests = [list(source.test_blocks()) for _ in range(2)]
    assert sum(len(block.labels) for block in tests[0]) == 500
    for one, other in zip(*tests, strict=True):
        assert np.array_equal(one.inputs, other.inputs)
        assert np.array_equal(one.labels, other.labels)
    for batch in batches:
        assert not np.array_equal(batch.inputs[:100], tests[0][0].inputs[:100])


def test_the_readout_s_batch_is_the_step_s_or_one_fresh_one_for_all_steps():
    source = draw_source(small(), seed=0, trial=0)
    for step in (1, 2):
        mine, theirs = next(source.readout_blocks(step)), next(source.step_blocks(step))
        assert np.array_equal(mine.inputs, theirs.inputs)
    source = draw_source(small(readout="fresh", samples=70), seed=0, trial=0)
    one, other = (next(source.readout_blocks(step)) for step in (1, 2))
    assert np.array_equal(one.inputs, other.inputs)
    assert len(one.labels) == 70
    assert not np.array_equal(one.inputs, next(source.step_blocks(1)).inputs[:70])


def test_steps_are_those_of_the_gradient_step_on_each_batch():
    problem = small(subtract="none", step_size={"learning_rate": 3.0})
    source = draw_source(problem, seed=2, trial=0)
    layers = draw_layers(source)
    first = layers.first
    for step in (1, 2, 3):
        block = next(source.step_blocks(step))
        first = onegrad.gradient_step(
            onegrad.Layers(first, layers.second),
            block.inputs,
            block.labels,
            activation=activations.get("relu"),
            learning_rate=3.0,
        )
    result = take_steps(problem, seed=2)
    expected = module.align(first, source)
    assert np.array_equal(result.records[-1].weights.overlaps, expected.overlaps)


def test_the_streamed_readout_is_the_held_one(monkeypatch):
    problem = small(batch=5000, ridge=1e-4, subtract="linear")
    taken = []
    for name in ("_streamed_fit", "fit_readout"):
        original = getattr(features, name)

        def noted(*given, name=name, original=original, **named):
            taken.append(name)
            return original(*given, **named)

        monkeypatch.setattr(features, name, noted)
    streamed = take_steps(problem)
    assert taken == ["_streamed_fit"] * 4
    monkeypatch.setattr(features, "HELD_ROWS", 10_000)
    held = take_steps(problem)
    assert taken[4:] == ["fit_readout"] * 4
    for one, other in zip(held.records, streamed.records, strict=True):
        assert one.test_mse == pytest.approx(other.test_mse, rel=1e-9)
        assert one.train_mse == pytest.approx(other.train_mse, rel=1e-9)


def test_memory_does_not_grow_with_the_batch():
    peaks = []
    for batch in (8_000, 64_000):
        problem = small(dimension=48, width=32, batch=batch, steps=1, subtract="linear")
        take_steps(problem)  # so that nothing is allocated for the first time
        tracemalloc.start()
        take_steps(problem)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 64_000 * 48 * 8 / 4  # a quarter of the inputs alone


def test_the_spectrum_of_features_is_that_of_the_centred_matrix():
    problem = small(batch=400, width=30, steps=1)
    source = draw_source(problem, seed=0, trial=0)
    layers = draw_layers(source)
    taken = module._step(source, layers, 1, low=LowDegree("none"))
    block = next(source.step_blocks(1))
    phi = np.maximum(block.inputs @ taken.first.T, 0)
    phi -= phi.mean(axis=0)
    left, values, _ = np.linalg.svd(phi / np.sqrt(30), full_matrices=False)
    record = take_steps(problem).records[1]
    assert record.features.values == pytest.approx(values, rel=1e-7)
    line = block.inputs @ matrix_spectrum(taken.first - layers.first).direction
    power = (line**2 - 1) - np.mean(line**2 - 1)
    overlap = abs(left[:, 0] @ power) / np.linalg.norm(power)
    assert record.features.overlaps[0, 1] == pytest.approx(overlap, rel=1e-6)


def test_the_linear_part_is_estimated_on_the_training_batch_alone():
    problem = small(batch=400, subtract="linear", teacher={"links": ["4*z+z**2", "z"]})
    source = draw_source(problem, seed=0, trial=0)
    block = next(source.step_blocks(1))
    found = estimate_low_degree(problem, source.step_blocks(1), 400)
    design = np.concatenate([np.ones((400, 1)), block.inputs], axis=1)
    expected = np.linalg.lstsq(design, block.labels)[0]
    assert found.method == "least squares"
    assert np.concatenate([[found.constant], found.slope]) == pytest.approx(expected, rel=1e-9)
    few = small(batch=30, subtract="linear")
    source = draw_source(few, seed=0, trial=0)
    block = next(source.step_blocks(1))
    found = estimate_low_degree(few, source.step_blocks(1), 30)
    assert found.method == "moments"
    assert found.slope == pytest.approx(
        np.mean((block.labels - block.labels.mean())[:, None] * block.inputs, axis=0)
    )


def test_least_squares_hold_one_matrix(monkeypatch):
    """Blocks of 32 rows are small beside (d + 1)²; a second such matrix would be seen."""
    monkeypatch.setattr(stream, "STEP_ROWS", 32)
    problem = small(dimension=500, batch=1002, subtract="linear")
    source = draw_source(problem, seed=0, trial=0)
    tracemalloc.start()
    found = estimate_low_degree(problem, source.step_blocks(1), 1002)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.method == "least squares"
    assert peak < 1.6 * 8 * 501**2


def test_adding_a_linear_part_to_the_target_changes_nothing_after_subtraction():
    bare = small(subtract="linear", batch=2000, teacher={"links": ["z**2"]}, steps=1)
    tilted = small(subtract="linear", batch=2000, teacher={"links": ["5*z+z**2+3"]}, steps=1)
    one, other = take_steps(bare).records[1], take_steps(tilted).records[1]
    assert one.weights.overlaps == pytest.approx(other.weights.overlaps, abs=1e-9)
    assert one.test_mse == pytest.approx(other.test_mse, rel=1e-6)
    untouched = take_steps(small(batch=2000, teacher={"links": ["5*z+z**2+3"]}, steps=1))
    assert untouched.records[1].test_mse != pytest.approx(other.test_mse, rel=1e-2)


def test_published_step_sizes():
    assert small().learning_rate(1.0) == 2 * 20
    assert small(step_size={"per_root": 10.0}).learning_rate(1.0) == 10 * np.sqrt(300 * 20)
    found = take_steps(small(step_size={"exponent": 0.3}, steps=1)).records[1]
    assert found.features.exponent == 0.3
    assert found.change_spectrum.values[0] == pytest.approx(24**0.3)
    assert small(batch=None, batch_exponent=1.5).batch_size == round(24**1.5)


def test_a_killed_run_continues_with_the_same_bits(tmp_path, monkeypatch):
    problem = small()
    whole = take_steps(problem)
    state = tmp_path / "state.npz"
    original = module._step

    def dies(source, layers, step, *, low):
        if step == 3:
            raise KeyboardInterrupt
        return original(source, layers, step, low=low)

    monkeypatch.setattr(module, "_step", dies)
    with pytest.raises(KeyboardInterrupt):
        take_steps(problem, state=state)
    assert len(Saved.load(state, problem, 0, 0).records) == 3
    seen = []

    def counts(source, layers, step, *, low):
        seen.append(step)
        return original(source, layers, step, low=low)

    monkeypatch.setattr(module, "_step", counts)
    continued = take_steps(problem, state=state)
    assert seen == [3]
    assert json.dumps(continued.to_dict(neurons=True)) == json.dumps(whole.to_dict(neurons=True))
    with pytest.raises(InvalidInput, match="another problem or seed"):
        take_steps(problem, seed=1, state=state)
    # The steps' number is no part of a state: more are taken from it, fewer are read off.
    longer = small(steps=4)
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
        take_steps(small(), state=state)
    assert len(Saved.load(state, small(), 0, 0).records) == 1


def test_a_step_of_size_zero_has_no_direction():
    """The Gram matrix of zeros has eigenvectors, which are no directions of a change."""
    zero = matrix_spectrum(np.zeros((30, 20)))
    assert zero.direction is None
    assert zero.norm == 0
    assert matrix_spectrum(np.zeros((20, 30))).direction is None
    problem = small(dimension=20, width=30, step_size={"learning_rate": 0.0}, steps=1)
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


@pytest.mark.parametrize(
    ("exponent", "degrees"),
    [(-1.0, ()), (0.0, ()), (0.15, (1,)), (0.29, (1, 2)), (0.36, (1, 2)), (0.39, (1, 2, 4))],
)
def test_predicted_spikes_follow_the_bands_and_relu_has_no_third(exponent, degrees):
    assert predicted_spikes(exponent, activations.get("relu")) == degrees


def test_tanh_has_no_second_spike_and_beyond_one_half_nothing_is_predicted():
    assert predicted_spikes(0.36, activations.get("tanh")) == (1, 3)
    assert predicted_spikes(0.5, activations.get("relu")) is None
    assert predicted_spikes(0.49, activations.get("relu")) is None


def test_spikes_of_the_features_appear_with_the_exponent():
    found = {}
    for exponent in (0.0, 0.15, 0.4):
        problem = StepsProblem(
            dimension=500,
            width=500,
            readout="fresh",
            step_size={"exponent": exponent},
            teacher={"links": ["relu"]},
            test_samples=100,
        )
        found[exponent] = take_steps(problem).records[1].features
    assert [found[a].observed for a in (0.0, 0.15, 0.4)] == [0, 1, 2]
    assert found[0.15].overlaps[0, 0] > 0.8
    assert found[0.4].overlaps[1, 1] > 0.5
    assert found[0.0].overlaps[0, 0] < 0.5


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_outliers_of_noise_plus_spikes_are_counted(seed, spikes):
    """Values s > 1 of a rank-one part of a 200 × 200 noise matrix stand at s + 1/s, the edge at 2.

    Four times 1 is far outside; the margin of five edge units is passed by noise 1e−5 of times.
    """
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((200, 200)) / np.sqrt(200)
    for strength in range(4, 4 + spikes):
        left, right = rng.standard_normal((2, 200))
        matrix += strength * np.outer(left / np.linalg.norm(left), right / np.linalg.norm(right))
    found = matrix_spectrum(matrix).spectrum
    assert found.count == spikes
    assert found.values == pytest.approx(np.linalg.svd(matrix, compute_uv=False)[:40], rel=1e-6)
    assert 1.9 < found.edge < 2.4


def test_a_matrix_of_low_rank_has_that_rank_and_a_tiny_one_no_outliers():
    rng = np.random.default_rng(0)
    low = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 60))
    assert matrix_spectrum(low).spectrum.count == 3
    assert spectrum(np.array([3.0, 1.0])).count is None
    assert spectrum(np.linspace(2, 1, 7)).count is None
    assert spectrum(np.linspace(2, 1, 8)).count == 0


def test_a_gap_low_in_a_short_bulk_is_no_edge():
    """Twenty values: nine below a gap are no bulk beside eleven above it; three above are."""
    ragged = np.concatenate([np.linspace(3.0, 2.6, 11), np.linspace(1.2, 1.0, 9)])
    assert spectrum(ragged).count == 0
    clear = np.concatenate([np.linspace(3.0, 2.6, 3), np.linspace(1.2, 1.0, 17)])
    assert spectrum(clear).count == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"batch": 0}, "batch=0: must be a whole number of at least 1"),
        ({"dimension": 1}, "2 directions, must be at most dimension=1"),
        ({"batch": 5, "batch_exponent": 1.0}, "must not be given together"),
        ({"batch": None, "batch_exponent": 9.0}, "gives 10\\^12.42 samples"),
        ({"batch": None, "batch_exponent": 400.0}, "gives 10\\^552.1 samples"),
        ({"teacher": {"links": ["z"], "noise": 1e300}}, "noise=1e\\+300: must be at most 1e\\+60"),
        ({"ridge": 1.0, "penalty": 1.0}, "must not be given together"),
        ({"step_size": {"learning_rate": 1.0, "exponent": 0.1}}, "must not be given together"),
        ({"step_size": {"exponent": 7.0}}, "must lie in"),
        ({"samples": 10}, 'belongs to readout="fresh"'),
        ({"teacher": {"links": []}}, "at least one link"),
        ({"teacher": {"links": ["z"], "directions": np.eye(5)[:, :1]}}, "shape \\(5, 1\\)"),
        ({"activation": "rely"}, "did you mean 'relu'"),
        ({"stepz": 3}, "did you mean 'steps'"),
    ],
)
def test_bad_problems_are_one_line(fields, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        small(**fields)
    assert "\n" not in str(raised.value)


def test_steps_that_overflow_are_refused():
    for rate in (1e308, 1e160, 1e101):
        with pytest.raises(InvalidInput, match="step_size"):
            take_steps(small(step_size={"learning_rate": rate}))
    for links in (["1e160*z"], ["1e200*z", "1e200*z"]):
        teacher = {"links": links, "combine": "product"}
        with pytest.raises(InvalidInput, match=r"teacher\.links='1e"):
            take_steps(small(teacher=teacher))
    with pytest.raises(InvalidInput, match="must be a StepsProblem"):
        take_steps(Problem())
    with pytest.raises(InvalidInput, match="state=3: must be the path"):
        take_steps(small(), state=3)


def test_the_largest_sizes_that_are_allowed_give_finite_numbers():
    for fields in (
        {"teacher": {"links": ["1e58*z"]}},
        {"teacher": {"links": ["z"], "noise": 1e58}},
        {"step_size": {"learning_rate": 1e60}},
    ):
        json.dumps(take_steps(small(steps=1, **fields)).to_dict(neurons=True), allow_nan=False)


def test_a_problem_survives_its_file(tmp_path):
    problem = small(teacher={"links": ["z", "He2/2"], "directions": np.eye(24)[:, :2]})
    problem.save(tmp_path / "p.toml")
    assert StepsProblem.load(tmp_path / "p.toml") == problem
    assert StepsProblem.load(tmp_path / "p.toml").digest == problem.digest
