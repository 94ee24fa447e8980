"""Hermite tensors of a teacher, its leaps and the staircase that steps climb, x ~ N(0, I)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, sqrt

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus import functions
from onegrad.calculus.expectations import ROUNDING, link_moments
from onegrad.calculus.function import Function
from onegrad.data.joint_teachers import MultiIndex, named_links
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, whole_number

LARGEST_DEGREE = 12
MOST_ENTRIES = 10**6  # of a Hermite tensor
SMALLEST_PART = 1e-9  # of the largest Hermite tensor: directions of smaller parts are rounding
SMALLEST_SQUARE = 1e-14  # the same where squares are summed
UNSEEN = 1e-9  # share of a variance beyond the degrees looked at that leaves a climb open


def hermite_tensor(teacher: MultiIndex, degree: int) -> Floats:
    """Return C_k = E[y He_k(z)], the symmetric tensor of shape (r, …, r) with k = `degree` axes.

    Its entry (i_1 … i_k) is E[y Π_i H_{α_i}(z_i)], α_i how often i occurs (Dandi et al. [5], §2).
    """
    whole_number("degree", degree, least=0)
    if degree > LARGEST_DEGREE or teacher.rank**degree > MOST_ENTRIES:
        raise InvalidInput(
            f"degree={degree}: must be at most {LARGEST_DEGREE} and give at most "
            f"{MOST_ENTRIES} entries, {teacher.rank} directions; lower it"
        )
    return _tensor(teacher, _link_moments(teacher, degree).table, degree)


def first_direction(teacher: MultiIndex) -> Floats:
    """Return Σ_i E[y z_i] e_i in the teacher's coordinates: where the first step's gradients point.

    For a mean of links this is (1/r) Σ_i E[zσ*_i(z)] w*_i (Dandi et al. [5], Theorem 1); 0 where
    the target has no linear part.
    """
    return hermite_tensor(teacher, 1)


@dataclass(frozen=True)
class Staircase:
    """How steps on batches of O(d) samples climb: `leaps` and the `subspaces` they end in.

    `subspaces` are bases in the teacher's coordinates (r × dimension), each holding the one before.
    `degree` is that of the last tensor looked at; `complete` says that the target depends on
    nothing outside the last subspace.
    """

    leaps: tuple[int, ...]
    subspaces: tuple[Floats, ...]
    degree: int
    complete: bool

    @property
    def index(self) -> int | None:
        """The largest leap on the way to the last direction; 0 where no label depends on x.

        None where the target depends on more than tensors up to `degree` show.
        """
        return max(self.leaps, default=0) if self.complete else None


def staircase(teacher: MultiIndex, *, degree: int = 6) -> Staircase:
    """Return the climb through C_1 … C_degree: at each stair the smallest leap that is possible.

    With U the directions learned so far, the leap is the least l for which some C_k, contracted
    k − l times with U, has a part of l axes outside U; the directions of that part are learned next
    (Abbe et al. [6], made independent of the basis; l = 1 throughout: a staircase of [5]).
    Tensors of more than MOST_ENTRIES entries are left out for products and staircases of many
    links: the result's `degree` says how far it went. Those of means and sums are diagonal.
    """
    if whole_number("degree", degree, least=1) > LARGEST_DEGREE:
        raise InvalidInput(f"degree={degree}: must be at most {LARGEST_DEGREE}; lower it")
    diagonal = teacher.combine in ("mean", "sum")
    while not diagonal and degree > 1 and teacher.rank**degree > MOST_ENTRIES:
        degree -= 1
    moments = _link_moments(teacher, degree).scaled(teacher)
    parts: _DiagonalTensors | _DenseTensors
    if diagonal and teacher.rank**degree > MOST_ENTRIES:
        parts = _DiagonalTensors(moments.table)
    else:
        parts = _DenseTensors([_tensor(teacher, moments.table, k) for k in range(1, degree + 1)])
    known = np.zeros((teacher.rank, 0))
    leaps: list[int] = []
    subspaces: list[Floats] = []
    while known.shape[1] < teacher.rank:
        climbed = next(
            (
                (leap, new)
                for leap in range(1, degree + 1)
                if (new := _orthonormal(parts.outside(known, leap), known)).shape[1]
            ),
            None,
        )
        if climbed is None:
            break
        leap, directions = climbed
        known = np.concatenate([known, directions], axis=1)
        leaps.append(leap)
        subspaces.append(known)
    complete = _holds_all(teacher, moments, known)
    return Staircase(tuple(leaps), tuple(subspaces), degree, complete)


def leap_index(teacher: MultiIndex, *, degree: int = 6) -> int | None:
    """Return the largest leap on the easiest way to all directions: one step needs N = O(d^leap).

    Hermite coefficients up to `degree` are looked at; None where the target depends on directions
    that they do not show, 0 where it is constant.
    """
    return staircase(teacher, degree=degree).index


@dataclass(frozen=True)
class _DenseTensors:
    """The tensors C_1, C_2, … as arrays."""

    tensors: list[Floats]

    def outside(self, known: Floats, leap: int) -> Floats:
        """Return columns that span what a leap adds, those of negligible size left out."""
        rank = len(known)
        away = np.eye(rank) - known @ known.T
        parts: list[Floats] = [np.zeros((rank, 0))]
        for degree, tensor in enumerate(self.tensors, start=1):
            if degree < leap:
                continue
            part = tensor / sqrt(factorial(degree))
            for _ in range(leap):  # axes outside the known directions go to the end, in order
                part = np.tensordot(part, away, axes=(0, 0))
            for _ in range(degree - leap):  # the others are contracted with the known directions
                part = np.tensordot(part, known, axes=(0, 0))
            parts.append(part.reshape(rank, -1))
        left, values, _ = np.linalg.svd(np.concatenate(parts, axis=1), full_matrices=False)
        return left[:, values > SMALLEST_PART * self.size]

    @property
    def size(self) -> float:
        """The largest norm of C_k/√k!."""
        return max(
            float(np.linalg.norm(tensor)) / sqrt(factorial(degree))
            for degree, tensor in enumerate(self.tensors, start=1)
        )


@dataclass(frozen=True)
class _DiagonalTensors:
    """The tensors C_k = Σ_i c_ki e_i⊗…⊗e_i of a sum, for more links than arrays can hold."""

    table: Floats

    def outside(self, known: Floats, leap: int) -> Floats:
        """Return columns that span what a leap adds, those of negligible size left out.

        C_k contracted is P diag(c_k) Wᵀ with (WWᵀ)_ij = P_ij^{l−1} (UUᵀ)_ij^{k−l}, P = I − UUᵀ.
        """
        inside = known @ known.T
        away = np.eye(len(known)) - inside
        gram = np.zeros_like(away)
        size = 0.0
        for degree in range(1, len(self.table)):
            row = self.table[degree] / sqrt(factorial(degree))
            size = max(size, float(np.linalg.norm(row)))
            if degree >= leap:
                gram += np.outer(row, row) * away ** (leap - 1) * inside ** (degree - leap)
        values, vectors = np.linalg.eigh(away @ gram @ away)
        return vectors[:, values > SMALLEST_SQUARE * size**2]


def _orthonormal(columns: Floats, known: Floats) -> Floats:
    """Return the columns orthogonal to the known ones and to each other, to rounding."""
    for _ in range(2):
        columns = columns - known @ (known.T @ columns)
        columns, sizes = np.linalg.qr(columns)
        columns = columns * np.where(np.diagonal(sizes) < 0, -1.0, 1.0)
    return columns


@dataclass(frozen=True)
class _LinkMoments:
    """Of every link E[σ*_i H_l] (`table`, (order + 1) × r), root mean square and deviation.

    `unseen` is the share of Var σ*_i in degrees above the table's.
    """

    table: Floats
    roots: Floats
    deviations: Floats
    unseen: Floats

    def scaled(self, teacher: MultiIndex) -> _LinkMoments:
        """Return those of links at a scale where nothing overflows; the climb is the same."""
        if teacher.combine == "staircase":
            return self
        sizes = self.roots if teacher.combine == "product" else np.max(self.roots)
        scale = np.where(sizes > 0, sizes, 1.0)
        return _LinkMoments(
            self.table / scale, self.roots / scale, self.deviations / scale, self.unseen
        )


def _holds_all(teacher: MultiIndex, moments: _LinkMoments, known: Floats) -> bool:
    """Return whether the target depends on nothing outside the climbed directions.

    What the tensors show lies inside. Beyond them, a sum has the tails of its links, each along its
    own direction; the others may have any product of links that are not constant.
    """
    if teacher.combine in ("mean", "sum"):
        tails = moments.unseen > UNSEEN
    elif _seen_wholly(teacher, moments):
        return True
    else:
        tails = moments.deviations > ROUNDING * moments.roots
    left = np.eye(teacher.rank)[:, tails]
    return bool(np.all(np.linalg.norm(left - known @ (known.T @ left), axis=0) < 1e-6))


def _seen_wholly(teacher: MultiIndex, moments: _LinkMoments) -> bool:
    """Return whether E[y²] of a product or staircase is all in degrees up to the table's."""
    order = len(moments.table) - 1
    factorials = np.cumprod([1.0, *range(1, order + 1)])
    squares, means = moments.roots**2, moments.table[0]
    shares = moments.table**2 / factorials[:, None]
    whole = seen = 0.0
    for first in range(teacher.rank):
        if teacher.combine == "product" and first < teacher.rank - 1:
            continue
        head = np.eye(1, order + 1)[0]
        for i in range(first + 1):
            head = np.convolve(head, shares[:, i])[: order + 1]
        total = float(np.prod(squares[: first + 1]))
        # E[P_j P_k] = Π_{i≤j} E[s_i²] Π_{j<i≤k} E[s_i], twice for k > j.
        later = float(np.sum(np.cumprod(means[first + 1 :]))) if first + 1 < teacher.rank else 0.0
        whole += total * (1 + 2 * later)
        seen += float(np.sum(head)) * (1 + 2 * later)
    _require_finite(teacher, np.array([whole, seen]))
    return abs(whole - seen) <= UNSEEN * abs(whole)


def _link_moments(teacher: MultiIndex, order: int) -> _LinkMoments:
    """Return the moments of the links for l ≤ order."""
    links = [_of_unit_direction(functions.get(name), teacher.norm) for name in teacher.links]
    of_links = [link_moments(link, order) for link in links]
    _require_finite(
        teacher, np.concatenate([np.ravel(part) for moments in of_links for part in moments])
    )
    table, roots, deviations, unseen = (
        np.stack(parts, axis=-1) for parts in zip(*of_links, strict=True)
    )
    return _LinkMoments(table, roots, deviations, unseen)


def _of_unit_direction(link: Function, norm: float) -> Function:
    """Return the link as a function of z ~ N(0, 1) where w*ᵀx = norm·z."""
    if norm == 1:
        return link
    kinks = tuple(kink / norm for kink in link.kinks)
    return Function(link.name, lambda z: link(norm * z), kinks=kinks)


def _require_finite(teacher: MultiIndex, values: Floats) -> None:
    if not np.all(np.isfinite(values)):
        raise InvalidInput(
            f"{named_links(teacher)}: the labels' Hermite coefficients are not finite; change the "
            "links"
        )


def _tensor(teacher: MultiIndex, table: Floats, degree: int) -> Floats:
    """Return C_k from the links' coefficients: each distinct entry once, then all places of it."""
    rank = teacher.rank
    tensor = np.zeros((rank,) * degree)
    if teacher.combine in ("mean", "sum"):
        share = rank if teacher.combine == "mean" else 1
        if degree == 0:
            tensor[()] = np.sum(table[0]) / share
        else:
            tensor[(np.arange(rank),) * degree] = table[degree] / share
        _require_finite(teacher, tensor)
        return tensor
    with np.errstate(all="ignore"):
        for indices in combinations_with_replacement(range(rank), degree):
            powers = np.bincount(np.array(indices, dtype=int), minlength=rank)
            tensor[indices] = _coefficient(teacher, powers, table)
    _require_finite(teacher, tensor)
    if degree < 2:
        return tensor
    places = np.sort(np.indices(tensor.shape, dtype=np.int32).reshape(degree, -1), axis=0)
    return tensor[tuple(places)].reshape(tensor.shape)


def _coefficient(teacher: MultiIndex, powers: NDArray[np.intp], table: Floats) -> float:
    """Return E[y Π_i H_{α_i}(z_i)] of a product or staircase for the powers α."""
    values = table[powers, np.arange(teacher.rank)]
    if teacher.combine == "product":
        return float(np.prod(values))
    # The terms s_1 … s_k that hold every active direction; the others integrate to 0.
    first = int(np.max(np.flatnonzero(powers), initial=0))
    return float(np.sum(np.cumprod(values)[first:]))
