"""What `tune` returns: the best problem, its predicted error, and what was evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from onegrad.problem.problem import Problem
from onegrad.verbs.methods import Method, draws_of, said_draws

SHOWN = 5  # of the evaluated points


@dataclass(frozen=True, repr=False)
class Tuned:
    """The best problem found, its predicted metric, and everything that was evaluated.

    `best` is the metric of `problem` over draws and `stderr` its standard error; `values` are the
    fields that were tuned. `curve` has one row per width and learning rate with its best penalty;
    `ridge_curve` the metric against the penalty at the tuned width and rate.
    """

    problem: Problem
    values: dict[str, float]
    metric: str
    best: float
    stderr: float
    curve: pd.DataFrame
    ridge_curve: pd.DataFrame
    method: Method
    draws: int
    seed: int

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name} = {value:.4g}" for name, value in self.values.items())
        spread = f" ± {self.stderr:.2g}" if np.isfinite(self.stderr) else ""
        head = (
            f"Tuned: {chosen}; {self.metric} = {self.best:.4g}{spread} by {self.method!r}, "
            f"{said_draws(self.method, self.draws, self.seed)}"
        )
        table = self.closest(SHOWN).to_string(index=False, float_format="%.4g")
        return f"{head}\n{table}\n({min(SHOWN, len(self.curve))} best of {len(self.curve)})"

    @property
    def test_mse(self) -> float:
        """The best value where it is a test MSE."""
        if self.metric != "test_mse":
            raise AttributeError(f"test_mse: {self.metric} was tuned; read best")
        return self.best

    def closest(self, count: int) -> pd.DataFrame:
        """Return the best rows of the curve, the best first."""
        return self.curve.sort_values(self.metric).head(count)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "problem": self.problem.to_dict(),
            "tuned": self.values,
            "metric": self.metric,
            "method": self.method,
            self.metric: {
                "mean": self.best,
                "stderr": self.stderr if np.isfinite(self.stderr) else None,
            },
            **draws_of(self.method, self.draws, self.seed),
            "curve": self.curve.to_dict(orient="list"),
            "ridge_curve": self.ridge_curve.to_dict(orient="list"),
        }
