"""Teachers of several orthonormal directions: y = combination of σ*_i(w*_iᵀx), x ~ N(0, I)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import PlainValidator

from onegrad.arrays import Array, Floats
from onegrad.data.source import orthonormal_directions
from onegrad.data.teacher import scaled_to
from onegrad.expectations import hermite_coefficients
from onegrad.giant.links import get_link, link_name
from onegrad.validation import InvalidInput, NonNegative, Value, whole_number

LARGEST_DEGREE = 12
MOST_ENTRIES = 10**6  # of a Hermite tensor
NEGLIGIBLE = 1e-7  # a coefficient below this is zero up to quadrature


def _links(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of at least one link; correct it")
    return tuple(link_name(link) for link in value)


class MultiIndex(Value):
    """A teacher of r = len(links) orthonormal directions w*_i.

    `combine`, with s_i = σ*_i(w*_iᵀx): "mean" is (1/r) Σ s_i (Dandi et al.), "sum" Σ s_i, "product"
    Π s_i, "staircase" s_1 + s_1 s_2 + s_1 s_2 s_3 + …; noise·N(0, 1) is added.
    `directions`: "random", or a d × r array with orthonormal columns.
    """

    links: Annotated[tuple[str, ...], PlainValidator(_links)] = ("z",)
    combine: Literal["mean", "sum", "product", "staircase"] = "mean"
    directions: Annotated[Literal["random"] | Array, PlainValidator(orthonormal_directions)] = (
        "random"
    )
    noise: NonNegative = 0.0

    @property
    def rank(self) -> int:
        """r, the number of directions."""
        return len(self.links)

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where the directions do not fit into this dimension."""
        if self.rank > dimension:
            raise ValueError(
                f"teacher.links: {self.rank} directions, must be at most dimension={dimension}; "
                "remove links or raise the dimension"
            )
        if isinstance(self.directions, Array) and self.directions.shape != (dimension, self.rank):
            raise ValueError(
                f"teacher.directions: has shape {self.directions.shape}, must be dimension="
                f"{dimension} times {self.rank} links; change one of them"
            )

    def draw(self, dimension: int, rng: np.random.Generator) -> DrawnTeacher:
        """Return the teacher with its directions drawn, one after the other, each of norm 1."""
        if isinstance(self.directions, Array):
            return DrawnTeacher(self, self.directions.values)
        columns: list[Floats] = []
        for _ in self.links:
            column = rng.standard_normal(dimension)
            for _ in range(2 if columns else 0):  # twice is enough for orthogonality to rounding
                column -= np.stack(columns, axis=1) @ (np.stack(columns) @ column)
            columns.append(scaled_to(column, 1.0))
        return DrawnTeacher(self, np.stack(columns, axis=1))

    def value(self, projections: Floats) -> Floats:
        """Return the label without noise for rows of (w*_1ᵀx, …, w*_rᵀx)."""
        parts = [get_link(name)(projections[:, i]) for i, name in enumerate(self.links)]
        total = product = parts[0]
        for part in parts[1:]:
            product = product * part
            total = total + (product if self.combine == "staircase" else part)
        if self.combine == "product":
            return product
        return total / self.rank if self.combine == "mean" else total


@dataclass(frozen=True)
class DrawnTeacher:
    """A teacher with its directions W* (d × r)."""

    description: MultiIndex
    directions: Floats

    def labels(self, projections: Floats, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections xᵀW*, noise added; raise where it is not finite."""
        clean = self.description.value(projections)
        if not np.all(np.isfinite(clean)):
            names = ", ".join(self.description.links)
            raise InvalidInput(f"teacher.links={names!r}: a label is not finite; change the links")
        noise = self.description.noise
        return clean + noise * rng.standard_normal(len(clean)) if noise else clean


def hermite_coefficient(teacher: MultiIndex, powers: tuple[int, ...]) -> float:
    """Return E[y Π_i H_{α_i}(z_i)] for the powers α, by quadrature in one variable at a time."""
    return float(_coefficient(teacher, powers, _link_coefficients(teacher, max(powers, default=0))))


def hermite_tensor(teacher: MultiIndex, degree: int) -> Floats:
    """Return C_k = E[y He_k(z)], the symmetric tensor of shape (r, …, r) with k = `degree` axes.

    Its entry (i_1 … i_k) is E[y Π_i H_{α_i}(z_i)], α_i how often i occurs (Dandi et al., §2).
    """
    whole_number("degree", degree, least=0)
    if degree > LARGEST_DEGREE or teacher.rank**degree > MOST_ENTRIES:
        raise InvalidInput(
            f"degree={degree}: must be at most {LARGEST_DEGREE} and give at most "
            f"{MOST_ENTRIES} entries, {teacher.rank} directions; lower it"
        )
    table = _link_coefficients(teacher, degree)
    tensor = np.zeros((teacher.rank,) * degree)
    for indices in combinations_with_replacement(range(teacher.rank), degree):
        powers = tuple(indices.count(i) for i in range(teacher.rank))
        value = _coefficient(teacher, powers, table)
        if value:
            for place in set(permutations(indices)):
                tensor[place] = value
    return tensor


def first_direction(teacher: MultiIndex) -> Floats:
    """Return Σ_i E[y z_i] e_i in the teacher's coordinates: where the first step's gradients point.

    For a mean of links this is (1/r) Σ_i E[zσ*_i(z)] w*_i (Dandi et al., Theorem 1); 0 where the
    target has no linear part.
    """
    return hermite_tensor(teacher, 1)


@dataclass(frozen=True)
class Staircase:
    """How steps on batches of O(d) samples climb: `leaps` and the `subspaces` they end in.

    `subspaces` are bases in the teacher's coordinates (r × dimension), each holding the one before.
    """

    leaps: tuple[int, ...]
    subspaces: tuple[Floats, ...]

    @property
    def index(self) -> int:
        """The largest leap on the way to the last direction; 0 where no label depends on x."""
        return max(self.leaps, default=0)


def staircase(teacher: MultiIndex, *, degree: int = 6) -> Staircase:
    """Return the climb through C_1 … C_degree: at each stair the smallest leap that is possible.

    With U the directions learned so far, the leap is the least l for which some C_k, contracted
    k − l times with U, has a part of l axes outside U; the directions of that part are learned next
    (Abbe et al., 2023, made independent of the basis; l = 1 throughout: Dandi et al.'s staircase).
    """
    while degree > 1 and teacher.rank**degree > MOST_ENTRIES:
        degree -= 1
    tensors = [hermite_tensor(teacher, k) for k in range(1, degree + 1)]
    known = np.zeros((teacher.rank, 0))
    leaps, subspaces = [], []
    while known.shape[1] < teacher.rank:
        found = next(
            (
                (leap, new)
                for leap in range(1, degree + 1)
                if (new := _new_directions(tensors, known, leap)).shape[1]
            ),
            None,
        )
        if found is None:
            break
        known = np.concatenate([known, found[1]], axis=1)
        leaps.append(found[0])
        subspaces.append(known)
    return Staircase(tuple(leaps), tuple(subspaces))


def leap_index(teacher: MultiIndex, *, degree: int = 6) -> int:
    """Return the largest leap on the easiest way to all directions: one step needs N = O(d^leap).

    Hermite coefficients up to `degree` are looked at; directions beyond them do not count.
    """
    return staircase(teacher, degree=degree).index


def _new_directions(tensors: list[Floats], known: Floats, leap: int) -> Floats:
    """Return an orthonormal basis of what a leap adds to the known directions."""
    rank = len(known)
    outside = np.eye(rank) - known @ known.T
    parts: list[Floats] = [np.zeros((rank, 0))]
    for degree, tensor in enumerate(tensors, start=1):
        if degree < leap:
            continue
        part = tensor
        for _ in range(leap):  # axes outside the known directions go to the end, in order
            part = np.tensordot(part, outside, axes=(0, 0))
        for _ in range(degree - leap):  # the others are contracted with the known directions
            part = np.tensordot(part, known, axes=(0, 0))
        parts.append(part.reshape(rank, -1))
    left, values, _ = np.linalg.svd(np.concatenate(parts, axis=1), full_matrices=False)
    return left[:, values > NEGLIGIBLE]


def _link_coefficients(teacher: MultiIndex, order: int) -> Floats:
    """Return E[σ*_i(z) H_l(z)] for l ≤ order, shape (order + 1, r)."""
    zero, one = np.zeros(1), np.ones(1)
    columns = [
        hermite_coefficients(get_link(name), zero, one, order=order)[:, 0] for name in teacher.links
    ]
    roots = np.sqrt(np.cumprod([1.0, *range(1, order + 1)]))
    table = np.stack(columns, axis=1) * roots[:, None]
    return np.where(np.abs(table) > NEGLIGIBLE * roots[:, None], table, 0.0)


def _coefficient(teacher: MultiIndex, powers: tuple[int, ...], table: Floats) -> float:
    values = np.array([table[power, i] for i, power in enumerate(powers)])
    active = [i for i, power in enumerate(powers) if power]
    if teacher.combine == "product":
        return float(np.prod(values))
    if teacher.combine == "staircase":
        # The terms s_1 … s_k that hold every active direction; the others integrate to 0.
        first = max(active, default=0)
        return float(sum(np.prod(values[: k + 1]) for k in range(first, teacher.rank)))
    share = teacher.rank if teacher.combine == "mean" else 1
    if not active:
        return float(np.sum(values)) / share
    return float(values[active[0]]) / share if len(active) == 1 else 0.0
