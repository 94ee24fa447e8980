"""A problem in the terms of the closed theory, or the reason why that theory does not cover it.

A described mixture is not drawn: its spikes and means have coordinates in the span S that theory
keeps whole. Given arrays have the coordinates that they have. Random directions are new axes: in
many dimensions they are orthogonal to all others. What their small overlaps do to ‖Σ‖, to ξ and
uniform strengths are averaged over, by rules of a few settings.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log
from typing import cast

import numpy as np
from scipy.special import roots_jacobi

from onegrad.calculus import functions
from onegrad.calculus.expectations import theorem_degree
from onegrad.calculus.prediction import PredictedModels, Prediction, worst_notes
from onegrad.closed.label_law import LabelLaw
from onegrad.closed.setting import ClosedSetting, Frame, Part
from onegrad.closed.solve import ClosedTheory, ModelCurve, solve
from onegrad.core.model_names import Names, models_named
from onegrad.core.models import Model
from onegrad.core.problem import Problem
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.teachers import ClassLabels, LogisticIndex, OneDirection, SignIndex, SingleIndex
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, Floats
from onegrad.theory.methods import Need, require

STEP_DIRECTIONS = 2  # v̂ and ê, which the step adds to spikes and means

KNOWN_TEACHERS = ClassLabels | SingleIndex | SignIndex | LogisticIndex
CLOSED_NEEDS = (
    Need("data.kind", lambda problem: isinstance(problem.data, MixtureSource)),
    Need("teacher.kind", lambda problem: isinstance(problem.teacher, KNOWN_TEACHERS)),
    Need("training.steps", lambda problem: problem.training.steps == 1),
    Need("training.rule", lambda problem: problem.training.rule == "gradient"),
    Need("training.subtract", lambda problem: problem.training.subtract == "none"),
    Need("scaling.change_exponent", lambda problem: problem.scaling.change_exponent is None),
    Need("readout.outputs", lambda problem: problem.readout.outputs == "one"),
)
KNOWN_MODELS = ("network@trained", "network@initial")  # and polynomials
TOGETHER = 64  # problems whose grids are in memory at once


def require_closed_models(models: Sequence[Model]) -> None:
    """Raise InvalidInput if the closed theory does not cover a model."""
    for model in models:
        if model.degree is None and model.key not in KNOWN_MODELS:
            raise InvalidInput(
                f"models={model.name!r}: method='closed' knows network, hermite, linear and "
                "untrained; use method='types'"
            )


@dataclass(frozen=True)
class ClosedProblem:
    """The settings of a problem with their weights, and the default Hermite degree.

    The errors are means over the settings, which differ in what is random in many dimensions too.
    `overlap` is θ·axes/n if ξ is random, else 0.
    """

    problem: Problem
    settings: tuple[tuple[float, ClosedSetting], ...]
    degree: int
    overlap: float

    @classmethod
    def of(cls, problem: Problem, *, draft: bool = False) -> ClosedProblem:
        """Return the settings, or raise InvalidInput with the reason why there are none.

        A draft is several times faster at strong steps, and a per cent or two less exact there: it
        has fewer types, and the RMS overlap. Uniform strengths are averaged over a few drafts.
        """
        require(problem, CLOSED_NEEDS)
        source = cast(MixtureSource, problem.data)
        spread = problem.scaling.spread_at(problem.dimension)
        settings: list[tuple[float, ClosedSetting]] = []
        overlap, degree = 0.0, 1
        draws = weighted_strengths(source, spread)
        for share_of_draw, strengths in draws:
            span = spike_span(source, problem.dimension, strengths)
            least = 2 * (span.size + STEP_DIRECTIONS)
            if problem.dimension < least:
                raise InvalidInput(
                    f"dimension={problem.dimension}: method='closed' needs {least} with "
                    f"{span.size} directions of spikes and means; use method='types'"
                )
            norm = problem.scaling.norm or span.norm
            degree = theorem_degree(_strength(problem, norm), cap=problem.scaling.degree_cap)
            base = replace(_setting(problem, span, norm), draft=draft or len(draws) > 1)
            share = _overlap(problem, span)
            overlap = max(overlap, share)
            several = len(draws) == 1 and not draft
            chosen = with_overlaps(base, span.spikes, share) if several else [(1.0, base)]
            settings += [(weight * share_of_draw, own) for weight, own in chosen]
        return cls(problem, tuple(settings), degree, overlap)

    def models(self, wanted: Names | Sequence[Model]) -> list[Model]:
        """Return models, by name if they are names; raise InvalidInput if one is not covered."""
        models = [model for model in wanted if isinstance(model, Model)]
        if not models:
            names = cast(Names, wanted)
            models = models_named(self.problem, names, theorem_degree=self.degree)
        require_closed_models(models)
        return models

    def theories(self) -> list[ClosedTheory]:
        """Return the theory of every setting; what models and points share is computed once."""
        return [ClosedTheory(setting) for _, setting in self.settings]

    def curves(
        self, theories: Sequence[ClosedTheory], model: Model, counts: Floats, ridges: Floats
    ) -> list[ModelCurve]:
        """Return one model's curve over numbers of samples × penalties in every setting."""
        m, penalties = np.repeat(counts, len(ridges)), np.tile(ridges, len(counts))
        return [
            ModelCurve(theory, m, penalties, model.degree, model.first_layer, self.overlap)
            for theory in theories
        ]

    def mean(self, settings: Sequence[Sequence[Prediction]]) -> list[Prediction]:
        """Return the weighted mean over settings at every point; the largest theory error."""
        if len(settings) == 1:
            return list(settings[0])
        weights = np.array([weight for weight, _ in self.settings])
        means = {
            name: np.tensordot(
                weights, np.array([[p.metrics[name] for p in own] for own in settings]), 1
            ).tolist()
            for name in settings[0][0].metrics
        }
        return [
            Prediction(
                {name: values[i] for name, values in means.items()},
                max(prediction.theory_error for prediction in at),
                worst_notes(note for prediction in at for note in prediction.notes),
            )
            for i, at in enumerate(zip(*settings, strict=True))
        ]


def predict_closed(
    asked: Sequence[tuple[ClosedProblem, Sequence[Model]]],
    *,
    samples: tuple[int, ...] | None = None,
) -> list[PredictedModels]:
    """Return the models' predictions for every problem, over (samples ×) penalties.

    All are solved together: their matrices are small, so that one by one takes longer.
    """
    predicted: list[PredictedModels] = []
    for start in range(0, len(asked), TOGETHER):
        predicted += _solved(asked[start : start + TOGETHER], samples)
    return predicted


def _solved(
    asked: Sequence[tuple[ClosedProblem, Sequence[Model]]], samples: tuple[int, ...] | None
) -> list[PredictedModels]:
    curves: list[ModelCurve] = []
    for closed, models in asked:
        counts = np.array((closed.problem.samples,) if samples is None else samples, float)
        ridges, theories = np.array(closed.problem.ridges), closed.theories()
        for model in {model.key: model for model in models}.values():
            curves += closed.curves(theories, model, counts, ridges)
    solved = iter(solve(curves))
    predicted = []
    for closed, models in asked:
        means = {
            key: closed.mean([next(solved) for _ in closed.settings])
            for key in dict.fromkeys(model.key for model in models)
        }
        rows = () if samples is None else (len(samples),)
        shape = (*rows, len(closed.problem.ridges))
        predicted.append(PredictedModels.of(models, means, shape, "closed"))
    return predicted


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
    by_class = isinstance(problem.teacher, ClassLabels)
    parts = tuple(
        Part(c.weight, c.level, span.covariance(i), span.means[i], c.label if by_class else None)
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


MOST_AXES = 40
NEGLIGIBLE = 1e-10
OVERLAP_DRAWS = 128


@dataclass(frozen=True)
class SpikeSpan:
    """Coordinates of every component's spikes and mean; the first `spikes` axes span the spikes."""

    components: tuple[Component, ...]  # of positive weight
    strengths: tuple[Floats, ...]
    directions: tuple[Floats, ...]  # axes × rank
    means: tuple[Floats, ...]
    spikes: int  # axes that spikes span
    given: Floats  # n × axes; zero columns for random axes
    independent: bool  # whether components draw their spikes independently

    @property
    def size(self) -> int:
        """The number of axes."""
        return self.given.shape[1]

    @property
    def level(self) -> float:
        """Σ_c ρ_c l_c."""
        return float(sum(c.weight * c.level for c in self.components))

    def covariance(self, index: int) -> Floats:
        """Return the covariance of one component in the span."""
        own = self.directions[index]
        level = self.components[index].level
        return level * np.eye(self.size) + (own * self.strengths[index]) @ own.T

    @property
    def trace_of_spikes(self) -> float:
        """Σ_c ρ_c Σ_i θ_{c,i}."""
        return float(
            sum(c.weight * s.sum() for c, s in zip(self.components, self.strengths, strict=True))
        )

    @property
    def norm(self) -> float:
        """‖Σ‖ with random directions orthogonal to all others."""
        total = sum(c.weight * self.covariance(i) for i, c in enumerate(self.components))
        return max(float(np.linalg.eigvalsh(total)[-1]), self.level) if self.size else self.level

    @property
    def spike_sum(self) -> Floats:
        """Σ_{c,i} γ_{c,i}."""
        return np.asarray(np.sum([own.sum(axis=1) for own in self.directions], axis=0))


def spike_span(source: MixtureSource, dimension: int, strengths: tuple[Floats, ...]) -> SpikeSpan:
    """Return the span; `strengths` are those of the components of positive weight."""
    parts = tuple(c for c in source.components if c.weight > 0)
    first = source.components[0]
    arrays = [c.directions.values for c in parts if isinstance(c.directions, Array)]
    given = _basis(np.column_stack([np.zeros((dimension, 0)), *arrays]))
    axes = _Axes(given.shape[1])
    directions = []
    reference: list[dict[int, float]] = []
    for c in source.components:
        refers = c is first and source.alignment is not None
        if c.weight == 0 and not refers:
            continue  # axes that nobody uses would cost nodes and bulk dimensions
        if isinstance(c.directions, Array):
            columns = [dict(enumerate(row)) for row in (given.T @ c.directions.values).T]
        else:
            aligned = source.alignment if c is not first else None
            columns = _random_columns(axes, c.rank, reference, aligned)
        if c is first:
            reference = columns
        if c.weight > 0:
            directions.append(columns)
    spikes = axes.count
    means, own = _means(parts, given, axes)
    whole = np.zeros((dimension if given.size or own.size else 0, axes.count))
    if whole.size:
        whole[:, : given.shape[1]] = given
        whole[:, spikes : spikes + own.shape[1]] = own
    if axes.count > MOST_AXES:
        raise InvalidInput(
            f"method='closed': spikes and means span {axes.count} directions, at most {MOST_AXES} "
            "are computed; use method='types'"
        )
    randoms = sum(not isinstance(c.directions, Array) and c.rank > 0 for c in parts)
    return SpikeSpan(
        parts,
        strengths,
        tuple(_matrix(columns, axes.count) for columns in directions),
        tuple(_matrix([mean], axes.count)[:, 0] for mean in means),
        spikes,
        whole,
        source.alignment is None and randoms > 1,
    )


@dataclass
class _Axes:
    """Counts axes as they are added."""

    count: int

    def new(self) -> int:
        """Return the index of a new axis."""
        self.count += 1
        return self.count - 1


def _random_columns(
    axes: _Axes, rank: int, reference: list[dict[int, float]], cosine: float | None
) -> list[dict[int, float]]:
    """Return random spikes, with this cosine to the reference's where one is said."""
    columns: list[dict[int, float]] = []
    for i in range(rank):
        if cosine is None or i >= len(reference):
            columns.append({axes.new(): 1.0})
            continue
        column = {axis: cosine * value for axis, value in reference[i].items()}
        rest = np.sqrt(max(1 - cosine**2, 0.0))
        if rest > 1e-6:
            column[axes.new()] = float(rest)
        columns.append(column)
    return columns


def _means(
    parts: tuple[Component, ...], given: Floats, axes: _Axes
) -> tuple[list[dict[int, float]], Floats]:
    """Return the means' coordinates, and new orthonormal columns that they span."""
    arrays = [c.mean.values for c in parts if isinstance(c.mean, Array)]
    left = [array - given @ (given.T @ array) for array in arrays]
    own = _basis(np.column_stack(left)) if left else np.zeros((given.shape[0], 0))
    start = axes.count
    axes.count += own.shape[1]
    shared = axes.new() if any(isinstance(c.mean, float) and c.mean for c in parts) else None
    means: list[dict[int, float]] = []
    for c in parts:
        if isinstance(c.mean, Array):
            mean = dict(enumerate(given.T @ c.mean.values))
            mean.update({start + i: float(v) for i, v in enumerate(own.T @ c.mean.values)})
        elif c.mean and shared is not None:
            mean = {shared: float(c.mean)}
        else:
            mean = {}
        means.append(mean)
    return means, own


def _basis(columns: Floats) -> Floats:
    """Return orthonormal columns with the same span."""
    if columns.size == 0:
        return np.zeros((columns.shape[0], 0))
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, values > NEGLIGIBLE * max(values[0], 1e-300)]


def _matrix(columns: list[dict[int, float]], size: int) -> Floats:
    out = np.zeros((size, len(columns)))
    for j, column in enumerate(columns):
        for axis, value in column.items():
            out[axis, j] = value
    return out


def overlap_factor(span: SpikeSpan, dimension: int, *, along_spikes: bool) -> float:
    """Return what overlaps of independent spikes do to |ξ| = 1/√‖Σ‖, in the mean of its square.

    γ's of different components overlap by N(0, 1/n), which raises ‖Σ‖ by about 1 + E|overlap|.
    With ξ along the spikes it is the variance of ξᵀx that is averaged.
    """
    if not span.independent:
        return 1.0
    roots = tuple(
        sorted(  # so that the order of components does not decide which draws they meet
            tuple(sorted(float(v) for v in np.sqrt(c.weight * s)))
            for c, s in zip(span.components, span.strengths, strict=True)
        )
    )
    return _overlap_factor(roots, span.level, dimension, along_spikes)


@functools.lru_cache(maxsize=1024)
def _overlap_factor(
    roots: tuple[tuple[float, ...], ...], level: float, dimension: int, along_spikes: bool
) -> float:
    root = np.array([value for part in roots for value in part])
    if len(root) < 2 or root.max() == 0:
        return 1.0
    overlaps = np.triu(_normals(len(root)), 1) / np.sqrt(dimension)
    start = 0
    for part in roots:
        overlaps[:, start : start + len(part), start : start + len(part)] = 0.0
        start += len(part)
    gram = np.eye(len(root)) + overlaps + overlaps.transpose(0, 2, 1)
    norms = level + np.linalg.eigvalsh(root[:, None] * gram * root)[:, -1]
    plain = level + float(root.max()) ** 2
    if not along_spikes:
        return float(np.sqrt(np.mean(plain / norms)))
    seen = gram.sum(axis=2)  # γ_jᵀ Σγ
    variance = level + (seen**2 * root**2).sum(axis=1) / seen.sum(axis=1)
    start_variance = level + float((root**2).sum()) / len(root)
    return float(np.sqrt(np.mean(variance / norms) * plain / start_variance))


@functools.cache
def _normals(size: int) -> Floats:
    """Return fixed normal matrices and their negatives."""
    draws = np.random.default_rng(0).standard_normal((OVERLAP_DRAWS, size, size))
    return np.concatenate([draws, -draws])


# Gauss's rule of g² for g ~ N(0, 1): two nodes, exact to the third power.
LENGTHS = np.sqrt(3 + np.array([-1.0, 1.0]) * np.sqrt(6))
LENGTH_WEIGHTS = 0.5 + np.array([1.0, -1.0]) / np.sqrt(6)
MATTERS = 0.1  # θ·axes/n from which overlaps are averaged over: below, it changes .03 % at the most


def with_overlaps(
    base: ClosedSetting, spikes: int, share: float
) -> list[tuple[float, ClosedSetting]]:
    """Return settings with other overlaps of ξ and the spikes, and their weights.

    `share` is θ·axes/n for a random ξ, else 0; `spikes` is the number of axes that spikes span.
    (ξᵀγ)² is ‖ξ‖²/n times χ² of one degree. For up to two axes its mean is a product of rules; for
    more it is taken for one axis at a time, which is exact where errors are sums over axes.
    """
    if share < MATTERS or not spikes:
        return [(1.0, base)]
    one = np.ones(spikes)
    if spikes <= 2:
        chosen = []
        for places in product(range(2), repeat=spikes):
            weight = float(np.prod(LENGTH_WEIGHTS[list(places)]))
            chosen.append((weight, LENGTHS[list(places)]))
        if len(_distinct_axes(base.frame, spikes)) < spikes:  # (a, b) is (b, a)
            chosen = [chosen[0], (2 * chosen[1][0], chosen[1][1]), chosen[3]]
    else:
        chosen = [(1.0 - spikes, one)]
        for axis, count in _distinct_axes(base.frame, spikes).items():
            for length, weight in zip(LENGTHS, LENGTH_WEIGHTS, strict=True):
                lengths = one.copy()
                lengths[axis] = length
                chosen.append((count * float(weight), lengths))
    return [(weight, _overlapping(base, lengths)) for weight, lengths in chosen]


def _overlapping(base: ClosedSetting, lengths: Floats) -> ClosedSetting:
    """Return the setting with overlaps of ξ and the spikes that are so many times as large."""
    frame = base.frame
    total = float(frame.reads @ frame.reads) + frame.reads_off**2
    reads = frame.reads.copy()
    reads[: len(lengths)] *= lengths
    off = float(np.sqrt(max(total - float(reads @ reads), 0.0)))
    return replace(base, frame=replace(frame, reads=reads, reads_off=off))


def _distinct_axes(frame: Frame, count: int) -> dict[int, int]:
    """Return axes that no exchange of axes and components maps to each other, and how many each is.

    Two components of one weight and law, each with its own spike, have one such axis.
    """
    distinct: dict[int, int] = {}
    for axis in range(count):
        same = (other for other in distinct if _is_exchangeable(frame, axis, other))
        first = next(same, axis)
        distinct[first] = distinct.get(first, 0) + 1
    return distinct


def _is_exchangeable(frame: Frame, one: int, other: int) -> bool:
    order = np.arange(frame.size)
    order[[one, other]] = order[[other, one]]
    left = list(frame.parts)
    for part in frame.parts:
        moved = part.covariance[np.ix_(order, order)], part.mean[order]
        match = next(
            (
                p
                for p in left
                if (p.weight, p.level, p.label) == (part.weight, part.level, part.label)
                and np.allclose(p.covariance, moved[0])
                and np.allclose(p.mean, moved[1])
            ),
            None,
        )
        if match is None:
            return False
        left = [p for p in left if p is not match]
    return True


LARGEST_NODES = 2  # of the largest strength


def weighted_strengths(
    source: MixtureSource, spread: float
) -> list[tuple[float, tuple[Floats, ...]]]:
    """Return θ_i of the components of positive weight, with weights where some are uniform."""
    ranks = [c.rank for c in source.components if c.strengths == "uniform" and c.rank]
    return [
        (weight, _strengths_of(source, spread, draw)) for weight, draw in uniform_strengths(ranks)
    ]


def uniform_strengths(ranks: list[int]) -> list[tuple[float, Floats]]:
    """Return a rule for independent U(0, 1), as many as each group has: weights and values.

    ‖Σ‖ is that of the largest strength, so a rule over all of them meets a kink wherever two are
    equal. Here the largest is in each group in turn, with Gauss's rule of its density d·u^{d−1},
    and the others are uniform below it: by Stroud's rule of degree 3 for a cube, two points each.
    """
    count = sum(ranks)
    if not count:
        return [(1.0, np.zeros(0))]
    roots, weights = roots_jacobi(LARGEST_NODES, 0, count - 1)
    largest, shares = (roots + 1) / 2, weights / weights.sum()
    others = (_cube(count - 1) + 1) / 2
    chosen, start = [], 0
    for rank in ranks:
        for value, share in zip(largest, shares, strict=True):
            weight = rank / count * float(share) / len(others)
            chosen += [(weight, np.insert(value * ratios, start, value)) for ratios in others]
        start += rank
    return chosen


def _cube(dimension: int) -> Floats:
    """Return the 2d points of equal weight of Stroud's rule of degree 3 for [−1, 1]^d (Cn: 3-1)."""
    if not dimension:
        return np.zeros((1, 0))
    turns = np.arange(1, 2 * dimension + 1)[:, None] * np.pi / dimension
    odd = np.arange(1, dimension, 2)
    points = np.empty((2 * dimension, dimension))
    points[:, 0 : 2 * len(odd) : 2] = np.sqrt(2 / 3) * np.cos(odd * turns)
    points[:, 1 : 2 * len(odd) : 2] = np.sqrt(2 / 3) * np.sin(odd * turns)
    if dimension % 2:
        points[:, -1] = (-1.0) ** np.arange(1, 2 * dimension + 1) / np.sqrt(3)
    return points


def _strengths_of(source: MixtureSource, spread: float, draw: Floats) -> tuple[Floats, ...]:
    out, used, total = [], 0, None
    for c in source.components:
        if c.strengths == "uniform":
            own = spread * draw[used : used + c.rank]
            used += c.rank
        else:
            own = spread * np.broadcast_to(np.asarray(c.strengths, float), (c.rank,))
        if total is None:
            total = float(own.sum())
        elif source.equal_totals and own.sum() > 0:
            own = own * (total / own.sum())
        if c.weight > 0:
            out.append(own)
    return tuple(out)
