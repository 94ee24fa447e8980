"""Real data as a source: preparation, disjoint sets, files, and the mixture that theory reads."""

import warnings

import numpy as np
import pytest

from onegrad import (
    EmpiricalData,
    InvalidInput,
    MixtureFit,
    Problem,
    Sweep,
    on_fitted_mixture,
    predict,
    run_sweep,
    simulate,
)
from onegrad.core.instance import draw
from onegrad.data.rows_files import labelled

PUBLISHED = {"centring": "class", "equal_traces": True, "noise": 1.0}
DIGITS = {
    "kind": "empirical",
    "file": "digits",
    "classes": "0+2+4+6+8,1+3+5+7+9",
    **PUBLISHED,
}
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(constant in every class|theorem covers|prepares a test point)"
)


def problem_of(x, y, **fields):
    data = EmpiricalData(x, y, **{"noise": 0.0, "fit_share": 0.0, **fields})
    return Problem(readout={"samples": 60}, test_samples=80, data=data)


def trial_rows(problem, trial=0):
    instance = draw(problem, trial=trial)
    test = np.concatenate([batch.inputs for batch in instance.test_blocks()])
    return instance.step_batch().inputs, instance.training_batch().inputs, test


def test_what_is_not_said_of_centred_classes_is_as_published(rows):
    data = EmpiricalData(*rows, centring="class", fit_share=0.0)
    assert (data.equal_traces, data.noise) == (True, 1.0)
    problem = Problem(readout={"samples": 60}, test_samples=80, data=data)
    instance = draw(problem)
    scales = instance.scales
    assert (problem.dimension, problem.test, problem.teacher.kind) == (10, "sampled", "labels")
    assert (scales.learning_rate, scales.spread, scales.degree) == (1.0, 10.0, 4)
    assert scales.trace == pytest.approx(20.0)  # n + θ
    assert scales.bulk_deviation == pytest.approx(1.0)
    assert problem.data.targets == (1.0, -1.0)


def test_every_set_of_a_trial_has_rows_of_its_own(rows):
    sets = trial_rows(problem_of(*rows))
    assert [len(rows) for rows in sets] == [60, 60, 80]
    together = np.concatenate(sets)
    assert len(np.unique(together, axis=0)) == len(together)
    other = np.concatenate(trial_rows(problem_of(*rows), trial=1))
    assert not np.array_equal(together, other)  # trials differ in order


def test_classes_are_centred_and_scaled_to_one_trace(rows):
    x, y = rows
    problem = Problem(
        readout={"samples": 100},
        training={"samples": 100},
        test_samples=200,
        data=EmpiricalData(x, y, centring="class", noise=0.0, fit_share=0.0),
    )
    step, training, test = trial_rows(problem)
    whole = np.concatenate(
        [step[:50], training[:50], test[:100], step[50:], training[50:], test[100:]]
    )
    for part in (whole[:200], whole[200:]):
        assert np.allclose(part.mean(axis=0), 0, atol=1e-12)
        assert part.var(axis=0).sum() == pytest.approx(10.0)  # θ = n


def test_the_midpoint_keeps_the_difference_of_the_means(rows):
    kept = problem_of(*rows, centring="midpoint", equal_traces=False, rescale=False)
    step, training, _ = trial_rows(kept)
    first = np.concatenate([step[:30], training[:30]]).mean(axis=0)
    second = np.concatenate([step[30:], training[30:]]).mean(axis=0)
    error = np.sqrt(1 / 60 + 4 / 60) * np.array([3] + [1] * 9)
    assert np.all(np.abs(first - second - 3) < 5 * error)
    untouched = problem_of(*rows, centring="none", equal_traces=False, rescale=False)
    known = {tuple(row) for row in rows[0]}
    assert all(tuple(row) in known for row in trial_rows(untouched)[0])


def test_added_noise_has_its_deviation(rows):
    clean, noisy = (trial_rows(problem_of(*rows, noise=noise))[0] for noise in (0.0, 0.5))
    deviation = (noisy - clean).std()
    assert deviation == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2 * clean.size))


def test_rows_kept_for_the_fit_never_reach_a_network(rows):
    x, y = rows
    fields = {"centring": "none", "equal_traces": False, "rescale": False, "noise": 0.0}
    problem = Problem(
        readout={"samples": 20}, test_samples=60, data=EmpiricalData(x, y, fit_share=0.5, **fields)
    )
    seen = {
        tuple(row) for trial in range(40) for part in trial_rows(problem, trial) for row in part
    }
    assert 195 <= len(seen) <= 200  # the half that networks have, nearly all drawn by now


def test_texts_can_be_labels_and_groups_form_classes(rng):
    x = rng.standard_normal((60, 3))
    y = np.repeat(["cat", "dog", "fox"], 20)
    grouped = EmpiricalData(x, y, classes=[["cat", "dog"], "fox"])
    assert grouped.classes == (("cat", "dog"), ("fox",))
    assert labelled(x, np.repeat([0.0, 1.0, 2.0], 20)).names == ("0", "1", "2")


def test_theory_reads_the_fitted_mixture_and_training_does_not_depend_on_it():
    problems = {
        count: Problem(
            readout={"samples": 150, "ridge": 1e-3},
            test_samples=400,
            network={"width_ratio": 2.0},
            data=EmpiricalData(
                **{**DIGITS, "noise": 0.1},
                fit=MixtureFit(components_per_class=count, rank=10),
            ),
        )
        for count in (1, 8)
    }
    assert problems[1].for_training == problems[8].for_training
    assert problems[1].digest != problems[8].digest
    real = simulate(problems[8], ["network"], trials=16).estimate()
    gaps = {}
    for c, problem in problems.items():
        theory = predict(problem, ["network"], draws=3).estimate()
        gaps[c] = float(theory.mean[0, 0] / real.mean[0, 0] - 1)
    spread = float(real.stderr[0, 0] / real.mean[0, 0])
    # Eight components on 445 rows a class fit their own rows a little too well: up to a tenth.
    assert -0.1 - 4 * spread < gaps[8] < 4 * spread
    assert gaps[1] > 4 * spread  # one Gaussian per class misses what the clusters tell


def test_problems_that_share_a_trial_never_share_rows_with_their_step(rows, tmp_path):
    base = Problem(
        readout={"samples": 30}, test_samples=30, data=EmpiricalData(*rows, fit_share=0.0)
    )
    sweep = Sweep(
        problem=base, axes={"training.samples": [10, 40, 80]}, models=["network"], trials=6
    )
    frame = run_sweep(sweep, tmp_path).to_frame()
    for size in (10, 40, 80):
        alone = simulate(base.replace(training__samples=size), ["network"], trials=6)
        point = frame[(frame["training.samples"] == size) & (frame["metric"] == "test_mse")]
        assert point["mean"].item() == pytest.approx(alone.estimate().mean[0, 0], rel=1e-12)


def test_each_field_that_is_not_said_is_as_published(rows):
    data = EmpiricalData(*rows)
    common = {"readout": {"samples": 20}, "test_samples": 20, "data": data}
    capped = Problem(**common, scaling={"degree_cap": 2}).scaling
    assert (capped.strength, capped.weighting, capped.degree_cap) == (1.0, 0.0, 2)
    assert Problem(**common, scaling={"strength": 0.9}).scaling.weighting == 0.0
    assert Problem(**common, scaling={"learning_rate": 2.0}).scaling.spread == 10.0
    noisy = Problem(**common, teacher={"noise": 0.1}).teacher
    assert (noisy.kind, noisy.noise) == ("labels", 0.1)
    assert Problem(**common, teacher={"link": "tanh"}).teacher.kind == "index"


def test_classes_are_told_apart_by_their_names(rng):
    x = rng.standard_normal((80, 3))
    dates = EmpiricalData(x, np.repeat([20240101, 20240102], 40))
    assert dates.classes == (("20240101",), ("20240102",))
    spaced = labelled(x, np.repeat(["cat", " cat", "dog", "dog "], 20))
    assert spaced.names == ("cat", "dog")
    assert len(spaced.rows(["cat"])) == 40
    assert labelled(x, np.repeat(["1", "01"], 40)).names == ("01", "1")


def test_the_norm_weighs_the_classes(rows):
    x, y = rows
    data = EmpiricalData(
        x, y, weights=(0.9, 0.1), noise=0.0, equal_traces=False, rescale=False, fit_share=0.0
    )
    problem = Problem(readout={"samples": 40}, test_samples=40, data=data)
    total = 0.9 * np.cov(x[y == 3].T, bias=True) + 0.1 * np.cov(x[y == 7].T, bias=True)
    assert draw(problem).scales.norm == pytest.approx(np.linalg.eigvalsh(total)[-1])
    assert draw(problem).scales.trace == pytest.approx(np.trace(total))
    assert draw(problem).training_batch().counts == (36, 4)


def test_three_classes_have_targets_of_their_own(rng):
    x = rng.standard_normal((300, 5)) + 4 * np.repeat(np.eye(3, 5), 100, axis=0)
    y = np.repeat(["a", "b", "c"], 100)
    assert EmpiricalData(x, y, classes="a,b,c").targets == (1.0, 0.0, -1.0)
    data = EmpiricalData(x, y, classes="a,b,c", targets=(1, 2, 3), weights=(0.5, 0.25, 0.25))
    batch = draw(Problem(readout={"samples": 40}, test_samples=20, data=data)).training_batch()
    assert batch.counts == (20, 10, 10)
    assert batch.labels.tolist() == [1.0] * 20 + [2.0] * 10 + [3.0] * 10


def test_redrawing_the_network_alone_keeps_the_rows(rows):
    problem = problem_of(*rows).replace(redraw="network")
    for first, later in zip(trial_rows(problem, 0), trial_rows(problem, 3), strict=True):
        assert np.array_equal(first, later)


def test_duplicates_and_few_features_can_be_fitted(rng):
    x = rng.integers(0, 2, (400, 3)).astype(bool)
    y = np.repeat([0, 1], 200)
    data = EmpiricalData(x, y, fit=MixtureFit(components_per_class=16))
    problem = Problem(readout={"samples": 30}, test_samples=30, data=data)
    predicted = predict(problem, ["network"], draws=1).estimate().mean
    assert np.isfinite(predicted).all()
    with pytest.raises(InvalidInput, match=r"fit\.rank=3: must be below the 3 features"):
        EmpiricalData(x, y, fit=MixtureFit(rank=3))
    with pytest.raises(InvalidInput, match="keeps 0 rows of class 0"):
        predict(problem.replace(data__fit_share=0.0), ["network"])
    with pytest.raises(InvalidInput, match="keeps 0 rows of class 0"):
        Sweep(problem=problem.replace(data__fit_share=0.0), verbs=["predict"]).settings()


def test_a_problem_on_the_fitted_mixture_has_the_scales_of_the_data():
    real = Problem(
        readout={"samples": 100},
        test_samples=200,
        data=EmpiricalData(**DIGITS, fit={"components_per_class": 2}),
    )
    fitted = on_fitted_mixture(real)
    on_rows, on_mixture = draw(real), draw(fitted)
    for name in ("learning_rate", "trace", "norm", "bulk_deviation"):
        assert getattr(on_mixture.scales, name) == pytest.approx(getattr(on_rows.scales, name))
    # Σ of the components is the data's, up to their own sampling.
    total = sum(
        c.weight * (c.strengths.sum() + 64 * c.level) for c in on_mixture.mixture.components
    )
    means = sum(c.weight * float(c.mean @ c.mean) for c in on_mixture.mixture.components)
    assert total + means == pytest.approx(on_rows.scales.trace, rel=0.05)
    assert simulate(fitted, ["network"], trials=1).metrics["test_mse"].shape == (1, 1, 1)


def test_a_sweep_over_fits_trains_its_networks_once(tmp_path):
    data = EmpiricalData(**DIGITS, fit={"components_per_class": 1, "rank": 5})
    sweep = Sweep(
        problem=Problem(readout={"samples": 60}, test_samples=60, data=data),
        axes={"data.fit.components_per_class": [1, 2]},
        models=["network"],
        verbs=["simulate", "predict"],
        trials=3,
        draws=2,
    )
    results = run_sweep(sweep, tmp_path)
    assert len(results.contents.rows) == 3 + 2 * 2
    frame = results.to_frame()
    test_errors = frame[frame["metric"] == "test_mse"]
    trained = test_errors[test_errors["verb"] == "simulate"]
    assert list(trained["count"]) == [3, 3]
    assert trained["mean"].nunique() == 1
    assert len(results.theory_gaps()) == 2
    assert test_errors[test_errors["verb"] == "predict"]["mean"].nunique() == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": (3, 9)}, r"classes='9': is not among the labels 3, 7"),
        ({"classes": (3, 3)}, "must name every class once"),
        ({"targets": (1.0,)}, "one number per class"),
        ({"weights": (0.9, 0.2)}, "sum to 1"),
        ({"fit_share": 1.0}, "leaves no rows for networks"),
        ({"centring": "mean"}, "'class', 'midpoint' or 'none'"),
        ({"file": "digits"}, "without a file"),
        ({"noise": 1e300}, "must be at most 1e"),
        ({"classes": "inf,3"}, "'inf': is not among the labels"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(rows, change, message):
    with pytest.raises(InvalidInput, match=message):
        EmpiricalData(*rows, **change)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.full((8, 2), np.inf), np.arange(8) % 2, "row 0, feature 0 is inf, must be finite"),
        (np.ones((8, 2)), np.arange(8) % 2, "all features are constant"),
        (np.ones((8, 2)), np.arange(7), "one label per row"),
        (np.array([["a", "b"]]), np.zeros(1), "must hold numbers"),
        (1e200 * np.eye(8), np.arange(8) % 2, "the variance is inf there; bring its values"),
        (np.eye(8), [None, *"abcdefg"], "the label of row 0 is missing"),
        (np.eye(8), np.array([np.nan] * 8), "the label of row 0 is missing"),
    ],
)
def test_broken_arrays_are_refused(x, y, message):
    with pytest.raises(InvalidInput, match=message):
        EmpiricalData(x, y)


def test_too_few_rows_for_disjoint_sets_are_refused(rows):
    with pytest.raises(InvalidInput, match="disjoint sets need 140 rows of class 3, there are 100"):
        Problem(readout={"samples": 40}, data=EmpiricalData(*rows))


def test_constant_features_are_pointed_out(rows):
    x, y = rows
    with pytest.warns(UserWarning, match="1 of 11 features are constant"):
        EmpiricalData(np.column_stack([x, np.ones(len(x))]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EmpiricalData(x, y)
