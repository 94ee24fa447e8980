"""The estimators are scikit-learn's: its own checks, weights, pipelines, searches, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from onegrad import InvalidInput, OneStepClassifier, OneStepFeatures, OneStepRegressor
from onegrad.calculus.functions import get_activation
from onegrad.core.instance import draw, initialise
from onegrad.estimators.first_layer import (
    InputFrame,
    NetworkSettings,
    WeightedRows,
    train_first_layer,
)
from onegrad.stages import fit_readout, take_step

EVERY = [OneStepRegressor(30), OneStepClassifier(30), OneStepFeatures(30)]


CHECKED = [
    *(type(made)() for made in EVERY),
    OneStepClassifier(30, loss="logistic", activation="tanh"),
    OneStepRegressor(30, steps=2, rule="whitened", strength=0.5, bias=1.0),
]


def checks_of(estimator):
    """Yield scikit-learn's checks of an estimator, whatever the release calls their list."""
    if hasattr(estimator_checks, "estimator_checks_generator"):  # since 1.6
        return estimator_checks.estimator_checks_generator(estimator)
    return estimator_checks.check_estimator(estimator, generate_only=True)


def check_name(value):
    return getattr(getattr(value, "func", value), "__name__", type(value).__name__)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn about what it skips
@pytest.mark.parametrize(
    ("estimator", "check"), [pair for made in CHECKED for pair in checks_of(made)], ids=check_name
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def rows(seed=0, samples=60, features=5):
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((samples, features))
    return inputs, inputs[:, 0] + inputs[:, 1] ** 2 + 0.1 * rng.standard_normal(samples)


def test_the_first_layer_and_readout_are_the_core_s():
    inputs, numbers = rows()
    frame = InputFrame.of(inputs, np.ones(60), centre=inputs.mean(axis=0), trace=5.0)
    prepared, targets = frame.prepared(inputs), (numbers - numbers.mean()) / numbers.std()
    settings = NetworkSettings(40, "relu", 7.0, None, None, "gradient", 1)
    given = WeightedRows(prepared, targets[:, None], np.ones(60))
    layer = train_first_layer(settings, given, frame, seed=3)
    instance = draw(settings.problem(dimension=5), seed=3)
    start = initialise(instance)
    relu = np.vectorize(lambda u: max(u, 0.0))
    trained = take_step(
        start, prepared, targets, activation=get_activation("relu"), learning_rate=7.0
    )
    np.testing.assert_allclose(layer.trained, trained, rtol=1e-12, atol=1e-14)
    model = OneStepRegressor(40, learning_rate=7.0, ridge=1e-2, random_state=3)
    model.fit(inputs, numbers)
    readout = fit_readout(relu(prepared @ trained.T), targets, ridge=1e-2)
    expected = relu(prepared @ trained.T) @ readout.weights[:, 0] / np.sqrt(40)
    np.testing.assert_allclose(
        model.predict(inputs), numbers.mean() + numbers.std() * expected, rtol=1e-8
    )
    # Negative control: another rate is another network.
    other = OneStepRegressor(40, learning_rate=70.0, ridge=1e-2, random_state=3)
    assert np.max(np.abs(other.fit(inputs, numbers).predict(inputs) - model.predict(inputs))) > 1e-3


WEIGHTED = [
    OneStepRegressor(30, random_state=0),
    OneStepRegressor(30, steps=2, rule="whitened", activation="tanh", random_state=0),
    OneStepClassifier(30, random_state=0),
    OneStepClassifier(30, loss="logistic", ridge=1e-2, random_state=0),
]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=str)
def test_a_weight_of_two_is_a_row_twice_and_a_weight_of_zero_is_none(estimator):
    inputs, numbers = rows()
    y = np.digitize(numbers, [0, 1]) if isinstance(estimator, OneStepClassifier) else numbers
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    output = "decision_function" if isinstance(estimator, OneStepClassifier) else "predict"

    def outputs(*given, **weights):
        return getattr(clone(estimator).fit(*given, **weights), output)(inputs)

    weighted = outputs(inputs, y, sample_weight=counts)
    repeated = outputs(np.repeat(inputs, counts, axis=0), np.repeat(y, counts))
    scaled = outputs(inputs, y, sample_weight=0.3 * counts)
    # Readouts by a convex loss are solved to 1e-8 of their norm.
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weighted, scaled, rtol=1e-5, atol=1e-6)
    assert np.max(np.abs(weighted - outputs(inputs, y))) > 1e-3  # weights do something


def test_predictions_follow_units_and_order():
    inputs, numbers = rows()
    plain = OneStepRegressor(30, random_state=0).fit(inputs, numbers).predict(inputs)
    moved = OneStepRegressor(30, random_state=0).fit(100 * inputs + 7, 5 * numbers - 3)
    np.testing.assert_allclose(moved.predict(100 * inputs + 7), 5 * plain - 3, rtol=1e-6)
    order = np.random.default_rng(0).permutation(len(inputs))
    mixed = OneStepRegressor(30, random_state=0).fit(inputs[order], numbers[order])
    np.testing.assert_allclose(mixed.predict(inputs), plain, rtol=1e-6)


def test_it_works_in_pipelines_searches_clones_and_pickles():
    inputs, classes = load_iris(return_X_y=True, as_frame=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OneStepClassifier(60, random_state=0)),
        {"onestepclassifier__ridge": [1e-4, 1e-2], "onestepclassifier__steps": [1, 2]},
        cv=3,
    ).fit(inputs, classes)
    assert search.best_score_ > 0.85  # linear readouts stay below
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(inputs), search.predict(inputs))
    features = OneStepFeatures(8, random_state=0).set_output(transform="pandas")
    table = features.fit_transform(inputs, classes)
    assert list(table.columns) == [f"onestepfeatures{i}" for i in range(8)]


def test_the_steps_learn_what_random_features_do_not():
    inputs, numbers = rows(samples=400, features=40)
    fresh, truth = rows(seed=1, samples=400, features=40)
    trained = OneStepRegressor(200, ridge=1e-2, random_state=0).fit(inputs, numbers)
    random = OneStepRegressor(200, learning_rate=0.0, ridge=1e-2, random_state=0)
    lower = 1 - trained.score(fresh, truth)
    higher = 1 - random.fit(inputs, numbers).score(fresh, truth)
    assert lower < 0.9 * higher


def test_a_bias_lets_neurons_bend_away_from_the_centre():
    inputs = np.random.default_rng(0).standard_normal((300, 1))
    bump = np.exp(-4 * (inputs[:, 0] - 1) ** 2)
    through_centre = OneStepRegressor(200, ridge=1e-5, random_state=0).fit(inputs, bump)
    anywhere = OneStepRegressor(200, ridge=1e-5, bias=1.0, random_state=0).fit(inputs, bump)
    # σ(f x) of one feature is a line on either side of the centre.
    assert 1 - through_centre.score(inputs, bump) > 0.3
    assert 1 - anywhere.score(inputs, bump) < 0.05


def test_probabilities_belong_to_the_logistic_readout():
    inputs, classes = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), OneStepClassifier(50, loss="logistic", random_state=0))
    shares = model.fit(inputs, classes).predict_proba(inputs)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # At a small penalty the mean probability is the share of the class, but for the penalty.
    assert abs(shares[:, 1].mean() - classes.mean()) < 0.05
    assert not hasattr(OneStepClassifier(), "predict_proba")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"width": 0}, "width=0"),
        ({"activation": "nope"}, "nope"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": "cv"}, "learning_rate='cv'"),
        ({"learning_rate": 1.0, "strength": 0.5}, "must not be given with strength"),
        ({"strength": 2.0}, "strength"),
        ({"rule": "newton"}, "newton"),
        ({"steps": 0}, "steps"),
        ({"bias": -1.0}, "bias=-1.0"),
        ({"ridge": 0.0}, "ridge=0"),
        ({"ridge": "cv"}, "ridge='cv'"),
        ({"ridge": None}, "ridge=None"),
        ({"ridge": [1e-3, 1e-2]}, "ridge=[0.001, 0.01]"),
        ({"loss": "cubic"}, "cubic"),
        ({"step_share": 1.0}, "step_share=1.0"),
        ({"step_share": [0.5]}, "step_share=[0.5]"),
    ],
)
def test_bad_parameters_are_refused_in_one_line_when_fitted(fields, said):
    inputs, numbers = rows()
    model = OneStepClassifier(**fields)  # the constructor only stores
    with pytest.raises(InvalidInput) as caught:
        model.fit(inputs, numbers > 0)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("made", EVERY, ids=lambda made: type(made).__name__)
def test_masked_entries_are_refused_and_not_unmasked(made, rng):
    inputs, codes = rng.standard_normal((20, 3)), np.arange(20) % 2
    hidden = np.ma.masked_array(inputs, inputs > 1)
    for name, rows, targets, weights in (
        ("X", hidden, codes, None),
        ("y", inputs, np.ma.masked_array(codes, np.arange(20) == 3), None),
        ("sample_weight", inputs, codes, np.ma.masked_array(np.ones(20), np.arange(20) == 3)),
    ):
        with pytest.raises(InvalidInput, match=f"{name}: must not have masked entries"):
            clone(made).fit(rows, targets, sample_weight=weights)
    fitted = clone(made).fit(np.ma.masked_array(inputs), codes)  # nothing is hidden
    read = getattr(fitted, "predict", None) or fitted.transform
    with pytest.raises(InvalidInput, match="X: must not have masked entries"):
        read(hidden)


@pytest.mark.parametrize("size", [2.0**-600, 1.0, 2.0**600])
def test_targets_of_any_size_are_predicted_in_their_own_units(size, rng):
    inputs = rng.standard_normal((40, 3))
    numbers = inputs @ [1.0, 2.0, -1.0]
    plain, scaled = (
        OneStepRegressor(30, random_state=0).fit(inputs, y).predict(inputs)
        for y in (numbers, size * numbers)
    )
    assert np.array_equal(scaled / size, plain)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of scikit-learn's own check
def test_targets_that_overflow_are_refused(rng):
    inputs = rng.standard_normal((20, 3))
    with pytest.raises(InvalidInput, match="y: its mean and deviation overflow; divide it by"):
        OneStepRegressor(30).fit(inputs, np.where(np.arange(20) % 2, 1.7e308, -1.7e308))
