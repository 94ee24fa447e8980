"""What every model must satisfy: over all names, and one that is registered here."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

from conftest import small
from onegrad import register_model
from onegrad.calculus import functions
from onegrad.calculus.function import orthonormal_hermite
from onegrad.core.instance import draw
from onegrad.core.model_names import model_names, resolve_models
from onegrad.core.models import MODELS, Model, NetworkMap
from onegrad.core.run import finished_run
from onegrad.moments.feature_laws import Points, preactivation_laws

WIDTH, SAMPLES, REPEATS, POINTS = 8, 20_000, 4000, 5
LIMIT = 4.0  # standard errors


@dataclass(frozen=True)
class SquaredNetwork(Model):
    """φ = u² of the trained first layer."""

    @property
    def key(self):
        return "squared@trained"

    def feature_map(self, instance, layers, trained):
        return NetworkMap(functions.get_activation("u**2"))


def names():
    return [name.replace("DEGREE", "2") for name in model_names()]


@pytest.fixture(scope="module")
def problem():
    return small(network={"width": WIDTH, "activation": "tanh"}, readout__samples=60)


@pytest.fixture(scope="module")
def trained_instance(problem):
    """Return the instance, its initial layers and F̂."""
    instance = draw(problem)
    run = finished_run(instance)
    return instance, run.layers, run.first


@pytest.fixture(params=[*names(), "squared"])
def model(request, problem, monkeypatch):
    """Return each model; one is registered as a user does, and forgotten afterwards."""
    monkeypatch.setattr(MODELS, "entries", dict(MODELS.entries))
    register_model("squared", SquaredNetwork)
    return resolve_models(problem, [request.param])[0]


def prepared(model, trained_instance):
    """Return the model's feature map and the first layer that it reads."""
    instance, layers, after = trained_instance
    first = layers.first if model.first_layer == "initial" else after
    return model.feature_map(instance, layers, after), first


def draws(feature_map, instance, first, component, rows, seed=0):
    """Return pre-activations and coordinates of rows from one component."""
    noise = np.random.default_rng(seed).standard_normal((rows, instance.mixture.dimension))
    inputs = instance.mixture.components[component].colour(noise)
    basis = feature_map.basis(component)
    return inputs @ first.T, None if basis is None else inputs @ basis


def test_features_have_one_row_per_sample_and_follow_the_generator(model, trained_instance):
    feature_map, first = prepared(model, trained_instance)
    u, coordinates = draws(feature_map, trained_instance[0], first, 0, 30)
    phi, again = (
        feature_map.features(Points(0, u.copy(), coordinates), np.random.default_rng(1))
        for _ in range(2)
    )
    assert phi.shape == (30, WIDTH)
    assert np.all(np.isfinite(phi))
    assert np.array_equal(phi, again)


def test_predictions_are_the_mean_over_the_noise_with_the_stated_variance(model, trained_instance):
    """The noise is normal: a sampled variance errs by a share of √(2/REPEATS)."""
    feature_map, first = prepared(model, trained_instance)
    u, coordinates = draws(feature_map, trained_instance[0], first, 0, POINTS)
    weights = np.random.default_rng(2).standard_normal((WIDTH, 2))
    mean, variance = feature_map.predictions(Points(0, u, coordinates), weights)
    assert mean.shape == variance.shape == (POINTS, 2)
    many = None if coordinates is None else np.repeat(coordinates, REPEATS, axis=0)
    rng = np.random.default_rng(3)
    phi = feature_map.features(Points(0, np.repeat(u, REPEATS, axis=0), many), rng)
    predicted = (phi @ weights / np.sqrt(WIDTH)).reshape(POINTS, REPEATS, 2)
    rounding = 1e-12 * (1 + np.abs(mean))
    error = LIMIT * np.sqrt(variance / REPEATS) + rounding
    assert np.all(np.abs(predicted.mean(axis=1) - mean) < error)
    share = LIMIT * np.sqrt(2 / REPEATS)
    assert np.all(np.abs(predicted.var(axis=1) - variance) <= share * variance + rounding)
    # Negative control: the predictions of another point do not fit.
    assert np.any(np.abs(predicted.mean(axis=1) - np.roll(mean, 1, axis=0)) > error)


def test_coefficients_and_second_moments_are_those_of_sampled_features(model, trained_instance):
    """Features that are linear off a basis have only degrees 0 and 1 of u itself."""
    feature_map, first = prepared(model, trained_instance)
    instance = trained_instance[0]
    seen = []
    for law in preactivation_laws(instance.mixture, instance.teacher, first):
        u, coordinates = draws(feature_map, instance, first, law.component, SAMPLES)
        rng = np.random.default_rng(4)
        phi = feature_map.features(Points(law.component, u.copy(), coordinates), rng)
        order = 2 if coordinates is None else 1
        hermite = orthonormal_hermite((u - law.means) / law.deviations, order)
        sampled = [*(phi * hermite), phi**2]

        def scores(law, sampled=sampled, order=order):
            power = feature_map.second_moment(law) + feature_map.noise_variance
            expected = [*feature_map.coefficients(law, order), power]
            errors = [values.std(axis=0) / np.sqrt(SAMPLES) for values in sampled]
            parts = zip(sampled, expected, errors, strict=True)
            return np.abs([(v.mean(axis=0) - e) / error for v, e, error in parts])

        assert np.all(scores(law) < LIMIT)
        seen.append(scores(replace(law, deviations=1.2 * law.deviations)).max())
    assert max(seen) > LIMIT  # the control: neurons of a fifth more deviation are told apart


def test_a_key_is_stable_and_says_what_is_computed(problem, model):
    assert resolve_models(problem, [model.name])[0].key == model.key
    others = {
        other.key for name in names() if (other := resolve_models(problem, [name])[0]) != model
    }
    assert model.key not in others


def test_costs_are_positive_and_known_without_training(problem, model):
    assert all(stage.amount > 0 and stage.name for stage in model.stages(problem))
    assert model.held_bytes(problem) >= 0


def test_a_model_survives_the_way_to_a_worker(model):
    assert pickle.loads(pickle.dumps(model)) == model
