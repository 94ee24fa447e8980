"""What every source must satisfy: over all kinds, and one that is registered here."""

from typing import Literal

import numpy as np
import pytest
from pydantic import Field

from onegrad import Component, EmpiricalData, MixtureSource, Problem, register_source
from onegrad.data.mixture import GRANULE, Gaussian, Mixture, draw_directions
from onegrad.data.source import SOURCES, Source
from onegrad.describe.value import Positive

N, SPREAD, LIMIT = 10, 3.0, 4.0  # LIMIT in standard errors
BUILT_IN = [kind for kind in SOURCES if SOURCES.mark(kind) is None]


class SingleSpike(Source):
    """One Gaussian of level `level` with a random spike of the spread's strength."""

    kind: Literal["single_spike"] = Field(default="single_spike", description="One spike.")
    level: Positive = Field(default=1.0, description="Isotropic level.")

    @property
    def all_labels(self):
        return (1.0,)

    def draw(self, dimension, spread, rng):
        directions = draw_directions(dimension, 1, rng)
        strengths = np.array([spread])
        return Mixture((Gaussian(1.0, None, self.level, directions, strengths, 1.0),))


def mixture():
    first = Component(weight=0.7, mean=np.linspace(-1, 1, N), rank=2, label=1.0)
    second = Component(weight=0.3, level=0.5, strengths="uniform", label=-1.0)
    return MixtureSource(components=(first, second))


def empirical():
    rng = np.random.default_rng(5)
    inputs = rng.standard_normal((4000, N)) * np.linspace(0.5, 2, N)
    return EmpiricalData(inputs, np.repeat(["a", "b"], 2000), noise=0.3, fit_share=0.0)


EXAMPLES = {"mixture": mixture, "empirical": empirical, "single_spike": SingleSpike}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(SOURCES, "entries", dict(SOURCES.entries))
    register_source(SingleSpike)


@pytest.fixture(params=EXAMPLES)
def source(request):
    return EXAMPLES[request.param]()


@pytest.fixture
def population(source):
    return source.draw(N, SPREAD, np.random.default_rng(1))


def sampled(population, rows, seed=2):
    """Return samples with the mean of each part taken off, so that Σ is their mean square."""
    counts = population.draw_counts(rows, np.random.default_rng(seed))
    inputs = population.sample(counts, np.random.default_rng(seed), ())
    parts = np.repeat(np.arange(len(counts)), counts)
    centred = np.concatenate(
        [inputs[parts == part] - inputs[parts == part].mean(axis=0) for part in range(len(counts))]
    )
    return centred * np.sqrt(rows / (rows - len(counts)))


def test_every_kind_has_an_example():
    assert set(BUILT_IN) <= set(EXAMPLES)


def test_a_draw_depends_on_its_generator_alone(source):
    def inputs(seed):
        population = source.draw(N, SPREAD, np.random.default_rng(seed))
        counts = population.draw_counts(40, np.random.default_rng(3))
        return population.sample(counts, np.random.default_rng(4), ())

    assert np.array_equal(inputs(1), inputs(1))
    assert not np.array_equal(inputs(1), inputs(2))


def test_counts_add_up_and_follow_the_weights(population):
    assert population.weights.sum() == pytest.approx(1)
    assert len(population.labels) == len(population.weights)
    for samples in (1, 101, 1000):
        counts = population.draw_counts(samples, np.random.default_rng(0))
        assert sum(counts) == samples
        if population.counts == "exact":
            assert np.all(np.abs(np.array(counts) - samples * population.weights) < 1)


def test_a_sample_and_its_blocks_have_every_row_of_every_part(population):
    counts = population.draw_counts(1500, np.random.default_rng(0))
    inputs = population.sample(counts, np.random.default_rng(1), ())
    assert inputs.shape == (1500, N)
    assert np.all(np.isfinite(inputs))
    rows = np.zeros(len(counts), dtype=int)
    places = []
    for part, block in population.blocks(counts, np.random.default_rng(1), ()):
        assert block.shape[1] == N
        assert 0 < len(block) <= GRANULE
        rows[part] += len(block)
        places.append(part)
    assert tuple(rows) == counts
    assert places == sorted(places)


def test_trace_norm_and_level_are_those_of_sampled_inputs(source, population):
    """Standard errors are those of the squares themselves.

    The largest sampled eigenvalue λ is biased by Σ_j λλ_j/(λ − λ_j)/rows, which is added.
    """
    rows = 4000
    centred = sampled(population, rows)
    squares = np.sum(centred**2, axis=1)
    error = LIMIT * squares.std() / np.sqrt(rows)
    assert abs(squares.mean() - population.trace) < error
    assert abs(squares.mean() - 1.2 * population.trace) > error  # the control
    values, vectors = np.linalg.eigh(centred.T @ centred / rows)
    along = (centred @ vectors[:, -1]) ** 2
    bias = np.sum(values[-1] * values[:-1] / (values[-1] - values[:-1])) / rows
    assert abs(values[-1] - population.norm) < LIMIT * along.std() / np.sqrt(rows) + bias
    if source.exact_moments:
        spikes = np.concatenate([c.directions for c in population.mixture.components], axis=1)
        basis = np.linalg.svd(spikes)[0][:, np.linalg.matrix_rank(spikes) :]
        off = np.mean((centred @ basis) ** 2, axis=1)
        assert abs(off.mean() - population.level) < LIMIT * off.std() / np.sqrt(rows)
        assert abs(off.mean() - 1.2 * population.level) > LIMIT * off.std() / np.sqrt(rows)
    else:
        assert population.level == pytest.approx(population.trace / N)


def test_the_spread_scales_what_the_source_says_it_does(source):
    traces = [source.draw(N, spread, np.random.default_rng(1)).trace for spread in (1.0, 2.0, 3.0)]
    assert traces[1] > traces[0]
    assert traces[2] - traces[1] == pytest.approx(traces[1] - traces[0])  # linear in θ


def test_a_problem_of_the_source_survives_its_file(source, tmp_path):
    test = "exact" if source.exact_moments else "sampled"
    problem = Problem(dimension=N, readout={"samples": 20}, test_samples=20, test=test, data=source)
    problem.save(tmp_path / "p.toml")
    loaded = Problem.load(tmp_path / "p.toml")
    assert loaded == problem
    assert loaded.digest == problem.digest
    assert type(loaded.data) is type(source)


def test_the_schema_of_problems_has_the_kind(source):
    kinds = Problem.model_json_schema()["properties"]["data"]["oneOf"]
    assert source.kind in [kind["properties"]["kind"]["default"] for kind in kinds]
