"""Mixtures fitted to labelled data."""

import numpy as np
import pytest

from onegrad import InvalidInput, MixtureSource, Problem, fit_mixture, predict, simulate
from onegrad.data.fashion_mnist import load_sample
from onegrad.data.fitting import _gaussians, log_likelihood


def two_clusters_per_class(rng, rows):
    """Return rows of four separate Gaussians, two per label, each with one spike."""
    centres = 4 * rng.standard_normal((4, 12))
    spikes = np.linalg.qr(rng.standard_normal((12, 4)))[0].T
    which = rng.integers(4, size=rows)
    noise = rng.standard_normal((rows, 12)) + 2 * rng.standard_normal((rows, 1)) * spikes[which]
    return centres[which] + noise, np.where(which < 2, 1.0, -1.0)


def test_the_fit_recovers_means_levels_and_spikes(rng):
    x, y = two_clusters_per_class(rng, 8000)
    source = fit_mixture(x, y, components_per_class=2, rank=1)
    assert isinstance(source, MixtureSource)
    assert sorted(c.label for c in source.components) == [-1, -1, 1, 1]
    for c in source.components:
        assert c.weight == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 8000))
        assert c.level == pytest.approx(1.0, abs=0.05)
        assert c.strengths[0] == pytest.approx(4.0, abs=4 * 5 * np.sqrt(2 / 2000))


def test_the_number_of_components_is_chosen_by_held_out_likelihood(rng):
    x, y = two_clusters_per_class(rng, 4000)
    assert len(fit_mixture(x, y, rank=1).components) == 4
    fresh = two_clusters_per_class(np.random.default_rng(20250301), 4000)
    scores = [log_likelihood(_gaussians(x, y, n, 1, 0), *fresh) for n in (1, 2)]
    assert scores[1] > scores[0] + 0.5  # the control: one Gaussian per class is much worse


def test_a_fitted_mixture_can_be_simulated_on_and_predicted_from():
    sample = load_sample()
    chosen = np.flatnonzero(np.isin(sample.labels, (0, 1)))[::20]  # 60 images per class
    x = sample.images[chosen] / 255
    y = np.where(sample.labels[chosen] == 0, 1.0, -1.0)
    source = fit_mixture(x, y, components_per_class=2, rank=3)
    problem = Problem(
        dimension=784,
        readout={"samples": 60, "ridge": 1e-2},
        data=source,
        teacher={"kind": "labels"},
        scaling={"learning_rate": 1.0, "spread": 1.0},
        network={"width": 40},
    )
    trained = simulate(problem, ["network"], trials=8).estimate()
    theory = predict(problem, ["network"], draws=8).estimate()
    error = np.hypot(trained.stderr, theory.stderr)[0, 0]
    assert abs(trained.mean - theory.mean)[0, 0] <= 4 * error + 0.1 * trained.mean[0, 0]
    assert theory.mean[0, 0] < 0.5  # labels ±1: far better than chance


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (np.zeros((4, 3)), np.ones(4), {}, "all rows are equal"),
        (np.full((4, 3), np.nan), np.ones(4), {}, "must be finite"),
        (1e200 * np.eye(4), np.ones(4), {"rank": 1}, "nearer to 1"),
        (np.eye(4), ["a"] * 4, {}, "map texts to numbers"),
        (np.eye(3), np.ones(3), {"rank": 1}, "too few to choose by"),
        (np.zeros((0, 3)), np.zeros(0), {}, "rows × features"),
        (np.zeros((4, 3)), np.ones(5), {}, "one label per row"),
        (np.eye(4), np.ones(4), {"rank": 4}, "must be below the 4 features"),
        (np.eye(4), np.ones(4), {"rank": 1, "components_per_class": 3}, "has only 4 rows"),
        (np.eye(4), np.ones(4), {"rank": 1, "components_per_class": 0}, "at least 1"),
    ],
)
def test_data_that_cannot_be_fitted_is_refused(x, y, options, message):
    with pytest.raises(InvalidInput, match=message):
        fit_mixture(x, y, **options)
