"""What `StepsResult.plot` draws: columns of a run's records, and spectra after every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onegrad.describe.arrays import Floats
from onegrad.describe.checks import one_of
from onegrad.plotting.matplotlib_figure import draw_plot
from onegrad.plotting.observed import spectra_plot, step_plot
from onegrad.plotting.view import Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from onegrad.diagnostics.records import StepRecord, StepsResult

SPECTRA = {
    "features": "singular value of centred features",
    "gradients": "singular value of the gradient",
    "changes": "singular value of the weights' change",
}
COLUMNS = ("overlaps", "angles", "errors")


def draw_steps(run: StepsResult, what: str, *, ax: Any) -> Axes:
    """Return axes with what was seen of a run after every step."""
    one_of("what", what, (*COLUMNS, *SPECTRA))
    return draw_plot(_plot(run, what), ax)


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
