"""Misclassification of labels ±1: by component, sign or logistic probability, for every loss."""

import numpy as np
import pytest

from conftest import small, small_steps
from onegrad import EmpiricalData, InvalidInput, Problem, Sweep, predict, run_sweep, simulate
from onegrad.core import batches, problem_readout
from onegrad.core.instance import draw
from onegrad.core.model_names import resolve_models
from onegrad.core.problem_readout import fit_models
from onegrad.core.run import finished_run
from onegrad.core.trial import run_trial

SIGN = {"kind": "sign", "flips": 0.1}
LOGISTIC = {"kind": "logistic", "slope": 4.0}
FLIPPED = {"kind": "labels", "flips": 0.2}
MODELS = ["network", "hermite:2", "linear", "untrained", "conditional"]
RATES = {"misclassification", "train_misclassification"}
NETWORK = "network@trained"


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge", "huber:0.5"])
@pytest.mark.parametrize("teacher", [SIGN, LOGISTIC, FLIPPED])
def test_every_loss_counts_wrong_signs_of_every_model(teacher, loss):
    problem = small(teacher=teacher, readout={"samples": 50, "loss": loss, "ridge": (1e-2, 0.1)})
    errors = simulate(problem, MODELS, trials=2)
    assert set(errors.metrics) >= RATES
    for name in RATES:
        assert errors.metrics[name].shape == (2, 5, 2)
        assert np.all((errors.metrics[name] >= 0) & (errors.metrics[name] <= 1))
    rates = [errors.metrics[name].mean() for name in ("train_misclassification", *RATES)]
    assert rates[0] < max(rates)  # training is easier
    assert not RATES & set(simulate(small(), "network", trials=1).metrics)


def network_by_hand(problem):
    """Return the instance, F̂ and ŵ of a trial's network."""
    instance = draw(problem)
    run = finished_run(instance)
    instance = run.instance_at(1)
    model = resolve_models(problem, ["network"])[0]
    maps = {model.key: model.feature_map(instance, run.layers, run.first)}
    fits = fit_models(instance, run.first, maps)
    return instance, run.first, fits[NETWORK].weights[:, 0]


@pytest.mark.parametrize("subtract", ["none", "linear"])
@pytest.mark.parametrize("teacher", [SIGN, LOGISTIC, FLIPPED, {"kind": "labels", "noise": 0.7}])
def test_training_errors_are_counted_as_by_hand(teacher, subtract):
    """With labels as drawn; noisy ones by their component; what was subtracted is added."""
    problem = small(teacher=teacher, training__subtract=subtract, training__samples=200)
    instance, trained, weights = network_by_hand(problem)
    batch, clean = instance.training_batch(), draw(problem).training_batch()
    output = np.maximum(batch.inputs @ trained.T, 0) @ weights / np.sqrt(len(weights))
    output = output + instance.subtracted.of(batch.inputs)
    signs = np.sign(clean.labels)
    if "noise" in teacher:
        signs = np.repeat([1.0, -1.0], batch.counts)
    network = run_trial(problem, resolve_models(problem, ["network"]))["network"]
    assert network["train_misclassification"][0] == np.mean(signs * output < 0)


@pytest.mark.parametrize("teacher", [SIGN, LOGISTIC, FLIPPED])
def test_test_errors_are_those_of_drawn_labels(teacher):
    """They use the probability of y given x: less variance, the same mean."""
    problem = small(
        teacher=teacher,
        readout={"samples": 400, "ridge": 1e-2},
        test_samples=20_000,
        training__subtract="mean",
    )
    instance, trained, weights = network_by_hand(problem)
    wrong = []
    for block, clean in zip(instance.test_blocks(), draw(problem).test_blocks(), strict=True):
        output = np.maximum(block.inputs @ trained.T, 0) @ weights / np.sqrt(len(weights))
        wrong.append(clean.labels * (output + instance.subtracted.constant) < 0)
    share = np.mean(np.concatenate(wrong))
    error = 4 * np.sqrt(share * (1 - share) / 20_000)
    network = run_trial(problem, resolve_models(problem, ["network"]))["network"]
    rate = network["misclassification"][0]
    assert abs(rate - share) < error
    assert abs(rate - share - 0.03) > error  # the control
    assert rate != share


def test_labels_without_information_are_wrong_half_of_the_time():
    problem = small(teacher={"kind": "sign", "flips": 0.5}, test_samples=50)
    errors = simulate(problem, MODELS, trials=2)
    assert errors.metrics["misclassification"] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    "teacher",
    [
        SIGN,
        pytest.param(LOGISTIC, marks=pytest.mark.slow),
        pytest.param({**SIGN, "direction": "spikes"}, marks=pytest.mark.slow),
        FLIPPED,
    ],
)
def test_exact_and_sampled_errors_agree(teacher, rich_source):
    """|difference| ≤ 4 standard errors of the paired trials; labels without flips differ."""
    problem = small(teacher=teacher, data=rich_source, readout__ridge=0.1)
    exact = simulate(problem, MODELS, trials=24).metrics["test_mse"]
    sampled = problem.replace(test="sampled", test_samples=2000)
    drawn = simulate(sampled, MODELS, trials=24).metrics["test_mse"]
    difference = (exact - drawn)[:, :, 0]
    error = 4 * difference.std(axis=0, ddof=1) / np.sqrt(24)
    assert np.all(np.abs(difference.mean(axis=0)) < error)
    assert np.all(np.abs(difference.mean(axis=0) + 0.1) > error)  # the control


@pytest.mark.parametrize(
    ("teacher", "other"),
    [(SIGN, {"flips": 0.4}), (LOGISTIC, {"slope": 0.2}), (FLIPPED, {"flips": 0.0})],
)
def test_theory_of_the_square_loss_holds(teacher, other):
    """Within 4 standard errors and 4/n, the size of corrections that theory leaves out."""
    problem = small(
        dimension=120,
        teacher=teacher,
        data__components=[{"weight": 0.5, "mean": 0.3 * np.ones(120)}, {"weight": 0.5}],
        readout={"samples": 500, "ridge": 1e-2},
        network={"width": 100, "activation": "tanh"},
    )
    trained = simulate(problem, "network", trials=24).estimate()
    changed = problem.replace(teacher={**teacher, **other})
    theory, control = (predict(p, draws=3).estimate() for p in (problem, changed))
    error = 4 * np.hypot(trained.stderr, theory.stderr)[0, 0] + 4 / 120
    assert abs(trained.mean[0, 0] - theory.mean[0, 0]) < error
    assert abs(trained.mean[0, 0] - control.mean[0, 0]) > error


def test_steps_rows_and_sweeps_know_the_teachers(rows, tmp_path):
    steps = simulate(small_steps(teacher=SIGN, training__subtract="linear"), trials=1)
    assert steps.metrics["train_misclassification"].shape[2] == 4
    real = Problem(
        data=EmpiricalData(*rows),
        teacher=LOGISTIC,
        readout={"samples": 40, "loss": "logistic", "ridge": 0.1},
        test_samples=40,
        network={"width": 12},
    )
    assert set(simulate(real, ["network", "linear"], trials=1).metrics) >= RATES
    sweep = Sweep(
        problem=small(teacher=SIGN),
        axes={"teacher.flips": [0.0, 0.3]},
        models=["network"],
        trials=2,
    )
    frame = run_sweep(sweep, tmp_path).to_frame()
    assert set(frame["metric"]) >= RATES
    assert set(frame["teacher.flips"]) == {0.0, 0.3}


def test_what_cannot_be_counted_is_left_out(monkeypatch):
    """A batch too large to hold has sums alone."""
    problem = small(teacher=SIGN)
    for place in (batches, problem_readout):
        monkeypatch.setattr(place, "HELD_BYTES", 64.0)
    network = run_trial(problem, resolve_models(problem, ["network"]))["network"]
    assert "misclassification" in network
    assert "train_misclassification" not in network


def test_refusals_are_one_line():
    with pytest.raises(InvalidInput, match="without noise or subtraction; use --task"):
        small(teacher=SIGN, readout__loss="logistic", training__subtract="mean")
