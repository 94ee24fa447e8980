"""Types on a grid: a component, and the coordinates of its spikes and of the step.

Given its type, a point's features have the Hermite coefficients a_q of every neuron off the
conditioned directions; what is left there has small correlations R, so that degrees up to 2 and a
diagonal suffice: E[φφᵀ | t] = Σ_q (a_qa_qᵀ) ∘ R^{∘q}/k + diag(rest)/k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from onegrad.calculus.prediction import Note, NoteKind
from onegrad.calculus.quadrature import half_range_rule
from onegrad.data.joint_teachers import TeacherSum
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teachers import Teacher, reads_one_projection
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap, Law, extended_basis, leading_direction

SMALLEST_WEIGHT = 1e-7
MOST_TYPES, MOST_IN_ALL = 5000, 15_000  # of a component, and of a mixture
MOST_CONVEX = 2500  # of a mixture, for losses that every type integrates numerically
STRONG_NODES, MEDIUM_NODES = 11, 5  # on each side of 0
STRONG_RATIO = 10.0  # of a spike to the level
READ = 0.02  # share of what the label reads, from which its link needs more nodes


class GridTooLarge(Exception):
    """The spikes and the step of a component leave no grid, or one that is too large."""


def spike_quadrature(
    gaussian: Gaussian,
    loadings: Floats,
    deviations: Floats,
    seen: Floats,
    *,
    power: float,
    jumps: bool = False,
) -> tuple[Floats, Floats]:
    """Return standardised grid points (T × d) and weights; more nodes where spikes are stronger.

    `seen` is what the label reads of every coordinate, `power` the variance of all that it reads.
    The strong coordinates are turned so that the label reads one of them alone: a kink of the link
    then lies where the rule expects it. A label that `jumps` needs more nodes on every coordinate.
    """
    shares = seen[0] ** 2 / power if len(seen) and power > 0 else np.zeros(loadings.shape[1])
    rules = grid_rules(gaussian, loadings, deviations, shares, jumps=jumps)
    count = prod(len(nodes) for nodes, _ in rules)
    if count > MOST_TYPES:
        raise GridTooLarge
    grid = np.array(list(product(*(nodes for nodes, _ in rules)))).reshape(count, len(rules))
    weights = np.array([np.prod(ws) for ws in product(*(w / w.sum() for _, w in rules))])
    strong = [i for i, (nodes, _) in enumerate(rules) if len(nodes) == 2 * STRONG_NODES]
    if len(strong) > 1 and len(seen) and np.linalg.norm(seen[0, strong]) > 0:
        turn, _ = np.linalg.qr(np.column_stack([seen[0, strong], np.eye(len(strong))]))
        grid[:, strong] = grid[:, strong] @ turn.T
    keep = weights > SMALLEST_WEIGHT
    return grid[keep], weights[keep] / weights[keep].sum()


def grid_rules(
    gaussian: Gaussian,
    loadings: Floats,
    deviations: Floats,
    shares: Floats,
    *,
    jumps: bool = False,
) -> list[tuple[Floats, Floats]]:
    """Return nodes and weights along every conditioned direction, more where it is stronger.

    `shares` are those of the label's projection: a link is not read off three nodes.
    """
    spikes = len(gaussian.strengths)
    strength = np.sqrt(np.mean(loadings**2, axis=0) / np.mean(deviations**2))
    # One coordinate has most of what a jumping label reads: there the rule is finest.
    first = int(np.argmax(shares)) if jumps and np.any(shares > READ) else None
    rules = []
    for i in range(loadings.shape[1]):
        ratio = gaussian.strengths[i] / gaussian.level if i < spikes else 0.0
        if ratio >= STRONG_RATIO or i == first:
            rules.append(half_range_rule(STRONG_NODES))
        elif ratio >= 2 or strength[i] > 0.5 or shares[i] > READ or jumps:
            rules.append(half_range_rule(MEDIUM_NODES))
        else:
            rules.append(np.polynomial.hermite_e.hermegauss(3))
    return rules


DEGREE = 2
LABEL_DEGREE = 6
WEAK_STEP = 0.05  # share of a neuron's deviation along the step below which it is ignored
SMALLEST_SHARE = 1e-8  # of a neuron off the conditioned directions
NOTHING = 1e-9  # of ξᵀx off the conditioned directions
LARGEST_LABEL_ERROR = 0.01  # of E y² by the grid, relative


@dataclass(frozen=True)
class Types:
    """The types of one component: weights, coefficients of features and labels, rows of F̂P⊥."""

    weights: Floats  # p_t, T
    coefficients: Floats  # â_q of the features, (DEGREE + 1) × T × k
    rest: Floats  # variance of features beyond DEGREE, noise included, T × k
    rows: Floats  # those of F̂P⊥, of length 1, k × n
    basis: Floats  # the conditioned directions, n × d
    label: Floats  # E[φy | t], T × k
    label_mean: Floats  # E[y | t], T
    label_power: Floats  # E[y² | t], T
    centres: Floats | None = None  # s̄_t of the projection that the label reads, T
    deviation: float = 0.0  # σ_t, the same for all
    projection: Floats | None = None  # Cov(φ, s | t), T × k
    note: Note | None = None  # if the grid is coarse

    @cached_property
    def correlations(self) -> tuple[Floats, ...]:
        """R^{∘q} for q = 1 … DEGREE, R the neurons' correlations off the directions, k × k."""
        correlation = self.rows @ self.rows.T
        np.fill_diagonal(correlation, 1.0)
        return tuple(correlation**q for q in range(1, DEGREE + 1))


def component_types(
    gaussian: Gaussian,
    index: int,
    teacher: Teacher,
    feature_map: FeatureMap,
    first_layer: Floats,
    *,
    step_direction: Floats | None,
    jumps: bool = False,
) -> Types:
    """Return the types of one component for a first layer and a model."""
    basis, projected = _conditioned(gaussian, first_layer, step_direction)
    off = first_layer - projected @ basis.T
    deviations = np.sqrt(gaussian.level) * np.linalg.norm(off, axis=1)
    if np.min(deviations) <= SMALLEST_SHARE * np.max(np.linalg.norm(first_layer, axis=1)):
        raise GridTooLarge
    variances = np.sum(basis * gaussian.covariance_times(basis), axis=0)
    seen = teacher.directions.T @ (basis * np.sqrt(variances))  # what the label reads, 0 or 1 row
    power = gaussian.projected_variance(teacher.directions)
    loadings = projected * np.sqrt(variances)
    grid, weights = spike_quadrature(gaussian, loadings, deviations, seen, power=power, jumps=jumps)
    mean = np.zeros(len(basis)) if gaussian.mean is None else gaussian.mean
    coordinates = basis.T @ mean + grid * np.sqrt(variances)
    means = coordinates @ projected.T + off @ mean
    count, k = means.shape
    none = np.zeros((count * k, 0))
    law = Law(index, gaussian, means.ravel(), np.tile(deviations, count), none, none)
    a = feature_map.coefficients(law, LABEL_DEGREE).reshape(LABEL_DEGREE + 1, count, k)
    moment = feature_map.second_moment(law).reshape(count, k)
    kept = a[: DEGREE + 1]
    rest = np.maximum(moment - np.sum(kept**2, axis=0), 0.0) + feature_map.noise_variance
    rows = off * (np.sqrt(gaussian.level) / deviations)[:, None]
    facts = _labels(gaussian, teacher, a, coordinates, basis, off, deviations)
    note = _note_if_coarse(weights, facts["label_power"], teacher.second_moment(gaussian))
    return Types(gaussian.weight * weights, kept, rest, rows, basis, note=note, **facts)


def _conditioned(
    gaussian: Gaussian, first_layer: Floats, step_direction: Floats | None
) -> tuple[Floats, Floats]:
    """Return the directions S that types are told apart by (spikes and step), and F̂S."""
    basis = extended_basis(gaussian.directions, step_direction)
    projected = first_layer @ basis
    if basis.shape[1] > gaussian.directions.shape[1]:
        # A weak step is left unconditioned: one node in its place would fix x along it.
        size = np.sqrt(np.mean(projected[:, -1] ** 2) / np.mean(np.sum(first_layer**2, axis=1)))
        if size < WEAK_STEP:
            return gaussian.directions, projected[:, :-1]
    return basis, projected


def _note_if_coarse(weights: Floats, power: Floats, exact: float) -> Note | None:
    """Return a note if the grid's E y² of a component is too far from the exact one."""
    error = abs(float(weights @ power) - exact)
    if error <= LARGEST_LABEL_ERROR * exact:
        return None
    return Note(NoteKind.GRID, error / exact, f"{len(weights)}")


def _labels(
    gaussian: Gaussian,
    teacher: Teacher,
    a: Floats,
    coordinates: Floats,
    basis: Floats,
    off: Floats,
    deviations: Floats,
) -> dict[str, Any]:
    """Return the label's moments with the features of every type, and those of s = ξᵀx.

    Mehler's series in the part of ξᵀx off the spikes.
    """
    if not reads_one_projection(teacher):
        value = teacher.linear_part(gaussian)[0]
        same = np.full(len(coordinates), 1.0)
        own = teacher.second_moment(gaussian) * same
        return {"label": value * a[0], "label_mean": value * same, "label_power": own}
    xi = teacher.directions[:, 0]
    rest = xi - basis @ (basis.T @ xi)
    mean = np.zeros(len(xi)) if gaussian.mean is None else gaussian.mean
    centre = coordinates @ (basis.T @ xi) + rest @ mean
    deviation = np.sqrt(gaussian.level) * np.linalg.norm(rest)
    g = teacher.coefficients_at(centre, np.full(len(centre), deviation), LABEL_DEGREE)
    seen = deviation > NOTHING * np.sqrt(gaussian.projected_variance(teacher.directions))
    scale = gaussian.level / deviation if seen else 0.0
    r = scale * (off @ rest) / deviations
    label = sum(a[q] * g[q][:, None] * r**q for q in range(LABEL_DEGREE + 1))
    power = teacher.second_moment_at(centre, np.full(len(centre), deviation))
    return {
        "label": np.asarray(label),
        "label_mean": g[0],
        "label_power": power,
        "centres": centre,
        "deviation": float(deviation),
        "projection": a[1] * (r * deviation),
    }


def fits_grid(mixture: Mixture, teacher: Teacher, *, convex: bool = False) -> bool:
    """Return whether a grid of bounded size, per component and in all, serves data and labels."""
    several_parts = isinstance(teacher, TeacherSum) and len(teacher.terms) > 1
    if teacher.directions.shape[1] > 1 or several_parts:
        return False
    reads = teacher.directions.shape[1] > 0
    used = [gaussian for gaussian in mixture.components if gaussian.weight > 0]
    counts = [_grid_size(gaussian, reads) for gaussian in used]
    most = MOST_CONVEX if convex else MOST_IN_ALL
    return max(counts) <= MOST_TYPES and sum(counts) <= most


def _grid_size(gaussian: Gaussian, reads: bool) -> float:
    """Return the nodes of spikes and step, one of them perhaps read by a jumping label."""
    n, spikes = gaussian.directions.shape
    strong = int(np.sum(gaussian.strengths >= STRONG_RATIO * gaussian.level))
    strong = max(strong, int(reads))
    if spikes + 1 >= n:
        return np.inf
    return (2.0 * STRONG_NODES) ** strong * (2.0 * MEDIUM_NODES) ** (spikes - strong + 1)


def all_types(
    mixture: Mixture,
    teacher: Teacher,
    feature_map: FeatureMap,
    first_layer: Floats,
    *,
    initial: Floats,
    binary: bool = False,
) -> list[Types]:
    """Return the types of every component of positive weight; `initial` is F before the step.

    With `binary`, labels are signs.
    """
    wide = first_layer.astype(np.float64, copy=False)
    direction = leading_direction(wide - initial)
    how: Any = {"step_direction": direction, "jumps": binary and teacher.directions.shape[1] > 0}
    return [
        component_types(gaussian, index, teacher, feature_map, wide, **how)
        for index, gaussian in enumerate(mixture.components)
        if gaussian.weight > 0
    ]
