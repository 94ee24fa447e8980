"""First layer: the step follows the gradient, initialisation follows its rules."""

import numpy as np
import pytest

from conftest import small
from onegrad.calculus import functions
from onegrad.core.batches import BLOCK_ROWS
from onegrad.core.instance import Layers, draw, initialise
from onegrad.stages import gradient, take_step


def loss(first, second, inputs, labels, activation):
    prediction = activation(inputs @ first.T) @ second / np.sqrt(len(second))
    return np.mean((labels - prediction) ** 2) / 2


@pytest.mark.parametrize(
    "name", ["relu", "tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "sin"]
)
def test_step_direction_equals_finite_differences_of_the_loss(name, rng):
    activation = functions.get(name)
    layers = Layers(rng.standard_normal((5, 7)), rng.standard_normal(5))
    inputs, labels = rng.standard_normal((20, 7)), rng.standard_normal(20)
    ours = gradient(layers, inputs, labels, activation=activation)
    step = 1e-6
    for i in range(5):
        for j in range(7):
            up, down = layers.first.copy(), layers.first.copy()
            up[i, j] += step
            down[i, j] -= step
            slope = loss(up, layers.second, inputs, labels, activation)
            slope -= loss(down, layers.second, inputs, labels, activation)
            assert ours[i, j] == pytest.approx(-slope / (2 * step), abs=1e-8)


def test_streamed_samples_give_the_direct_formula(rng):
    activation = functions.get("tanh")
    m, k = 2 * BLOCK_ROWS + 37, 6
    layers = Layers(rng.standard_normal((k, 4)), rng.standard_normal(k))
    inputs, labels = rng.standard_normal((m, 4)), rng.standard_normal(m)
    u = layers.first @ inputs.T
    residual = labels - layers.second @ np.tanh(u) / np.sqrt(k)
    direct = (np.outer(layers.second, residual) / np.sqrt(k) * (1 - np.tanh(u) ** 2)) @ inputs / m
    np.testing.assert_allclose(
        gradient(layers, inputs, labels, activation=activation), direct, atol=1e-12
    )


def test_no_learning_rate_leaves_the_first_layer_alone(rng):
    layers = Layers(rng.standard_normal((3, 4)), rng.standard_normal(3))
    trained = take_step(
        layers,
        rng.standard_normal((5, 4)),
        rng.standard_normal(5),
        activation=functions.get("relu"),
        learning_rate=0.0,
    )
    assert np.array_equal(trained, layers.first)


def test_first_layer_has_variance_one_over_the_trace():
    instance = draw(small(dimension=200, network__width=400))
    first = initialise(instance).first
    variance = first.var() * instance.scales.trace
    assert abs(variance - 1) < 4 * np.sqrt(2 / first.size)


def test_wider_networks_extend_narrower_ones():
    narrow = initialise(draw(small(network__width=20)))
    wide = initialise(draw(small(network__width=30)))
    assert np.array_equal(wide.first[:20], narrow.first)
    np.testing.assert_allclose(wide.second[:20] * np.sqrt(30), narrow.second * np.sqrt(20))


@pytest.mark.parametrize(("rule", "values"), [("sign", 2), ("constant", 1)])
def test_second_layer_rules_have_entries_of_size_one_over_root_width(rule, values):
    second = initialise(draw(small(network__second_layer=rule))).second
    np.testing.assert_allclose(np.abs(second), 1 / np.sqrt(30))
    assert len(set(second)) == values


def test_normalised_rows_have_norm_one():
    first = initialise(draw(small(network__normalise_rows=True))).first
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1)


def test_bulk_deviation_is_that_of_preactivations_off_the_spikes():
    instance = draw(small(dimension=400, network__width=2000))
    first = initialise(instance).first
    off = first - (first @ instance.mixture.components[0].directions) @ (
        instance.mixture.components[0].directions.T
    )
    measured = np.mean(np.sum(off**2, axis=1))
    expected = instance.scales.bulk_deviation**2
    assert measured == pytest.approx(expected, rel=4 * np.sqrt(2 / first.size) + 2 / 400)
