"""A state as a string to take along: Python, TOML, or a command line."""

from __future__ import annotations

import pprint
import shlex
from typing import Any

from onegrad.core.flags import PROBLEM_FLAGS
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, shown
from onegrad.describe.toml import printed
from onegrad.describe.value import leaves
from onegrad.explorer.controls import BATCHED, SAMPLES, axis_of
from onegrad.explorer.state import ExplorerState

FORMS = ("python", "toml", "command")
CURVE_POINTS = 12


def exported(state: ExplorerState, form: Any) -> dict[str, str]:
    """Return the text of a state in one of the forms."""
    if form not in FORMS:
        raise InvalidInput(f"as={shown(form)}: must be one of {', '.join(FORMS)}; choose one")
    return {"text": {"python": as_python, "toml": as_toml, "command": as_command}[form](state)}


def as_toml(state: ExplorerState) -> str:
    """Return the problem as a TOML file."""
    return printed(state.problem.model_dump())


def own_fields(problem: Problem) -> dict[str, Any]:
    """Return the nested fields of a problem that the default problem does not have."""
    own, default = problem.to_dict(), Problem().to_dict()
    fields = {}
    for name, value in own.items():
        if value != default.get(name):
            fields[name] = _differing(value, default.get(name))
    return fields


def _differing(value: Any, default: Any) -> Any:
    """Return the entries of a table that differ; of another kind all of them."""
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    if value.get("kind") != default.get("kind"):
        return value
    differing = {
        name: _differing(v, default.get(name))
        for name, v in value.items()
        if v != default.get(name)
    }
    return {"kind": value["kind"], **differing} if "kind" in value and differing else differing


def as_python(state: ExplorerState) -> str:
    """Return a script that makes the problem and predicts its curve."""
    if _has_arrays(state.problem):
        made = 'Problem.load("problem.toml")  # copy it as TOML first: it holds arrays'
    else:
        arguments = ",\n".join(
            f"    {name}={_literal(value)}" for name, value in own_fields(state.problem).items()
        )
        made = f"Problem(\n{arguments},\n)" if arguments else "Problem()"
    axis = axis_of(state, CURVE_POINTS)
    values = list(axis.values)
    if axis.path in BATCHED:
        along = f"{'samples' if axis.path == SAMPLES else 'ridge'}={values}"
    else:
        along = f'over={{"{axis.path}": {values}}}'
    return (
        "from onegrad import Problem, predict_curve\n\n"
        f"problem = {made}\n"
        f"errors = predict_curve(\n    problem,\n    {along},\n"
        f'    models={list(state.models)!r},\n    method="auto",\n)\n'
        "print(errors.to_frame())\n"
    )


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=88, sort_dicts=False).replace("\n", "\n    ")


def _has_arrays(problem: Problem) -> bool:
    dumped = problem.model_dump()
    return any(isinstance(value, Array) for value in leaves(_listed(dumped)).values())


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(inner) for name, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, tuple | list) else value


def as_command(state: ExplorerState) -> str:
    """Return the command that predicts the setting; with a file where options do not say it all."""
    models = f"--models {shlex.quote(','.join(state.models))} --method auto"
    options = _options(state.problem)
    if options is not None:
        return " ".join(["onegrad predict", *options, models]) + "\n"
    return (
        f"cat > problem.toml <<'END'\n{as_toml(state)}END\nonegrad predict problem.toml {models}\n"
    )


def _options(problem: Problem) -> list[str] | None:
    """Return the options of a problem's own fields; None where they do not make it again."""
    flags = {path: flag for flag, path in PROBLEM_FLAGS.items()}
    options = []
    for path, value in leaves(own_fields(problem)).items():
        if path not in flags:
            return None
        flag = flags[path]
        if isinstance(value, bool):
            on, _, off = flag.partition("/")
            options.append(on if value else off)
        else:
            options.append(f"{flag} {shlex.quote(str(value))}")
    return options
