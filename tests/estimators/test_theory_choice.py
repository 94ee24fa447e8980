"""Theory chooses penalty and rate, and says what error to expect, before any test set."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from onegrad import InvalidInput, OneStepClassifier, OneStepRegressor
from onegrad.estimators.first_layer import parted
from onegrad.estimators.theory_choice import (
    ExpectedError,
    ExtrapolatedTheory,
    ReadoutPlan,
    rate_with_resolution,
    sliced,
)

THEORY = {"ridge": "theory", "learning_rate": "theory"}


def classes_of(rng, samples, *, distance=3.0, features=12, classes=2):
    """Return Gaussian classes whose means lie at this distance from each other along axes."""
    codes = rng.integers(0, classes, samples)
    inputs = rng.standard_normal((samples, features))
    inputs[np.arange(samples), codes] += distance / np.sqrt(2)
    return inputs, codes


@pytest.fixture(scope="module")
def chosen():
    inputs, codes = classes_of(np.random.default_rng(0), 400)
    return OneStepClassifier(80, random_state=0, **THEORY).fit(inputs, codes), inputs, codes


def measured(model, **how):
    fresh, truth = classes_of(np.random.default_rng(1), 20_000, **how)
    return float(np.mean(model.predict(fresh) != truth))


def test_the_expected_error_is_that_of_new_rows(chosen):
    model, _, _ = chosen
    # 20000 rows: their own error is below 0.002.
    assert abs(model.predicted_error_ - measured(model)) <= 2 * model.predicted_error_stderr_
    assert model.predicted_error_stderr_ < model.predicted_error_  # and it says something
    # Negative control: nearer classes are not what was predicted.
    far = measured(model, distance=1.0)
    assert abs(model.predicted_error_ - far) > 2 * model.predicted_error_stderr_


def test_the_choice_is_nearly_as_good_as_the_best_and_better_than_bad_ones(chosen):
    model, inputs, codes = chosen
    by_theory = measured(model)

    def with_values(rate, ridge):
        fixed = clone(model).set_params(learning_rate=rate, ridge=ridge, step_share=0.5)
        return measured(fixed.fit(inputs, codes))

    best = min(with_values(r, z) for r in (4.0, 40.0, 400.0) for z in (1e-4, 1e-3, 1e-2, 1e-1))
    assert by_theory <= 1.15 * best
    assert with_values(model.learning_rate_, 1e-7) > 1.15 * by_theory


def test_the_chosen_values_alone_make_the_same_network(chosen):
    model, inputs, codes = chosen
    fixed = clone(model).set_params(
        learning_rate=model.learning_rate_, ridge=model.ridge_, step_share=0.5
    )
    np.testing.assert_allclose(
        fixed.fit(inputs, codes).decision_function(inputs), model.decision_function(inputs)
    )
    assert not hasattr(fixed, "predicted_error_")


def test_labels_without_meaning_are_expected_to_be_guessed():
    rng = np.random.default_rng(0)
    inputs, codes = rng.standard_normal((400, 12)), rng.integers(0, 2, 400)
    model = OneStepClassifier(60, random_state=0, **THEORY).fit(inputs, codes)
    assert abs(model.predicted_error_ - 0.5) <= 2 * model.predicted_error_stderr_


def test_several_classes_and_a_given_rate():
    inputs, codes = classes_of(np.random.default_rng(0), 360, classes=3)
    names = np.array(["ant", "bee", "cat"])[codes]
    model = OneStepClassifier(60, learning_rate=20.0, ridge="theory", random_state=0)
    model.fit(inputs, names)
    assert model.learning_rate_ == 20.0
    assert [row[0] for row in model.tried_] == [20.0]
    fresh, truth = classes_of(np.random.default_rng(1), 5000, classes=3)
    wrong = np.mean(model.predict(fresh) != np.array(["ant", "bee", "cat"])[truth])
    assert abs(model.predicted_error_ - wrong) <= 2 * model.predicted_error_stderr_


def test_numbers_have_an_expected_square_in_their_units():
    rng = np.random.default_rng(0)

    def draw_rows(count):
        inputs = rng.standard_normal((count, 8))
        return inputs, 10 * (inputs[:, 0] + 0.5 * rng.standard_normal(count))

    model = OneStepRegressor(60, random_state=0, **THEORY).fit(*draw_rows(500))
    fresh, truth = draw_rows(10_000)
    square = np.mean((model.predict(fresh) - truth) ** 2)
    assert abs(model.predicted_error_ - square) <= 2 * model.predicted_error_stderr_
    assert 25 < model.predicted_error_ < 60  # the noise alone has 25, the numbers 125


def test_few_rows_make_theory_too_hopeful_and_endless_ones_correct_it():
    rng = np.random.default_rng(0)
    model = OneStepClassifier(80, ridge=1e-2, step_share=0.5, random_state=0)
    model.fit(*classes_of(rng, 400, features=40))
    fresh, codes = classes_of(rng, 10_000, features=40)
    truth = np.mean((model.decision_function(fresh) - np.where(codes > 0, 1.0, -1.0)) ** 2)
    plain, corrected = [], []
    for _ in range(6):
        inputs, codes = classes_of(rng, 100, features=40)
        theory = ExtrapolatedTheory.of(
            model.layer_.frame.prepared(inputs),
            np.where(codes > 0, 1.0, -1.0),
            ReadoutPlan(80, 200),
            components=1,
        )
        metrics = theory.of_layer(model.layer_).metrics(1e-2)
        plain.append(metrics["test_mse"])
        corrected.append(metrics["endless test_mse"])
    assert np.mean(plain) < 0.9 * truth
    assert abs(np.log(np.mean(corrected) / truth)) < 0.8 * abs(np.log(np.mean(plain) / truth))


def test_the_stated_error_grows_with_what_held_out_rows_contradict():
    agreed = ExpectedError(0.05, finite=0.004, fitted=0.005, held_out=0.05, resolution=0.01)
    assert replace(agreed, held_out=0.2).stderr > 0.15 > agreed.stderr > 0.01
    share, resolution = rate_with_resolution(np.zeros(100, dtype=bool))
    assert share == 0
    assert 0.005 < resolution < 0.02  # no error in 100 rows is not no error


def test_parts_have_every_group_s_share():
    groups = np.repeat([0, 1, 2], [100, 10, 1])
    steps, others = parted(groups, 0.3, np.random.default_rng(0))
    assert np.bincount(groups[steps], minlength=3).tolist() == [30, 3, 0]
    assert sorted([*steps, *others]) == list(range(111))


def test_slices_keep_the_mean_and_split_the_variance():
    numbers = np.random.default_rng(0).standard_normal(300)
    labels, noise = sliced(numbers)
    assert np.mean(labels) == pytest.approx(np.mean(numbers))
    assert np.var(labels) + noise**2 == pytest.approx(np.var(numbers))


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        (OneStepClassifier(20, **THEORY), "weights", "sample_weight"),
        (OneStepClassifier(20, **THEORY), "few", "theory needs 6"),
        (OneStepClassifier(20, strength=0.5, **THEORY), "plain", "strength"),
        (OneStepRegressor(20, **THEORY), "two columns", "one column"),
        (OneStepRegressor(20, **THEORY), "one number", "too few distinct"),
        (OneStepRegressor(20, **THEORY), "few", "rows for the readout"),
    ],
)
def test_what_theory_does_not_know_is_refused(model, kind, said):
    inputs, codes = classes_of(np.random.default_rng(0), 12 if kind == "few" else 200)
    y = np.c_[codes, inputs[:, 0]] if kind == "two columns" else codes
    y = np.ones(len(y)) if kind == "one number" else y
    weights = {"sample_weight": 1.0 + codes} if kind == "weights" else {}
    with pytest.raises(InvalidInput, match=said):
        model.fit(inputs, y, **weights)
