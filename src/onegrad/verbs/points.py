"""Points drawn from the mixture that theory reads, for errors that are averaged over them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onegrad.data.counts import exact_counts
from onegrad.data.mixture import Gaussian
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats
from onegrad.theory.margins import PointBlock
from onegrad.training.instance import Instance
from onegrad.training.streams import Stream

ROUNDS, ROUND_POINTS = 8, 2500


def point_rounds(instance: Instance) -> Iterator[list[PointBlock]]:
    """Yield rounds of points, each with every component's share."""
    mixture, teacher = instance.mixture, instance.teacher
    counts = exact_counts(mixture.weights, ROUND_POINTS)
    places = np.cumsum(mixture.weights > 0) - 1
    for number in range(ROUNDS):
        rng = instance.streams.generator(Stream.TEST_DATA, "points of theory", str(number))
        blocks = []
        for component, count in enumerate(counts):
            if count:
                gaussian = mixture.components[component]
                inputs = gaussian.colour(rng.standard_normal((count, mixture.dimension)))
                expected, variances = _labels(teacher, gaussian, inputs)
                place = int(places[component])
                blocks.append(PointBlock(component, place, inputs, expected, variances))
        yield blocks


def _labels(teacher: Teacher, gaussian: Gaussian, inputs: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of y given x, but for additive noise."""
    if teacher.directions.shape[1] == 0:
        mean = float(teacher.coefficients(gaussian, 0)[0])
        power = teacher.second_moment(gaussian) - teacher.noise**2
        return np.full(len(inputs), mean), np.full(len(inputs), max(power - mean**2, 0.0))
    projections, none = inputs @ teacher.directions[:, 0], np.zeros(len(inputs))
    means = teacher.coefficients_at(projections, none, 0)[0]
    powers = teacher.second_moment_at(projections, none) - teacher.noise**2
    return means, np.maximum(powers - means**2, 0.0)
