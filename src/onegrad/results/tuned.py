"""The result of `tune`: the best problem, its predicted error, and what was evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import (
    Floats,
    one_of,
    whole_number,
    with_error,
)
from onegrad.describe.saved_result import SavedResult
from onegrad.describe.tables import ShownAsTable, Table
from onegrad.results.errors import TITLES, standard_error
from onegrad.theory.methods import Method, draws_of, said_draws

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NOISE = 2.0  # standard errors of a paired difference
NEGLIGIBLE = 1e-3  # relative


@dataclass(frozen=True)
class Contrast:
    """Paired differences of a candidate's metric to the best one's, over the same draws."""

    best: float
    runner_up: str
    difference: float
    stderr: float
    worst: str
    worst_difference: float
    worst_stderr: float

    @property
    def flat(self) -> bool:
        """Whether the best lies within noise of the worst: two standard errors of the difference.

        Or within a thousandth, which no one should choose by.
        """
        noise = NOISE * self.worst_stderr if np.isfinite(self.worst_stderr) else 0.0
        return self.worst_difference <= max(noise, NEGLIGIBLE * abs(self.best))

    def __str__(self) -> str:
        gap = _said(self.difference, self.stderr)
        if self.flat:
            worst = _said(self.worst_difference, self.worst_stderr)
            return f"flat: the worst ({self.worst}) is {worst} above the best, no more than noise"
        return f"runner-up {self.runner_up}: {gap} above the best, paired over draws"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "flat": self.flat,
            "runner_up": self.runner_up,
            "difference": self.difference,
            "stderr": self.stderr if np.isfinite(self.stderr) else None,
            "worst": self.worst,
            "worst_difference": self.worst_difference,
            "worst_stderr": self.worst_stderr if np.isfinite(self.worst_stderr) else None,
        }


def contrast_of(candidates: dict[str, Floats], best: Floats) -> Contrast | None:
    """Return the best beside the runner-up and the worst of other candidates, None without any."""
    if not candidates:
        return None
    ordered = sorted(candidates, key=lambda name: float(np.mean(candidates[name])))
    gaps = {name: candidates[name] - best for name in (ordered[0], ordered[-1])}
    first, last = gaps[ordered[0]], gaps[ordered[-1]]
    return Contrast(
        best=float(np.mean(best)),
        runner_up=ordered[0],
        difference=float(np.mean(first)),
        stderr=float(standard_error(first)),
        worst=ordered[-1],
        worst_difference=float(np.mean(last)),
        worst_stderr=float(standard_error(last)),
    )


def _said(mean: float, stderr: float) -> str:
    return f"{mean:.3g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.3g}"


CERTAIN, LARGE = 2.0, 0.1  # standard errors, and a share of the simulated error


@dataclass(frozen=True)
class FitCheck:
    """A predicted error, and the same of networks trained and tested on rows kept from the fit."""

    metric: str
    predicted: float
    simulated: float
    stderr: float  # of the difference
    trials: int

    @property
    def difference(self) -> float:
        """Predicted minus simulated."""
        return self.predicted - self.simulated

    @property
    def poor(self) -> bool:
        """Whether they differ by more than a tenth and more than two standard errors."""
        size = abs(self.difference)
        return bool(self._certain and size > LARGE * abs(self.simulated))

    @property
    def holds(self) -> bool:
        """Whether they agree to a tenth, and would be told apart if they did not."""
        known = CERTAIN * self.stderr <= 2 * LARGE * abs(self.simulated)
        return bool(known and abs(self.difference) <= LARGE * abs(self.simulated))

    @property
    def _certain(self) -> bool:
        return bool(not np.isfinite(self.stderr) or abs(self.difference) > CERTAIN * self.stderr)

    def __str__(self) -> str:
        error = f" ± {self.stderr:.2g}" if np.isfinite(self.stderr) else ""
        said = (
            f"predicted {self.metric} {self.predicted:.4g} on the fitted mixture, simulated "
            f"{self.simulated:.4g} on rows that the fit has not seen ({self.trials} trials), "
            f"difference {self.difference:+.2g}{error}"
        )
        if self.holds:
            return f"{said}: the fit holds to a tenth"
        if not self.poor:
            return f"{said}: too few trials to tell whether the fit holds to a tenth"
        return (
            f"{said}: the fit is poor; trust the order of settings more than the level, and try "
            "other components_per_class, rank, or more rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "metric": self.metric,
            "predicted": self.predicted,
            "simulated": self.simulated,
            "difference": self.difference,
            "stderr": self.stderr if np.isfinite(self.stderr) else None,
            "trials": self.trials,
            "poor": self.poor,
        }


SHOWN = 10  # of the evaluated points


def tuned_table(tuned: Tuned) -> Table:
    """Return the ten best widths and rates with their penalties, and the best constant."""
    title = TITLES[tuned.metric]
    chosen = ", ".join(f"{name} = {value:.4g}" for name, value in tuned.values.items())
    caption = (
        f"best: {chosen}; predicted {title} {with_error(tuned.best, tuned.stderr)} by "
        f"{tuned.method}, {said_draws(tuned.method, tuned.draws, tuned.seed)}"
    )
    if len(tuned.curve) > SHOWN:
        caption += f"; the {SHOWN} best of {len(tuned.curve)} predictions"
    if np.isfinite(tuned.constant) and not tuned.best < tuned.constant:
        caption += "; none beats the best constant"
    if tuned.contrast is not None:
        caption += f"\n{tuned.contrast}"
    if tuned.check is not None:
        caption += f"\n{tuned.check}"
    rows = [
        (
            f"{row['width']}",
            f"{row['learning_rate']:.4g}",
            f"{row['ridge']:.2e}",
            f"{row[tuned.metric]:.5f}",
        )
        for row in tuned.closest(SHOWN).to_dict(orient="records")
    ]
    if np.isfinite(tuned.constant):
        rows.append(("best constant", "", "", f"{tuned.constant:.5f}"))
    return Table(
        ("width", "learning rate", "ridge", title),
        tuple(rows),
        title=f"Tuned: {chosen}; {tuned.metric} = {tuned.best:.4g}",
        caption=caption,
    )


@dataclass(frozen=True, repr=False, eq=False)
class Tuned(ShownAsTable, SavedResult):
    """The best problem found, its predicted metric, and everything that was evaluated.

    `best` is the metric of `problem` over draws and `stderr` its standard error; `values` are the
    fields that were tuned. `curve` has one row per width and learning rate with its best penalty;
    `ridge_curve` the metric against the penalty at the tuned width and rate. `constant` is the
    metric of the best constant; `contrast` the paired differences to the runner-up and to the
    worst, and whether all of it is flat; `check`, on real data, the best trained on rows that the
    fitted mixture has not seen.
    """

    saved_parts = (Contrast, FitCheck)

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

    def summary_table(self) -> Table:
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
        from onegrad.plotting.curves import tuning_plot
        from onegrad.plotting.matplotlib_figure import draw_plot

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
