"""What is exported makes the same problem again."""

import tomllib

import numpy as np
import pytest

from onegrad.cli.main import cli
from onegrad.cli.options import build_problem
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.export import exported
from onegrad.explorer.state import read_state

STATES = [
    {},
    {"problem": {"scaling.strength": 0.9, "network.activation": "max(u, 0.1*u)"}},
    {"problem": {"network.width": 300, "network.normalise_rows": True, "readout.penalty": 2.0}},
    {"problem": {"teacher.kind": "labels", "data.components.0.weight": 0.3}},
    {"problem": {"scaling.learning_rate": 3.0, "data.alignment": -0.5}, "axis": "readout.ridge"},
]


@pytest.fixture(params=STATES, ids=str)
def state(request):
    return read_state(request.param, {"start": Problem()})


def test_toml_reads_back(state):
    assert Problem(**tomllib.loads(exported(state, "toml")["text"])) == state.problem


def test_python_runs_and_makes_the_problem(state):
    text = exported(state, "python")["text"]
    made = text[: text.index("errors =")]
    names = {}
    exec(made, names)
    assert names["problem"] == state.problem
    compile(text, "exported", "exec")


def test_the_command_makes_the_problem(state, tmp_path):
    text = exported(state, "command")["text"]
    *before, command = text.strip().splitlines()
    import shlex

    arguments = shlex.split(command)
    assert arguments[:2] == ["onegrad", "predict"]
    file = None
    if before:
        file = tmp_path / "problem.toml"
        file.write_text("\n".join(before[1:-1]))
        arguments[arguments.index("problem.toml")] = str(file)
    context = cli.commands["predict"].make_context("predict", arguments[2:])
    options = {
        name: value
        for name, value in context.params.items()
        if name not in ("problem_file", "models", "method", "draws", "seed", "workers")
        and name not in ("as_json", "print_toml", "only_plan")
    }
    if options.get("samples") is not None:
        options["samples"] = int(options["samples"])
    assert build_problem(context.params["problem_file"], options) == state.problem
    assert context.params["models"] == ",".join(state.models)


def test_other_forms_are_refused(state):
    with pytest.raises(InvalidInput, match="as='html'"):
        exported(state, "html")


def test_a_problem_with_arrays_says_where_they_go():
    mean = np.zeros(200)
    problem = Problem(dimension=200, data={"components": [{"mean": mean}]}, readout={"samples": 99})
    text = exported(read_state({}, {"start": problem}), "python")["text"]
    assert 'Problem.load("problem.toml")' in text
