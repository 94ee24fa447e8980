"""Losses: every registered one conforms, texts, refusals, one's own here and in workers."""

import pickle

import numpy as np
import pytest

from onegrad import InvalidInput
from onegrad.calculus.losses import (
    LOSSES,
    get_loss,
    logistic_prox,
    loss_name,
    register_loss,
)
from onegrad.describe.registry import adopt, snapshot
from own_losses import Exponential, PlainLogistic, Quantile

OWN = {"exponential": Exponential, "quantile": Quantile, "plain_logistic": PlainLogistic}
BUILT_IN = ["square", "logistic", "squared_hinge", "hinge", "huber", "huber:0.3"]
every_loss = pytest.mark.parametrize("text", [*BUILT_IN, *OWN, "quantile:0.9"])


@pytest.fixture(autouse=True)
def own_losses(monkeypatch):
    """Register the losses above, and forget them afterwards."""
    monkeypatch.setattr(LOSSES, "entries", dict(LOSSES.entries))
    for name, make in OWN.items():
        register_loss(name, make, argument="LEVEL" if name == "quantile" else None)


def points(loss, *, away=1e-3):
    """Return labels, outputs and reaches, none of them near a corner or a kink."""
    rng = np.random.default_rng(5)
    y = rng.choice([-1.0, 1.0], 4000) if loss.needs_signs else rng.standard_normal(4000)
    u = y + rng.standard_normal(4000) * rng.choice([0.3, 3.0], 4000)
    gamma = np.exp(rng.uniform(np.log(1e-2), np.log(1e2), 4000))
    places = [*loss.corners(y), *loss.kinks(y, gamma)]
    keep = np.all([np.abs(u - p) > away for p in places], axis=0) if places else np.full(4000, True)
    assert np.mean(keep) > 0.9
    return y[keep], u[keep], gamma[keep]


@every_loss
def test_the_derivative_is_the_slope_of_the_value(text):
    loss = get_loss(text)
    y, u, _ = points(loss)
    slope = (loss.value(y, u + 1e-6) - loss.value(y, u - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.derivative(y, u), slope, rtol=1e-6, atol=1e-8)


@every_loss
def test_the_curvature_is_the_slope_of_the_derivative_and_never_negative(text):
    loss = get_loss(text)
    y, u, _ = points(loss)
    slope = (loss.derivative(y, u + 1e-6) - loss.derivative(y, u - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.curvature(y, u), slope, rtol=1e-5, atol=1e-7)
    assert np.all(loss.curvature(y, u) >= 0)


@every_loss
def test_a_loss_is_convex(text):
    loss = get_loss(text)
    y, u, _ = points(loss)
    other = u[::-1]
    middle = loss.value(y, (u + other) / 2)
    chord = (loss.value(y, u) + loss.value(y, other)) / 2
    assert np.all(middle <= chord * (1 + 1e-12) + 1e-12)


@every_loss
def test_no_point_is_better_than_the_proximal_point(text):
    loss = get_loss(text)
    y, u, gamma = points(loss)
    x = loss.prox(y, u, gamma)

    def cost(at):
        return loss.value(y, at) + (at - u) ** 2 / (2 * gamma)

    for step in (-0.1, -1e-3, 1e-3, 0.1):
        # The cost curves by at least 1/γ, so that a step costs at least step²/(2γ).
        least = cost(x) + step**2 / (2 * gamma) * (1 - 1e-6)
        assert np.all(cost(x + step) >= least - 1e-9 * np.abs(cost(x)))


@every_loss
def test_the_response_is_the_slope_at_the_proximal_point_with_its_own_slope(text):
    loss = get_loss(text)
    y, u, gamma = points(loss)
    f, slope = loss.response(y, u, gamma)
    np.testing.assert_allclose(f, (u - loss.prox(y, u, gamma)) / gamma, rtol=1e-9, atol=1e-9)
    step = 1e-5
    after, before = (loss.response(y, u + s, gamma)[0] for s in (step, -step))
    np.testing.assert_allclose(slope, (after - before) / (2 * step), rtol=1e-5, atol=1e-8)


@every_loss
def test_f_bends_where_kinks_are_named_and_nowhere_else(text):
    loss = get_loss(text)
    gamma = 0.7
    for y in (-1.0, 1.0):
        kinks = sorted({round(float(kink), 9) for kink in loss.kinks(y, gamma)})
        grid = np.linspace(-6, 6, 24001)
        bends = np.abs(np.diff(loss.response(y, grid, gamma)[1])) > 0.02
        found = np.flatnonzero(bends)
        if not kinks:
            assert not len(found) or text == "exponential"
            continue
        assert all(np.min(np.abs(np.array(kinks) - grid[i])) < 1e-3 for i in found)
        assert all(np.min(np.abs(grid[found] - kink)) < 1e-3 for kink in kinks)


@every_loss
def test_a_loss_broadcasts_and_takes_no_reach_at_all(text):
    loss = get_loss(text)
    y, u, gamma = np.array([-1.0, 1.0])[:, None], np.linspace(-2, 2.2, 5), 0.3
    assert loss.prox(y, u, gamma).shape == loss.response(y, u, gamma)[1].shape == (2, 5)
    assert loss.value(1, 2).shape == loss.prox(1, 2, 0.5).shape == ()
    np.testing.assert_allclose(loss.prox(y, u, 0.0), np.broadcast_to(u, (2, 5)), atol=1e-13)
    np.testing.assert_allclose(loss.response(y, u, 0.0)[0], loss.derivative(y, u), atol=1e-12)
    assert pickle.loads(pickle.dumps(loss)).name == loss.name


@pytest.mark.parametrize("text", ["logistic", "exponential", "plain_logistic", "hinge"])
def test_far_outputs_and_long_reaches_neither_overflow_nor_fail(text):
    loss = get_loss(text)
    u, gamma = np.array([-2e3, -50.0, 0.0, 50.0, 2e3]), np.array([[1e-8], [1.0], [1e6]])
    for y in (-1.0, 1.0):
        x = loss.prox(y, u, gamma)
        assert np.all(np.isfinite(x))
        left = x + gamma * loss.response(y, u, gamma)[0] - u
        # x is known to 1e−14 of its size; ℓ' moves by γℓ'' times that.
        blur = 1 + gamma * loss.curvature(y, x)
        assert np.all(np.abs(left) <= 1e-12 * blur * (1 + np.abs(x) + np.abs(u)))


def test_newton_from_zero_solves_where_newton_from_u_cycles():
    gamma = np.array(100.0)
    x = logistic_prox(np.array(1.0), -gamma / 2, gamma)
    assert x == pytest.approx(0, abs=1e-12)
    t = -50.0  # negative control: from yu
    for _ in range(20):
        below = 1 / (1 + np.exp(t))
        t -= (t + 50 - 100 * below) / (1 + 100 * below * (1 - below))
    assert abs(t) > 10


def test_a_loss_given_by_value_and_derivative_alone_equals_its_formulas():
    y, u, gamma = points(get_loss("logistic"))
    own, built_in = get_loss("plain_logistic"), get_loss("logistic")
    np.testing.assert_allclose(own.prox(y, u, gamma), built_in.prox(y, u, gamma), atol=1e-12)
    for a, b in zip(own.response(y, u, gamma), built_in.response(y, u, gamma), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("square", "square"),
        (" Logistic ", "logistic"),
        ("huber", "huber:1"),
        ("Huber: 0.50", "huber:0.5"),
        ("quantile:0.9", "quantile:0.9"),
    ],
)
def test_a_loss_has_one_text(text, name):
    assert loss_name(text) == loss_name(name) == get_loss(text).name == name
    assert (LOSSES.mark(text) is None) == (not name.startswith("quantile"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("logistc", r"^loss='logistc': must be one of square, .*; did you mean 'logistic'"),
        ("hinge:2", r"^loss='hinge:2': must be one of "),
        ("huber:0", r"^loss='huber:0': DELTA must be .* greater than 0; write huber or huber:D"),
        ("huber:much", r"^loss='huber:much': DELTA must be"),
        ("quantile:a", r"^loss='quantile:a': could not .*; write quantile or quantile:LEVEL"),
        (3, r"^loss=3: must be one of square"),
    ],
)
def test_a_wrong_text_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        loss_name(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("hinge", Quantile, "name='hinge': is built in"),
        ("mine", lambda y, u: u - y, "make=.*: must be a class; pass one"),
        ("mine", dict, "must have value, derivative; add it"),
    ],
)
def test_what_cannot_be_registered_is_refused(name, make, message):
    with pytest.raises(InvalidInput, match=message):
        register_loss(name, make)


def test_another_process_adopts_losses():
    assert LOSSES.forms()[-4:] == ["exponential", "quantile", "quantile:LEVEL", "plain_logistic"]
    shipped = pickle.loads(pickle.dumps(snapshot()))
    mark = LOSSES.entries.pop("quantile").mark
    with pytest.raises(InvalidInput, match="must be one of"):
        get_loss("quantile")
    adopt(shipped)
    assert LOSSES.mark("quantile:0.2") == mark
    assert get_loss("quantile:0.2").loss.level == 0.2
