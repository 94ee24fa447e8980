"""Theory: identities, agreement with simulation paired on the same first layer, limits."""

import subprocess
import sys

import numpy as np
import pytest

from conftest import small
from onegrad import (
    InvalidInput,
    Problem,
    equivalence,
    maximal_rate_limit,
    predict,
    predict_curve,
    register_function,
    simulate,
    tune,
)
from onegrad.calculus.quadrature import half_range_rule
from onegrad.core.model_names import resolve_models
from onegrad.moments.dense import population_moments
from onegrad.moments.exact_errors import exact_test_mse
from onegrad.theory import algebra
from onegrad.verbs.predict import predict_draw
from theory_cases import paired, single_type, train_first_layer


@pytest.mark.parametrize("source", ["plain", "rich"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_population_moments_give_the_exact_error_of_any_readout(
    source, activation, rich_source, rng
):
    changes = {"data": rich_source} if source == "rich" else {}
    problem = small(network__activation=activation, network__width=150, **changes)
    instance, layers, first = train_first_layer(problem)
    weights = rng.standard_normal((150, 1))
    for model in resolve_models(problem, ["network", "hermite:3"]):
        feature_map = model.feature_map(instance, layers, first)
        moments = population_moments(instance.mixture, instance.teacher, first, feature_map)
        w = weights[:, 0]
        quadratic = moments.label_power - 2 * w @ moments.label + w @ moments.covariance @ w
        exact = exact_test_mse(
            instance.mixture, instance.teacher, first, models=[(feature_map, weights)]
        )[0][0]
        assert quadratic == pytest.approx(exact, rel=1e-6)
        assert np.linalg.eigvalsh(moments.covariance).min() > 0


CASES = [
    ("relu", 0.74, 0.5, "index", 1.0),
    ("tanh", 0.74, 0.5, "index", 0.5),
    ("relu", 0.9, 0.0, "labels", 1.0),
    ("relu", 1.0, 1.0, "index", 2.0),
]


@pytest.mark.parametrize(("activation", "beta", "alpha", "task", "ratio"), CASES)
def test_prediction_agrees_with_simulation_on_the_same_first_layer(
    activation, beta, alpha, task, ratio
):
    """|difference| ≤ 4 standard errors + C/n; C = 6 covers the 3 % at n = 200."""
    problem = Problem(
        dimension=200,
        readout={"samples": 200, "ridge": 1e-3},
        test="sampled",
        test_samples=3000,
        teacher={"kind": task},
        network={"activation": activation, "width_ratio": ratio},
        scaling={"strength": beta, "weighting": alpha},
    )
    simulated, predicted = paired(problem, ["network", "hermite:2"], seed=1, redraws=12)
    mean = simulated.mean(axis=0)
    stderr = simulated.std(axis=0, ddof=1) / np.sqrt(12)
    test_gap = np.abs(mean[:, 0] - predicted[:, 0])
    assert np.all(test_gap <= 4 * stderr[:, 0] + 0.03 * mean[:, 0])
    # Negative control: the prediction for half the samples is refused.
    wrong = predict_curve(
        problem, samples=[problem.samples // 2], models=["network"], draws=1, seed=1
    ).metrics["test_mse"][0, 0, 0, 0]
    assert abs(mean[0, 0] - wrong) > 4 * stderr[0, 0] + 0.03 * mean[0, 0]


def test_means_levels_and_ranks_are_predicted_too(rich_source):
    problem = small(
        data=rich_source,
        readout__samples=200,
        network__width=100,
        test="sampled",
        test_samples=4000,
        readout__ridge=1e-2,
        teacher={"kind": "labels"},
    )
    simulated, predicted = paired(problem, ["network"], seed=2, redraws=20)
    mean, stderr = simulated.mean(axis=0), simulated.std(axis=0, ddof=1) / np.sqrt(20)
    assert abs(mean[0, 0] - predicted[0, 0]) <= 4 * stderr[0, 0] + 0.03 * mean[0, 0]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_structure_agrees_with_the_dense_computation_for_wide_networks(activation, monkeypatch):
    """Within the .35 % that the largest remainder may cost, for m from n/3 to 10n, at n = 700."""
    problem = Problem(
        dimension=700,
        readout={"samples": 700, "ridge": (1e-4, 1e-2)},
        network={"activation": activation, "width": 900},
    )
    models = resolve_models(problem, ["network", "hermite"])
    held, low_rank_covariance = [], algebra.low_rank_covariance

    def noted(types):
        held.append(low_rank_covariance(types))
        return held[-1]

    monkeypatch.setattr(algebra, "low_rank_covariance", noted)
    structured = predict_draw(problem, models, samples=(233, 700, 7000)).metrics
    assert len(held) == 2
    assert not any(part is None for part in held)
    monkeypatch.setattr(algebra, "low_rank_covariance", lambda types: None)
    dense = predict_draw(problem, models, samples=(233, 700, 7000)).metrics
    for name, errors in structured.items():
        np.testing.assert_allclose(errors["test_mse"], dense[name]["test_mse"], rtol=3.5e-3)


def test_predict_has_the_form_of_simulate_and_the_same_draws():
    names = ["network", "hermite", "linear", "untrained"]
    predicted = predict(small(), names, draws=3)
    simulated = simulate(small(), names, trials=3)
    assert predicted.metrics.keys() == {*simulated.metrics, "theory_error"}
    assert predicted.metrics["test_mse"].shape == simulated.metrics["test_mse"].shape
    again = predict(small(), names, draws=3, workers=2)
    for metric in predicted.metrics:
        assert np.array_equal(predicted.metrics[metric], again.metrics[metric])


def test_a_curve_is_its_points():
    problem = small(network__width=30, training__samples=50)
    curve = predict_curve(problem, samples=[20, 50, 300], ridge=[1e-4, 1e-1], draws=2)
    assert list(curve.axes) == ["trial", "model", "samples", "ridge"]
    for i, samples in enumerate((20, 50, 300)):
        for j, ridge in enumerate((1e-4, 1e-1)):
            point = predict(
                problem.replace(readout__samples=samples, readout__ridge=ridge), draws=2
            )
            np.testing.assert_allclose(
                curve.metrics["test_mse"][:, :, i, j], point.metrics["test_mse"][:, :, 0], rtol=1e-9
            )


@pytest.mark.parametrize("ridge", [1e-3, 1e-1])
def test_theory_of_one_type_is_the_single_type_formula(ridge):
    """Isotropic data without a step have one type, up to degree 2 off the diagonal."""
    problem = small(
        data={"components": [{"weight": 1.0, "rank": 0}]},
        scaling={"learning_rate": 0.0, "spread": 0.0},
        readout__ridge=ridge,
        network__activation="tanh",
        dimension=200,
        network__width=40,
    )
    names = ["network", "linear"]
    predicted = predict(problem, names, draws=1).metrics
    for place, model in enumerate(resolve_models(problem, names)):
        for metric, value in single_type(problem, model).items():
            found = predicted[metric][0, place, 0]
            assert found == pytest.approx(value, rel=2e-3), (model.name, metric)


@pytest.mark.parametrize("rate", [0.01, 1.0, 10.0, 100.0])
def test_theory_agrees_with_the_single_type_formula_for_weak_and_strong_steps(rate):
    """The step's direction is conditioned on only where it matters; labels keep their variance."""
    problem = Problem(
        dimension=200,
        readout={"samples": 200, "ridge": 1e-3},
        scaling={"learning_rate": rate, "spread": 2.0},
    )
    value = predict(problem, ["network"], draws=1).metrics["test_mse"][0, 0, 0]
    assert value == pytest.approx(single_type(problem)["test_mse"], rel=0.02)


@pytest.mark.parametrize(
    ("activation", "beta", "alpha", "task"),
    [("tanh", 1.0, 0.0, "index"), ("relu", 1.0, 0.0, "labels"), ("tanh", 1.0, 1.0, "index")],
)
def test_theory_predicts_training_errors_at_strong_spikes(activation, beta, alpha, task):
    problem = Problem(
        dimension=300,
        readout={"samples": 300, "ridge": 1e-3},
        test="sampled",
        teacher={"kind": task},
        network={"activation": activation},
        scaling={"strength": beta, "weighting": alpha},
    )
    simulated, predicted = paired(problem, ["network"], seed=1, redraws=16)
    mean, stderr = simulated.mean(axis=0)[0], simulated.std(axis=0, ddof=1)[0] / 4
    test, train = predicted[0]
    assert abs(test - mean[0]) <= 4 * stderr[0] + 0.03 * mean[0]
    assert abs(train - mean[1]) <= 4 * stderr[1] + 0.05 * mean[1]
    # Control: another number of samples on the same first layer must not pass.
    other = problem.replace(readout__samples=150, training__samples=300, network__width=300)
    wrong = predict(other, ["network"], draws=1, seed=1)
    assert abs(wrong.metrics["train_mse"][0, 0, 0] - mean[1]) > 4 * stderr[1] + 0.05 * mean[1]


@pytest.mark.parametrize("rank", [1, 2])
def test_a_kink_along_the_spikes_does_not_disturb_theory_by_types(rank):
    """y = ReLU of the spikes themselves; Gauss–Hermite nodes across the kink were 35 % off."""
    problem = Problem(
        dimension=120,
        readout={"samples": 120, "ridge": 1e-3},
        scaling={"strength": 1.0, "weighting": 0.0},
        teacher={"direction": "spikes"},
        data={"components": [{"weight": 1.0, "rank": rank}]},
    )
    value = predict(problem, ["network"], draws=1).metrics["test_mse"][0, 0, 0]
    assert value == pytest.approx(single_type(problem)["test_mse"], rel=0.02)


def test_the_half_range_rule_integrates_polynomials_on_each_side():
    nodes, weights = half_range_rule(5)
    right = nodes > 0
    assert weights.sum() == pytest.approx(1)
    for power, moment in ((0, 0.5), (1, 1 / np.sqrt(2 * np.pi)), (2, 0.5), (8, 52.5)):
        assert weights[right] @ nodes[right] ** power == pytest.approx(moment, rel=1e-10)


def test_a_strength_outside_the_theorem_is_computed_with_a_warning():
    problem = small(scaling={"strength": 1.0, "weighting": 0.5})
    with pytest.warns(UserWarning, match="covers strengths below 1"):
        predict(problem, ["network", "hermite"], draws=1)


def test_many_samples_reach_the_best_linear_readout():
    """Known answer: m → ∞ and λ → 0 leave E y² − ψᵀΩ^{-1}ψ."""
    problem = small(network__width=20)
    instance, layers, first = train_first_layer(problem)
    feature_map = resolve_models(problem, ["network"])[0].feature_map(instance, layers, first)
    moments = population_moments(instance.mixture, instance.teacher, first, feature_map)
    best = moments.label_power - moments.label @ np.linalg.solve(moments.covariance, moments.label)
    curve = predict_curve(problem, samples=[10**9], ridge=[1e-12], models=["network"], draws=1)
    assert curve.metrics["test_mse"][0, 0, 0, 0] == pytest.approx(best, rel=1e-4)


def test_the_gap_of_the_theorems_degree_shrinks_as_n_doubles():
    gaps = []
    for n in (125, 250, 500):
        by_theory = equivalence(Problem(dimension=n, readout={"samples": n}), [3], draws=3)
        gaps.append(by_theory.gaps[0])
    assert gaps[0] > 1.5 * gaps[1] > 1.5 * 1.5 * gaps[2] > 0


def test_a_higher_degree_is_not_always_closer():
    problem = Problem(
        dimension=500,
        readout={"samples": 500},
        scaling={"strength": 0.74, "weighting": 0.0},
        teacher={"direction": "spikes"},
    )
    by_theory = equivalence(problem, [1, 2, 3, 4], draws=1, tolerance=0.05)
    by_degree = dict(zip(by_theory.degrees, by_theory.gaps, strict=True))
    assert by_degree[1] > 1
    assert abs(by_degree[3]) < 0.05
    assert abs(by_degree[4]) > 2 * abs(by_degree[3])
    assert by_theory.smallest == 2
    assert by_theory.theorem == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predict(small(), ["conditional"]), "no theory of its own"),
        (lambda: predict(small(), draws=0), "draws=0"),
        (lambda: predict(small(), method="magic"), "method='magic'"),
        (lambda: predict(small(), method="single"), "must be types or closed or auto; choose one"),
        (lambda: predict(small(), method="full_types"), "must be types or closed or auto"),
        (lambda: predict(None), "must be a Problem"),
        (lambda: tune(None), "must be a Problem"),
        (lambda: equivalence(None), "must be a Problem"),
        (lambda: predict(small(network__width=60000)), "memory="),
        (lambda: predict_curve(small(), samples=100), "must be a list"),
        (lambda: predict_curve(small(), samples=[]), "must be a list"),
        (lambda: predict_curve(small(), samples=[20], ridge=[-1.0]), "ridge=-1"),
        (lambda: predict_curve(small(), samples=[1.5]), "samples=1.5"),
        (lambda: equivalence(small(), []), "must be a list of at least one value"),
        (lambda: equivalence(small(), tolerance="x"), "tolerance='x'"),
        (lambda: tune(small(readout__ridge=[0.1, 0.2]), ["learning_rate"]), "must be one number"),
        (lambda: tune(small(), ["ridge"], budget=3), "below width=30"),
        (lambda: tune(small(), workers=0), "workers=0"),
        (lambda: equivalence(small(), tolerance=2.0), "tolerance=2.0"),
        (lambda: tune(small(), ["depth"]), "must name some of"),
        (lambda: tune(small(), budget=0), "budget=0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_predictions_never_load_the_readout_or_a_trial():
    modules = "onegrad.verbs.predict, onegrad.verbs.tune, onegrad.theory.maximal_rate"
    code = f"import sys, {modules}; print(*(m for m in sys.modules if m.startswith('onegrad')))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "onegrad.moments.dense" in loaded
    unwanted = {"onegrad.core.readout", "onegrad.core.trial"}
    assert not unwanted & set(loaded)


def test_a_link_without_second_moment_is_refused():
    register_function("steep", lambda u: np.exp(u**2 / 4), lambda u: u / 2 * np.exp(u**2 / 4))
    problem = small(
        teacher__link="steep", teacher__norm=1.0, data={"components": [{"weight": 1.0, "rank": 0}]}
    )
    for verb in (predict, tune):
        with pytest.raises(InvalidInput, match="no finite second moment"):
            verb(problem)
    with pytest.raises(InvalidInput, match="no finite second moment"):
        maximal_rate_limit(
            "tanh", "steep", step_ratio=2, rate=3, width_ratio=1, sample_ratio=[1.0], ridge=0.1
        )
