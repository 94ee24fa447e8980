"""The errors of models without draws: types, features, equivalent, response.

What many curves and models ask for is solved together: their matrices are small, so that the time
is that of calls, not of arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from onegrad.calculus.expectations import HermiteExpansion, expand
from onegrad.calculus.function import Function
from onegrad.calculus.losses import get_loss
from onegrad.closed.convex import ReadoutLoss, convex_errors, labels_of_types
from onegrad.closed.equivalent import Equations
from onegrad.closed.feature_grid import FeatureGrid, GridStack, feature_grid
from onegrad.closed.label_law import LabelMoments
from onegrad.closed.nodes import LOSS_NODES, SamplePoints, sample_points
from onegrad.closed.reliability import ClosedIndicators, LossDoubts, PointDoubts, indicators_of
from onegrad.closed.response import PointErrors, point_errors, wrong_signs
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.step import NeuronTypes, trained, untrained
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats

Layer = Literal["initial", "trained"]
Answer = tuple[dict[str, Floats], list[ClosedIndicators]]

MOST_ENTRIES = 4_000_000  # of sample and neuron types, of the points that are solved together
FEW_POINTS = 3  # of one grid, up to which it is repeated beside others


@dataclass(frozen=True)
class LayerTypes:
    """Types of neurons and of samples, and what is known of the samples' labels."""

    neurons: NeuronTypes
    samples: SamplePoints
    label: LabelMoments


@dataclass(frozen=True)
class ClosedTheory:
    """All that models of one setting share: the laws of F before and after the step."""

    setting: ClosedSetting
    _grids: dict[tuple[int | None, Layer], FeatureGrid] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _trained(self) -> LayerTypes:
        return self._with_samples(trained(self.setting))

    @cached_property
    def _initial(self) -> LayerTypes:
        return self._with_samples(untrained(self.setting))

    def _with_samples(self, types: NeuronTypes) -> LayerTypes:
        setting, law, frame = self.setting, self.setting.law, types.frame
        samples = sample_points(
            frame,
            law,
            types.load,
            types.bulk_variance,
            setting.most_readout_samples,
            wanted=0 if setting.loss == "square" else LOSS_NODES,
        )
        deviation = frame.reads_off * np.sqrt(samples.level)
        label = law.moments(samples.centres(frame), deviation, samples.labels(frame))
        return LayerTypes(types, samples, label)

    def types(self, layer: Layer = "trained") -> LayerTypes:
        """Return the types of neurons and of samples, before or after the step."""
        return self._initial if layer == "initial" else self._trained

    def grid(self, *, degree: int | None = None, layer: Layer = "trained") -> FeatureGrid:
        """Return the features of a model: a Hermite one of this degree, or the network."""
        if (degree, layer) not in self._grids:
            setting = self.setting
            types = self.types(layer)
            sigma = setting.activation
            model = sigma if degree is None else _polynomial(sigma, setting.bulk_deviation, degree)
            self._grids[degree, layer] = feature_grid(
                types.samples, types.neurons, types.label, model, draft=setting.draft
            )
        return self._grids[degree, layer]

    def errors(
        self,
        samples: Floats,
        ridges: Floats,
        *,
        degree: int | None = None,
        layer: Layer = "trained",
        random_overlap: float = 0.0,
    ) -> Answer:
        """Return metrics and how sure they are, at points (m, λ), one for each entry of both."""
        asked = Question(self, samples, ridges, degree, layer, random_overlap)
        return answers([asked])[0]


@functools.lru_cache(maxsize=256)
def _polynomial(sigma: Function, deviation: float, degree: int) -> HermiteExpansion:
    """Return the Hermite expansion, which many points of a curve share."""
    return expand(sigma, deviation, degree=degree)


@dataclass(frozen=True)
class Question:
    """The errors of one model of a setting at points (m, λ), one for each entry of both."""

    theory: ClosedTheory
    samples: Floats
    ridges: Floats
    degree: int | None = None
    layer: Layer = "trained"
    random_overlap: float = 0.0

    @property
    def grid(self) -> FeatureGrid:
        """The model's features."""
        return self.theory.grid(degree=self.degree, layer=self.layer)

    @property
    def points(self) -> int:
        """How many points are asked for."""
        return len(self.samples)

    @property
    def entries(self) -> int:
        """Sample types times neuron types of all points."""
        return self.grid.own.size * self.points

    @property
    def shape(self) -> tuple[int, ...]:
        """What grids that are solved together have in common."""
        return (*self.grid.own.shape, int(self.grid.part.max()), self.theory.setting.exact_counts)

    def answer(self, errors: PointErrors, doubts: PointDoubts) -> Answer:
        """Return the metrics and how sure they are."""
        setting, types = self.theory.setting, self.theory.types(self.layer)
        rates = {}
        if setting.binary:
            wrong = wrong_signs(errors, types.neurons.frame, types.samples, setting.law)
            rates = {
                "misclassification": wrong.misclassification,
                "train_misclassification": wrong.train_misclassification,
            }
        train, norm = errors.train_mse, errors.norm
        metrics = {
            "test_mse": errors.test_mse,
            "train_mse": train,
            "objective": 0.5 * train + 0.5 * self.ridges * norm,
            "squared_weight_norm": norm,
            **rates,
        }
        return metrics, self._sure(doubts)

    def convex_answer(self) -> Answer:
        """Return the metrics of another loss than the square, and how sure they are."""
        setting, types = self.theory.setting, self.theory.types(self.layer)
        labels = labels_of_types(
            setting.law, types.neurons.frame, types.samples, types.label, binary=setting.binary
        )
        readout = ReadoutLoss(labels, get_loss(setting.loss), setting.exact_counts)
        equations = Equations.of(self.grid, setting.neurons)
        errors = convex_errors(equations, readout, self.samples, self.ridges)
        return errors.metrics, self._sure(errors.doubts, errors.losses)

    def _sure(
        self, doubts: PointDoubts, losses: Sequence[LossDoubts] | None = None
    ) -> list[ClosedIndicators]:
        types = self.theory.types(self.layer)
        return indicators_of(
            self.theory.setting,
            types.neurons,
            types.samples,
            doubts,
            self.samples,
            random_overlap=self.random_overlap,
            losses=losses,
        )


def answers(questions: Sequence[Question]) -> list[Answer]:
    """Return the answer to every question; those with grids of one shape are solved together."""
    found: list[Answer | None] = [None] * len(questions)
    for places in _together(questions):
        part = [questions[place] for place in places]
        for place, answer in zip(places, _solved(part), strict=True):
            found[place] = answer
    return [answer for answer in found if answer is not None]


def _together(questions: Sequence[Question]) -> list[list[int]]:
    """Return which questions are solved together: a few points each, of one shape, not too many."""
    groups: list[list[int]] = []
    open_groups: dict[tuple[int, ...], tuple[list[int], int]] = {}
    for place, question in enumerate(questions):
        if question.points > FEW_POINTS or question.theory.setting.loss != "square":
            groups.append([place])
            continue
        group, entries = open_groups.get(question.shape, ([], 0))
        if not group or entries + question.entries > MOST_ENTRIES:
            group, entries = [], 0
            groups.append(group)
        group.append(place)
        open_groups[question.shape] = group, entries + question.entries
    return groups


def _solved(questions: Sequence[Question]) -> list[Answer]:
    """Return the answers to questions whose grids have one shape."""
    if len(questions) == 1:
        return [_alone(questions[0])]
    counts = [question.points for question in questions]
    owners = np.repeat(np.arange(len(questions)), counts)
    grids = [question.grid for question in questions]
    neurons = [question.theory.setting.neurons for question in questions]
    equations = Equations(GridStack.of(grids, neurons))
    if max(counts) > 1:
        equations = equations.chosen(owners)
    samples = np.concatenate([question.samples for question in questions])
    ridges = np.concatenate([question.ridges for question in questions])
    exact = questions[0].theory.setting.exact_counts
    try:
        errors, doubts = _errors(equations, samples, ridges, exact_counts=exact)
    except NotConverged:  # one of them: which is said when it is solved alone
        return [_alone(question) for question in questions]
    ends = np.cumsum(counts).tolist()
    rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return [
        question.answer(errors.chosen(own), doubts.chosen(own))
        for question, own in zip(questions, rows, strict=True)
    ]


def _alone(question: Question) -> Answer:
    """Return the answer to one question, in parts where it has very many points."""
    setting = question.theory.setting
    if setting.loss != "square":
        return question.convex_answer()
    equations = Equations.of(question.grid, setting.neurons)
    together = max(1, MOST_ENTRIES // question.grid.own.size)
    parts = []
    for start in range(0, question.points, together):
        own = slice(start, start + together)
        samples, ridges = np.asarray(question.samples[own]), np.asarray(question.ridges[own])
        parts.append(_errors(equations, samples, ridges, exact_counts=setting.exact_counts))
    errors = PointErrors.joined([errors for errors, _ in parts])
    return question.answer(errors, PointDoubts.joined([doubts for _, doubts in parts]))


def _errors(
    equations: Equations, samples: Floats, ridges: Floats, *, exact_counts: bool
) -> tuple[PointErrors, PointDoubts]:
    solution = equations.solve(samples, ridges)
    errors = point_errors(solution, exact_counts=exact_counts)
    return errors, PointDoubts.of(solution, errors.test_mse, errors.bias)
