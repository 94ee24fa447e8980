"""What a person sees: the table of errors and the progress bar."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from onegrad.results import Errors, Estimate

_TITLES = {
    "test_mse": "test MSE",
    "train_mse": "train MSE",
    "objective": "objective",
    "misclassification": "misclassified",
}
SHOW_AFTER_SECONDS = 2.0


class TrialProgress:
    """A progress bar on a terminal for work of more than two seconds; nothing in a pipe."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("trials"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("trials", total=None)
        self._timer = threading.Timer(SHOW_AFTER_SECONDS, self._bar.start)
        self._timer.daemon = True

    def __enter__(self) -> TrialProgress:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._bar.live.is_started:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """Show `done` of `total` trials."""
        self._bar.update(self._task, completed=done, total=total)


def print_table(errors: Errors) -> None:
    """Print means, standard errors and paired gaps, one row per model and penalty."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(caption=_caption(errors), caption_justify="left")
    several = len(errors.problem.ridges) > 1
    table.add_column("model")
    if several:
        table.add_column("ridge", justify="right")
    shown = [name for name in _TITLES if name in errors.metrics]
    for name in shown:
        table.add_column(_TITLES[name], justify="right")
    gap = errors.gap()
    if gap is not None:
        table.add_column("gap to network", justify="right")
    estimates = [errors.estimate(name) for name in shown]
    for i, model in enumerate(errors.models):
        label = model.name if model.name != "hermite" else f"hermite (degree {model.degree})"
        for j, ridge in enumerate(errors.problem.ridges):
            cells = [label, *([f"{ridge:g}"] if several else [])]
            cells += [_with_error(e, i, j) for e in estimates]
            if gap is not None:
                cells.append("" if model.name == "network" else _percent(gap, i, j))
            table.add_row(*cells)
    console.print(table)


def _caption(errors: Errors) -> str:
    p = errors.problem
    sizes = f"n = {p.dimension}, m = {p.samples}, k = {p.width}, {p.network.activation}"
    method = "integrated exactly" if p.test == "exact" else f"over {p.test_size} sampled points"
    redrawn = "everything" if p.redraw == "all" else "only the network"
    return (
        f"{sizes}; {errors.trials} trials, seed {errors.seed}, {redrawn} redrawn; "
        f"± standard error; test MSE {method}"
    )


def _with_error(estimate: Estimate, i: int, j: int) -> str:
    return f"{estimate.mean[i, j]:.5f} ± {estimate.stderr[i, j]:.5f}"


def _percent(gap: Estimate, i: int, j: int) -> str:
    return f"{100 * gap.mean[i, j]:+.2f} ± {100 * gap.stderr[i, j]:.2f} %"
