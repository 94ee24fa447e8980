"""Equivalence: decay with n, the reason for a worse degree, metrics, what it prints."""

import json

import numpy as np
import pytest

from conftest import small
from onegrad import Equivalence, InvalidInput, Problem, equivalence, predict

SIGNS = {"teacher": {"kind": "labels"}, "readout": {"samples": 60, "ridge": 1e-2}}


def spiked(dimension=120, **changes):
    """Return a problem at (β, α) = (1, 0), where a neuron's deviation is up to three times b."""
    problem = Problem(
        dimension=dimension,
        readout={"samples": dimension},
        scaling={"strength": 1.0, "weighting": 0.0},
    )
    return problem.replace(**changes)


@pytest.fixture(scope="module")
def decaying():
    return equivalence(Problem(dimension=80, readout={"samples": 80}), [2, 3], dimensions=[40, 160])


def test_gaps_in_every_dimension_are_those_of_the_resized_problems(decaying):
    assert [size.dimension for size in decaying.sizes] == [40, 160]
    assert decaying.dimension == 160
    for size in decaying.sizes:
        n = size.dimension
        alone = equivalence(Problem(dimension=n, readout={"samples": n}), [2, 3])
        assert size.gaps == alone.gaps
        assert size.errors.problem.width == n
    assert decaying.gaps == decaying.sizes[-1].gaps


def test_the_gap_of_relu_s_degree_2_decays_like_1_over_n(decaying):
    fit = decaying.decay[0]
    # Neurons' norms deviate from b² by O(1/n) in the mean: 1, within four standard errors.
    assert abs(fit.exponent - 1) < 4 * fit.stderr
    by_hand = -np.log(decaying.sizes[1].gaps[0] / decaying.sizes[0].gaps[0]) / np.log(4)
    assert fit.exponent == pytest.approx(by_hand)


def test_results_are_a_table_plain_values_and_a_short_text(decaying):
    frame = decaying.to_frame()
    assert list(frame.columns[:5]) == ["dimension", "degree", "gap", "stderr", "matches"]
    assert frame.dimension.tolist() == [40, 40, 160, 160]
    plain = json.loads(json.dumps(decaying.to_dict(), allow_nan=False))
    assert [size["dimension"] for size in plain["dimensions"]] == [40, 160]
    assert plain["decay"][0]["exponent"] == decaying.decay[0].exponent
    assert "gap, n = 160" in repr(decaying)
    assert "decay" in repr(decaying)
    assert len(repr(decaying).splitlines()) < 8
    single = decaying.sizes[0]
    assert isinstance(single, Equivalence)
    assert "dimensions" not in single.to_dict()
    assert "scale_error" in single.to_frame()


def test_where_nothing_is_fitted_the_text_says_why():
    """σ of degree 2: the gap of degree 3 is rounding."""
    problem = small(network__activation="hermite:2")
    fitted = equivalence(problem, [3], dimensions=[20, 40], draws=2)
    assert fitted.decay[0].exponent is None
    assert "degree 3: no usable point" in repr(fitted)
    assert "NaN" not in json.dumps(fitted.to_dict())


@pytest.mark.filterwarnings("ignore:strength=1")
def test_a_higher_degree_that_is_worse_comes_with_its_reason():
    found = equivalence(spiked(), [1, 2, 4], draws=4)
    gap = dict(zip(found.degrees, found.gaps, strict=True))
    assert gap[4] > 1.2 * gap[2]
    low, high = (found.scale.misfits[place].scale_error for place in (1, 2))
    assert high > 5 * low
    assert found.reason.startswith("degree 4 has a larger gap than degree 2: ")
    assert f"degree 4 is off by {high:.2g} of σ's power, degree 2 by {low:.2g}" in found.reason
    assert found.reason in " ".join(repr(found).split())
    assert found.to_dict()["reason"] == found.reason


def test_too_much_power_beyond_degree_1_is_the_reason_where_the_polynomial_is_closer():
    """tanh with weak spikes: degree 3 is closer to tanh than 1, its cubic part is too strong."""
    problem = Problem(
        dimension=200,
        readout={"samples": 600},
        network={"width": 200, "activation": "tanh"},
        teacher={"noise": 0.2},
    )
    found = equivalence(problem, [1, 3, 5])
    low, high, highest = found.scale.misfits
    assert high.scale_error < low.scale_error
    assert abs(high.nonlinear_power - 1) > abs(low.nonlinear_power - 1)
    assert abs(highest.nonlinear_power - 1) < 0.03
    assert "degree 3 has a larger gap than degree 1" in found.reason
    assert f"degree 3 has {high.nonlinear_power:.3f} of the network's power" in found.reason


def test_where_gaps_fall_with_the_degree_there_is_no_reason():
    problem = Problem(dimension=150, readout={"samples": 150})
    found = equivalence(problem, [2, 4])
    assert abs(found.gaps[1]) < 0.5 * abs(found.gaps[0])
    assert found.reason is None
    assert "larger gap" not in repr(found)


@pytest.mark.parametrize("metric", ["test_mse", "misclassification", "test_loss"])
def test_the_gap_of_any_metric_is_that_of_the_predictions(metric):
    problem = small(**SIGNS, network={"width": 30}, scaling__weighting=0.0)
    problem = problem.replace(readout__loss="logistic")
    found = equivalence(problem, [1, 2], metric=metric, method="types", draws=2)
    names = ["network", "hermite:1", "hermite:2"]
    gap = predict(problem, names, method="types", draws=2).gap(metric)
    assert found.gaps == pytest.approx(gap.mean[1:, 0])
    assert found.metric == metric
    assert metric in repr(found)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: equivalence(small(), dimensions=[80]), "dimensions=.80.: must be a list of at"),
        (lambda: equivalence(small(), dimensions=80), "dimensions=80"),
        (lambda: equivalence(small(), dimensions=[40, 1.5]), "dimensions=1.5"),
        (lambda: equivalence(small(), dimensions=[40, 40]), "at least two"),
        (lambda: equivalence(small(), metric="train_mse"), "must be one of test_mse, "),
        (lambda: equivalence(small(), metric="misclassification", method="types"), "labels of"),
        (lambda: equivalence(small(), metric="test_loss", method="types"), "name another loss"),
        (lambda: equivalence(small(), method="single"), "must be types or closed or auto"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(call, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_progress_runs_over_all_dimensions():
    seen = []
    equivalence(
        small(), [1], dimensions=[20, 40], draws=2, progress=lambda *part: seen.append(part)
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
