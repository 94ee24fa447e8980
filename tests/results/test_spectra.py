"""Spikes in gradients and features: predicted bands, outliers of a bulk, their overlaps."""

import numpy as np
import pytest

from onegrad import Problem, take_steps
from onegrad.calculus import functions
from onegrad.calculus.spectra import matrix_spectrum, predicted_spikes, spectrum
from onegrad.core.instance import draw
from onegrad.core.run import finished_run


@pytest.mark.parametrize(
    ("exponent", "degrees"),
    [(-1.0, ()), (0.0, ()), (0.15, (1,)), (0.29, (1, 2)), (0.36, (1, 2)), (0.39, (1, 2, 4))],
)
def test_predicted_spikes_follow_the_bands_and_relu_has_no_third(exponent, degrees):
    assert predicted_spikes(exponent, functions.get("relu")) == degrees


def test_tanh_has_no_second_spike_and_beyond_one_half_nothing_is_predicted():
    assert predicted_spikes(0.36, functions.get("tanh")) == (1, 3)
    assert predicted_spikes(0.5, functions.get("relu")) is None
    assert predicted_spikes(0.49, functions.get("relu")) is None


def test_spikes_of_the_features_appear_with_the_exponent():
    features_at = {}
    for exponent in (0.0, 0.15, 0.4):
        problem = Problem(
            dimension=500,
            network={"width": 500},
            training={"samples": 500},
            scaling={"change_exponent": exponent},
            teacher={"links": ["relu"]},
        )
        features_at[exponent] = take_steps(problem).records[1].features
    assert [features_at[a].observed for a in (0.0, 0.15, 0.4)] == [0, 1, 2]
    assert features_at[0.15].overlaps[0, 0] > 0.8
    assert features_at[0.4].overlaps[1, 1] > 0.5
    assert features_at[0.0].overlaps[0, 0] < 0.5


def test_the_spectrum_of_features_is_that_of_the_centred_matrix():
    problem = Problem(
        dimension=24,
        network={"width": 30},
        training={"samples": 400},
        readout={"batch": "same"},
        teacher={"links": ["z+z**2", "z-z**2"]},
    )
    instance = draw(problem)
    taken = finished_run(instance)
    layers = taken.layers
    block = instance.step_batch()
    phi = np.maximum(block.inputs @ taken.first.T, 0)
    phi -= phi.mean(axis=0)
    left, values, _ = np.linalg.svd(phi / np.sqrt(30), full_matrices=False)
    record = take_steps(problem).records[1]
    assert record.features.values == pytest.approx(values, rel=1e-7)
    line = block.inputs @ matrix_spectrum(taken.first - layers.first).direction
    power = (line**2 - 1) - np.mean(line**2 - 1)
    overlap = abs(left[:, 0] @ power) / np.linalg.norm(power)
    assert record.features.overlaps[0, 1] == pytest.approx(overlap, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spikes", range(4))
def test_outliers_of_noise_plus_spikes_are_counted(seed, spikes):
    """Values s > 1 of a rank-one part of a 200 × 200 noise matrix stand at s + 1/s, the edge at 2.

    Four times 1 is far outside; the margin of five edge units is passed by noise 1e−5 of times.
    """
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((200, 200)) / np.sqrt(200)
    for strength in range(4, 4 + spikes):
        left, right = rng.standard_normal((2, 200))
        matrix += strength * np.outer(left / np.linalg.norm(left), right / np.linalg.norm(right))
    leading = matrix_spectrum(matrix).spectrum
    assert leading.count == spikes
    assert leading.values == pytest.approx(np.linalg.svd(matrix, compute_uv=False)[:40], rel=1e-6)
    assert 1.9 < leading.edge < 2.4


def test_a_matrix_of_low_rank_has_that_rank_and_a_tiny_one_no_outliers():
    rng = np.random.default_rng(0)
    low = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 60))
    assert matrix_spectrum(low).spectrum.count == 3
    assert spectrum(np.array([3.0, 1.0])).count is None
    assert spectrum(np.linspace(2, 1, 7)).count is None
    assert spectrum(np.linspace(2, 1, 8)).count == 0


def test_a_gap_low_in_a_short_bulk_is_no_edge():
    """Twenty values: nine below a gap are no bulk beside eleven above it; three above are."""
    ragged = np.concatenate([np.linspace(3.0, 2.6, 11), np.linspace(1.2, 1.0, 9)])
    assert spectrum(ragged).count == 0
    clear = np.concatenate([np.linspace(3.0, 2.6, 3), np.linspace(1.2, 1.0, 17)])
    assert spectrum(clear).count == 3
