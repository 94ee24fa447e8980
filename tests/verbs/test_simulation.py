"""simulate: the same bits from any number of workers, honest error bars, restored threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from conftest import small
from onegrad import InvalidInput, register_function, simulate
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import draw
from onegrad.core.model_names import resolve_models
from onegrad.core.problem_readout import fit_models
from onegrad.core.run import finished_run
from onegrad.core.trial import run_trial
from onegrad.data.mixture import GRANULE
from onegrad.verbs.simulate import TargetNotReached

MODELS = ["network", "hermite", "conditional"]


def same(left, right):
    return all(np.array_equal(left.metrics[m], right.metrics[m]) for m in left.metrics)


def test_any_number_of_workers_gives_the_same_bits():
    problem = small(teacher={"kind": "labels"}, test="sampled")
    alone = simulate(problem, MODELS, trials=5, seed=3)
    for workers in (2, 4):
        assert same(alone, simulate(problem, MODELS, trials=5, seed=3, workers=workers))
    assert not same(alone, simulate(problem, MODELS, trials=5, seed=4))


def test_a_trial_is_the_same_alone_and_in_any_order():
    problem = small()
    errors = simulate(problem, MODELS, trials=4, seed=1)
    models = resolve_models(problem, MODELS, seed=1)
    for trial in (3, 0, 2):
        alone = run_trial(problem, models, seed=1, trial=trial)
        for i, name in enumerate(MODELS):
            assert np.array_equal(errors.metrics["test_mse"][trial, i], alone[name]["test_mse"])


def test_test_points_come_in_fixed_blocks_whatever_their_number():
    """Products always have the same shape, so that a point's prediction has the same bits."""
    few = list(draw(small(test_samples=2 * GRANULE)).test_blocks())
    many = list(draw(small(test_samples=8 * GRANULE)).test_blocks())
    assert {len(b.labels) for b in many} == {GRANULE}
    assert np.array_equal(few[0].inputs, many[0].inputs)


def test_sharing_draws_between_problems_changes_no_bit():
    shared = Shared()
    for width in (30, 20):
        for name in ("relu", "tanh"):
            problem = small(network__activation=name, network__width=width)
            models = resolve_models(problem, MODELS)
            for trial in (0, 1):
                plain = run_trial(problem, models, trial=trial)
                reused = run_trial(problem, models, trial=trial, shared=shared)
                for model in MODELS:
                    for metric in plain[model]:
                        assert np.array_equal(plain[model][metric], reused[model][metric])


def test_sharing_holds_when_the_number_of_samples_changes():
    """Some of the model's noise is then held and some is not."""
    shared = Shared()
    for samples in (1200, 1400, 1100):
        problem = small(readout__samples=samples)
        models = resolve_models(problem, ["hermite", "conditional"])
        plain = run_trial(problem, models)
        reused = run_trial(problem, models, shared=shared)
        for model in ("hermite", "conditional"):
            assert np.array_equal(plain[model]["test_mse"], reused[model]["test_mse"])
    # One block of noise for hermite; two draws in each of four blocks for conditional.
    assert sum("normals" in kind and "@" in kind for kind in shared._held) == 9


def test_a_derivative_that_returns_its_argument_leaves_the_others_alone():
    register_function("half_square_test", lambda u: u**2 / 2, lambda u: u)
    shared = Shared()
    for name in ("half_square_test", "tanh"):
        problem = small(network__activation=name)
        models = resolve_models(problem, ["network"])
        plain = run_trial(problem, models)
        reused = run_trial(problem, models, shared=shared)
        assert np.array_equal(plain["network"]["test_mse"], reused["network"]["test_mse"])


def test_activations_and_widths_share_their_data():
    batches = [
        draw(small(network__activation=name, network__width=width)).training_batch()
        for name, width in (("relu", 30), ("tanh", 10))
    ]
    assert np.array_equal(batches[0].inputs, batches[1].inputs)
    assert np.array_equal(batches[0].labels, batches[1].labels)


def test_redrawing_the_network_only_keeps_the_data():
    fixed = small(redraw="network")
    first, second = draw(fixed, trial=0), draw(fixed, trial=1)
    assert np.array_equal(first.training_batch().inputs, second.training_batch().inputs)
    assert np.array_equal(first.teacher.directions, second.teacher.directions)
    free = draw(small(), trial=0), draw(small(), trial=1)
    assert not np.array_equal(free[0].training_batch().inputs, free[1].training_batch().inputs)
    errors = simulate(fixed, ["network"], trials=3)
    assert len(np.unique(errors.metrics["test_mse"])) == 3


def test_step_training_and_test_sets_have_no_row_in_common():
    instance = draw(small(training__samples=50))
    batches = [instance.step_batch(), instance.training_batch(), *instance.test_blocks()]
    rows = np.concatenate([batch.inputs for batch in batches])
    # Rounded: a row may differ in its last digits by the size of the block it is made in.
    assert len(np.unique(np.round(rows, 9), axis=0)) == len(rows)


def test_the_callers_thread_setting_is_restored():
    with threadpool_limits(limits=2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        simulate(small(), ["network"], trials=2)
        assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_standard_errors_are_those_of_the_mean():
    errors = simulate(small(), ["network", "linear"], trials=6)
    values = errors.metrics["test_mse"]
    estimate = errors.estimate()
    np.testing.assert_allclose(estimate.mean, values.mean(axis=0))
    np.testing.assert_allclose(estimate.stderr, values.std(axis=0, ddof=1) / np.sqrt(6))
    assert np.isnan(simulate(small(), ["network"], trials=1).estimate().stderr).all()


def test_paired_gap_has_the_bootstraps_standard_error(rng):
    errors = simulate(small(), ["network", "linear"], trials=40)
    gap = errors.gap()
    values = errors.metrics["test_mse"][:, :, 0]
    assert gap.mean[1, 0] == pytest.approx(values[:, 1].mean() / values[:, 0].mean() - 1)
    picks = rng.integers(0, 40, (2000, 40))
    means = values[picks].mean(axis=1)
    bootstrap = np.std(means[:, 1] / means[:, 0])
    assert gap.stderr[1, 0] == pytest.approx(bootstrap, rel=0.15)
    unpaired = np.hypot(*(values.std(axis=0) / values.mean(axis=0))) / np.sqrt(40)
    assert gap.stderr[1, 0] < 0.9 * unpaired
    assert gap.mean[0, 0] == gap.stderr[0, 0] == 0


def test_no_gap_without_a_network():
    assert simulate(small(), ["linear"], trials=2).gap() is None


def test_target_standard_error_is_reached_and_repeatable():
    errors = simulate(small(), ["network"], target_stderr=0.03)
    estimate = errors.estimate()
    assert estimate.stderr[0, 0] / estimate.mean[0, 0] <= 0.03
    again = simulate(small(), ["network"], target_stderr=0.03, workers=2)
    assert same(errors, again)


def test_a_target_out_of_reach_is_said(monkeypatch):
    monkeypatch.setattr("onegrad.verbs.simulate.MOST_TRIALS", 10)
    with pytest.raises(TargetNotReached, match="10 trials"):
        simulate(small(), ["network"], target_stderr=1e-6)


def test_a_list_of_penalties_is_an_axis():
    several = simulate(small(readout__ridge=(1e-3, 1e-1)), ["network", "hermite"], trials=2)
    assert several.metrics["test_mse"].shape == (2, 2, 2)
    for i, ridge in enumerate((1e-3, 1e-1)):
        alone = simulate(small(readout__ridge=ridge), ["network", "hermite"], trials=2)
        np.testing.assert_allclose(
            several.metrics["test_mse"][:, :, i], alone.metrics["test_mse"][:, :, 0], rtol=1e-6
        )


def test_mixed_precision_stays_within_its_stated_accuracy():
    exact = simulate(small(), MODELS, trials=3)
    mixed = simulate(small(precision="mixed"), MODELS, trials=3)
    for metric in ("test_mse", "train_mse", "objective"):
        np.testing.assert_allclose(mixed.metrics[metric], exact.metrics[metric], rtol=1e-5)
    assert not same(exact, mixed)


def test_misclassification_is_the_share_of_wrong_signs():
    """Against predictions made by hand, for the class and not for its noisy label."""
    problem = small(
        teacher={"kind": "labels", "noise": 0.8},
        data__alignment=0.0,
        readout__samples=2000,
        readout__ridge=1e-2,
        test_samples=3000,
        scaling={"strength": 0.9, "weighting": 0.0},
    )
    instance = draw(problem)
    run = finished_run(instance)
    layers, trained = run.layers, run.first
    models = resolve_models(problem, ["network"])
    maps = {m.key: m.feature_map(instance, layers, trained) for m in models}
    fits = fit_models(instance, trained, maps)
    weights = fits["network@trained"].weights[:, 0]
    wrong = total = 0
    for block in instance.test_blocks():
        component, _ = next(block.components())
        prediction = np.maximum(block.inputs @ trained.T, 0) @ weights
        wrong += np.sum(prediction * (1 if component == 0 else -1) <= 0)
        total += len(prediction)
    rate = run_trial(problem, models)["network"]["misclassification"][0]
    assert rate == wrong / total
    assert 0.02 < rate < 0.49
    assert "misclassification" not in simulate(small(), ["network"], trials=1).metrics


def test_noise_in_the_features_counts_in_the_misclassification():
    problem = small(teacher={"kind": "labels"}, scaling={"strength": 0.9, "weighting": 0.0})
    errors = simulate(problem, ["network", "hermite:2"], trials=10)
    rates = errors.metrics["misclassification"][:, :, 0]
    difference = rates[:, 1] - rates[:, 0]
    assert abs(difference.mean()) < 0.05 + 4 * difference.std(ddof=1) / np.sqrt(10)


def test_registered_activations_reach_the_workers():
    register_function("cube_test", lambda u: u**3, lambda u: 3 * u**2)
    problem = small(network__activation="cube_test", teacher={"link": "cube_test"})
    assert same(
        simulate(problem, ["network"], trials=2),
        simulate(problem, ["network"], trials=2, workers=2),
    )


def test_registering_a_wrong_derivative_is_refused():
    with pytest.raises(InvalidInput, match="differs from the function's slope"):
        register_function("wrong_test", np.tanh, np.tanh)
    register_function("abs_test", np.abs, np.sign, kinks=(0.0,))


def test_frame_is_long_with_one_row_per_model_metric_and_penalty():
    frame = simulate(
        small(readout__ridge=(1e-3, 1e-1)), ["network", "hermite"], trials=2
    ).to_frame()
    assert len(frame) == 4 * 2 * 2
    assert {"model", "ridge", "metric", "mean", "stderr", "gap"} <= set(frame.columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials=0"),
        ({"trials": 3, "target_stderr": 0.1}, "together"),
        ({"workers": 0}, "workers=0"),
        ({"seed": -1}, "seed=-1"),
        ({"models": []}, "at least one model"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        simulate(small(), **arguments)
