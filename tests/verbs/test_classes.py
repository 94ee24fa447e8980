"""One output per class: each against the rest, the largest names the class."""

import numpy as np
import pytest

from conftest import small
from onegrad import (
    Component,
    EmpiricalData,
    InvalidInput,
    MixtureSource,
    Problem,
    Sweep,
    run_sweep,
    simulate,
)
from onegrad.core.instance import draw
from onegrad.core.model_names import resolve_models
from onegrad.core.problem_readout import fit_models
from onegrad.core.readout import ridge_readouts
from onegrad.core.run import finished_run
from onegrad.core.trial import run_trial
from onegrad.stages import fit_readout

MODELS = ["network", "hermite:2", "linear", "untrained", "conditional"]
N = 40


def three(*labels, **changes):
    """Return a problem of three components with means of their own and these labels."""
    rng = np.random.default_rng(5)
    components = tuple(
        Component(weight=w, mean=0.4 * rng.standard_normal(N), rank=rank, label=label)
        for w, rank, label in zip(
            (0.5, 0.3, 0.2), (1, 2, 0), labels or (2.0, 0.0, 5.0), strict=True
        )
    )
    problem = small(
        data=MixtureSource(components=components),
        teacher={"kind": "labels"},
        readout={"samples": 120, "ridge": 0.1, "outputs": "classes"},
    )
    return problem.replace(**changes)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
@pytest.mark.parametrize("ridge", [1e-2, (1e-3, 1.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_outputs_from_one_factorisation_are_those_of_each(shape, ridge, dtype, rng):
    phi = rng.standard_normal(shape).astype(dtype)
    labels = rng.standard_normal((shape[0], 3))
    for column, readout in zip(labels.T, ridge_readouts(phi, labels, ridge=ridge), strict=True):
        alone = fit_readout(phi, column, ridge=ridge)
        np.testing.assert_allclose(readout.weights, alone.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(readout.train_mse, alone.train_mse, rtol=1e-6)
        assert np.array_equal(readout.ridge, alone.ridge)


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "hinge", "huber:0.5"])
def test_every_loss_trains_every_model_on_three_classes(loss):
    problem = three(readout__loss=loss, readout__ridge=(1e-2, 0.1), teacher__noise=0.3)
    errors = simulate(problem, MODELS, trials=2)
    names = {"test_mse", "train_mse", "objective", "squared_weight_norm"}
    names |= {"misclassification", "train_misclassification"}
    assert set(errors.metrics) == (
        names | {"test_loss", "train_loss"} if loss != "square" else names
    )
    assert all(values.shape == (2, 5, 2) for values in errors.metrics.values())
    # Half of the points are of one class: who always names it is wrong on the others.
    assert errors.metrics["misclassification"].mean() < 0.5
    assert np.all(errors.metrics["train_misclassification"] < 0.5)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("flips", [0.0, 0.2])
def test_two_classes_of_signs_are_one_output_and_its_negative(loss, flips):
    problem = small(
        teacher={"kind": "labels", "flips": flips},
        readout={"samples": 50, "ridge": (1e-2, 0.1), "loss": loss},
        test_samples=4000,
    )
    one = simulate(problem, ["network", "hermite:2"], trials=2).metrics
    both = simulate(problem.replace(readout__outputs="classes"), ["network", "hermite:2"], trials=2)
    for name, values in one.items():
        # Which output is larger is counted on drawn noise, and on drawn labels where they flip.
        near = 4 * np.sqrt(0.25 / 4000) if name == "misclassification" else 1e-6
        assert both.metrics[name] == pytest.approx(values, abs=near, rel=1e-6)
    if not flips:
        rate = "misclassification"
        assert np.array_equal(both.metrics[rate][:, 0], one[rate][:, 0])


def test_numbers_of_classes_do_not_matter_to_the_readout():
    """Without a step the readout sees classes alone, in whatever order their numbers are."""
    still = {"learning_rate": 0.0, "spread": 3.0}
    first, second = (
        simulate(three(*labels, scaling=still), ["network", "conditional"], trials=2).metrics
        for labels in ((2.0, 0.0, 5.0), (-1.0, 7.0, 0.5))
    )
    for name, values in first.items():
        assert second[name] == pytest.approx(values, rel=1e-9)
    moved = simulate(three(-1.0, 7.0, 0.5), ["network"], trials=2).metrics
    assert moved["test_mse"][:, 0] != pytest.approx(first["test_mse"][:, 0], rel=1e-3)


def test_the_largest_output_is_the_class_as_by_hand():
    problem = three(test_samples=900)
    instance = draw(problem)
    run = finished_run(instance)
    models = resolve_models(problem, ["network"])
    maps = {m.key: m.feature_map(instance, run.layers, run.first) for m in models}
    weights = fit_models(instance, run.first, maps)["network@trained"].weights
    wrong, squares, places = 0, 0.0, {0.0: 0, 2.0: 1, 5.0: 2}
    for block in instance.test_blocks():
        outputs = np.maximum(block.inputs @ run.first.T, 0) @ weights / np.sqrt(problem.width)
        target = np.array([places[label] for label in block.labels])
        wrong += np.sum(np.argmax(outputs, axis=1) != target)
        squares += np.sum((2 * np.eye(3)[target] - 1 - outputs) ** 2) / 3
    network = run_trial(problem.replace(test="sampled"), models)["network"]
    assert network["misclassification"][0] == wrong / 900
    assert network["test_mse"][0] == pytest.approx(squares / 900, rel=1e-9)
    assert 0 < wrong < 450


def test_a_convex_loss_fits_every_class_against_the_rest():
    problem = three(readout__loss="logistic")
    instance = draw(problem)
    trained = finished_run(instance).first
    batch = instance.training_batch()
    phi = np.maximum(batch.inputs @ trained.T, 0)
    alone = [
        fit_readout(phi, np.where(batch.labels == label, 1.0, -1.0), loss="logistic", ridge=0.1)
        for label in (0.0, 2.0, 5.0)
    ]
    network = run_trial(problem, resolve_models(problem, ["network"]))["network"]
    assert network["train_loss"] == pytest.approx(np.mean([r.train_loss for r in alone], axis=0))
    norm = np.mean([r.squared_norm for r in alone], axis=0)
    assert network["squared_weight_norm"] == pytest.approx(norm, rel=1e-6)


@pytest.mark.parametrize("flips", [0.0, 0.2])
def test_exact_and_sampled_errors_agree(flips):
    labels = (1.0, -1.0, 1.0) if flips else (0.5, 0.0, 1.0)
    problem = three(*labels, teacher__flips=flips, scaling__strength=0.4)
    exact = simulate(problem, MODELS, trials=16).metrics["test_mse"]
    sampled = problem.replace(test="sampled", test_samples=2000)
    drawn = simulate(sampled, MODELS, trials=16).metrics["test_mse"]
    difference = (exact - drawn)[:, :, 0]
    error = 4 * difference.std(axis=0, ddof=1) / np.sqrt(16)
    assert np.all(np.abs(difference.mean(axis=0)) < error)
    assert np.all(np.abs(difference.mean(axis=0) + 0.05) > error)  # the control


def test_three_classes_of_rows_with_several_steps_and_sweeps(rng, tmp_path):
    y = np.repeat([0, 1, 2], 150)
    x = rng.standard_normal((450, 8)) + np.eye(8)[y] * 3
    problem = Problem(
        data=EmpiricalData(x, y, classes="0,1,2", targets=[0, 1, 2], centring="none", noise=0.1),
        readout={"samples": 60, "ridge": 1e-2, "outputs": "classes"},
        training={"steps": 2, "samples": 30},
        test_samples=60,
        network={"width": 20, "activation": "tanh"},
    )
    errors = simulate(problem, ["network", "linear"], trials=4)
    assert errors.metrics["misclassification"].shape == (4, 2, 3, 1)
    assert errors.estimate("misclassification").mean[0, -1, 0] < 0.4
    problem.save(tmp_path / "p.toml")
    assert Problem.load(tmp_path / "p.toml") == problem
    sweep = Sweep(
        problem=three(), axes={"readout.outputs": ["one", "classes"]}, models=["network"], trials=1
    )
    frame = run_sweep(sweep, tmp_path / "runs").to_frame()
    counted = frame[frame["metric"] == "misclassification"]
    assert set(counted["readout.outputs"]) == {"classes"}


def test_refusals_are_one_line():
    needs = "readout.outputs='classes': needs the labels of at least two classes"
    for teacher in ({"kind": "sign"}, {"link": "relu"}):
        with pytest.raises(InvalidInput, match=needs):
            small(teacher=teacher, readout__outputs="classes")
    with pytest.raises(InvalidInput, match=needs):
        three(1.0, 1.0, 1.0)
    with pytest.raises(InvalidInput, match=r"training.subtract='mean': classes have no part"):
        three(training__subtract="mean")
    with pytest.raises(InvalidInput, match=r"readout.outputs='two': must be"):
        three(readout__outputs="two")
