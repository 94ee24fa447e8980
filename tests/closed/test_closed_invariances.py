"""What must not change a prediction without draws: order, splits, units, company of points."""

import numpy as np
import pytest

from onegrad import Problem, predict, predict_curve

MODELS = ["network", "hermite:3", "linear", "untrained"]
RATE = 20.0
MEANS = {"labels": 0.5, "spikes": 0.0, "random": 0.0}  # means cost nodes
TEACHERS = {
    "labels": {"kind": "labels"},
    "spikes": {"direction": "spikes"},
    "random": {"direction": "random"},
}


def problem(**changes):
    base = Problem(
        dimension=200,
        readout={"samples": 150, "ridge": 1e-2},
        network={"width": 120, "activation": "tanh"},
        scaling={"learning_rate": RATE, "spread": 8.0},
    )
    return base.replace(**changes)


def metrics(described, models=MODELS):
    found = predict(described, models, method="closed").metrics
    return {name: values[0, :, 0] for name, values in found.items()}


def assert_same(one, other, tolerance):
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, rtol=tolerance, err_msg=name)


def parts(*components, **fields):
    return {"components": list(components), **fields}


@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize("counts", ["sampled", "exact"])
def test_a_component_split_in_halves_is_one_component(teacher, counts):
    """Halves have the same spikes; labels by component are then the same for both kinds of counts.

    Components share a number of nodes, so that three have fewer each: 1e−3.
    """
    plus, minus = {"label": 1.0, "mean": 0.5}, {"weight": 0.4, "label": -1.0, "mean": -0.5}
    whole = parts({"weight": 0.6, **plus}, minus, alignment=1.0, counts=counts)
    half = {"weight": 0.3, **plus}
    halves = parts(half, half, minus, alignment=1.0, counts=counts)
    one, other = (metrics(problem(data=d, teacher=TEACHERS[teacher])) for d in (whole, halves))
    assert_same(one, other, 1e-3)


@pytest.mark.parametrize("teacher", TEACHERS)
def test_the_order_of_components_does_not_matter(teacher):
    first = {"weight": 0.6, "label": 1.0, "level": 0.7}
    second = {"weight": 0.4, "label": -1.0, "strengths": 0.5}
    one, other = (
        metrics(problem(data=parts(*order), teacher=TEACHERS[teacher]))
        for order in ((first, second), (second, first))
    )
    assert_same(one, other, 1e-6)


def test_a_component_of_no_weight_is_none():
    own = {"label": 1.0, "mean": 0.5, "weight": 1.0}
    nobody = {"weight": 0.0, "label": -1.0, "level": 9.0, "mean": 7.0, "rank": 3}
    teacher = {"kind": "labels", "noise": 0.3}
    one, other = (
        metrics(problem(data=data, teacher=teacher), ["untrained"])
        for data in (parts(own), parts(own, nobody))
    )
    assert_same(one, other, 1e-9)


@pytest.mark.parametrize("teacher", TEACHERS)
def test_units_of_inputs_do_not_matter(teacher):
    """Inputs times c, F and ξ over c, η over c²: every pre-activation and label stays."""
    c = 1.7
    first = {"weight": 0.6, "label": 1.0, "level": 0.7, "mean": MEANS[teacher], "strengths": 1.0}
    second = {"weight": 0.4, "label": -1.0, "level": 1.0, "mean": 0.0, "strengths": 0.8}
    larger = [
        {
            **part,
            "level": c**2 * part["level"],
            "mean": c * part["mean"],
            "strengths": c**2 * part["strengths"],
        }
        for part in (first, second)
    ]
    small = problem(data=parts(first, second), teacher=TEACHERS[teacher])
    large = problem(data=parts(*larger), teacher=TEACHERS[teacher])
    one = metrics(small, ["network"])
    slower = large.replace(scaling__learning_rate=RATE / c**2)
    assert_same(one, metrics(slower, ["network"]), 1e-9)
    # Negative control: the same η is another step.
    assert abs(metrics(large, ["network"])["test_mse"][0] / one["test_mse"][0] - 1) > 1e-3


@pytest.mark.parametrize("teacher", TEACHERS)
def test_signs_of_labels_do_not_matter(teacher):
    """Odd σ and link: all labels times −1 are the same problem."""
    components = [{"weight": 0.6, "label": 1.0}, {"weight": 0.4, "label": -1.0, "level": 0.6}]
    one = problem(data=parts(*components), teacher=TEACHERS[teacher])
    if teacher == "labels":
        turned = [{**part, "label": -part["label"]} for part in components]
        other = one.replace(data=parts(*turned))
    else:
        one = one.replace(teacher__link="tanh")
        other = one.replace(teacher__link="-tanh(z)")
    assert_same(metrics(one), metrics(other), 1e-5)


def test_labels_times_a_number_multiply_errors_by_its_square_without_a_step():
    """The untrained readout is linear in labels, noise included."""
    components = [{"weight": 0.6, "label": 1.0}, {"weight": 0.4, "label": -0.5}]
    once = problem(data=parts(*components), teacher={"kind": "labels", "noise": 0.2})
    thrice = problem(
        data=parts(*({**part, "label": 3 * part["label"]} for part in components)),
        teacher={"kind": "labels", "noise": 0.6},
    )
    small, large = metrics(once, ["untrained"]), metrics(thrice, ["untrained"])
    for name in ("test_mse", "train_mse", "objective", "squared_weight_norm"):
        assert large[name][0] == pytest.approx(9 * small[name][0], rel=1e-6)


@pytest.mark.parametrize("teacher", TEACHERS)
def test_a_learning_rate_of_zero_is_the_untrained_network(teacher):
    still = problem(teacher=TEACHERS[teacher], scaling__learning_rate=0.0)
    found = metrics(still, ["network", "untrained"])
    for name, values in found.items():
        assert values[0] == values[1], name
    moving = metrics(problem(teacher=TEACHERS[teacher]), ["network", "untrained"])
    assert moving["test_mse"][0] != pytest.approx(moving["test_mse"][1], rel=1e-4)


def test_a_vanishing_step_tends_to_the_untrained_network():
    found = metrics(problem(scaling__learning_rate=1e-4), ["network", "untrained"])
    for name in ("test_mse", "train_mse", "squared_weight_norm"):
        assert found[name][0] == pytest.approx(found[name][1], rel=1e-5)


@pytest.mark.parametrize("activation", ["u + u**2/4", "u + u**3/6"])
@pytest.mark.parametrize("rate", [1.0, 50.0])
def test_a_polynomial_is_its_own_hermite_model(activation, rate):
    described = problem(network__activation=activation, scaling__learning_rate=rate)
    degrees = ["network", "hermite:3", "hermite:4", "linear"]
    found = metrics(described, degrees)
    for name, values in found.items():
        np.testing.assert_allclose(values[1:3], values[0], rtol=1e-5, err_msg=name)
    assert abs(found["test_mse"][3] / found["test_mse"][0] - 1) > 1e-4  # degree 1 is too low


def test_a_linear_network_is_its_linear_model_and_has_no_noise_of_its_own():
    """Up to 1e−5: expectations of a formula have six digits."""
    described = problem(network__activation="u", teacher={"direction": "spikes"})
    found = metrics(described, ["network", "linear", "hermite:2"])
    for name, values in found.items():
        np.testing.assert_allclose(values[1:], values[0], rtol=1e-4, err_msg=name)


def test_a_point_of_a_curve_is_the_point_alone(monkeypatch):
    described = problem(training__samples=180)
    samples, ridges, models = [60, 700], [1e-4, 1.0], ["network", "untrained"]

    def curve():
        return predict_curve(
            described, samples=samples, ridge=ridges, models=models, method="closed"
        ).metrics

    together = curve()
    for i, m in enumerate(samples):
        for j, ridge in enumerate(ridges):
            point = described.replace(readout__samples=m, readout__ridge=ridge)
            for name, values in metrics(point, models).items():
                np.testing.assert_allclose(together[name][0, :, i, j], values, rtol=1e-6)
    monkeypatch.setattr("onegrad.closed.solve.MOST_ENTRIES", 1)
    for name, values in curve().items():  # solved in batches of one
        np.testing.assert_allclose(values, together[name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("teacher", TEACHERS)
def test_more_samples_and_less_noise_have_smaller_errors_at_the_best_ridge(teacher):
    described = problem(teacher={**TEACHERS[teacher], "noise": 0.3}, training__samples=180)
    ridges = list(np.geomspace(1e-5, 10, 13))
    curve = predict_curve(
        described, samples=[60, 150, 700], ridge=ridges, models=["network"], method="closed"
    )
    best = curve.metrics["test_mse"][0, 0].min(axis=1)
    assert np.all(np.diff(best) < 0)
    clean = predict_curve(
        described.replace(teacher__noise=0.0, readout__ridge=tuple(ridges)),
        models=["network"],
        method="closed",
    )
    assert clean.metrics["test_mse"].min() < best[1]


def test_no_size_is_too_large():
    """Nothing grows with n, k or m: a hundred million neurons are as quick as a hundred."""
    described = problem(
        dimension=10**7,
        network__width=10**8,
        readout__samples=10**7,
        training__samples=10**7,
        scaling={"strength": 0.7, "weighting": 0.5},
    )
    found = metrics(described)
    assert np.all(np.isfinite(found["test_mse"]))
    assert np.all(found["train_mse"] < found["test_mse"])
