"""Mixtures: low rank equals dense, sampling has the right moments, alignment is exact."""

import tracemalloc

import numpy as np
import pytest

from onegrad import Component, InvalidInput, MixtureSource, Problem
from onegrad.data.mixture import align_directions, draw_directions, exact_counts


def dense(gaussian):
    n = len(gaussian.directions)
    spikes = gaussian.directions * gaussian.strengths
    return gaussian.level * np.eye(n) + spikes @ gaussian.directions.T


def drawn(source, seed=0, spread=5.0):
    return source.draw(40, spread, np.random.default_rng(seed))


def test_trace_and_norm_equal_those_of_the_dense_covariance(rich_source):
    mixture = drawn(rich_source)
    covariance = sum(c.weight * dense(c) for c in mixture.components)
    assert mixture.trace == pytest.approx(np.trace(covariance))
    assert mixture.norm == pytest.approx(np.linalg.norm(covariance, 2))


def test_colouring_is_the_dense_square_root(rich_source, rng):
    for component in drawn(rich_source).components:
        values, vectors = np.linalg.eigh(dense(component))
        root = vectors * np.sqrt(values) @ vectors.T
        noise = rng.standard_normal((5, 40))
        mean = 0 if component.mean is None else component.mean
        np.testing.assert_allclose(component.colour(noise.copy()), noise @ root + mean, atol=1e-12)


def test_covariance_product_is_the_dense_one(rich_source, rng):
    vectors = rng.standard_normal((40, 3))
    for component in drawn(rich_source).components:
        np.testing.assert_allclose(
            component.covariance_times(vectors), dense(component) @ vectors, atol=1e-12
        )


def test_sample_moments_agree_within_their_standard_errors(rich_source, rng):
    mixture = drawn(rich_source)
    counts = mixture.draw_counts(40_000, rng)
    inputs = mixture.sample(counts, rng)
    start = 0
    for component, count in zip(mixture.components, counts, strict=True):
        rows = inputs[start : start + count]
        start += count
        mean = np.zeros(40) if component.mean is None else component.mean
        variance = np.diag(dense(component))
        z_mean = (rows.mean(axis=0) - mean) / np.sqrt(variance / count)
        z_variance = (rows.var(axis=0) - variance) / (variance * np.sqrt(2 / count))
        assert np.abs(z_mean).max() < 4.5
        assert np.abs(z_variance).max() < 4.5
        assert np.abs((rows.mean(axis=0) - mean - 0.1) / np.sqrt(variance / count)).max() > 4.5


@pytest.mark.parametrize("cosine", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_alignment_is_the_exact_cosine_and_spikes_stay_orthonormal(cosine, rng):
    reference = draw_directions(30, 3, rng)
    aligned = align_directions(reference, 4, cosine, rng)
    np.testing.assert_allclose(aligned.T @ aligned, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.sum(aligned[:, :3] * reference, axis=0), cosine, atol=1e-12)


def test_counts_are_exact_by_largest_remainder():
    assert exact_counts(np.array([0.5, 0.5]), 1000) == (500, 500)
    assert exact_counts(np.array([1 / 3, 2 / 3]), 10) == (3, 7)
    assert exact_counts(np.array([0.0, 1.0]), 7) == (0, 7)
    assert sum(exact_counts(np.full(7, 1 / 7), 1001)) == 1001


def test_sampled_counts_vary_and_add_up(rng):
    source = MixtureSource(
        components=(Component(weight=0.3), Component(weight=0.7)), counts="sampled"
    )
    mixture = drawn(source)
    counts = {mixture.draw_counts(100, rng) for _ in range(20)}
    assert len(counts) > 1
    assert {sum(c) for c in counts} == {100}


def test_equal_totals_rescale_to_the_first_component(rng):
    parts = (Component(weight=0.5, rank=3, strengths="uniform"),) * 2
    mixture = drawn(MixtureSource(components=parts, equal_totals=True))
    first, second = (c.strengths for c in mixture.components)
    assert second.sum() == pytest.approx(first.sum())
    assert not np.allclose(first, second)


def test_means_of_one_number_lie_along_one_random_direction_and_leave_the_spikes_alone():
    plain = drawn(MixtureSource())
    source = MixtureSource(
        components=(Component(weight=0.5, mean=1.5), Component(weight=0.5, mean=-2))
    )
    first, second = (c.mean for c in drawn(source).components)
    assert np.linalg.norm(first) == pytest.approx(1.5)
    np.testing.assert_allclose(second, -2 / 1.5 * first)
    for with_mean, without in zip(drawn(source).components, plain.components, strict=True):
        np.testing.assert_array_equal(with_mean.directions, without.directions)
    assert abs(drawn(source, seed=1).components[0].mean @ first) < 1.5**2 * 0.7
    others = MixtureSource(components=(Component(weight=0.5, mean=1.5), Component(weight=0.5)))
    assert drawn(others).components[1].mean is None


def test_a_mean_of_one_number_is_saved_as_it_is(tmp_path):
    parts = [{"weight": 0.5, "mean": 1.5}, {"weight": 0.5, "mean": -1.5}]
    problem = Problem(dimension=20, data={"components": parts})
    problem.save(tmp_path / "problem.toml")
    loaded = Problem.load(tmp_path / "problem.toml")
    assert loaded == problem
    assert [part.mean for part in loaded.data.components] == [1.5, -1.5]


@pytest.mark.parametrize("mean", ["far", True, float("inf")])
def test_a_mean_that_is_no_number_is_refused(mean):
    with pytest.raises(InvalidInput, match="mean="):
        Component(weight=1.0, mean=mean)


def test_sampling_builds_no_square_matrix():
    source = MixtureSource()
    n, m = 20_000, 8
    tracemalloc.start()
    mixture = source.draw(n, 3.0, np.random.default_rng(0))
    mixture.sample(mixture.draw_counts(m, np.random.default_rng(1)), np.random.default_rng(1))
    assert mixture.norm > 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * m * n  # bytes; an n×n matrix would take 3.2 GB


def test_given_directions_must_be_orthonormal():
    with pytest.raises(InvalidInput, match="orthonormal"):
        Component(weight=1.0, directions=np.ones((5, 1)))
