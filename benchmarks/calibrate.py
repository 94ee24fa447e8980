"""Fit the constants of `theory_error` to what was measured on random problems.

    python benchmarks/calibrate.py types|closed FILE [FILE ...]

FILEs are those of benchmarks/random_problems.py, or of benchmarks/closed_problems.py for "closed".

A deviation of theory from simulation is normal with variance s² + (standard error)², where log s is
linear in the logarithms of the indicators: maximum likelihood gives the slopes. Then s is raised so
far that 94 % of the deviations lie within it, those included that are the trials' noise alone:
what theory itself errs by is smaller. Printed: what belongs into theory/reliability.py or into
closed/reliability.py, and the shares that it would cover.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from onegrad.closed.reliability import FLOORS as closed_floors
from onegrad.describe.numbers import Floats

COVERED = 0.94  # of the problems fitted, so that nine in ten of fresh ones are
FREEDOM = 0.25  # most deviations are smaller than their standard errors: slopes stay near these


@dataclass(frozen=True)
class Kind:
    """Columns of deviations, and what each indicator is expected to do; floors are added to it."""

    deviations: tuple[str, ...]
    slopes: dict[str, float]
    floors: dict[str, float]


KINDS = {
    "types": Kind(
        ("types", "types_rate"),
        {"amplification": 1.0, "size": 0.5, "count": 0.25, "reach": 0.25},
        {"reach": 0.01},
    ),
    "closed": Kind(
        ("test_mse", "misclassification"),
        {"amplification": 1.0, "size": 0.5, "step_noise": 0.25, "modes": 0.25, "spread": 0.25},
        closed_floors,
    ),
}


def observations(frame: pd.DataFrame, kind: Kind) -> tuple[Floats, Floats, Floats]:
    """Return deviations, their standard errors, and logarithms of indicators."""
    floors = np.array([kind.floors.get(name, 0.0) for name in kind.slopes])
    parts = []
    for name in kind.deviations:
        known = np.isfinite(frame[name]) & np.isfinite(frame[f"{name}_stderr"])
        rows = frame[known & frame["amplification"].notna()]
        logs = np.log(rows[list(kind.slopes)].to_numpy(float) + floors)
        parts.append((rows[name].to_numpy(), rows[f"{name}_stderr"].to_numpy(), logs))
    gaps, stderrs, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return gaps, stderrs, logs


def fit(gaps: Floats, stderrs: Floats, logs: Floats, expected: Floats) -> Floats:
    """Return constant and slopes of log s by maximum likelihood, slopes not below 0."""

    def cost(x: Floats) -> float:
        variance = np.exp(2 * (x[0] + logs @ x[1:])) + stderrs**2 + 1e-8
        # Student's t with four degrees of freedom: single deviations are not to rule.
        likelihood = np.sum(0.5 * np.log(variance) + 2.5 * np.log1p(gaps**2 / (4 * variance)))
        return float(likelihood + np.sum((x[1:] - expected) ** 2) / (2 * FREEDOM**2))

    start = np.array([-2.0, *expected])
    bounds = [(-12.0, 3.0), *([(0.0, 2.0)] * logs.shape[1])]
    return np.asarray(minimize(cost, start, bounds=bounds, method="L-BFGS-B").x)


def main() -> None:
    """Print the constants and what they cover."""
    kind = KINDS[sys.argv[1]]
    frame = pd.concat([pd.read_csv(path) for path in sys.argv[2:]])
    gaps, stderrs, logs = observations(frame, kind)
    x = fit(gaps, stderrs, logs, np.array(list(kind.slopes.values())))
    scale = np.exp(x[0] + logs @ x[1:])
    needed = np.sort(np.abs(gaps) / scale)
    factor = max(float(needed[int(COVERED * len(needed))]), 1.0)
    bound = np.maximum(factor * scale, 0.005)
    print(f"{len(frame)} rows, {len(gaps)} deviations")
    print(f"CONSTANT = {x[0] + np.log(factor):.3f}")
    print("SLOPES =", {n: round(float(s), 3) for n, s in zip(kind.slopes, x[1:], strict=True)})
    print(f"covered: {np.mean(np.abs(gaps) <= bound):.3f}, beside 2 s.e. ", end="")
    print(f"{np.mean(np.abs(gaps) <= bound + 2 * stderrs):.3f}")
    print("bounds: quantiles", np.round(np.quantile(bound, [0.05, 0.25, 0.5, 0.75, 0.95]), 4))


if __name__ == "__main__":
    main()
