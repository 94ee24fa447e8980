"""Update rules of the first layer: the direction D of a step F ← F + ηD, by name or your own.

G is the descent direction of one batch (minus the gradient, k × n, see `core/run.py`), X̃ its
inputs (N × n). `get_rule("polar")` is one of onegrad's rules; `register_rule` adds one of your own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.calculus.spectra import solve_ridge
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, is_called_with, shown, text
from onegrad.describe.registry import Registry, make_named, mark_of_source, number_text
from onegrad.machine.cost import Stage

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


DAMPING = 0.1  # of `whitened` alone


class Rule(Protocol):
    """What turns G into D; both are k × n."""

    @property
    def needs_inputs(self) -> bool:
        """Whether the inputs X̃ are read."""

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return D; G is not to be written to, and may be returned itself."""

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return what D costs beyond G, for k = width, n = dimension and N = samples."""


RULES: Registry[Callable[..., Rule]] = Registry(
    "update rules", {"gradient": Gradient, "sign": Sign, "polar": Polar}, home=__name__
)
RULES.put("whitened", Whitened, argument="DAMPING", default=DAMPING)


@dataclass(frozen=True)
class FunctionRule:
    """A user's function of G and the inputs."""

    function: Callable[[Floats, Inputs], Floats]
    needs_inputs = True  # it may read them

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return what the function returns."""
        return self.function(gradient, inputs)

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return no stage: what the function costs is not known."""
        return []


@dataclass(frozen=True)
class NamedRule:
    """A rule under its canonical name, whose G and D are checked: finite, k × n, one precision."""

    name: str
    rule: Rule

    @property
    def needs_inputs(self) -> bool:
        """Whether the inputs X̃ are read."""
        return self.rule.needs_inputs

    def direction(self, gradient: Floats, inputs: Inputs) -> Floats:
        """Return D in the gradient's precision."""
        if not _is_finite(gradient):
            raise self._refusal(
                "the gradient is not finite; lower the learning rate, or bring spread, levels, "
                "means and labels nearer to 1"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what it would spoil is checked
            given = self.rule.direction(gradient, inputs)
            if given is gradient:
                return gradient
            returned = np.asarray(given)
            if returned.shape != gradient.shape or returned.dtype.kind not in "iuf":
                raise self._refusal(
                    f"must return real numbers of shape {gradient.shape}, not {returned.dtype} of "
                    f"shape {returned.shape}; correct the rule"
                )
            direction: Floats = returned.astype(gradient.dtype, copy=False)
        if not _is_finite(direction):
            raise self._refusal(
                "its direction is not finite; choose another rule, or bring spread, levels, means "
                "and labels nearer to 1"
            )
        return direction

    def stages(self, width: int, dimension: int, samples: int) -> list[Stage]:
        """Return what D costs beyond G."""
        return self.rule.stages(width, dimension, samples)

    def _refusal(self, said: str) -> InvalidInput:
        return InvalidInput(f"{FIELD}={self.name!r}: {said}")


def _is_finite(matrix: Floats) -> bool:
    """Return whether all entries are finite, without an array of truth values."""
    return bool(np.isfinite(np.max(matrix)) and np.isfinite(np.min(matrix)))


def get_rule(text: str, *, field: str = FIELD) -> NamedRule:
    """Return the rule of `name` or `name:argument`; `field` is what an error calls it."""
    return NamedRule(*make_named(RULES, text, field=field))


def rule_name(text: str, *, field: str = "rule") -> str:
    """Return the one text of a rule, as `whitened:0.1` for `whitened`; for validators of fields."""
    return get_rule(text, field=field).name


def register_rule(name: str, make: Callable[..., Any], *, argument: str | None = None) -> None:
    """Make a rule known under `name`: a function of G and the inputs, or a class that is a `Rule`.

    A class is made without arguments, or, where `argument` is the word for what may follow a colon
    as in whitened:DAMPING, with that text.
    """
    if argument is not None:
        text("argument", argument)
    if not callable(make):
        raise InvalidInput(f"make={shown(make)}: must be a function or a class; pass one")
    if not isinstance(make, type):
        if argument is not None:
            raise InvalidInput(
                f"argument={shown(argument)}: a function has none; register a class, or leave it "
                "out"
            )
        if not is_called_with(make, "gradient", "inputs"):
            raise InvalidInput(
                f"make={shown(make)}: must be called as make(gradient, inputs); correct it"
            )
    else:
        missing = [m for m in ("needs_inputs", "direction", "stages") if not hasattr(make, m)]
        if missing:
            raise InvalidInput(f"make={shown(make)}: must have {', '.join(missing)}; add it")
    made = make if isinstance(make, type) else functools.partial(FunctionRule, make)
    RULES.add(name, made, mark=mark_of_source(make), argument=argument)


def with_momentum(gradient: Floats, buffer: Floats | None, momentum: float) -> Floats:
    """Return M_t = μ M_{t−1} + G_t; `buffer` is M_{t−1}, None before the first step (M_1 = G_1).

    With μ = 0, and at the first step, it is G_t itself. M_t is the next step's buffer: it is not to
    be written to.
    """
    if momentum == 0 or buffer is None:
        return gradient
    total: Floats = buffer * buffer.dtype.type(momentum)
    total += gradient
    return total
