"""Sliders on real data: rows are few and have their own dimension, so ranges end where data do."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.state import changed
from onegrad.problem.problem import Problem

if TYPE_CHECKING:
    from onegrad.explorer.controls import Control

HALVINGS = 16  # of a slider's range, until its end is known


def within_data(problem: Problem, control: Control) -> Control | None:
    """Return a control whose range the data allow; None where they allow its value alone."""
    if problem.data.exact_moments or not control.applies(problem):
        return control
    if control.low is None or control.high is None:
        return control
    if control.value is None:
        ends = (control.low, control.high)
        return control if any(_is_allowed(problem, control.path, end) for end in ends) else None
    low = _furthest(problem, control, control.low)
    high = _furthest(problem, control, control.high)
    return None if low == high else replace(control, low=low, high=high)


def _furthest(problem: Problem, control: Control, end: float) -> float:
    """Return the end of a range, or the place nearest to it that is allowed."""
    if _is_allowed(problem, control.path, end):
        return end
    allowed, refused = control.value, end
    for _ in range(HALVINGS):
        middle = _middle(allowed, refused, control)
        if middle in (allowed, refused):
            break
        if _is_allowed(problem, control.path, middle):
            allowed = middle
        else:
            refused = middle
    return allowed


def _middle(a: float, b: float, control: Control) -> float:
    middle = sqrt(a * b) if control.scale == "log" else (a + b) / 2
    return round(middle) if control.whole else float(f"{middle:.3g}")


def _is_allowed(problem: Problem, path: str, value: float) -> bool:
    try:
        changed(problem, {path: value})
    except InvalidInput:
        return False
    return True
