"""Steps one after the other: batches, what is subtracted, and streams that are never held."""

import tracemalloc

import numpy as np
import pytest

from conftest import small, small_steps
from onegrad import EmpiricalData, Problem
from onegrad.calculus import functions
from onegrad.core import batches
from onegrad.core.batches import Batch
from onegrad.core.instance import Layers, draw, initialise
from onegrad.core.low_degree import estimate_low_degree
from onegrad.core.model_names import resolve_models
from onegrad.core.run import Run, finished_run
from onegrad.core.trial import run_trial
from onegrad.stages import take_step


def first_layers_after(problem, **where):
    """Return the run of a problem and its first layer after every step."""
    run = Run(draw(problem, **where))
    return run, [run.advance().first for _ in range(problem.training.steps)]


@pytest.mark.parametrize("second_layer", ["gaussian", "sign", "constant"])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_teacher_of_one_of_several_directions_is_the_single_index_bit_by_bit(second_layer, seed):
    common = {
        "dimension": 30,
        "network": {"width": 40, "activation": "tanh", "second_layer": second_layer},
        "training": {"samples": 2500},
        "readout": {"samples": 700, "ridge": 1e-3},
        "test": "sampled",
        "test_samples": 900,
        "scaling": {"learning_rate": 7.0, "spread": 0.0},
        "data": {"components": [{"rank": 0}]},
    }
    several = Problem(**common, teacher={"links": ["relu"], "noise": 0.3})
    single = Problem(**common, teacher={"link": "relu", "noise": 0.3})
    found = [
        run_trial(problem, resolve_models(problem, ["network"]), seed=seed, trial=3)["network"]
        for problem in (several, single)
    ]
    assert found[0]["train_mse"] == found[1]["train_mse"]
    assert found[0]["test_mse"] == pytest.approx(found[1]["test_mse"], rel=1e-13)
    other = run_trial(single, resolve_models(single, ["network"]), seed=seed, trial=4)["network"]
    assert other["train_mse"] != found[0]["train_mse"]


def test_a_fresh_batch_per_step_and_the_same_test_points():
    instance = draw(small_steps())
    drawn = [instance.step_draw(step).whole() for step in (1, 2, 3)]
    assert not np.array_equal(drawn[0].inputs, drawn[1].inputs)
    assert not np.array_equal(drawn[1].inputs, drawn[2].inputs)
    again = instance.step_draw(2).whole()
    assert np.array_equal(again.inputs, drawn[1].inputs)
    assert np.array_equal(again.labels, drawn[1].labels)
    tests = [list(instance.test_blocks()) for _ in range(2)]
    assert sum(len(block.labels) for block in tests[0]) == 500
    for earlier, later in zip(*tests, strict=True):
        assert np.array_equal(earlier.inputs, later.inputs)
        assert np.array_equal(earlier.labels, later.labels)
    for batch in drawn:
        assert not np.array_equal(batch.inputs[:100], tests[0][0].inputs[:100])


def test_reused_batches_are_the_first_one():
    instance = draw(small_steps(training__batches="reused"))
    first, later = (instance.step_draw(step).whole() for step in (1, 3))
    assert np.array_equal(first.inputs, later.inputs)
    fresh = draw(small_steps()).step_draw(1).whole()
    assert np.array_equal(first.inputs, fresh.inputs)
    layers = {
        name: first_layers_after(small_steps(training__batches=name))[1]
        for name in ("fresh", "reused")
    }
    assert np.array_equal(layers["fresh"][0], layers["reused"][0])
    assert not np.array_equal(layers["fresh"][1], layers["reused"][1])


def test_the_readout_s_batch_is_the_step_s_or_one_fresh_one_for_all_steps():
    instance = draw(small_steps())
    for step in (1, 2):
        readout, of_step = instance.readout_draw(step).whole(), instance.step_draw(step).whole()
        assert np.array_equal(readout.inputs, of_step.inputs)
    assert np.array_equal(
        instance.readout_draw(0).whole().inputs, instance.step_draw(1).whole().inputs
    )
    instance = draw(small_steps(readout={"samples": 70}))
    earlier, later = (instance.readout_draw(step).whole() for step in (1, 2))
    assert np.array_equal(earlier.inputs, later.inputs)
    assert len(earlier.labels) == 70
    assert not np.array_equal(earlier.inputs, instance.step_draw(1).whole().inputs[:70])


def test_no_row_of_real_data_is_drawn_twice(rows):
    problem = Problem(
        data=EmpiricalData(*rows),
        training={"samples": 15, "steps": 3},
        readout={"samples": 20},
        test_samples=25,
        network={"width": 6},
    )
    instance = draw(problem)
    drawn = [instance.step_draw(step).whole().inputs for step in (1, 2, 3)]
    drawn += [instance.readout_draw(2).whole().inputs]
    drawn += [block.inputs for block in instance.test_blocks()]
    every = np.concatenate(drawn)
    assert len(every) == 3 * 15 + 20 + 25
    assert len(np.unique(every, axis=0)) == len(every)


def test_steps_are_those_of_the_gradient_step_on_each_batch():
    problem = small_steps(scaling={"learning_rate": 3.0})
    run, found = first_layers_after(problem, seed=2)
    first = initialise(run.instance).first
    for step in (1, 2, 3):
        batch = run.instance.step_draw(step).whole()
        first = take_step(
            Layers(first, run.layers.second),
            batch.inputs,
            batch.labels,
            activation=functions.get("relu"),
            learning_rate=3.0,
        )
        assert np.array_equal(found[step - 1], first)


def test_a_run_of_more_steps_begins_with_the_same_ones():
    _, longer = first_layers_after(small_steps(training__steps=3, training__momentum=0.5))
    _, shorter = first_layers_after(small_steps(training__steps=2, training__momentum=0.5))
    for one, other in zip(longer, shorter, strict=False):
        assert np.array_equal(one, other)
    whole = finished_run(draw(small_steps(training__momentum=0.5)))
    assert np.array_equal(whole.first, longer[-1])


def test_momentum_adds_gradients_of_earlier_steps():
    """M_2 = μG_1 + G_2, with G_2 at the layer that both runs reach after the first step."""
    rate = {"learning_rate": 3.0}
    plain, with_it = (
        Run(draw(small_steps(scaling=rate, training__momentum=mu))) for mu in (0.0, 0.7)
    )
    one = [run.advance() for run in (plain, with_it)]
    assert np.array_equal(one[0].first, one[1].first)
    two = [run.advance() for run in (plain, with_it)]
    assert np.array_equal(two[0].gradient, two[1].gradient)
    assert two[1].first - two[0].first == pytest.approx(3.0 * 0.7 * one[0].gradient, abs=1e-12)


def test_every_step_has_its_own_exponent():
    exponents = [0.3, -0.1, 0.2]
    run = Run(draw(small_steps(scaling={"change_exponent": exponents})))
    before = run.first
    for exponent in exponents:
        after = run.advance().first
        assert np.linalg.norm(after - before, 2) == pytest.approx(24**exponent)
        before = after


def low_degree_of(problem):
    """Return what is subtracted at the first step, and the batch it comes from."""
    run = Run(draw(problem))
    return run.low_degree(1), run.instance.step_draw(1).whole()


def test_the_linear_part_is_estimated_on_the_step_s_batch_alone():
    teacher = {"links": ["4*z+z**2", "z"]}
    common = {"training__subtract": "linear", "teacher": teacher}
    part, batch = low_degree_of(small_steps(training__samples=400, **common))
    design = np.concatenate([np.ones((400, 1)), batch.inputs], axis=1)
    expected = np.linalg.lstsq(design, batch.labels)[0]
    assert part.method == "least squares"
    assert np.concatenate([[part.constant], part.slope]) == pytest.approx(expected, rel=1e-9)
    for few in (
        small_steps(training__samples=30, **common),
        small_steps(training__subtract="moments"),
    ):
        part, batch = low_degree_of(few)
        assert part.method == "moments"
        centred = batch.labels - batch.labels.mean()
        assert part.slope == pytest.approx(np.mean(centred[:, None] * batch.inputs, axis=0))
    part, batch = low_degree_of(small_steps(training__subtract="mean"))
    assert (part.method, part.slope) == ("mean", None)
    assert part.constant == pytest.approx(batch.labels.mean())


def test_least_squares_hold_one_matrix():
    """Blocks of 32 rows are small beside (d + 1)²; a second such matrix would be seen."""
    rng = np.random.default_rng(0)

    def blocks():
        for _ in range(32):
            inputs = rng.standard_normal((32, 500))
            yield Batch(inputs, inputs[:, 0], (32,))

    tracemalloc.start()
    part = estimate_low_degree("linear", blocks(), samples=1024, dimension=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert part.method == "least squares"
    assert peak < 1.6 * 8 * 501**2


def network_errors(problem, seed=0):
    """Return the network's test errors, one per recorded step."""
    models = resolve_models(problem, ["network"])
    return run_trial(problem, models, seed=seed)["network"]["test_mse"][..., 0]


def test_adding_a_linear_part_to_the_target_changes_nothing_after_subtraction():
    bare, tilted = (
        small_steps(
            training={"samples": 2000, "steps": 2, "subtract": "linear"}, teacher={"links": [link]}
        )
        for link in ("z**2", "5*z+z**2+3")
    )
    layers = [first_layers_after(problem)[1][-1] for problem in (bare, tilted)]
    assert layers[0] == pytest.approx(layers[1], abs=1e-8)
    assert network_errors(bare) == pytest.approx(network_errors(tilted), rel=1e-6)
    untouched = network_errors(tilted.replace(training__subtract="none"))
    assert untouched[-1] != pytest.approx(network_errors(tilted)[-1], rel=1e-2)


def test_memory_does_not_grow_with_the_batch(monkeypatch):
    monkeypatch.setattr(batches, "HELD_BYTES", 2.0**20)
    monkeypatch.setattr("onegrad.core.problem_readout.HELD_BYTES", 2.0**20)
    peaks = []
    for samples in (8_000, 64_000):
        problem = small_steps(
            dimension=48,
            network__width=32,
            training={"samples": samples, "subtract": "linear"},
        )
        network_errors(problem)  # so that nothing is allocated for the first time
        tracemalloc.start()
        network_errors(problem)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 64_000 * 48 * 8 / 4  # a quarter of the inputs alone


def test_a_step_of_size_zero_leaves_the_layer():
    run = Run(draw(small(scaling={"learning_rate": 0.0, "spread": 1.0})))
    assert run.advance().first is run.layers.first
