"""The axis of a curve: its range, the values on it, and the problem at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.controls import Control, control_at, controls_of, number_controls
from onegrad.explorer.state import ExplorerState, changed
from onegrad.explorer.values import value_at
from onegrad.problem.problem import Problem

SAMPLES, RIDGE = "readout.samples", "readout.ridge"
BATCHED = (SAMPLES, RIDGE)  # one reduction serves all points of these


@dataclass(frozen=True)
class CurveAxis:
    """The values of a curve's axis, and the value that the problem itself has there."""

    path: str
    values: tuple[float, ...]
    current: Any


def axis_of(state: ExplorerState, points: int) -> CurveAxis:
    """Return the axis of a state with about so many values; raise InvalidInput without a range."""
    control = axis_control(state)
    values = _spaced(control, points)
    return CurveAxis(control.path, values, value_at(state.problem, control.path))


def axis_control(state: ExplorerState) -> Control:
    """Return the control of a state's axis."""
    control = control_at(state.problem, state.axis)
    if control is None or control.low is None:
        known = number_controls(controls_of(state.problem), state.problem)
        names = ", ".join(other.path for other in known)
        raise InvalidInput(f"axis={shown(state.axis)}: must be one of {names}; choose one")
    return control


def _spaced(control: Control, points: int) -> tuple[float, ...]:
    assert control.low is not None
    assert control.high is not None
    space = np.geomspace if control.scale == "log" else np.linspace
    values = space(control.low, control.high, points)
    values[0], values[-1] = control.low, control.high
    if control.whole:
        return tuple(int(v) for v in np.unique(np.round(values)))
    return tuple(float(f"{v:.6g}") for v in values)


def problem_at(state: ExplorerState, value: float | list[float]) -> Problem:
    """Return the problem at one value of the axis."""
    return changed(state.problem, {state.axis: value})
