"""What `tune` returns: the best problem, its predicted error, and what was evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.checks import (
    any_number,
    of_kind,
    one_of,
    real_number,
    shown,
    text,
    whole_number,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.kept_result import KeptResult
from onegrad.describe.screen import OnScreen, ScreenTable
from onegrad.problem.problem import Problem, require_problem
from onegrad.verbs.methods import Method, draws_of
from onegrad.verbs.tuned_contrast import Contrast, FitCheck
from onegrad.verbs.tuned_table import tuned_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class Tuned(OnScreen, KeptResult):
    """The best problem found, its predicted metric, and everything that was evaluated.

    `best` is the metric of `problem` over draws and `stderr` its standard error; `values` are the
    fields that were tuned. `curve` has one row per width and learning rate with its best penalty;
    `ridge_curve` the metric against the penalty at the tuned width and rate. `constant` is the
    metric of the best constant; `contrast` the paired differences to the runner-up and to the
    worst, and whether all of it is flat; `check`, on real data, the best trained on rows that the
    fitted mixture has not seen.
    """

    kept_parts = (Contrast, FitCheck)

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
    constant: float = float("nan")
    contrast: Contrast | None = None
    check: FitCheck | None = None

    def __post_init__(self) -> None:
        import pandas as pd

        require_problem(self.problem)
        for name, value in of_kind("values", self.values, dict, remedy="use tune").items():
            real_number(f"values[{shown(name)}]", value)
            text("values", name)
        any_number("best", self.best)
        any_number("stderr", self.stderr)
        any_number("constant", self.constant)
        for name, kind in (("contrast", Contrast), ("check", FitCheck)):
            if getattr(self, name) is not None:
                of_kind(name, getattr(self, name), kind, remedy="use tune")
        text("method", self.method)
        whole_number("draws", self.draws, least=1)
        whole_number("seed", self.seed, least=0)
        for name in ("curve", "ridge_curve"):
            table = of_kind(name, getattr(self, name), pd.DataFrame, remedy="use tune")
            one_of("metric", self.metric, [str(column) for column in table.columns])
            object.__setattr__(self, name, table.copy())

    def screen_table(self) -> ScreenTable:
        """Return the best predictions, as `onegrad tune` shows them."""
        return tuned_table(self)

    @property
    def test_mse(self) -> float:
        """The best value where it is a test MSE."""
        if self.metric != "test_mse":
            raise AttributeError(f"test_mse: {self.metric} was tuned; read best")
        return self.best

    def plot(self, against: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Return axes with the metric against a tuned field, by default the first of `values`.

        Against the penalty at the tuned width and rate; against rate or width at the best penalty
        of each, a curve for each of the five best widths. The choice is a star.
        """
        if not self.values:
            raise InvalidInput("values={}: no field was tuned; use tune")
        field = one_of(
            "against", next(iter(self.values)) if against is None else against, self.values
        )
        from onegrad.plotting.matplotlib_figure import draw_plot
        from onegrad.plotting.result_curves import tuning_plot

        plot = tuning_plot(
            self.ridge_curve if field == "ridge" else self.curve,
            against=field,
            metric=self.metric,
            best=(self.values[field], self.best, self.stderr),
            constant=self.constant,
        )
        return draw_plot(plot, ax)

    def closest(self, count: int) -> pd.DataFrame:
        """Return the best rows of the curve, the best first."""
        return self.curve.sort_values(self.metric).head(whole_number("count", count, least=0))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per width and learning rate that was evaluated, with its best penalty."""
        return self.curve.copy()

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
            "best_constant": self.constant if np.isfinite(self.constant) else None,
            "contrast": None if self.contrast is None else self.contrast.to_dict(),
            "check": None if self.check is None else self.check.to_dict(),
            "curve": self.curve.to_dict(orient="list"),
            "ridge_curve": self.ridge_curve.to_dict(orient="list"),
        }
