"""Update rules: textbook directions, refusals, one's own rule here and in workers, momentum."""

import os
import pickle

import numpy as np
import pytest
from scipy.linalg import polar as textbook_polar

from onegrad import InvalidInput, stages
from onegrad.calculus import functions
from onegrad.calculus.rules import (
    RULES,
    Whitened,
    get_rule,
    register_rule,
    rule_name,
    with_momentum,
)
from onegrad.core.instance import Layers
from onegrad.describe.registry import adopt, snapshot
from onegrad.machine.cost import Stage
from onegrad.machine.pool import run_jobs

# Width, dimension, samples: wide, narrow, square, and fewer samples than both, where G has rank N.
SIZES = [(6, 9, 40), (9, 6, 40), (7, 7, 40), (12, 10, 4), (10, 12, 4), (1, 5, 3), (5, 1, 3)]
sizes = pytest.mark.parametrize(("width", "dimension", "samples"), SIZES)


def batch(width, dimension, samples, *, dtype=np.float64):
    """Return the descent direction of a random batch, and its inputs."""
    rng = np.random.default_rng([width, dimension, samples])
    layers = Layers(
        rng.standard_normal((width, dimension)).astype(dtype), rng.standard_normal(width)
    )
    inputs = rng.standard_normal((samples, dimension)).astype(dtype)
    labels = rng.standard_normal(samples)
    direction = stages.gradient(layers, inputs, labels, activation=functions.get("tanh"))
    return direction, inputs


class Blocks:
    """Inputs in blocks of 3 rows, afresh on every call; counts the calls."""

    def __init__(self, inputs):
        self.inputs, self.calls = inputs, 0

    def __call__(self):
        self.calls += 1
        return (self.inputs[start : start + 3] for start in range(0, len(self.inputs), 3))


def unread():
    raise AssertionError("the inputs were read")


def direction(text, gradient, inputs=unread):
    return get_rule(text).direction(gradient, inputs)


@pytest.fixture
def own_rules(monkeypatch):
    """Forget afterwards what a test registers."""
    monkeypatch.setattr(RULES, "entries", dict(RULES.entries))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_rule_returns_the_gradient_itself(dtype):
    gradient, _ = batch(6, 9, 40, dtype=dtype)
    assert direction("gradient", gradient) is gradient


@sizes
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sign_rule_returns_signs_in_the_gradient_s_precision(width, dimension, samples, dtype):
    gradient, _ = batch(width, dimension, samples, dtype=dtype)
    gradient[0, 0] = 0
    signs = direction("sign", gradient)
    assert signs.dtype == dtype
    assert np.array_equal(signs, (gradient > 0).astype(float) - (gradient < 0))


@sizes
def test_the_polar_rule_is_g_times_the_inverse_root_of_its_gram_matrix(width, dimension, samples):
    gradient, _ = batch(width, dimension, samples)
    values, vectors = np.linalg.eigh(gradient.T @ gradient)
    rank = min(width, dimension, samples)
    values, vectors = values[-rank:], vectors[:, -rank:]
    expected = gradient @ (vectors / np.sqrt(values)) @ vectors.T
    # Eigenvalues of the Gram matrix know a singular value s to ε s_max²/s, relatively ε (s_max/s)².
    tolerance = 100 * np.finfo(float).eps * values.max() / values.min()
    factor = direction("polar", gradient)
    np.testing.assert_allclose(factor, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.linalg.svd(factor)[1][:rank], 1)
    assert np.linalg.norm(factor, 2) == pytest.approx(1, abs=1e-12)
    assert np.sum(factor * gradient) == pytest.approx(np.linalg.norm(gradient, "nuc"))


@pytest.mark.parametrize(("width", "dimension"), [(6, 9), (9, 6), (7, 7)])
def test_the_polar_rule_at_full_rank_is_the_factor_of_the_polar_decomposition(width, dimension):
    gradient, _ = batch(width, dimension, 40)
    np.testing.assert_allclose(direction("polar", gradient), textbook_polar(gradient)[0], atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_polar_rule_leaves_out_what_is_rounding_in_the_gradient_s_precision(dtype):
    gradient, _ = batch(60, 50, 4, dtype=dtype)  # rank 4, and 46 singular values of rounding
    factor = direction("polar", gradient)
    assert factor.dtype == dtype
    assert np.sum(factor.astype(float) ** 2) == pytest.approx(4, abs=1e-4)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_polar_rule_does_not_depend_on_the_gradient_s_size(scale):
    gradient, _ = batch(6, 9, 40)
    factor = direction("polar", gradient)
    np.testing.assert_allclose(direction("polar", scale * gradient), factor, atol=1e-12)


@sizes
@pytest.mark.parametrize(("text", "damping"), [("whitened", 0.1), ("whitened:2.5", 2.5)])
def test_the_whitened_rule_is_the_dense_formula(width, dimension, samples, text, damping):
    gradient, inputs = batch(width, dimension, samples)
    blocks = Blocks(inputs)
    covariance = inputs.T @ inputs / samples
    expected = gradient @ np.linalg.inv(covariance + damping * np.eye(dimension))
    np.testing.assert_allclose(direction(text, gradient, blocks), expected, rtol=1e-11, atol=1e-13)
    assert blocks.calls == 1


def test_the_whitened_rule_computes_in_double_and_returns_single():
    gradient, inputs = batch(6, 9, 4, dtype=np.float32)
    double = direction("whitened:1e-6", gradient.astype(float), Blocks(inputs.astype(float)))
    single = direction("whitened:1e-6", gradient, Blocks(inputs))
    assert single.dtype == np.float32
    assert np.array_equal(single, double.astype(np.float32))


def test_the_whitened_rule_ignores_invertible_changes_of_the_inputs_as_damping_goes():
    """F x is the same for F A⁻¹ and A x, and so is D X̃ᵀ where the covariance is not damped."""
    gradient, inputs = batch(6, 5, 40)
    change = np.random.default_rng(3).standard_normal((5, 5))
    before = direction("whitened:1e-9", gradient, Blocks(inputs)) @ inputs.T
    moved = inputs @ change.T
    after = direction("whitened:1e-9", gradient @ change.T, Blocks(moved)) @ moved.T
    np.testing.assert_allclose(after, before, atol=1e-5)
    plain = gradient @ change.T @ moved.T  # the control: the gradient's step does depend on A
    assert np.max(np.abs(plain - gradient @ inputs.T)) > 0.1


def test_only_the_whitened_rule_of_onegrad_s_reads_inputs():
    built_in = ("gradient", "sign", "polar", "whitened")
    assert [get_rule(name).needs_inputs for name in built_in] == [False, False, False, True]


@pytest.mark.parametrize("name", ["gradient", "sign", "polar", "whitened"])
def test_a_rule_leaves_the_gradient_alone_and_says_what_it_costs(name):
    gradient, inputs = batch(6, 9, 40)
    before = gradient.copy()
    direction(name, gradient, Blocks(inputs))
    assert np.array_equal(gradient, before)
    stages = get_rule(name).stages(6, 9, 40)
    assert all(stage.amount > 0 and stage.name for stage in stages)
    assert bool(stages) == (name != "gradient")
    assert pickle.loads(pickle.dumps(get_rule(name))).name == get_rule(name).name


def test_a_zero_gradient_has_no_orthogonal_factor():
    with pytest.raises(InvalidInput, match=r"^training.rule='polar': the gradient is zero, .*; ch"):
        direction("polar", np.zeros((3, 4)))
    assert not np.any(direction("sign", np.zeros((3, 4))))


@pytest.mark.parametrize("name", ["gradient", "sign", "polar", "whitened:0.1"])
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_is_refused(name, entry):
    gradient, inputs = batch(6, 9, 40)
    gradient[2, 3] = entry
    with pytest.raises(InvalidInput, match=f"^training.rule='{name}': the gradient is not finite;"):
        direction(name, gradient, Blocks(inputs))


def test_a_direction_that_is_not_finite_is_refused():
    gradient, inputs = batch(6, 9, 4, dtype=np.float32)
    huge = gradient * np.float32(1e38 / np.max(np.abs(gradient)))
    with pytest.raises(InvalidInput, match=r"^training.rule='whitened:0.001': its direction is no"):
        direction("whitened:1e-3", huge, Blocks(0.01 * inputs))


@pytest.mark.parametrize("size", [1e20, 1e200])
def test_a_damping_below_rounding_is_refused(size):
    gradient, inputs = batch(6, 9, 4)
    with pytest.raises(InvalidInput, match=r"^training.rule='whitened:0.1': .*; raise the damping"):
        direction("whitened", gradient, Blocks(size * inputs))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gradient", "gradient"),
        (" Polar ", "polar"),
        ("whitened", "whitened:0.1"),
        ("whitened:0.10", "whitened:0.1"),
        ("Whitened: 1e0", "whitened:1"),
        ("whitened:0.1234567890123", "whitened:0.1234567890123"),
    ],
)
def test_a_rule_has_one_text(text, name):
    assert rule_name(text) == rule_name(name) == get_rule(text).name == name
    assert RULES.mark(text) is None


def test_the_text_of_a_damping_reads_back_as_the_same_number():
    assert get_rule("whitened:0.1234567890123").rule == Whitened(0.1234567890123)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "polr",
            r"^rule='polr': must be one of gradient, .*:DAMPING; did you mean 'polar'",
        ),
        ("adam", r"^rule='adam': must be one of .*; choose one, or register your own"),
        ("polar:3", r"^rule='polar:3': must be one of .* did you mean 'polar'"),
        ("whitened:", r"^rule='whitened:': DAMPING must be .*; write whitened or whitened:DAMPING"),
        ("whitened:0", r"^rule='whitened:0': DAMPING must be a finite number greater than 0"),
        ("whitened:nan", r"^rule='whitened:nan': DAMPING must be"),
        ("whitened:much", r"^rule='whitened:much': DAMPING must be"),
        (3, r"^rule=3: must be one of gradient"),
    ],
)
def test_a_wrong_text_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        rule_name(text)
    assert "\n" not in str(refused.value)


def normalised(gradient, inputs):
    """D = G/‖G‖, a function of one's own."""
    return gradient / np.linalg.norm(gradient)


class Centred:
    """D = G − c·(row sums of G)(mean of X̃)ᵀ, a class of one's own that reads the inputs."""

    needs_inputs = True

    def __init__(self, amount="1"):
        self.amount = float(amount)

    def direction(self, gradient, inputs):
        mean = np.concatenate(list(inputs())).mean(axis=0)
        return gradient - self.amount * np.outer(gradient.sum(axis=1), mean)

    def stages(self, width, dimension, samples):
        return [Stage("centring", "element", 1.0 * samples * dimension)]


def test_a_function_of_one_s_own_is_a_rule(own_rules):
    register_rule("normalised", normalised)
    gradient, inputs = batch(6, 9, 40, dtype=np.float32)
    result = direction("normalised", gradient, Blocks(inputs))
    assert result.dtype == np.float32
    assert np.linalg.norm(result) == pytest.approx(1, rel=1e-6)
    rule = get_rule("normalised")
    assert (rule.name, rule.needs_inputs, rule.stages(6, 9, 40)) == ("normalised", True, [])
    first = RULES.mark("normalised")
    register_rule("normalised", lambda gradient, inputs: 2 * gradient)
    assert None not in (first, RULES.mark("normalised"))
    assert RULES.mark("normalised") != first  # changing the code forces a recomputation


def test_a_class_of_one_s_own_is_a_rule_with_an_argument(own_rules):
    register_rule("centred", Centred, argument="AMOUNT")
    gradient, inputs = batch(6, 9, 40)
    expected = gradient - 0.5 * np.outer(gradient.sum(axis=1), inputs.mean(axis=0))
    result = direction("centred:0.5", gradient, Blocks(inputs))
    np.testing.assert_allclose(result, expected, atol=1e-15)
    assert get_rule("centred").rule.amount == 1
    assert get_rule("centred").stages(6, 9, 40)[0].amount == 360
    assert RULES.mark("centred:0.5") == RULES.mark("centred") is not None
    assert RULES.forms()[-2:] == ["centred", "centred:AMOUNT"]
    with pytest.raises(
        InvalidInput, match=r"^training.rule='centred:a': could not .*; write centr"
    ):
        get_rule("centred:a")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda gradient: gradient[:2], r"must return real numbers of shape \(6, 9\), not float64"),
        (lambda gradient: None, "must return real numbers"),
        (lambda gradient: 1j * gradient, "must return real numbers"),
        (lambda gradient: gradient / 0.0, "its direction is not finite"),
    ],
)
def test_what_a_rule_of_one_s_own_may_not_return_is_said(own_rules, made, message):
    register_rule("odd", lambda gradient, inputs: made(gradient))
    gradient, inputs = batch(6, 9, 40)
    with (
        np.errstate(divide="ignore"),
        pytest.raises(InvalidInput, match=f"^training.rule='odd': {message}"),
    ):
        direction("odd", gradient, Blocks(inputs))


@pytest.mark.parametrize(
    ("name", "make", "argument", "message"),
    [
        ("polar", normalised, None, "name='polar': is built in"),
        ("two words", normalised, None, "name='two words': must be a word"),
        ("mine", 3, None, "make=3: must be a function or a class"),
        ("mine", normalised, "AMOUNT", "argument='AMOUNT': a function has none; register a class"),
        ("mine", dict, None, "must have needs_inputs, direction, stages; add it"),
    ],
)
def test_what_cannot_be_registered_is_refused(own_rules, name, make, argument, message):
    with pytest.raises(InvalidInput, match=message):
        register_rule(name, make, argument=argument)


def test_another_process_adopts_rules(own_rules):
    register_rule("normalised", normalised)
    shipped = pickle.loads(pickle.dumps(snapshot()))
    mark = RULES.entries.pop("normalised").mark
    with pytest.raises(InvalidInput, match="must be one of"):
        get_rule("normalised")
    adopt(shipped)
    assert RULES.mark("normalised") == mark
    assert np.linalg.norm(direction("normalised", np.ones((2, 2)))) == pytest.approx(1)


def largest_entry(text):
    return float(np.max(get_rule(text).direction(np.ones((2, 3)), lambda: iter(())))), os.getpid()


def test_workers_know_rules_that_were_registered_after_they_started(own_rules):
    for scale in (2.0, 5.0):
        register_rule("scaled", lambda gradient, inputs, scale=scale: scale * gradient)
        results = list(run_jobs(largest_entry, [{"text": "scaled"}] * 2, workers=2))
        assert [value for value, _ in results] == [scale] * 2
        assert os.getpid() not in {process for _, process in results}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_momentum_sums_gradients_with_falling_weights(dtype, rng):
    gradients = list(rng.standard_normal((3, 4, 5)).astype(dtype))
    kept = [gradient.copy() for gradient in gradients]
    buffer = None
    for gradient in gradients:
        buffer = with_momentum(gradient, buffer, 0.5)
    assert buffer.dtype == dtype
    np.testing.assert_allclose(buffer, kept[2] + kept[1] / 2 + kept[0] / 4, rtol=1e-5)
    assert np.array_equal(gradients, kept)


def test_the_first_gradient_and_those_without_momentum_are_returned_themselves(rng):
    first, second = rng.standard_normal((2, 4, 5))
    assert with_momentum(first, None, 0.9) is first
    assert with_momentum(second, first, 0.0) is second
