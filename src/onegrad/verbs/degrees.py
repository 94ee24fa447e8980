"""`equivalence`: which Hermite degree matches the network, by theory alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.expansion import LARGEST_DEGREE, theorem_degree
from onegrad.describe.checks import LARGEST_COUNT, shown, whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.pool import Progress
from onegrad.problem.problem import Problem, require_problem
from onegrad.training.instance import draw
from onegrad.verbs.errors import Errors
from onegrad.verbs.prediction import DEFAULT_DRAWS, predict


@dataclass(frozen=True)
class Equivalence:
    """The predicted gap of each Hermite degree to the network, and the degrees that follow.

    `smallest` is the lowest degree whose gap is within the tolerance, None if none is; `theorem` is
    ⌈β/(1 − β)⌉, without a cap, None at β ≥ 1, which the theorem does not cover. A higher degree is
    not always closer at finite n.
    """

    errors: Errors
    degrees: tuple[int, ...]
    gaps: tuple[float, ...]
    stderrs: tuple[float, ...]
    tolerance: float
    smallest: int | None
    theorem: int | None
    strength: float

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "problem": self.errors.problem.to_dict(),
            "draws": self.errors.trials,
            "seed": self.errors.seed,
            "tolerance": self.tolerance,
            "degrees": list(self.degrees),
            "gap": [
                {"mean": gap, "stderr": stderr if np.isfinite(stderr) else None}
                for gap, stderr in zip(self.gaps, self.stderrs, strict=True)
            ],
            "smallest_degree": self.smallest,
            "theorem_degree": self.theorem,
            "strength": self.strength,
        }


def equivalence(
    problem: Problem,
    degrees: Sequence[int] | int = (1, 2, 3, 4, 5, 6),
    *,
    tolerance: float = 0.01,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Equivalence:
    """Return the deterministic gap (hermite − network)/network of the test MSE per degree.

    Of several steps it is that after the last.
    """
    require_problem(problem)
    listed = np.atleast_1d(np.asarray(degrees)).tolist()
    wanted = tuple(sorted({whole_number("degrees", d, least=0) for d in listed}))
    if not wanted or wanted[-1] > LARGEST_DEGREE:
        raise InvalidInput(
            f"degrees={listed}: must be numbers from 0 to {LARGEST_DEGREE}; change them"
        )
    if not isinstance(tolerance, float | int) or not 0 < tolerance < 1:
        raise InvalidInput(f"tolerance={shown(tolerance)}: must lie between 0 and 1; try 0.01")
    if len(problem.ridges) > 1:
        raise InvalidInput(f"ridge={list(problem.ridges)}: must be one number here; choose one")
    names = ["network", *(f"hermite:{d}" for d in wanted)]
    errors = predict(problem, names, draws=draws, seed=seed, workers=workers, progress=progress)
    gap = errors.gap()
    assert gap is not None
    # After the last step, for the one penalty.
    means, stderrs = (
        part[1:, ..., 0].reshape(len(wanted), -1)[:, -1] for part in (gap.mean, gap.stderr)
    )
    gaps = tuple(float(g) for g in means)
    enough = [d for d, g in zip(wanted, gaps, strict=True) if abs(g) <= tolerance]
    strength = draw(problem, seed=seed).scales.strength
    return Equivalence(
        errors,
        wanted,
        gaps,
        tuple(float(e) for e in stderrs),
        tolerance,
        min(enough, default=None),
        None if strength >= 1 else theorem_degree(strength, cap=LARGEST_COUNT),
        strength,
    )
