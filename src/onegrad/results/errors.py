"""Results: metric arrays with named axes, their means, standard errors and paired gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onegrad.core.model_names import parse_model
from onegrad.core.models import Model
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import (
    Floats,
    is_list,
    listed,
    one_of,
    percent,
    shown,
    truth,
    with_error,
)
from onegrad.describe.saved_result import SavedResult
from onegrad.describe.tables import ShownAsTable, Table
from onegrad.describe.value import last_words
from onegrad.plotting.curves import BANDED, CurveWords, curve_plot
from onegrad.plotting.matplotlib_figure import draw_plot
from onegrad.plotting.style import field_label, metric_label, model_name, value_text
from onegrad.results.best_constant import MOST_DRAWS, best_constant
from onegrad.results.steps import StepsResult
from onegrad.theory.methods import draws_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes


LABELS = {"samples": "samples of the readout, m", "ridge": "ridge penalty λ", "step": "step"}


def _chosen(x: str | None, varied: list[str], errors: Errors) -> str | None:
    """Return the axis that a picture goes along, None for one problem."""
    if x is not None:
        if not varied:
            raise InvalidInput(f"x={shown(x)}: the result is of one problem; leave it out")
        return one_of("x", x, varied)
    curve = None if errors.over is None else errors.over[0]
    order = ["samples", curve, "step", "ridge"]
    return next((name for name in order if name in varied), None)


def _table(errors: Errors, metric: str) -> pd.DataFrame:
    """Return the long table of a metric, with how far theory may be off beside it."""
    frame = errors.to_frame()
    table = frame[frame["metric"] == metric].reset_index(drop=True)
    doubts = frame[frame["metric"] == "theory_error"]["mean"].to_numpy(float)
    known = len(doubts) == len(table) and metric in BANDED
    return table.assign(theory_error=doubts if known else np.nan)


def _hues(table: pd.DataFrame, others: list[str]) -> pd.Series:
    """Return what else differs: the values of one axis, or of several as one text."""
    import pandas as pd

    if len(others) == 1:
        return table[others[0]]
    if not others:
        return pd.Series("", index=table.index, dtype=object)
    texts = [
        ", ".join(f"{field_label(name)} {value_text(row[name])}" for name in others)
        for row in table[others].to_dict("records")
    ]
    return pd.Series(texts, index=table.index, dtype=object)


TITLES = {
    "test_mse": "test MSE",
    "train_mse": "train MSE",
    "objective": "objective",
    "misclassification": "misclassified",
    "test_loss": "test loss",
    "train_loss": "train loss",
}

THEORY_ERROR = "test errors are within it in 90 % of cases"
COUNTED = ("trial", "draw", "model", "step", "ridge")  # which have a plural in s


def errors_table(errors: Errors) -> Table:
    """Return means, standard errors and paired gaps, a row per model and point of the axes."""
    axes = {
        name: values
        for name, values in list(errors.axes.items())[2:]
        if name != "ridge" or len(values) > 1
    }
    metrics = [name for name in TITLES if name in errors.metrics]
    titles = ["model", *axes, *(TITLES[name] for name in metrics)]
    after_first = len(axes) + 2  # where the error of theory stands: beside the test error
    if "theory_error" in errors.metrics:
        titles.insert(after_first, "theory error")
    gap = errors.gap() if len(errors.models) > 1 and "test_mse" in errors.metrics else None
    titles += [] if gap is None else ["gap to network"]
    estimates = [errors.estimate(name) for name in metrics]
    rows = []
    for index in np.ndindex(next(iter(errors.metrics.values())).shape[1:]):
        model = errors.models[index[0]]
        label = model.name if model.name != "hermite" else f"hermite (degree {model.degree})"
        places = dict(zip(list(errors.axes)[2:], index[1:], strict=True))
        cells = [label, *(_coordinate(values[places[name]]) for name, values in axes.items())]
        cells += [with_error(float(e.mean[index]), float(e.stderr[index])) for e in estimates]
        if "theory_error" in errors.metrics:
            worst = np.max(errors.metrics["theory_error"][(slice(None), *index)])
            cells.insert(after_first, f"{100 * float(worst):.1f} %")
        if gap is not None:
            same = model.name == "network"
            cells.append("" if same else percent(float(gap.mean[index]), float(gap.stderr[index])))
        rows.append(tuple(cells))
    constant = errors.best_constant
    if constant:
        said = {TITLES[name]: f"{value:.5g}" for name, value in constant.items() if name in TITLES}
        rows.append(("best constant", *(said.get(title, "") for title in titles[1:])))
    title = f"Errors: {'predicted' if errors.predicted else 'simulated'}, {_extent(errors)}"
    return Table(tuple(titles), tuple(rows), title=title, caption=_caption(errors))


def _coordinate(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _extent(errors: Errors) -> str:
    """Return the sizes of the axes; a trial of theory is a draw, and without draws none."""
    sizes = {name: len(values) for name, values in errors.axes.items()}
    trials = sizes.pop("trial")
    if errors.method != "closed":
        sizes = {"draw" if errors.predicted else "trial": trials, **sizes}
    return " × ".join(
        f"{size} {name}{'s' if size > 1 and name in COUNTED else ''}"
        for name, size in sizes.items()
    )


def _caption(errors: Errors) -> str:
    p = errors.problem
    sizes = f"n = {p.dimension}, k = {p.width}, {p.network.activation}"
    if errors.samples is None:
        sizes = f"n = {p.dimension}, m = {p.samples}, k = {p.width}, {p.network.activation}"
    if p.training.steps > 1 or p.training.rule != "gradient":
        sizes += f", {p.training.steps} steps by {p.training.rule}"
    if errors.method == "closed":
        return (
            f"{sizes}; closed theory: means over all random draws; theory error: relative, "
            f"{THEORY_ERROR}"
        )
    if errors.predicted:
        said = (
            f"{sizes}; predicted, nothing trained; {errors.trials} draws of the first layer, "
            f"seed {errors.seed}; ± standard error over draws"
        )
        if "theory_error" in errors.metrics:
            said += f"; theory error: relative, {THEORY_ERROR}"
            said += ", on the fitted mixture" if p.data.kind == "empirical" else ""
        return said
    method = "computed exactly" if p.test == "exact" else f"over {p.samples_in_test} sampled points"
    redrawn = "everything" if p.redraw == "all" else "only the network"
    return (
        f"{sizes}; {errors.trials} trials, seed {errors.seed}, {redrawn} redrawn "
        f"in each trial; ± standard error; test MSE {method}"
    )


METRICS = (
    *("test_mse", "train_mse", "objective", "squared_weight_norm", "misclassification"),
    *("test_loss", "train_loss", "train_misclassification", "theory_error"),
)


@dataclass(frozen=True, repr=False)
class Estimate(ShownAsTable):
    """A mean with its standard error; arrays share the result's axes but for the trials."""

    mean: Floats
    stderr: Floats

    def summary_table(self) -> Table:
        """Return means with their standard errors: a column per place of the last axis."""
        mean = self.mean
        size = mean.shape[-1] if mean.ndim else 1
        means, stderrs = np.reshape(mean, (-1, size)), np.reshape(self.stderr, (-1, size))
        rows = [
            (str(list(place))[1:-1], *(with_error(float(m), float(e)) for m, e in cells))
            for place, cells in zip(
                np.ndindex(mean.shape[:-1]), np.stack([means, stderrs], axis=-1), strict=True
            )
        ]
        return Table(
            ("place", *(f"…, {i}" if mean.ndim > 1 else f"{i}" for i in range(size))),
            tuple(rows),
            title=f"Estimate: mean ± standard error, shape {mean.shape}",
        )


@dataclass(frozen=True, repr=False, eq=False)
class Errors(ShownAsTable, SavedResult):
    """The metrics of every trial, model and penalty.

    `metrics[name]` has one dimension per entry of `axes`: trial, model, (step, samples,) ridge. A
    run of several steps has the errors after each, 0 being the untrained network. For predictions
    a trial is a draw of the first layer; theory without draws has one, without a standard error.
    `runs` is what was observed, trial by trial; `over` the field along which a curve goes.
    """

    saved_parts = (StepsResult,)

    problem: Problem
    seed: int
    models: tuple[Model, ...]
    metrics: dict[str, Floats]
    samples: tuple[int, ...] | None = None
    predicted: bool = False
    runs: tuple[StepsResult, ...] = ()
    method: str | None = None
    over: tuple[str, tuple[Any, ...]] | None = None

    def summary_table(self) -> Table:
        """Return means, standard errors and gaps, as `onegrad simulate` shows them."""
        return errors_table(self)

    def __getitem__(self, models: str | Sequence[str]) -> Errors:
        """Return the errors of one model, or of a list of them."""
        known = [model.name for model in self.models]
        asked = listed("models", models) if is_list(models) else [models]
        places = [known.index(one_of("models", name, known)) for name in asked]
        return replace(
            self,
            models=tuple(self.models[place] for place in places),
            metrics={name: values[:, places] for name, values in self.metrics.items()},
        )

    def saved_fields(self) -> dict[str, Any]:
        """Return the fields of a file: models by name, and by degree, which a name may not have."""
        models = tuple((model.name, model.degree) for model in self.models)
        return {**super().saved_fields(), "models": models}

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Return the errors of the fields of a file."""
        models = (parse_model(name, theorem_degree=k or 0) for name, k in saved["models"])
        return cls(**{**saved, "models": tuple(models)})

    @property
    def steps(self) -> tuple[int, ...] | None:
        """The steps that the errors belong to, None for those of a single step."""
        steps = self.problem.recorded_steps
        return steps if len(steps) > 1 else None

    @property
    def axes(self) -> dict[str, Sequence[Any]]:
        """Names and coordinates of the dimensions, in order."""
        curve = {} if self.samples is None else {"samples": list(self.samples)}
        curve |= {} if self.over is None else {self.over[0]: list(self.over[1])}
        steps = {} if self.steps is None else {"step": list(self.steps)}
        return {
            "trial": range(self.trials),
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
        import pandas as pd

        one_of("metric", metric, self.metrics)
        truth("constant", constant)
        varied = [
            name
            for name, values in self.axes.items()
            if name not in ("trial", "model") and len(values) > 1
        ]
        along = _chosen(x, varied, self)
        table = _table(self, metric)
        others = [name for name in varied if name != along]
        points = pd.DataFrame(
            {
                "x": table["model"].map(model_name) if along is None else table[along],
                "value": table["mean"],
                "stderr": table["stderr"],
                "theory_error": table["theory_error"],
                "model": table["model"],
                "hue": _hues(table, others),
                "theory": self.predicted,
            }
        )
        fixed_law = self.over is None  # along a field the labels may change
        value = self.best_constant.get(metric) if constant and fixed_law else None
        named = "" if len(others) != 1 else field_label(others[0])
        label = "" if along is None else LABELS.get(along, field_label(along))
        words = CurveWords(label, metric_label(metric), named, value)
        return draw_plot(curve_plot(points, words), ax)

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
        """Return a variable per metric over trial, model, (step, samples or a field,) ridge.

        A curve over a field has the last word of its path as dimension: `strength` for
        "scaling.strength". Lists and descriptions along it become strings.
        """
        require_extra("to_xarray", "xarray")
        import xarray

        plain = last_words(list(self.axes))
        coordinates = {
            plain[name]: [v if isinstance(v, int | float | str) else str(v) for v in values]
            for name, values in self.axes.items()
        }
        return xarray.Dataset(
            {name: (list(plain.values()), values) for name, values in self.metrics.items()},
            coords=coordinates,
            attrs={
                "problem": self.problem.digest,
                "seed": self.seed,
                "verb": "predict" if self.predicted else "simulate",
            },
        )

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
        how: dict[str, Any] = {"trials": self.trials, "seed": self.seed}
        if self.predicted:
            how = {"method": self.method, **draws_of(self.method, self.trials, self.seed)}
        out: dict[str, Any] = {
            "problem": self.problem.to_dict(),
            **how,
            "best_constant": self.best_constant,
            "models": models,
        }
        named = self._named_axes
        return {**out, "axes": {name: list(self.axes[name]) for name in named}} if named else out

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
