"""Results: metric arrays with named axes, their means, standard errors and paired gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import (
    listed,
    of_kind,
    one_of,
    shown,
    text,
    truth,
    whole_number,
    whole_numbers,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.kept_result import KeptResult
from onegrad.describe.screen import OnScreen, ScreenTable
from onegrad.diagnostics.records import StepsResult
from onegrad.models.model import Model
from onegrad.problem.problem import Problem, require_problem
from onegrad.verbs.best_constant import MOST_DRAWS, best_constant
from onegrad.verbs.error_table import errors_table, estimate_table
from onegrad.verbs.error_views import (
    errors_dataset,
    errors_of,
    kept_models,
    models_from_kept,
)
from onegrad.verbs.methods import draws_of
from onegrad.verbs.metric_arrays import checked_metrics

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes

METRICS = (
    *("test_mse", "train_mse", "objective", "squared_weight_norm", "misclassification"),
    *("test_loss", "train_loss", "train_misclassification", "theory_error"),
)


@dataclass(frozen=True, repr=False)
class Estimate(OnScreen):
    """A mean with its standard error; arrays share the result's axes but for the trials."""

    mean: Floats
    stderr: Floats

    def screen_table(self) -> ScreenTable:
        """Return means with their standard errors."""
        return estimate_table(self.mean, self.stderr)


@dataclass(frozen=True, repr=False, eq=False)
class Errors(OnScreen, KeptResult):
    """The metrics of every trial, model and penalty.

    `metrics[name]` has one dimension per entry of `axes`: trial, model, (step, samples,) ridge. A
    run of several steps has the errors after each, 0 being the untrained network. For predictions
    a trial is a draw of the first layer; theory without draws has one, without a standard error.
    `runs` is what was observed, trial by trial; `over` the field along which a curve goes.
    """

    kept_parts = (StepsResult,)

    problem: Problem
    seed: int
    models: tuple[Model, ...]
    metrics: dict[str, Floats]
    samples: tuple[int, ...] | None = None
    predicted: bool = False
    runs: tuple[StepsResult, ...] = ()
    method: str | None = None
    over: tuple[str, tuple[Any, ...]] | None = None

    def __post_init__(self) -> None:
        require_problem(self.problem)
        whole_number("seed", self.seed, least=0)
        for model in listed("models", self.models):
            of_kind("models", model, Model, remedy="use models_of")  # type: ignore[type-abstract]
        truth("predicted", self.predicted)
        if self.method is not None:
            text("method", self.method)
        if self.samples is not None:
            whole_numbers("samples", self.samples, least=1)
        if self.over is not None:
            if not isinstance(self.over, tuple) or len(self.over) != 2:
                raise InvalidInput(
                    f"over={shown(self.over)}: must be a field and its values; use predict_curve"
                )
            text("over", self.over[0])
            listed("over", self.over[1])
        for run in self.runs if isinstance(self.runs, tuple) else (self.runs,):
            of_kind("runs", run, StepsResult, remedy="use simulate with observe=True")
        sizes = {name: len(axis) for name, axis in self._axes(0).items()}
        object.__setattr__(self, "metrics", checked_metrics(self.metrics, sizes))

    def screen_table(self) -> ScreenTable:
        """Return means, standard errors and gaps, as `onegrad simulate` shows them."""
        return errors_table(self)

    def __getitem__(self, models: str | Sequence[str]) -> Errors:
        """Return the errors of one model, or of a list of them."""
        return errors_of(self, models)

    def kept_fields(self) -> dict[str, Any]:
        """Return the fields as they are kept: models by name and degree."""
        return {**super().kept_fields(), "models": kept_models(self.models)}

    @classmethod
    def from_kept(cls, kept: dict[str, Any]) -> Self:
        """Return the errors of fields as they were kept."""
        return cls(**{**kept, "models": models_from_kept(kept["models"])})

    @property
    def steps(self) -> tuple[int, ...] | None:
        """The steps that the errors belong to, None for those of a single step."""
        steps = self.problem.recorded_steps
        return steps if len(steps) > 1 else None

    @property
    def axes(self) -> dict[str, Sequence[Any]]:
        """Names and coordinates of the dimensions, in order."""
        return self._axes(self.trials)

    def _axes(self, trials: int) -> dict[str, Sequence[Any]]:
        curve = {} if self.samples is None else {"samples": list(self.samples)}
        curve |= {} if self.over is None else {self.over[0]: list(self.over[1])}
        steps = {} if self.steps is None else {"step": list(self.steps)}
        return {
            "trial": range(trials),
            "model": [m.name for m in self.models],
            **steps,
            **curve,
            "ridge": list(self.problem.ridges),
        }

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(next(iter(self.metrics.values())))

    def estimate(self, metric: str = "test_mse") -> Estimate:
        """Return mean and standard error over trials, shape (model, …, ridge)."""
        values = self._values(metric)
        return Estimate(values.mean(axis=0), standard_error(values))

    def gap(self, metric: str = "test_mse") -> Estimate | None:
        """Return the paired relative gap of every model to the network, shape (model, …, ridge).

        g = (Σ_t model_t − Σ_t network_t)/Σ_t network_t over the same trials; the standard error is
        that of this ratio (delta method), from the paired residuals model_t − (1 + g) network_t.
        None without a network to compare with.
        """
        values = self._values(metric)
        names = [m.name for m in self.models]
        if "network" not in names:
            return None
        network = values[:, [names.index("network")]]
        return paired_gap(values, network)

    @cached_property
    def best_constant(self) -> dict[str, float]:
        """The errors of the best constant, by metric: what a network must beat."""
        # Closed theory has no draws of its own: its errors are means over all of them.
        trials = MOST_DRAWS if self.method == "closed" else self.trials
        known = best_constant(self.problem, seed=self.seed, trials=trials)
        return {name: value for name, value in known.items() if name in self.metrics}

    def _values(self, metric: str) -> Floats:
        return self.metrics[one_of("metric", metric, self.metrics)]

    def plot(
        self,
        metric: str = "test_mse",
        *,
        x: str | None = None,
        constant: bool = True,
        ax: Axes | None = None,
    ) -> Axes:
        """Return axes with a metric by model, or along an axis: simulation as markers with
        standard errors, theory as lines with bands of `theory_error`.

        `x` names the axis where there are several; `constant` draws the best constant where it is
        near. Draw another result on the same axes with `ax`.
        """
        from onegrad.verbs.error_picture import draw_errors

        return draw_errors(self, metric, x=x, constant=constant, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return a long table: model, ridge, metric, mean, stderr, trials, gap, gap_stderr."""
        require_extra("to_frame", "frames")
        import pandas as pd

        rows = []
        names = [name for name in self.axes if name not in ("trial", "model")]
        values = [self.axes[name] for name in names]
        for metric in self.metrics:
            estimate, gap = self.estimate(metric), self.gap(metric)
            for index, mean in np.ndenumerate(estimate.mean):
                model = self.models[index[0]]
                where = {n: v[i] for n, v, i in zip(names, values, index[1:], strict=True)}
                rows.append(
                    {
                        "model": model.name,
                        "degree": model.degree,
                        **where,
                        "metric": metric,
                        "mean": mean,
                        "stderr": estimate.stderr[index],
                        "trials": self.trials,
                        "gap": np.nan if gap is None else gap.mean[index],
                        "gap_stderr": np.nan if gap is None else gap.stderr[index],
                    }
                )
        return pd.DataFrame(rows).astype({"degree": "Int64"})

    def to_xarray(self) -> xarray.Dataset:
        """Return a variable per metric over trial, model, (step, samples or a field,) ridge."""
        return errors_dataset(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; metrics are lists over the axes that `axes` names."""
        gap = self.gap()
        models: dict[str, Any] = {}
        for i, model in enumerate(self.models):
            entry: dict[str, Any] = {
                metric: self._entry(self.estimate(metric), i) for metric in self.metrics
            }
            if model.degree is not None:
                entry["degree"] = model.degree
            if gap is not None and model.name != "network":
                entry["gap"] = self._entry(gap, i)
            models[model.name] = entry
        out: dict[str, Any] = {
            "problem": self.problem.to_dict(),
            **self._how,
            "best_constant": self.best_constant,
            "models": models,
        }
        named = self._named_axes
        return {**out, "axes": {name: list(self.axes[name]) for name in named}} if named else out

    @property
    def _how(self) -> dict[str, Any]:
        """How the numbers were made."""
        if not self.predicted:
            return {"trials": self.trials, "seed": self.seed}
        return {"method": self.method, **draws_of(self.method, self.trials, self.seed)}

    @property
    def _named_axes(self) -> list[str]:
        """The axes that the lists of a plain result run over."""
        curve = self.samples is not None or self.over is not None
        several = curve or self.problem.several_ridges
        named = [name for name in self.axes if name not in ("trial", "model", "ridge")]
        return [*named, "ridge"] if several else named

    def _entry(self, estimate: Estimate, model: int) -> dict[str, Any]:
        pair = {"mean": estimate.mean[model], "stderr": estimate.stderr[model]}
        if "ridge" not in self._named_axes:
            return {k: _plain(v[..., 0]) for k, v in pair.items()}
        return {k: _plain(v) for k, v in pair.items()}


def collect(
    problem: Problem,
    models: Sequence[Model],
    trials: Sequence[dict[str, dict[str, Floats]]],
    *,
    seed: int,
    samples: tuple[int, ...] | None = None,
    predicted: bool = False,
    runs: Sequence[StepsResult] = (),
    method: str | None = None,
) -> Errors:
    """Return the result of consecutive trials, stacked by metric."""
    present = [m for m in METRICS if m in trials[0][models[0].name]]
    metrics = {
        metric: np.stack([[trial[m.name][metric] for m in models] for trial in trials])
        for metric in present
    }
    return Errors(problem, seed, tuple(models), metrics, samples, predicted, tuple(runs), method)


def paired_gap(values: Floats, network: Floats) -> Estimate:
    """Return the relative gap of means over trials (axis 0), with the error of the paired ratio."""
    scale = network.mean(axis=0)
    scale = np.where(scale == 0, np.nan, scale)  # no relative gap to an error of zero
    gap = (values - network).mean(axis=0) / scale
    return Estimate(gap, standard_error(values - (1 + gap) * network) / np.abs(scale))


def standard_error(values: Floats) -> Floats:
    """Return the standard error of the mean over the first axis, NaN for a single value."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    deviation: Floats = np.std(values, axis=0, ddof=1)
    return deviation / np.sqrt(len(values))


def _plain(value: Any) -> Any:
    """Return nested lists of numbers; null where a number is not finite."""
    if np.ndim(value):
        return [_plain(part) for part in value]
    return float(value) if np.isfinite(value) else None
