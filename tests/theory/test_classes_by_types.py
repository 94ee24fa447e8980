"""Theory of one output per class: against simulation, against one output, and what it refuses."""

import numpy as np
import pytest

from conftest import small
from onegrad import (
    EmpiricalData,
    InvalidInput,
    Problem,
    Sweep,
    predict,
    predict_curve,
    run_sweep,
    simulate,
    tune,
)

N, TRIALS = 100, 12
MODELS = ["network", "hermite"]


def three(size=2.5, **changes):
    """Return three components with means of this length, one with a spike, and classes −1, 0, 1."""
    means = np.random.default_rng(3).standard_normal((3, N))
    means *= size / np.linalg.norm(means, axis=1)[:, None]
    components = [
        {"weight": weight, "mean": mean, "label": label, "rank": rank}
        for weight, mean, label, rank in zip(
            (0.4, 0.35, 0.25), means, (-1.0, 0.0, 1.0), (1, 1, 0), strict=True
        )
    ]
    problem = Problem(
        dimension=N,
        network={"width": 90},
        readout={"samples": 140, "ridge": 1e-2, "outputs": "classes"},
        data={"components": components},
        teacher={"kind": "labels"},
        scaling={"strength": 0.5, "weighting": 0.5},
        test_samples=4000,
    )
    return problem.replace(**changes)


def two(**changes):
    """Return two components with opposite means and labels ±1."""
    mean = np.random.default_rng(0).standard_normal(40)
    mean *= 1.5 / np.linalg.norm(mean)
    parts = [{"weight": w, "mean": s * mean, "label": s} for w, s in ((0.6, 1.0), (0.4, -1.0))]
    how = {"data": {"components": parts}, "teacher": {"kind": "labels"}, "readout__ridge": 1e-2}
    return small(**how).replace(**changes)


def agree(predicted, simulated, near=0.05):
    """Assert that paired means differ by no more than this share and four standard errors."""
    for name, theirs in simulated.items():
        apart = (predicted[name] - theirs)[..., 0]
        error = 4 * apart.std(axis=0, ddof=1) / np.sqrt(TRIALS)
        scale = theirs.mean(axis=0)[:, 0]
        assert np.all(np.abs(apart.mean(axis=0)) < near * scale + error), name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param({"data__counts": "sampled"}, marks=pytest.mark.slow),
        {"teacher__noise": 0.5, "readout__ridge": 1e-3},
    ],
)
def test_three_classes_are_those_of_simulation(changes):
    """Five per cent beside four standard errors: finite size moves rates by about 1/√(nm)."""
    problem = three(**changes)
    simulated = simulate(problem, MODELS, trials=TRIALS).metrics
    predicted = predict(problem, MODELS, draws=TRIALS).metrics
    assert set(predicted) == {*simulated, "theory_error"}
    agree(predicted, simulated)
    # The control: means a fifth shorter would be seen.
    other = predict(three(size=2.0, **changes), "network", draws=TRIALS).metrics
    apart = (other["misclassification"] - simulated["misclassification"])[:, 0, 0]
    error = 4 * apart.std(ddof=1) / np.sqrt(TRIALS)
    assert apart.mean() > 0.05 * simulated["misclassification"][:, 0].mean() + error


def give_each_type_a_covariance(monkeypatch):
    monkeypatch.setattr("onegrad.theory.model_types.LARGEST_UNEVENNESS", -1.0)


@pytest.mark.parametrize("own", [False, True])
def test_two_classes_are_one_output_and_its_negative(own, monkeypatch):
    if own:
        give_each_type_a_covariance(monkeypatch)
    one = predict(two(), MODELS, draws=2).metrics
    both = predict(two(readout__outputs="classes"), MODELS, draws=2).metrics
    for name, values in one.items():
        assert both[name] == pytest.approx(values, rel=1e-6), name


def many_spikes(problem, rank):
    """Return the problem with so many spikes in every component: components are the types."""
    parts = [{**part.model_dump(), "rank": rank} for part in problem.data.components]
    return problem.replace(data={"components": parts})


def test_many_spikes_are_averaged_over_points():
    problem = many_spikes(three(), 8)
    simulated = simulate(problem, MODELS, trials=TRIALS).metrics
    predicted = predict(problem, MODELS, draws=TRIALS).metrics
    agree(predicted, simulated)
    one = predict(many_spikes(two(), 8), MODELS, draws=1).metrics
    both = predict(many_spikes(two(readout__outputs="classes"), 8), MODELS, draws=1).metrics
    for name, values in one.items():
        assert both[name] == pytest.approx(values, rel=1e-6), name


def test_rows_of_three_classes_are_predicted():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 300)
    x = rng.standard_normal((900, 20)) + 2 * np.eye(20)[y]
    problem = Problem(
        data=EmpiricalData(
            x, y, classes="0,1,2", targets=[0, 1, 2], centring="none", noise=0.1, fit_share=0.5
        ),
        readout={"samples": 90, "ridge": 1e-2, "outputs": "classes"},
        training={"samples": 60},
        network={"width": 40},
        test_samples=240,
    )
    agree(
        predict(problem, "network", draws=TRIALS).metrics,
        simulate(problem, "network", trials=TRIALS).metrics,
        near=0.1,  # of a mixture fitted to 150 rows of each class
    )


def test_a_covariance_for_each_type_tells_three_classes_too(monkeypatch):
    shared = predict(three(), "network", draws=1).metrics["misclassification"]
    give_each_type_a_covariance(monkeypatch)
    own = predict(three(), "network", draws=1).metrics["misclassification"]
    assert not np.array_equal(own, shared)
    assert own == pytest.approx(shared, rel=0.02)


def test_components_of_one_class_are_one_class():
    """A component cut in two of the same label changes nothing but the rounding of counts."""
    still = {"learning_rate": 0.0, "spread": 1.0}
    problem = two(readout__outputs="classes", scaling=still)
    parts = [{**part.model_dump(), "rank": 0} for part in problem.data.components]
    half = {**parts[0], "weight": 0.3}
    whole, cut = (
        predict(
            problem.replace(data={"components": given, "counts": "sampled"}), "network", draws=1
        )
        for given in (parts, [half, half, parts[1]])
    )
    for name in ("test_mse", "misclassification", "train_misclassification"):
        assert cut.metrics[name] == pytest.approx(whole.metrics[name], rel=1e-6)


def test_curves_and_sweeps_have_the_points_that_predict_has(tmp_path):
    problem = two(readout__outputs="classes")
    curve = predict_curve(problem, samples=[30, 50], ridge=[1e-2, 0.1], models="network", draws=1)
    alone = predict(problem, "network", draws=1).metrics["misclassification"]
    assert curve.metrics["misclassification"].shape == (1, 1, 2, 2)
    assert curve.metrics["misclassification"][:, 0, 1, 0] == pytest.approx(alone[:, 0, 0])
    axes = {"readout.outputs": ["one", "classes"], "readout.ridge": [1e-2, 0.1]}
    sweep = Sweep(problem=two(), axes=axes, models=["network"], verbs=["predict"], draws=1)
    frame = run_sweep(sweep, tmp_path / "runs").to_frame()
    rates = frame[(frame["metric"] == "misclassification") & (frame["ridge"] == 1e-2)]
    assert set(rates["readout.outputs"]) == {"one", "classes"}
    assert rates["mean"].to_numpy() == pytest.approx(alone[0, 0, 0], rel=1e-6)


def test_settings_are_chosen_by_the_rate_of_classes():
    tuned = tune(two(readout__outputs="classes"), "ridge", metric="misclassification", draws=1)
    rate = predict(tuned.problem, "network", draws=1).metrics["misclassification"]
    assert tuned.best == pytest.approx(rate[0, 0, 0], rel=1e-6)
    worse = predict(two(readout__outputs="classes"), "network", draws=1).metrics
    assert worse["misclassification"][0, 0, 0] > 1.01 * tuned.best


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"readout__loss": "logistic"}, "outputs per class of the square loss alone"),
        ({"teacher__flips": 0.1}, "classes without teacher.flips alone"),
    ],
)
def test_what_theory_does_not_know_of_classes_is_refused_in_one_line(changes, why):
    with pytest.raises(InvalidInput, match=why) as caught:
        predict(two(readout__outputs="classes", **changes), "network")
    assert "\n" not in str(caught.value)
