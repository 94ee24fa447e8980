"""The result of `take_steps`: one record per step, the first one of the untrained network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.core.problem import Problem
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import (
    Floats,
    one_of,
    truth,
    with_error,
)
from onegrad.describe.saved_result import SavedResult
from onegrad.describe.tables import FieldsAsTable, ShownAsTable, Table
from onegrad.plotting.matplotlib_figure import draw_plot
from onegrad.plotting.observed import spectra_plot, step_plot
from onegrad.plotting.view import Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWN_NUMBERS = 8  # of the first direction


def steps_table(runs: Sequence[StepsResult], *, constant: float | None = None) -> Table:
    """Return a row per step, means over trials; with the best constant's test MSE where given."""
    summary = _summary([run.lines() for run in runs if run.records])
    columns = summary[0][0] if summary else {}
    overlaps = [name for name in columns if name.startswith("weight_overlap")]
    many = len(overlaps) > 1
    named = [f"overlaps w 1…{len(overlaps)}" if many else "overlap w"] if overlaps else []
    titles = ["step", "test MSE", "angle g", "angle w", "outside g", *named]
    rows = [tuple(_cells(means, errors, overlaps)) for means, errors in summary]
    if constant is not None:
        rows.append(("best constant", f"{constant:.5g}", *[""] * (len(titles) + 1)))
    first = runs[0]
    which = f"trial {first.trial}" if len(runs) == 1 else f"{len(runs)} trials"
    return Table(
        (*titles, "rank", "spikes", "predicted"),
        tuple(rows),
        title=f"Steps: {which}, seed {first.seed}",
        caption=_caption(runs),
        left=0,
    )


Line = dict[str, float]


def _summary(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[tuple[Line, Line]]:
    """Return mean and standard error over runs of every column, for every step."""
    out = []
    for lines in zip(*runs, strict=True):
        means, errors = {}, {}
        for name in lines[0]:
            given = [float(line[name]) for line in lines if line.get(name) is not None]
            values = np.array([value for value in given if value == value])  # NaN: there is none
            means[name] = float(values.mean()) if len(values) else np.nan
            errors[name] = (
                float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
            )
        out.append((means, errors))
    return out


def _cells(means: Line, errors: Line, overlaps: list[str]) -> list[str]:
    """Return the line of one step."""

    def number(name: str, form: str, unit: str = "", factor: float = 1.0) -> str:
        mean = factor * float(means[name])
        return "" if mean != mean else f"{mean:{form}}{unit}"  # NaN: there is none

    cells = [
        f"{means['step']:g}",
        with_error(float(means["test_mse"]), float(errors["test_mse"])),
        number("gradient_angle", ".1f", "°"),
        number("weight_angle", ".1f", "°"),
        number("gradient_outside", ".1f", " %", 100.0),
    ]
    if overlaps:
        cells.append(" ".join(number(name, ".3f") for name in overlaps))
    return [*cells, *(number(n, ".3g") for n in ("change_rank", "spikes", "predicted_spikes"))]


def _caption(runs: Sequence[StepsResult]) -> str:
    first = runs[0]
    problem, count = first.problem, len(runs)
    line = ", ".join(f"{v:.3g}" for v in np.ravel(first.first_direction)[:SHOWN_NUMBERS])
    leap = ""
    if first.leap_degree:
        index = first.leap_index
        leap = (
            f", leap index {f'none up to degree {first.leap_degree}' if index is None else index}"
        )
    return (
        f"n = {problem.dimension}, k = {problem.width}, N = {problem.samples_per_step}, "
        f"{problem.network.activation}, rule {problem.training.rule}; first direction ({line})"
        f"{leap}; noise radius {first.noise_radius:.3f}; {count} trial{'s' if count > 1 else ''}, "
        f"seed {first.seed}, ± standard error. Angles are medians in degrees to the first "
        "direction's line; rank: singular values of the weight change outside its bulk; spikes: of "
        "the features, outside theirs."
    )


SPECTRA = {
    "features": "singular value of centred features",
    "gradients": "singular value of the gradient",
    "changes": "singular value of the weights' change",
}
COLUMNS = ("overlaps", "angles", "errors")


def _plot(run: StepsResult, what: str) -> Plot:
    if what in SPECTRA:
        spectra = [_spectrum(record, what) for record in run.records]
        return spectra_plot([s for s in spectra if s is not None], y=SPECTRA[what])
    table = run.to_frame()
    if what == "errors":
        columns = [{"test_mse": "test"}, {"train_mse": "training"}]
        return step_plot(table, y="MSE", series=columns)
    if what == "angles":
        columns = [{"weight_angle": "weights", "gradient_angle": "gradients"}]
        y = "median angle to the predicted line, °"
        return step_plot(table, y=y, series=columns)
    table, columns = _overlaps(run, table)
    return step_plot(table, y="root mean square overlap", series=columns)


def _overlaps(run: StepsResult, table: pd.DataFrame) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """Return the table with the gradients' overlaps too, and the columns of every direction."""
    count = len(run.records[0].weights.strength) if run.records else 0
    columns = []
    for i in range(count):
        of_gradient = [
            None if record.gradient is None else float(record.gradient.strength[i])
            for record in run.records
        ]
        table[f"gradient_overlap_{i + 1}"] = of_gradient
        of = "" if count == 1 else f", direction {i + 1}"
        columns.append(
            {
                f"weight_overlap_{i + 1}": f"weights{of}",
                f"gradient_overlap_{i + 1}": f"gradients{of}",
            }
        )
    return table, columns


def _spectrum(record: StepRecord, what: str) -> tuple[int, Floats, int, float] | None:
    """Return step, values, how many are outside, and the edge; None where there was no step."""
    if what == "features":
        spikes = record.features
        return record.step, spikes.values, spikes.observed or 0, spikes.edge
    spectrum = record.gradient_spectrum if what == "gradients" else record.change_spectrum
    if spectrum is None:
        return None
    return record.step, spectrum.values, spectrum.rank or 0, spectrum.edge


SHOWN_VALUES = 10


@dataclass(frozen=True, repr=False)
class Alignment(FieldsAsTable):
    """How the rows of a k × n matrix, gradients or weights, lie to the watched directions.

    `overlaps` are the cosines with them (k × r). `angle` is the median angle, in degrees, between
    the rows' parts in the teacher's span and the predicted first direction's line, None where the
    target has no such direction or the span is a line; `outside` is the fraction of rows whose part
    there is longer than the noise radius.
    """

    overlaps: Floats
    angle: float | None
    outside: float

    @property
    def strength(self) -> Floats:
        """Root mean square overlap with each direction."""
        return np.sqrt(np.mean(self.overlaps**2, axis=0))

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values; every neuron's overlaps only when asked for."""
        out: dict[str, Any] = {
            "median_angle": self.angle,
            "outside_fraction": self.outside,
            "overlap": self.strength.tolist(),
        }
        return out | ({"overlaps": self.overlaps.tolist()} if neurons else {})


@dataclass(frozen=True, repr=False)
class Singular(FieldsAsTable):
    """Singular values outside the bulk (`rank` of them), the leading ones, edge, stable rank.

    A `rank` of 12 means at least so many, None that there are too few values for a bulk.
    """

    rank: int | None
    values: Floats
    edge: float
    stable_rank: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rank": self.rank,
            "stable_rank": self.stable_rank,
            "edge": self.edge,
            "singular_values": self.values[:SHOWN_VALUES].tolist(),
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Return axes with the leading singular values, those outside the bulk in red."""
        from onegrad.plotting.matplotlib_figure import draw_plot
        from onegrad.plotting.observed import spectrum_plot

        plot = spectrum_plot(self.values, outside=self.rank, edge=self.edge, y="singular value")
        return draw_plot(plot, ax)


@dataclass(frozen=True, repr=False)
class FeatureSpikes(FieldsAsTable):
    """Spikes of the feature matrix: the degrees predicted, how many are seen, and their overlaps.

    `predicted` is None where no theorem covers the `exponent`; both are empty before a step.
    `overlaps[i][q − 1]` is the |cosine| of the i-th left singular vector with H_q(Xv).
    """

    exponent: float | None
    predicted: tuple[int, ...] | None
    observed: int | None
    values: Floats
    edge: float
    overlaps: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "exponent": self.exponent,
            "predicted_degrees": None if self.predicted is None else list(self.predicted),
            "predicted": None if self.predicted is None else len(self.predicted),
            "observed": self.observed,
            "edge": self.edge,
            "singular_values": self.values.tolist(),
            "overlaps": self.overlaps.tolist(),
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Return axes with the singular values of the features, spikes with their overlaps."""
        from onegrad.plotting.matplotlib_figure import draw_plot
        from onegrad.plotting.observed import spectrum_plot

        plot = spectrum_plot(
            self.values,
            outside=self.observed,
            edge=self.edge,
            y="singular value of centred features",
            overlaps=self.overlaps,
        )
        return draw_plot(plot, ax)


@dataclass(frozen=True, repr=False)
class StepRecord(FieldsAsTable):
    """The network after `step` steps: step 0 is the untrained one, without gradient or change."""

    step: int
    learning_rate: float | None
    low_degree: str
    gradient: Alignment | None
    weights: Alignment
    gradient_spectrum: Singular | None
    change_spectrum: Singular | None
    features: FeatureSpikes
    train_mse: float
    test_mse: float

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values."""
        gradient, values, change = self.gradient, self.gradient_spectrum, self.change_spectrum
        return {
            "step": self.step,
            "learning_rate": self.learning_rate,
            "low_degree": self.low_degree,
            "test_mse": self.test_mse,
            "train_mse": self.train_mse,
            "gradient": None if gradient is None else gradient.to_dict(neurons=neurons),
            "weights": self.weights.to_dict(neurons=neurons),
            "gradient_spectrum": None if values is None else values.to_dict(),
            "change_spectrum": None if change is None else change.to_dict(),
            "features": self.features.to_dict(),
        }


@dataclass(frozen=True, repr=False, eq=False)
class StepsResult(ShownAsTable, SavedResult):
    """Everything that a run found, step by step.

    `leap_index` is None where the teacher depends on directions that its Hermite tensors up to
    `leap_degree` do not show; `stairs` are the dimensions that were climbed.
    """

    saved_parts = (StepRecord, Alignment, Singular, FeatureSpikes)

    problem: Problem
    seed: int
    trial: int
    noise_radius: float
    first_direction: Floats
    leap_index: int | None
    leap_degree: int
    stairs: tuple[int, ...]
    records: tuple[StepRecord, ...]

    def summary_table(self) -> Table:
        """Return a row per step, as `onegrad steps` shows it."""
        return steps_table([self])

    def to_dict(self, *, neurons: bool = False) -> dict[str, Any]:
        """Return plain values, ready for JSON; `neurons` adds every neuron's overlaps."""
        truth("neurons", neurons)
        return {
            "problem": self.problem.to_dict(),
            "digest": self.problem.digest,
            "seed": self.seed,
            "trial": self.trial,
            "noise_radius": self.noise_radius,
            "first_direction": self.first_direction.tolist(),
            "leap_index": self.leap_index,
            "leap_degree": self.leap_degree,
            "stairs": list(self.stairs),
            "steps": [record.to_dict(neurons=neurons) for record in self.records],
        }

    def plot(self, what: str = "overlaps", *, ax: Axes | None = None) -> Axes:
        """Return axes with what was seen after every step.

        `what` is "overlaps" of weights and gradients with the watched directions, "angles",
        "errors", or the singular values of the "features", of the "gradients" or of the weights'
        "changes".
        """
        one_of("what", what, (*COLUMNS, *SPECTRA))
        return draw_plot(_plot(self, what), ax)

    def to_frame(self) -> pd.DataFrame:
        """Return a line per step: errors, angles, overlaps, ranks and spikes."""
        require_extra("to_frame", "frames")
        import pandas as pd

        return pd.DataFrame(self.lines())

    def lines(self) -> list[dict[str, Any]]:
        """Return a line per step: errors, angles, overlaps, ranks and spikes."""
        return [_line(record) for record in self.records]


def _line(record: StepRecord) -> dict[str, Any]:
    gradient, change, spikes = record.gradient, record.change_spectrum, record.features
    line: dict[str, Any] = {
        "step": record.step,
        "learning_rate": record.learning_rate,
        "test_mse": record.test_mse,
        "train_mse": record.train_mse,
        "gradient_angle": None if gradient is None else gradient.angle,
        "gradient_outside": None if gradient is None else gradient.outside,
        "weight_angle": record.weights.angle,
        "weight_outside": record.weights.outside,
    }
    for i, overlap in enumerate(record.weights.strength, start=1):
        line[f"weight_overlap_{i}"] = float(overlap)
    line |= {
        "change_rank": None if change is None else change.rank,
        "change_norm": None if change is None else float(change.values[0]),
        "spikes": spikes.observed,
        "predicted_spikes": None if spikes.predicted is None else len(spikes.predicted),
    }
    return line
