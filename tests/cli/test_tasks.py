"""--task names the teacher of a problem: by link, component, sign or logistic probability."""

import pytest

from conftest import onegrad_here, small
from onegrad import ClassLabels, LogisticIndex, Problem, SignIndex, SingleIndex


@pytest.mark.parametrize(
    ("options", "teacher"),
    [
        (["--task", "sign", "--flips", "0.1", "--direction", "spikes"], SignIndex),
        (["--task", "logistic", "--slope", "3"], LogisticIndex),
        (["--task", "classification", "--flips", "0.2", "--outputs", "classes"], ClassLabels),
        (["--task", "regression", "--link", "tanh"], SingleIndex),
    ],
)
def test_a_task_names_a_teacher_and_replaces_that_of_a_file(options, teacher, tmp_path):
    path = tmp_path / "p.toml"
    for other in ({"kind": "logistic", "slope": 2.0}, {"kind": "labels"}, {"links": ["z"]}):
        small(teacher=other).save(path)
        done = onegrad_here("simulate", str(path), *options, "--print-toml")
        assert done.returncode == 0, done.stderr
        (tmp_path / "q.toml").write_text(done.stdout)
        problem = Problem.load(tmp_path / "q.toml")
        assert type(problem.teacher) is teacher
        assert (problem.readout.outputs == "classes") == ("--outputs" in options)


def test_options_of_other_teachers_are_refused_in_one_line():
    done = onegrad_here("simulate", "--task", "sign", "--slope", "2")
    assert done.returncode == 2
    remedy = "belongs to --task logistic; give that, or leave it out"
    assert done.stderr == f"onegrad: slope='2': {remedy}\n"
    for option, owner in (
        (["--slope", "2"], "--task logistic"),
        (["--flips", "0.1"], "--task sign or classification"),
        (["--combine", "sum"], "--links"),
        (["--directions", "spikes"], "--links"),
        (["--links", "z", "--direction", "spikes"], "another --task"),
        (["--task", "classification", "--link", "tanh"], "another --task"),
    ):
        done = onegrad_here("simulate", *option)
        assert done.returncode == 2
        assert f"belongs to {owner}; " in done.stderr, done.stderr
    misspelt = onegrad_here("simulate", "--task", "labels")
    assert misspelt.returncode == 2
