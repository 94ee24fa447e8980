"""What is observed of steps: records, mixtures, rows, and what steps must show."""

import json

import numpy as np
import pytest

from conftest import small, small_steps
from onegrad import EmpiricalData, Problem, simulate, take_steps
from onegrad.calculus.spectra import matrix_spectrum
from onegrad.core.instance import draw
from onegrad.core.run import finished_run
from onegrad.verbs.observe import align, first_line, watched_directions

STAIRCASE = {"links": ["z+z**2", "z-z**2"]}
STAYS = {"links": ["4*z+z**2", "z"]}


def giant(**changes):
    """Return giant steps as published, at d = N = 1024: the test error is not looked at."""
    base = Problem(
        dimension=1024,
        network={"width": 128, "second_layer": "sign"},
        training={"samples_exponent": 1.0},
        readout={"batch": "same", "penalty": 1.0},
        test="sampled",
        test_samples=100,
        teacher=STAIRCASE,
    )
    return base.replace(**changes)


def text(result):
    return json.dumps(result.to_dict(neurons=True), allow_nan=False)


def test_records_are_of_the_run_s_layers():
    problem = small_steps(scaling={"learning_rate": 3.0})
    result = take_steps(problem, seed=2)
    run = finished_run(draw(problem, seed=2))
    directions = watched_directions(run.instance)
    assert directions == pytest.approx(run.instance.teacher.directions)
    expected = align(run.first, directions, first_line(run.instance, directions))
    assert np.array_equal(result.records[-1].weights.overlaps, expected.overlaps)
    change = np.linalg.svd(run.first - run.layers.first, compute_uv=False)
    assert result.records[-1].change_spectrum.values == pytest.approx(change, rel=1e-6)
    assert [record.step for record in result.records] == [0, 1, 2, 3]
    assert [record.learning_rate for record in result.records] == [None, 3.0, 3.0, 3.0]


def test_observing_changes_no_number():
    problem = small_steps()
    for models in (["network", "untrained"], ["untrained"], ["hermite"]):
        plain, seen = (simulate(problem, models, trials=2, observe=o) for o in (False, True))
        for metric, values in plain.metrics.items():
            assert np.array_equal(values, seen.metrics[metric])
        assert plain.runs == ()
        assert [run.trial for run in seen.runs] == [0, 1]
    alone = take_steps(problem, trial=1)
    assert text(seen.runs[1]) == text(alone)
    errors = simulate(problem, ["network"], trials=2).metrics
    frame = alone.to_frame()
    assert list(frame["step"]) == [0, 1, 2, 3]
    assert np.array_equal(frame["test_mse"], errors["test_mse"][1, 0, :, 0])
    assert np.array_equal(frame["train_mse"], errors["train_mse"][1, 0, :, 0])


def test_one_step_is_observed_before_and_after():
    seen = simulate(
        small_steps(training__steps=1), ["network", "untrained"], trials=1, observe=True
    )
    (run,) = seen.runs
    untrained, trained = run.to_frame()["test_mse"]
    assert [trained, untrained] == pytest.approx(seen.metrics["test_mse"][0, :, 0], rel=1e-12)


def test_a_frame_has_a_line_per_step_and_an_overlap_per_direction():
    frame = take_steps(small_steps()).to_frame()
    assert len(frame) == 4
    overlaps = [name for name in frame if name.startswith("weight_overlap")]
    assert overlaps == ["weight_overlap_1", "weight_overlap_2"]
    assert frame["gradient_angle"].isna().tolist() == [True, False, False, False]
    assert (frame["change_norm"][1:] > 0).all()


def test_two_workers_observe_the_same_as_one():
    one, two = (
        simulate(small_steps(), ["network"], trials=2, observe=True, workers=workers)
        for workers in (1, 2)
    )
    assert [text(run) for run in one.runs] == [text(run) for run in two.runs]
    assert np.array_equal(one.metrics["test_mse"], two.metrics["test_mse"])


CLASSES = [
    {"weight": 0.3, "mean": np.eye(40)[0] * 3, "rank": 0, "label": 1.0},
    {"weight": 0.2, "mean": np.eye(40)[0] * 3, "rank": 1, "label": 1.0},
    {"weight": 0.5, "mean": -np.eye(40)[1], "rank": 0, "label": -1.0},
]


def test_class_labels_of_a_mixture_are_watched_along_the_class_means():
    problem = small(
        data={"components": CLASSES},
        teacher={"kind": "labels"},
        training={"steps": 2, "samples": 400},
        readout={"samples": 200, "ridge": 1e-2},
        scaling={"learning_rate": 100.0, "spread": 1.0},
        test="sampled",
    )
    apart = (3 * np.eye(40)[0] + np.eye(40)[1]) / np.sqrt(10)
    (directions,) = watched_directions(draw(problem)).T
    assert abs(directions @ apart) == pytest.approx(1)
    errors = simulate(problem, ["network"], trials=2, observe=True)
    for trial, run in enumerate(errors.runs):
        overlaps = run.records[2].weights.overlaps
        layer = finished_run(draw(problem, trial=trial)).first
        expected = layer @ directions / np.linalg.norm(layer, axis=1)
        assert overlaps[:, 0] == pytest.approx(expected)
        found = [record.weights.strength[0] for record in run.records]
        assert found[0] < 0.4  # 1/√40 = 0.16 for rows that know nothing
        assert found[0] < 0.5 * found[1]
        assert found[1] > 0.6
        assert (run.leap_index, run.leap_degree, run.stairs) == (None, 0, ())
        assert run.first_direction.shape == (1,)
        text(run)


def test_classes_with_equal_means_are_watched_along_the_spikes():
    problem = small(teacher={"kind": "labels"})
    instance = draw(problem)
    directions = watched_directions(instance)
    spikes = np.stack([part.directions[:, 0] for part in instance.mixture.components], axis=1)
    assert directions.shape == (40, 2)
    assert directions @ (directions.T @ spikes) == pytest.approx(spikes)
    bare = small(
        teacher={"kind": "labels"},
        data={"components": [{"weight": 0.5, "rank": 0}, {"weight": 0.5, "rank": 0, "level": 0.5}]},
    )
    result = take_steps(bare)  # nothing to watch
    assert result.records[1].weights.overlaps.shape == (30, 0)
    text(result)
    assert not [name for name in result.to_frame() if "overlap" in name]


def test_rows_are_watched_along_their_class_means(rows):
    problem = Problem(
        data=EmpiricalData(*rows, centring="midpoint", fit={"components_per_class": 1, "rank": 2}),
        training={"steps": 2, "samples": 40},
        readout={"samples": 40, "ridge": 1e-2},
        test_samples=40,
        network={"width": 12},
    )
    instance = draw(problem)
    (direction,) = watched_directions(instance).T
    means = [part.mean for part in instance.mixture.components]
    apart = (means[1] - means[0]) / np.linalg.norm(means[1] - means[0])
    assert abs(direction @ apart) == pytest.approx(1)
    errors = simulate(problem, ["network"], trials=2, observe=True)
    for trial, run in enumerate(errors.runs):
        layer = finished_run(draw(problem, trial=trial)).first
        watched = watched_directions(draw(problem, trial=trial))
        expected = layer @ watched / np.linalg.norm(layer, axis=1, keepdims=True)
        assert run.records[2].weights.overlaps == pytest.approx(expected)
        text(run)
    # Classes centred at their own means have none that differ.
    centred = problem.replace(data__centring="class")
    assert watched_directions(draw(centred)).shape[0] == 10
    text(take_steps(centred))


def test_a_step_of_size_zero_has_no_direction():
    """The Gram matrix of zeros has eigenvectors, which are no directions of a change."""
    zero = matrix_spectrum(np.zeros((30, 20)))
    assert zero.direction is None
    assert zero.norm == 0
    assert matrix_spectrum(np.zeros((20, 30))).direction is None
    problem = small_steps(
        dimension=20, network__width=30, scaling={"learning_rate": 0.0}, training__steps=1
    )
    before, after = take_steps(problem).records
    assert after.features.overlaps.size == 0
    assert after.features.exponent is None
    assert after.test_mse == before.test_mse


def test_the_first_step_points_along_the_predicted_direction_and_outside_the_noise():
    """At d = N = 1024 the angle's own noise is a few degrees; a random row's median is 45°."""
    for teacher in (STAIRCASE, STAYS):
        before, record = take_steps(giant(teacher=teacher)).records
        assert record.gradient.angle < 10
        assert record.gradient.outside == 1.0
        assert record.gradient_spectrum.rank >= 1
        leading = record.gradient_spectrum.values
        assert leading[0] > 4 * leading[1]
        # Negative control: an untrained network's neurons point anywhere.
        assert before.weights.angle > 35
        assert before.weights.outside < 0.3


def test_the_staircase_leaves_the_line_and_the_other_target_stays():
    angles = {}
    for name, teacher in (("leaves", STAIRCASE), ("stays", STAYS)):
        problem = giant(network__width=256, training__steps=6, teacher=teacher)
        angles[name] = take_steps(problem).records[6].gradient.angle
    assert angles["leaves"] > 55
    assert angles["stays"] < 35


def test_subtraction_and_a_large_batch_make_neurons_specialise():
    link = "He4/24 + He2/2 + He1"

    def records(exponent, subtract):
        problem = giant(
            dimension=64,
            network={"width": 128},
            training={"samples_exponent": exponent, "subtract": subtract},
            scaling={"per_root": 10.0},
            teacher={"links": [link, link]},
            test_samples=8000,
        )
        return take_steps(problem).records

    plain, bare, small_batch = records(2.0, "none"), records(2.0, "linear"), records(1.3, "linear")
    assert bare[1].test_mse < 0.6 * plain[0].test_mse
    assert bare[1].test_mse < 0.8 * plain[1].test_mse
    assert bare[1].test_mse < 0.6 * small_batch[1].test_mse
