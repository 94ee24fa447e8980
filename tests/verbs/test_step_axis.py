"""The axis of steps: errors after each, step 0 the untrained network, longer runs begin alike."""

import json

import numpy as np
import pytest

from conftest import small, small_steps
from onegrad import EmpiricalData, Problem, predict, predict_curve, simulate
from onegrad.core.draw_cache import Shared
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.verbs.predict import predict_draw

FRESH = {"samples": 60, "ridge": 1e-2}
quiet = pytest.mark.filterwarnings("ignore:.*the Hermite theorem")


def three_steps(**changes):
    """Return a problem of three steps that theory covers."""
    return small_steps(readout=FRESH, test="exact", **changes)


@pytest.mark.parametrize("verb", [simulate, predict])
def test_results_have_an_axis_of_steps(verb):
    counts = {"draws" if verb is predict else "trials": 2}
    errors = verb(three_steps(), ["network", "untrained"], **counts)
    assert list(errors.axes) == ["trial", "model", "step", "ridge"]
    assert list(errors.axes["step"]) == [0, 1, 2, 3]
    assert errors.metrics["test_mse"].shape == (2, 2, 4, 1)
    frame = errors.to_frame()
    lines = frame[(frame["metric"] == "test_mse") & (frame["model"] == "network")]
    assert list(lines["step"]) == [0, 1, 2, 3]
    assert lines["mean"].to_numpy() == pytest.approx(errors.estimate().mean[0, :, 0])
    plain = json.loads(json.dumps(errors.to_dict(), allow_nan=False))
    assert plain["axes"] == {"step": [0, 1, 2, 3]}
    entry = plain["models"]["network"]["test_mse"]
    assert entry["mean"] == pytest.approx(errors.estimate().mean[0, :, 0])
    assert np.shape(entry["stderr"]) == (4,)
    assert np.shape(plain["models"]["untrained"]["gap"]["mean"]) == (4,)


def test_several_penalties_come_after_the_steps():
    problem = three_steps().replace(readout__ridge=(1e-3, 1e-1))
    errors = simulate(problem, ["network"], trials=2)
    assert errors.metrics["test_mse"].shape == (2, 1, 4, 2)
    plain = errors.to_dict()
    assert plain["axes"] == {"step": [0, 1, 2, 3], "ridge": [1e-3, 1e-1]}
    assert np.shape(plain["models"]["network"]["test_mse"]["mean"]) == (4, 2)
    curve = predict_curve(three_steps(), samples=[50, 60, 70], models=["network"], draws=1)
    assert list(curve.axes) == ["trial", "model", "step", "samples", "ridge"]
    alone = predict(three_steps(), ["network"], draws=1).metrics["test_mse"]
    assert curve.metrics["test_mse"][:, :, :, 1] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("verb", [simulate, predict])
def test_one_step_has_no_axis_of_steps(verb):
    counts = {"draws" if verb is predict else "trials": 2}
    errors = verb(three_steps(training__steps=1), ["network"], **counts)
    assert errors.steps is None
    assert list(errors.axes) == ["trial", "model", "ridge"]
    assert "step" not in errors.to_frame()
    assert "axes" not in errors.to_dict()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"training__subtract": "linear"},
        {"training__subtract": "moments"},
        {"training__batches": "reused", "training__subtract": "mean"},
        {"training__rule": "polar", "training__momentum": 0.5},
    ],
)
@pytest.mark.parametrize("verb", [simulate, predict])
def test_step_0_is_the_untrained_network(verb, changes):
    counts = {"draws" if verb is predict else "trials": 2}
    errors = verb(three_steps(**changes), ["network", "untrained"], **counts)
    for metric in ("test_mse", "train_mse", "squared_weight_norm"):
        trained, untrained = np.moveaxis(errors.metrics[metric][..., 0], 1, 0)
        assert trained[:, 0] == pytest.approx(untrained[:, 0], rel=1e-12)
        assert trained[:, 1] != pytest.approx(untrained[:, 1], rel=1e-3)
    untrained = errors.metrics["test_mse"][:, 1, :, 0]
    fixed = changes.get("training__subtract", "none") in ("none", "mean")
    if fixed:  # one part of the labels, one readout's batch: nothing changes over steps
        assert untrained == pytest.approx(np.repeat(untrained[:, :1], 4, axis=1), rel=1e-12)
    else:
        assert np.all(np.ptp(untrained[:, 1:], axis=1) > 0)


@quiet
@pytest.mark.parametrize("verb", [simulate, predict])
@pytest.mark.parametrize(
    "changes", [{}, {"training__momentum": 0.5, "training__subtract": "linear"}]
)
def test_a_run_begins_with_the_numbers_of_a_shorter_one(verb, changes):
    counts = {"draws" if verb is predict else "trials": 2}
    found = {
        steps: verb(three_steps(training__steps=steps, **changes), ["network", "hermite"], **counts)
        for steps in (1, 2, 3)
    }
    for metric, longest in found[3].metrics.items():
        assert np.array_equal(found[2].metrics[metric], longest[:, :, :3])
        assert np.array_equal(found[1].metrics[metric], longest[:, :, 1])


def predicted(problem, models, **how):
    """Return the metrics of one predicted draw by model."""
    return predict_draw(problem, models, **how).metrics


@quiet
@pytest.mark.parametrize("function", [run_trial, predicted])
def test_runs_that_differ_in_steps_alone_are_taken_once(function, advances):
    models = resolve_models(three_steps(), ["network", "hermite", "untrained"])
    problems = [three_steps(training__steps=steps) for steps in (1, 2, 3)]
    shared = Shared()
    together = [function(problem, models, shared=shared) for problem in problems]
    assert advances == [1, 2, 3]
    alone = [function(problem, models) for problem in problems]
    assert advances == [1, 2, 3, 1, 1, 2, 1, 2, 3]
    for one, other in zip(together, alone, strict=True):
        for name, metrics in one.items():
            for metric, values in metrics.items():
                assert np.array_equal(values, other[name][metric])
    # Exponents of their own make other runs of them.
    advances.clear()
    for exponents in ([0.1, 0.2], [0.1, 0.3]):
        problem = three_steps(training__steps=2).replace(scaling={"change_exponent": exponents})
        function(problem, models, shared=shared)
    assert advances == [1, 2, 1, 2]


def test_types_of_a_kept_draw_are_those_after_each_step():
    """A draw that serves several readouts has gone on to the last step when the second asks."""
    problem = three_steps(teacher={"links": ["z+z**2"]})
    models = resolve_models(problem, ["network"])
    shared = Shared()
    for samples in (40, 60):
        of_readout = problem.replace(readout__samples=samples)
        one, other = (
            predict_draw(of_readout, models, shared=kept).metrics["network"]
            for kept in (shared, None)
        )
        assert np.array_equal(one["test_mse"], other["test_mse"])


@pytest.mark.parametrize("steps", [1, 2])
def test_kept_draws_of_real_data_see_the_rows_of_their_own_steps(rows, steps):
    """The second step's rows are those that readout and test have not taken."""
    problem = Problem(
        data=EmpiricalData(*rows, fit={"components_per_class": 1, "rank": 2}),
        training={"steps": steps, "samples": 20},
        test_samples=30,
        network={"width": 12},
    )
    models = resolve_models(problem, ["network"])
    shared = Shared()
    for samples in (20, 30):
        of_readout = problem.replace(readout={"samples": samples, "ridge": 1e-2})
        one, other = (
            predict_draw(of_readout, models, shared=kept).metrics["network"]
            for kept in (shared, None)
        )
        assert np.array_equal(one["test_mse"], other["test_mse"])


def test_a_step_of_size_zero_changes_no_error():
    problem = small(training__steps=2, scaling={"learning_rate": 0.0, "spread": 1.0})
    errors = simulate(problem, ["network"], trials=1).metrics["test_mse"][0, 0, :, 0]
    assert errors[0] == errors[1] == errors[2]
