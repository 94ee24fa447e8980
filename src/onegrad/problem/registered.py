"""What a problem uses that users registered: a name does not tell what it computes."""

from __future__ import annotations

from onegrad.calculus import functions
from onegrad.calculus.losses import loss_mark
from onegrad.calculus.rules import rule_mark
from onegrad.data.source import SOURCES
from onegrad.data.teacher import TEACHERS
from onegrad.problem.problem import Problem


def registered_marks(problem: Problem) -> dict[str, str]:
    """Return digests of what users registered and the problem uses, by name."""
    names = {problem.network.activation, *problem.teacher.functions}
    marks = {name: functions.fingerprint(name) for name in sorted(names)}
    marks |= {f"data {problem.data.kind}": SOURCES.registry.mark(problem.data.kind)}
    marks |= {f"teacher {problem.teacher.kind}": TEACHERS.registry.mark(problem.teacher.kind)}
    marks |= {f"rule {problem.training.rule}": rule_mark(problem.training.rule)}
    marks |= {f"loss {problem.readout.loss}": loss_mark(problem.readout.loss)}
    return {name: mark for name, mark in marks.items() if mark is not None}
