"""Fit the constants of `theory_error` to what benchmarks/random_problems.py measured.

    python benchmarks/calibrate.py FILE [FILE ...]

A deviation of theory from simulation is normal with variance s² + (standard error)², where log s is
linear in the logarithms of the indicators: maximum likelihood gives the slopes. Then s is raised so
far that 94 % of the deviations lie within it, those included that are the trials' noise alone:
what theory itself errs by is smaller. Printed: what belongs into theory/reliability.py, and the
shares that it would cover.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from onegrad.describe.arrays import Floats

SMALL = 0.01  # beside the spread of reaches, which may be 0
COVERED = 0.94  # of the problems fitted: others are covered less
# Most deviations are smaller than their standard errors: slopes stay near what one expects.
EXPECTED, FREEDOM = np.array([1.0, 0.5, 0.25, 0.25]), 0.25
INDICATORS = ("amplification", "size", "count", "reach")


def observations(frame: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return deviations, their standard errors, and logarithms of indicators."""
    parts = []
    for name in ("types", "types_rate"):
        rows = frame[frame[name].notna() & frame["amplification"].notna()]
        logs = np.log(rows[list(INDICATORS)].to_numpy(float) + np.array([0, 0, 0, SMALL]))
        parts.append((rows[name].to_numpy(), rows[f"{name}_stderr"].to_numpy(), logs))
    gaps, stderrs, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return gaps, stderrs, logs


def fit(gaps: Floats, stderrs: Floats, logs: Floats) -> Floats:
    """Return constant and slopes of log s by maximum likelihood, slopes not below 0."""

    def cost(x: Floats) -> float:
        variance = np.exp(2 * (x[0] + logs @ x[1:])) + stderrs**2 + 1e-8
        # Student's t with four degrees of freedom: single deviations are not to rule.
        likelihood = np.sum(0.5 * np.log(variance) + 2.5 * np.log1p(gaps**2 / (4 * variance)))
        return float(likelihood + np.sum((x[1:] - EXPECTED) ** 2) / (2 * FREEDOM**2))

    start = np.array([-2.0, *EXPECTED])
    bounds = [(-12.0, 3.0), *([(0.0, 2.0)] * logs.shape[1])]
    return np.asarray(minimize(cost, start, bounds=bounds, method="L-BFGS-B").x)


def main() -> None:
    """Print the constants and what they cover."""
    frame = pd.concat([pd.read_csv(path) for path in sys.argv[1:]])
    gaps, stderrs, logs = observations(frame)
    x = fit(gaps, stderrs, logs)
    scale = np.exp(x[0] + logs @ x[1:])
    needed = np.sort(np.abs(gaps) / scale)
    factor = max(float(needed[int(COVERED * len(needed))]), 1.0)
    bound = np.maximum(factor * scale, 0.005)
    print(f"{len(frame)} problems, {len(gaps)} deviations")
    print(f"CONSTANT = {x[0] + np.log(factor):.3f}")
    print("SLOPES =", {n: round(float(s), 3) for n, s in zip(INDICATORS, x[1:], strict=True)})
    print(f"covered: {np.mean(np.abs(gaps) <= bound):.3f}, beside 2 s.e. ", end="")
    print(f"{np.mean(np.abs(gaps) <= bound + 2 * stderrs):.3f}")
    print("bounds: quantiles", np.round(np.quantile(bound, [0.05, 0.25, 0.5, 0.75, 0.95]), 4))


if __name__ == "__main__":
    main()
