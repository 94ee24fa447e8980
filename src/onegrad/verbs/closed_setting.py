"""A problem as theory without draws is told it, or one line that names the method that knows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.expansion import theorem_degree
from onegrad.data.index_teacher import OneDirection, SingleIndex
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.sign_teacher import LogisticIndex, SignIndex
from onegrad.describe.arrays import Array, Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.problem.problem import Problem
from onegrad.theory.closed.frame import Frame, Part
from onegrad.theory.closed.label_law import LabelLaw
from onegrad.theory.closed.setting import ClosedSetting
from onegrad.verbs.closed_frame import SpikeSpan, overlap_factor, spike_span
from onegrad.verbs.closed_overlaps import with_overlaps
from onegrad.verbs.closed_strengths import weighted_strengths

STEP_DIRECTIONS = 2  # v̂ and ê, which the step adds to spikes and means


@dataclass(frozen=True)
class WeightedSetting:
    """A setting and its weight in the mean over what is random in many dimensions too."""

    weight: float
    setting: ClosedSetting


@dataclass(frozen=True)
class ClosedProblem:
    """The settings of a problem, the default Hermite degree, and what is averaged over."""

    settings: tuple[WeightedSetting, ...]
    degree: int
    overlap: float  # θ·axes/n where ξ is random, else 0


def require_closed(problem: Problem) -> None:
    """Raise InvalidInput where theory without draws does not know a field of the problem."""
    training, readout = problem.training, problem.readout
    refused = [
        (f"data.kind={problem.data.kind!r}", isinstance(problem.data, MixtureSource)),
        (
            f"teacher.kind={problem.teacher.kind!r}",
            isinstance(problem.teacher, ClassLabels | SingleIndex | SignIndex | LogisticIndex),
        ),
        (f"training.steps={training.steps}", training.steps == 1),
        (f"training.rule={training.rule!r}", training.rule == "gradient"),
        (f"training.subtract={training.subtract!r}", training.subtract == "none"),
        (
            f"scaling.change_exponent={problem.scaling.change_exponent}",
            problem.scaling.change_exponent is None,
        ),
        (f"readout.outputs={readout.outputs!r}", readout.outputs == "one"),
    ]
    for said, known in refused:
        if not known:
            raise InvalidInput(f"{said}: method='closed' does not know it; use method='types'")


def closed_problem(problem: Problem, *, draft: bool = False) -> ClosedProblem:
    """Return what theory without draws is told; a draft has fewer types, and the RMS overlap.

    Uniform strengths are averaged over a few drafts.
    """
    require_closed(problem)
    source = problem.data
    assert isinstance(source, MixtureSource)
    spread = problem.scaling.spread_at(problem.dimension)
    settings: list[WeightedSetting] = []
    overlap, degree = 0.0, 1
    draws = weighted_strengths(source, spread)
    for share_of_draw, strengths in draws:
        span = spike_span(source, problem.dimension, strengths)
        _require_many_dimensions(problem, span)
        norm = problem.scaling.norm or span.norm
        degree = theorem_degree(_strength(problem, norm), cap=problem.scaling.degree_cap)
        base = replace(_setting(problem, span, norm), draft=draft or len(draws) > 1)
        share = _overlap(problem, span)
        overlap = max(overlap, share)
        several = len(draws) == 1 and not draft
        chosen = with_overlaps(base, span.spikes, share) if several else [(1.0, base)]
        settings += [WeightedSetting(weight * share_of_draw, own) for weight, own in chosen]
    return ClosedProblem(tuple(settings), degree, overlap)


def _require_many_dimensions(problem: Problem, span: SpikeSpan) -> None:
    """Raise InvalidInput unless most dimensions are off spikes, means and the step's plane."""
    least = 2 * (span.size + STEP_DIRECTIONS)
    if problem.dimension < least:
        raise InvalidInput(
            f"dimension={problem.dimension}: method='closed' needs {least} with {span.size} "
            "directions of spikes and means; use method='types'"
        )


def _strength(problem: Problem, norm: float) -> float:
    """Return β, from the step size where it is not said."""
    scaling, n = problem.scaling, problem.dimension
    if scaling.strength is not None:
        return scaling.strength
    rate = _learning_rate(problem)
    return log(rate * norm) / log(n) if rate > 0 and n > 1 else 0.0


def _learning_rate(problem: Problem) -> float:
    rate = problem.scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )
    assert rate is not None
    return rate


def _setting(problem: Problem, span: SpikeSpan, norm: float) -> ClosedSetting:
    assert isinstance(problem.data, MixtureSource)
    n, scaling = problem.dimension, problem.scaling
    trace = scaling.trace or n * span.level + span.trace_of_spikes
    row = 1 / n if problem.network.normalise_rows else 1 / trace
    reads, off = _reads(problem, span, norm)
    parts = tuple(
        Part(c.weight, c.level, span.covariance(i), span.means[i], _label(problem, c))
        for i, c in enumerate(span.components)
    )
    return ClosedSetting(
        Frame(parts, reads, off, n - span.size),
        _law(problem),
        functions.get_activation(problem.network.activation),
        n,
        problem.width,
        problem.samples_per_step,
        _learning_rate(problem),
        row,
        scaling.bulk_deviation or float(np.sqrt(n * row * span.level)),
        problem.network.second_layer,
        problem.data.counts == "exact",
        problem.binary,
        problem.readout.loss,
    )


def _label(problem: Problem, component: Component) -> float | None:
    return component.label if isinstance(problem.teacher, ClassLabels) else None


def _law(problem: Problem) -> LabelLaw:
    teacher = problem.teacher
    if isinstance(teacher, ClassLabels):
        return LabelLaw(
            noise=teacher.noise, signs=problem.binary and not teacher.noise, flips=teacher.flips
        )
    if isinstance(teacher, SignIndex | LogisticIndex):
        return LabelLaw(teacher.expected_label(), signs=True)
    assert isinstance(teacher, SingleIndex)
    return LabelLaw(functions.get(teacher.link, field="link"), noise=teacher.noise)


def _reads(problem: Problem, span: SpikeSpan, norm: float) -> tuple[Floats, float]:
    """Return ξ in the span, and its length off it."""
    teacher = problem.teacher
    if not isinstance(teacher, OneDirection):
        return np.zeros(span.size), 0.0
    along = isinstance(teacher.direction, str) and teacher.direction == "spikes"
    length = teacher.norm
    if length is None:
        length = 1 / np.sqrt(norm)
        if problem.scaling.norm is None:
            length *= overlap_factor(span, problem.dimension, along_spikes=along)
    if along:
        total = span.spike_sum
        size = float(np.linalg.norm(total))
        if not size > 1e-6:
            raise InvalidInput(
                'teacher.direction="spikes": the sum of all spikes must not vanish; raise the '
                "rank, change the alignment or choose another direction"
            )
        return length * total / size, 0.0
    reads = np.zeros(span.size)
    reads[: span.spikes] = length / np.sqrt(problem.dimension)
    if isinstance(teacher.direction, Array):
        unit = teacher.direction.values / np.linalg.norm(teacher.direction.values)
        if span.given.size:
            known = np.any(span.given, axis=0)
            reads[known] = length * (span.given[:, known].T @ unit)
    return reads, float(np.sqrt(max(length**2 - reads @ reads, 0.0)))


def _overlap(problem: Problem, span: SpikeSpan) -> float:
    """Return θ·axes/(l·n) where ξ is random, else 0: how much one random overlap matters."""
    teacher = problem.teacher
    if not isinstance(teacher, OneDirection) or not span.spikes:
        return 0.0
    if not isinstance(teacher.direction, str) or teacher.direction != "random":
        return 0.0
    sizes = zip(span.components, span.strengths, strict=True)
    largest = max(float(s.max(initial=0.0)) / c.level for c, s in sizes)
    return largest * span.spikes / problem.dimension
