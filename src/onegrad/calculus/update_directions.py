"""Directions of a step of the first layer, made from its gradient: one class per update rule.

G is the descent direction of one batch (minus the gradient, k × n, see `step.py`), X̃ its inputs
(N × n), and D the direction of the step F ← F + ηD. `rules.py` knows these by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.calculus.cholesky import solve_ridge
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.families import number_text
from onegrad.machine.rates import Stage

FIELD = "training.rule"  # what error messages call the field that names a rule
SINGULAR_WORK = 8.0  # measured: a thin SVD takes this times max(k, n) min(k, n)² of "reduction"

Inputs = Callable[[], Iterator[Floats]]  # a batch's inputs in blocks, drawn afresh on every call


class Gradient:
    """D = G itself, without a copy."""

    needs_inputs = False

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return G."""
        return gradient

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return no stage."""
        return []


class Sign:
    """D = sign(G), entry by entry; the sign of 0 is 0."""

    needs_inputs = False

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return sign(G)."""
        return np.sign(gradient)

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return one pass over the entries."""
        return [Stage("signs", "element", 1.0 * width * dimension)]


class Polar:
    """D = UVᵀ of G = U S Vᵀ over singular values above rounding, as in Muon and spectral descent.

    Above rounding: s > max(k, n) ε s_max, with ε that of the gradient's own precision, because
    what lies below is noise of the products that made G.
    """

    needs_inputs = False

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return the orthogonal factor; its nonzero singular values are all 1."""
        left, values, right = np.linalg.svd(gradient.astype(np.float64), full_matrices=False)
        rounding = max(gradient.shape) * np.finfo(gradient.dtype).eps
        rank = int(np.sum(values > rounding * values[:1]))
        if rank == 0:
            raise InvalidInput(
                f"{FIELD}='polar': the gradient is zero, it has no orthogonal factor; choose "
                "another rule, or an activation and labels whose gradient is not zero"
            )
        return (left[:, :rank] @ right[:rank]).astype(gradient.dtype, copy=False)

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return the singular value decomposition and the product of its factors."""
        small, large = sorted((width, dimension))
        return [
            Stage("singular vectors", "reduction", SINGULAR_WORK * large * small**2),
            Stage("orthogonal factor", "product", 2.0 * large * small**2),
        ]


@dataclass(frozen=True)
class Whitened:
    """D = G (X̃ᵀX̃/N + damping·I)⁻¹, the right factor of K-FAC.

    The n × n covariance is summed over blocks of inputs, the only matrix that is held.
    """

    damping: float
    needs_inputs = True

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return G times the inverse, by Cholesky in float64."""
        covariance = _lower_covariance(inputs(), gradient.shape[1])
        field = f"{FIELD}='whitened:{number_text(self.damping)}'"
        largest = float(np.max(np.diagonal(covariance)))
        least = len(covariance) * np.finfo(np.float64).eps * largest
        if not self.damping > least:  # nan is not either
            raise InvalidInput(
                f"{field}: the inputs' covariance has entries of {largest:.3g}, its rounding hides "
                f"dampings up to {least:.3g}; raise the damping"
            )
        right = gradient.T.astype(np.float64, copy=False)
        solution = solve_ridge(
            covariance, right, shift=self.damping, field=field, remedy="raise the damping"
        )
        return solution.T.astype(gradient.dtype, copy=False)

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return the inputs drawn again, their covariance, its factor and the solution."""
        return [
            Stage("inputs again", "normal", 1.0 * samples * dimension),
            Stage("covariance", "product", 1.0 * samples * dimension**2),
            Stage("covariance factor", "factor", dimension**3 / 3),
            Stage("whitening", "product", 2.0 * width * dimension**2),
        ]


def _lower_covariance(blocks: Iterator[Floats], dimension: int) -> Floats:
    """Return the lower triangle of X̃ᵀX̃/N in float64, summed over blocks."""
    total, samples = np.zeros((dimension, dimension), order="F"), 0
    for block in blocks:
        rows = block.astype(np.float64, copy=False)
        total = dsyrk(1.0, rows.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        samples += len(rows)
    total /= samples
    return total
