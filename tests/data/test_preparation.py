"""How real data are prepared when nothing is said, and what may be asked for."""

import numpy as np
import pytest

from onegrad import EmpiricalData, InvalidInput, Problem, predict, simulate
from onegrad.core.instance import draw


def few(data, **fields):
    return Problem(data=data, readout={"samples": 40, "ridge": 1e-2}, **fields)


def all_rows(problem):
    instance = draw(problem)
    batches = [instance.step_batch(), instance.training_batch(), *instance.test_blocks()]
    return np.concatenate([b.inputs for b in batches]), np.concatenate([b.labels for b in batches])


def test_left_out_a_row_is_prepared_without_its_label(rows):
    x, y = rows
    data = EmpiricalData(x, y, fit_share=0.0)
    assert (data.centring, data.equal_traces, data.noise) == ("midpoint", False, 0.0)
    assert not data.reads_test_labels
    prepared, _ = all_rows(few(data, test_samples="rest"))
    midpoint = (x[y == 3].mean(axis=0) + x[y == 7].mean(axis=0)) / 2
    scaled = np.sort((x - midpoint)[:, 0])  # one shift and one scale for all rows
    ratio = np.sort(prepared[:, 0]) / scaled
    assert np.allclose(ratio, ratio[0])


@pytest.mark.parametrize("fields", [{"centring": "class"}, {"equal_traces": True}])
def test_what_needs_the_label_of_a_test_point_says_so(rows, fields):
    problem = few(EmpiricalData(*rows, **fields), test_samples=40)
    with pytest.warns(UserWarning, match="which needs its label"):
        simulate(problem, ["network"], trials=1)


def test_centred_classes_hide_what_the_midpoint_keeps():
    """Classes that differ in their means alone: guessing, against a few per cent."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 300)
    x = rng.standard_normal((600, 12)) + np.where(y == 0, 1.0, -1.0)[:, None]
    kept = few(EmpiricalData(x, y), test_samples=80)
    errors = simulate(kept, ["network"], trials=6).estimate("misclassification").mean[0, 0]
    assert errors < 0.1
    hidden = few(EmpiricalData(x, y, centring="class"), test_samples=80)
    with pytest.warns(UserWarning, match="needs its label"):
        guessed = simulate(hidden, ["network"], trials=6).estimate("misclassification")
    assert abs(guessed.mean[0, 0] - 0.5) < 4 * 0.5 / np.sqrt(6 * 80)


def test_standardised_features_have_one_deviation(rows):
    x, y = rows
    scales = 10.0 ** np.arange(10)
    plain, scaled = (
        EmpiricalData(values, y, standardise=True, fit_share=0.0) for values in (x, x * scales)
    )
    first, _ = all_rows(few(plain, test_samples="rest"))
    second, _ = all_rows(few(scaled, test_samples="rest"))
    assert np.allclose(first, second)
    assert np.allclose(first.std(axis=0) / first[:, 0].std(), 1.0)
    assert plain.digest != scaled.digest
    unscaled, _ = all_rows(few(EmpiricalData(x * scales, y, fit_share=0.0), test_samples="rest"))
    assert not np.allclose(unscaled.std(axis=0) / unscaled[:, 0].std(), 1.0)


def test_a_constant_feature_stays_zero_when_standardised(rows):
    x, y = rows
    with pytest.warns(UserWarning, match="1 of 11 features are constant"):
        data = EmpiricalData(np.column_stack([x, np.full(len(x), 0.1)]), y, standardise=True)
    prepared, _ = all_rows(few(data, test_samples=40))
    assert np.allclose(prepared[:, 10], 0, atol=1e-9)


def test_the_rest_of_the_rows_are_the_test_set(rows):
    data = EmpiricalData(*rows, fit_share=0.0)
    problem = few(data, test_samples="rest")
    assert problem.samples_in_test == len(rows[0]) - 80
    prepared, _ = all_rows(problem)
    assert len(np.unique(prepared, axis=0)) == len(rows[0])
    assert problem.replace(training__steps=2).samples_in_test == len(rows[0]) - 120
    with pytest.raises(InvalidInput, match="test_samples='rest': needs real data"):
        Problem(test_samples="rest")
    with pytest.raises(InvalidInput, match="disjoint sets need"):
        Problem(data=data, readout={"samples": 400}, test_samples="rest")


def test_weights_may_be_those_of_the_rows(rng):
    y = np.repeat(["a", "b", "c"], [20, 30, 150])
    data = EmpiricalData(rng.standard_normal((200, 4)), y, classes="a,rest", weights="rows")
    assert data.weights == (0.1, 0.9)
    assert data.classes == (("a",), ("b", "c"))
    assert data.targets == (1.0, -1.0)


def test_several_classes_without_numbers_have_an_output_each(rng):
    y = np.repeat([0, 1, 2], 100)
    data = EmpiricalData(rng.standard_normal((300, 4)), y, classes="0,1,2")
    assert few(data, test_samples=30).readout.outputs == "classes"
    given = EmpiricalData(rng.standard_normal((300, 4)), y, classes="0,1,2", targets=[0, 1, 5])
    assert few(given, test_samples=30).readout.outputs == "one"


def numbers(rng, rows=1200, n=6):
    x = rng.standard_normal((rows, n))
    return x, 30 + 5 * (x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.standard_normal(rows))


def test_a_number_y_is_that_of_its_row(rng):
    x, y = numbers(rng)
    data = EmpiricalData(x, y, response="number", centring="none", rescale=False, fit_share=0.0)
    inputs, labels = all_rows(few(data, test_samples="rest"))
    known = {tuple(row): value for row, value in zip(x, (y - y.mean()) / y.std(), strict=True)}
    assert np.allclose([known[tuple(row)] for row in inputs], labels)
    batch = draw(few(data, test_samples="rest")).readout_draw(1)
    blocks = np.concatenate([block.labels for block in batch.blocks()])
    assert np.array_equal(blocks, batch.whole().labels)


def test_theory_of_a_number_y_meets_simulation(rng):
    """Eight parts and their Gaussians leave a few per cent: a tenth, and 4 standard errors."""
    problem = few(
        EmpiricalData(*numbers(rng), response="number", fit={"components_per_class": 1}),
        test_samples="rest",
        network={"width": 60},
    )
    real = simulate(problem, ["network"], trials=16)
    trained, theory = real.estimate(), predict(problem, ["network"], draws=4).estimate()
    error = np.hypot(trained.stderr, theory.stderr)[0, 0]
    assert abs(theory.mean - trained.mean)[0, 0] < 0.1 * trained.mean[0, 0] + 4 * error
    assert real.best_constant["test_mse"] == pytest.approx(1.0, abs=0.1)
    assert trained.mean[0, 0] < 0.8  # it has learnt something


def test_numbers_need_no_classes(rng):
    x, y = numbers(rng, rows=100)
    with pytest.raises(InvalidInput, match=r"use response='number'"):
        EmpiricalData(x, y)
    with pytest.raises(InvalidInput, match="follows from y where response is 'number'"):
        EmpiricalData(x, y, response="number", targets=(1.0, -1.0))
    with pytest.raises(InvalidInput, match="centring='class': needs classes"):
        EmpiricalData(x, y, response="number", centring="class")
    with pytest.raises(InvalidInput, match="parts=3: belongs to response='number'"):
        EmpiricalData(x, np.arange(100) % 2, parts=3)
    with pytest.raises(InvalidInput, match="y must vary"):
        EmpiricalData(x, np.ones(100), response="number")
