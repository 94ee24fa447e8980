"""Problems: TOML there and back, defaults written out, one clear line for every broken rule."""

import re
import tomllib

import numpy as np
import pytest

from conftest import small
from onegrad import ClassLabels, Component, InvalidInput, MixtureSource, Problem, Scaling
from onegrad.core.instance import draw


def test_a_problem_survives_toml(tmp_path, rich_source):
    problem = small(
        data=rich_source,
        readout__ridge=(1e-3, 1e-2),
        test="sampled",
        redraw="network",
        teacher={"direction": np.arange(40.0), "noise": 0.1},
    )
    problem.save(tmp_path / "p.toml")
    again = Problem.load(tmp_path / "p.toml")
    assert again == problem
    assert again.digest == problem.digest
    assert hash(again) == hash(problem)


def test_large_arrays_live_beside_the_toml_and_are_checked_by_digest(tmp_path):
    mean = np.linspace(0, 1, 100)
    source = MixtureSource(components=(Component(weight=1.0, mean=mean),))
    problem = Problem(dimension=100, readout={"samples": 50}, data=source)
    path = tmp_path / "p.toml"
    problem.save(path)
    reference = tomllib.loads(path.read_text())["data"]["components"][0]["mean"]
    assert reference["npz"] == "p.npz"
    assert np.array_equal(Problem.load(path).data.components[0].mean.values, mean)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p.npz", "p.toml"]
    np.savez(tmp_path / "p.npz", array0=mean + 1)
    with pytest.raises(InvalidInput, match="another digest"):
        Problem.load(path)
    (tmp_path / "p.npz").write_bytes(b"nothing")
    with pytest.raises(InvalidInput, match="no readable array"):
        Problem.load(path)


def test_defaults_are_written_out():
    fields = Problem().to_dict()
    assert fields["scaling"]["strength"] == 0.74
    assert fields["scaling"]["weighting"] == 0.5
    assert fields["network"]["width_ratio"] == 1.0


def test_problems_are_frozen_and_arrays_read_only():
    problem = small(data={"components": [{"weight": 1.0, "mean": np.ones(40)}]})
    with pytest.raises(Exception, match="frozen"):
        problem.dimension = 3
    with pytest.raises(ValueError, match="read-only"):
        problem.data.components[0].mean.values[0] = 2


def test_the_digest_sees_every_number():
    mean = np.ones(40)
    changed = mean.copy()
    changed[-1] += 1e-15
    digests = {
        small(data={"components": [{"weight": 1.0, "mean": m}]}).digest for m in (mean, changed)
    }
    assert len(digests) == 2
    assert small().digest != small(readout__ridge=2e-4).digest


def test_two_unlabelled_components_become_plus_and_minus_one():
    problem = Problem(dimension=10, teacher=ClassLabels())
    assert [c.label for c in problem.data.components] == [1.0, -1.0]
    assert problem.binary


def test_replacing_a_width_drops_the_ratio():
    assert Problem().replace(network__width=7).width == 7
    assert Problem().replace(network__width=7).replace(network__width_ratio=2.0).width == 2000
    rates = Problem().replace(scaling=Scaling(learning_rate=2.0, spread=3.0))
    assert rates.replace(scaling__strength=0.5).scaling.strength == 0.5


@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize("beta", [0.0, 1e-9, 0.37, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
def test_rate_and_spread_multiply_to_n_to_the_strength(n, beta, alpha):
    scaling = Scaling(strength=beta, weighting=alpha)
    rate = scaling.learning_rate_at(dimension=n, width=3, samples=4)
    assert rate * scaling.spread_at(n) == pytest.approx(n**beta)


def test_overrides_of_scales_are_used():
    scaling = {"trace": 80.0, "norm": 4.0, "bulk_deviation": 1.0}
    scales = draw(small(scaling=scaling)).scales
    assert (scales.trace, scales.norm, scales.bulk_deviation) == (80.0, 4.0, 1.0)


def test_the_teachers_norm_follows_the_mixture():
    instance = draw(small())
    length = np.linalg.norm(instance.teacher.directions)
    assert length == pytest.approx(1 / np.sqrt(instance.mixture.norm))


def test_direction_along_the_spikes_is_their_sum():
    instance = draw(small(teacher={"direction": "spikes"}))
    total = sum(c.directions[:, 0] for c in instance.mixture.components)
    xi = instance.teacher.directions[:, 0]
    cosine = xi @ total / np.linalg.norm(xi) / np.linalg.norm(total)
    assert cosine == pytest.approx(1)


def test_opposite_spikes_have_no_sum_to_point_along():
    problem = small(teacher={"direction": "spikes"}, data__alignment=-1.0)
    with pytest.raises(InvalidInput, match="must not vanish"):
        draw(problem)


BAD = [
    ({"scaling": {"strength": 2.0}}, r"scaling\.strength=2\.0: must lie in \[0, 1\]; lower it"),
    ({"scaling": {"strength": 0.5, "spread": 1.0}}, "must not be given together; keep"),
    ({"scaling": {"learning_rate": 1.0}}, r"scaling\.spread: must be given with learning_rate"),
    ({"data": {"components": [{"weight": 0.5}]}}, r"data\.weights=.*must sum to 1"),
    ({"network": {"width": 0}}, r"network\.width=0: must be a whole number of at least 1"),
    ({"network": {"width": True}}, r"network\.width=True"),
    ({"network": {"width": 2.5}}, r"network\.width=2\.5"),
    ({"network": {"activation": "rleu"}}, "did you mean 'relu'"),
    ({"network": {"activaton": "relu"}}, r"network\.activaton.*did you mean 'activation'"),
    ({"network": {"steps": 2}}, r"network\.steps=2"),
    ({"dimensions": 3}, "dimensions=3: no such field; did you mean 'dimension'"),
    ({"dimension": float("nan")}, "dimension=nan"),
    ({"readout": {"ridge": 0.0}}, r"readout.ridge=0\.0: must be finite and greater than 0"),
    ({"readout": {"ridge": []}}, r"readout.ridge=\[\]"),
    ({"readout": {"ridge": "x"}}, "readout.ridge='x': must be a number"),
    (
        {"dimension": 5, "data": {"components": [{"weight": 1.0, "rank": 6}]}},
        "rank=6: must be at most 5",
    ),
    (
        {"dimension": 5, "data": {"components": [{"weight": 1.0, "mean": [1.0, 2.0]}]}},
        r"mean: has shape \(2,\), must have length dimension=5",
    ),
    (
        {"dimension": 1, "data": {"components": [{"weight": 1.0, "mean": [float("nan")]}]}},
        "finite numbers only",
    ),
    (
        {"data": {"components": [{"weight": 1.0, "strengths": [1.0, 2.0], "rank": 1}]}},
        "one entry per spike",
    ),
    ({"data": {"components": [{"weight": 1.0, "strengths": -1.0}]}}, "at least 0"),
    ({"data": {"kind": "images"}}, r"data\.kind='images'"),
    ({"teacher": {"kind": "oracle"}}, r"teacher\.kind='oracle': must be one of"),
    ({"teacher": {"direction": [1.0, 2.0]}}, r"teacher\.direction: has length 2"),
    (
        {"teacher": {"kind": "labels"}, "data": {"components": [{"weight": 1.0}]}},
        r"data\.components\.0\.label: missing",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_a_broken_rule_is_one_line_with_field_value_rule_and_remedy(fields, message):
    with pytest.raises(InvalidInput) as caught:
        Problem(**fields)
    text = str(caught.value)
    assert re.search(message, text), text
    assert "\n" not in text
    assert ";" in text


def test_an_unreadable_file_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="No such file"):
        Problem.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("dimension = [")
    with pytest.raises(InvalidInput, match="not valid TOML"):
        Problem.load(tmp_path / "bad.toml")
    with pytest.raises(InvalidInput, match="cannot be written"):
        small().save(tmp_path / "missing" / "p.toml")
    assert [f.name for f in tmp_path.iterdir()] == ["bad.toml"]
