"""The directions that a run is watched against, and how rows of a matrix lie to them."""

from __future__ import annotations

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.describe.arrays import Floats
from onegrad.diagnostics.records import Alignment
from onegrad.training.instance import Instance

MOST_DIRECTIONS = 4  # spikes that stand in for missing class means
SMALLEST_MEAN = 1e-6  # of a class beside its deviation: smaller ones are rounding


def watched_directions(instance: Instance) -> Floats:
    """Return orthonormal columns (n × r): the teacher's directions, or those of the class means.

    Where class means vanish, the leading spikes take their place; there may be none of these.
    """
    directions = instance.teacher.directions
    if not directions.shape[1]:
        directions = _class_directions(instance.mixture)
    norms = np.linalg.norm(directions, axis=0)
    directions = directions[:, norms > 0] / norms[norms > 0]
    if directions.shape[1] < 2:
        return directions
    gram = directions.T @ directions
    if np.allclose(gram, np.eye(len(gram)), atol=1e-8):
        return directions
    return np.linalg.qr(directions)[0]


def _class_directions(mixture: Mixture) -> Floats:
    """Return differences of class means from the first, or the strongest spikes."""
    n = mixture.dimension
    classes: dict[float | None, list[tuple[float, Floats]]] = {}
    for part in mixture.components:
        mean = np.zeros(n) if part.mean is None else part.mean
        classes.setdefault(part.label, []).append((part.weight, mean))
    means = [
        sum(weight * mean for weight, mean in parts) / max(sum(w for w, _ in parts), 1e-300)
        for parts in classes.values()
    ]
    apart = np.stack([mean - means[0] for mean in means[1:]], axis=1) if len(means) > 1 else None
    if apart is not None and np.linalg.norm(apart) > SMALLEST_MEAN * np.sqrt(mixture.trace):
        return apart
    spikes = [
        (part.weight * strength, part.directions[:, i])
        for part in mixture.components
        for i, strength in enumerate(part.strengths)
    ]
    strongest = sorted(spikes, key=lambda spike: -spike[0])[:MOST_DIRECTIONS]
    return np.stack([g for _, g in strongest], axis=1) if strongest else np.zeros((n, 0))


def first_line(instance: Instance, directions: Floats) -> Floats:
    """Return E[y x] in the watched directions: where the first step's gradients point.

    For isotropic inputs and a mean of links this is (1/r) Σ_i E[zσ*_i(z)] w*_i (Dandi et al. [5],
    Theorem 1); 0 where the target has no linear part.
    """
    teacher, total = instance.teacher, np.zeros(len(directions))
    for part in instance.mixture.components:
        if part.weight > 0:
            mean, slopes = teacher.linear_part(part)
            total += part.weight * part.covariance_times(teacher.directions) @ slopes
            if part.mean is not None:
                total += part.weight * mean * part.mean
    return directions.T @ total


def noise_radius(dimension: int, rank: int) -> float:
    """Return √(2r/n): most random unit vectors have a shorter part in r directions.

    For two directions this is the published 2/√n, and 1 − e^{−2} = 86 % of them do.
    """
    return float(np.sqrt(2 * rank / dimension))


def align(rows: Floats, directions: Floats, line: Floats) -> Alignment:
    """Return overlaps with the directions, the angle in their span, and who is outside.

    The angle is that to the line of the predicted first direction; None where there is none, or
    where the span is a line itself.
    """
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    overlaps = (rows @ directions) / np.where(norms > 0, norms, 1.0)
    lengths = np.linalg.norm(overlaps, axis=1)
    size = np.linalg.norm(line)
    angle = None
    if size > 0 and len(line) > 1:
        along = np.abs(overlaps @ (line / size))
        cosines = np.divide(along, lengths, out=np.zeros_like(along), where=lengths > 0)
        angle = float(np.median(np.degrees(np.arccos(np.minimum(cosines, 1.0)))))
    outside = float(np.mean(lengths > noise_radius(*directions.shape)))
    return Alignment(overlaps, angle, outside)
