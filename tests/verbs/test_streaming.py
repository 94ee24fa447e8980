"""Batches too large to hold: drawn in blocks, they give the numbers of those that are held."""

import numpy as np
import pytest

from conftest import small, small_steps
from onegrad import EmpiricalData, Problem, take_steps
from onegrad.core import batches, conditional, problem_readout
from onegrad.core.instance import draw
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.data import mixture

MODELS = ("network", "untrained", "linear", "hermite", "hermite:2", "conditional")


@pytest.fixture
def stream(monkeypatch):
    """Return what makes every batch be drawn in blocks of at most 16 rows, and notes readouts."""
    monkeypatch.setattr(batches, "BLOCK_ROWS", 16)
    for place in (mixture, conditional):
        monkeypatch.setattr(place, "GRANULE", 12)

    def patch():
        fitted = []
        original = problem_readout.readouts_from_sums

        def noted(*given, **named):
            fitted.append("streamed")
            return original(*given, **named)

        for place in (batches, problem_readout):
            monkeypatch.setattr(place, "HELD_BYTES", 64.0)
        monkeypatch.setattr(problem_readout, "readouts_from_sums", noted)
        return fitted

    return patch


def is_the_same_streamed(problem, models, stream):
    """Compare every metric of every model, step and penalty, but for what counts samples."""
    resolved = resolve_models(problem, models)
    held = run_trial(problem, resolved, seed=3, trial=1)
    fitted = stream()
    streamed = run_trial(problem, resolved, seed=3, trial=1)
    # An untrained readout is fitted once where labels and batch stay.
    assert len(fitted) >= len(problem.recorded_steps)
    for model in resolved:
        held[model.name].pop("train_misclassification", None)
        assert held[model.name].keys() == streamed[model.name].keys()
        for metric, values in held[model.name].items():
            assert streamed[model.name][metric] == pytest.approx(values, rel=1e-9), model.name
    other = run_trial(problem, resolved, seed=3, trial=2)
    assert other["network"]["test_mse"] != pytest.approx(held["network"]["test_mse"], rel=1e-3)


@pytest.mark.parametrize(
    ("rule", "readout"),
    [
        ("gradient", "fresh"),
        ("gradient", "same"),
        ("sign", "fresh"),
        ("polar", "same"),
        ("whitened", "fresh"),
    ],
)
def test_every_model_and_rule_on_a_mixture(rich_source, rule, readout, stream):
    problem = small(
        data=rich_source,
        training={"steps": 2, "samples": 75, "rule": rule, "momentum": 0.3, "subtract": "linear"},
        readout={"batch": readout, "ridge": (1e-2, 1.0)},
        scaling={"change_exponent": 0.1, "spread": 2.0},
        teacher={"noise": 0.2},
    )
    # A polar change has equal singular values: no direction leads, and rounding chooses one.
    models = MODELS[:-1] if rule == "polar" else MODELS
    is_the_same_streamed(problem, models, stream)


@pytest.mark.parametrize(
    ("rule", "subtract"), [("gradient", "none"), ("gradient", "moments"), ("whitened", "mean")]
)
def test_every_model_on_class_labels(rich_source, rule, subtract, stream):
    problem = small(
        data=rich_source,
        training={"steps": 2, "samples": 75, "rule": rule, "subtract": subtract},
        readout={"samples": 50, "ridge": 1e-2},
        scaling={"learning_rate": 5.0, "spread": 2.0},
        teacher={"kind": "labels"},
    )
    is_the_same_streamed(problem, MODELS, stream)


@pytest.mark.parametrize("ridge", [1e-2, (1e-2, 1.0)])
def test_every_model_with_an_output_per_class(rich_source, ridge, stream):
    problem = small(
        data=rich_source.replace(components__2__label=0.5),
        readout={"samples": 70, "ridge": ridge, "outputs": "classes"},
        teacher={"kind": "labels"},
    )
    is_the_same_streamed(problem, MODELS, stream)


@pytest.mark.parametrize("rule", ["gradient", "sign", "polar", "whitened"])
def test_every_model_and_rule_on_rows(rows, rule, stream):
    problem = Problem(
        data=EmpiricalData(*rows, fit={"components_per_class": 2, "rank": 2}),
        training={"steps": 2, "samples": 35, "rule": rule},
        readout={"samples": 40, "ridge": 1e-2},
        scaling={"change_exponent": 0.1, "spread": 10.0},
        test_samples=40,
        network={"width": 12},
    )
    is_the_same_streamed(problem, ("network", "untrained", "linear", "hermite"), stream)


def test_sampled_counts_and_reused_batches(rich_source, stream):
    problem = small(
        data=rich_source.replace(counts="sampled"),
        training={"steps": 2, "samples": 75, "batches": "reused"},
        readout={"samples": 50, "ridge": 1e-2},
        scaling={"learning_rate": 5.0, "spread": 2.0},
        test="sampled",
    )
    is_the_same_streamed(problem, ("network", "linear"), stream)


@pytest.mark.parametrize("source", ["mixture", "rows", "numbers"])
def test_blocks_are_the_rows_of_the_whole_batch(rich_source, rows, source, monkeypatch):
    problem = small(data=rich_source, teacher={"noise": 0.3})
    if source != "mixture":
        data = EmpiricalData(*rows)
        if source == "numbers":
            data = EmpiricalData(rows[0], rows[0].sum(axis=1), response="number", parts=2)
        problem = Problem(data=data, readout={"samples": 50}, test_samples=20)
    monkeypatch.setattr(mixture, "GRANULE", 12)
    drawn = draw(problem).step_draw(1)
    whole = drawn.whole()
    monkeypatch.setattr(batches, "BLOCK_ROWS", 16)
    for blocks in (list(drawn.blocks()), list(drawn.granules())):
        for name in ("inputs", "labels"):
            parts = np.concatenate([getattr(block, name) for block in blocks])
            assert np.array_equal(parts, getattr(whole, name))
        assert np.array_equal(np.sum([block.counts for block in blocks], axis=0), whole.counts)
    assert {len(block.labels) for block in list(drawn.blocks())[:-1]} == {16}


def test_what_is_observed_is_the_same_streamed(stream):
    problem = small_steps(training__subtract="linear")
    held = take_steps(problem).to_frame()
    stream()
    streamed = take_steps(problem).to_frame()
    assert streamed.to_numpy(float) == pytest.approx(held.to_numpy(float), rel=1e-7, nan_ok=True)
