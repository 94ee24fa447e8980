"""Tables of errors: means, standard errors and paired gaps."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from onegrad.cli.tables import percent, print_rich, with_error
from onegrad.verbs.errors import Errors

TITLES = {
    "test_mse": "test MSE",
    "train_mse": "train MSE",
    "objective": "objective",
    "misclassification": "misclassified",
    "test_loss": "test loss",
    "train_loss": "train loss",
}


def print_table(errors: Errors) -> None:
    """Print means, standard errors and paired gaps, one row per model and point of the axes."""
    table = Table(caption=_caption(errors), caption_justify="left")
    axes = {
        name: values
        for name, values in errors.axes.items()
        if name in ("step", "samples") or (name == "ridge" and len(values) > 1)
    }
    table.add_column("model")
    for name in axes:
        table.add_column(name, justify="right")
    shown = [name for name in TITLES if name in errors.metrics]
    for name in shown:
        table.add_column(TITLES[name], justify="right")
    reliable = errors.metrics.get("theory_error")
    if reliable is not None:
        table.add_column("theory error", justify="right")
    gap = errors.gap() if len(errors.models) > 1 else None
    if gap is not None:
        table.add_column("gap to network", justify="right")
    estimates = [errors.estimate(name) for name in shown]
    for index in np.ndindex(estimates[0].mean.shape):
        model = errors.models[index[0]]
        label = model.name if model.name != "hermite" else f"hermite (degree {model.degree})"
        places = dict(zip(list(errors.axes)[2:], index[1:], strict=True))
        cells = [label, *(f"{values[places[name]]:g}" for name, values in axes.items())]
        cells += [with_error(float(e.mean[index]), float(e.stderr[index])) for e in estimates]
        if reliable is not None:
            cells.append(f"{100 * float(np.max(reliable[(slice(None), *index)])):.1f} %")
        if gap is not None:
            cells.append(
                ""
                if model.name == "network"
                else percent(float(gap.mean[index]), float(gap.stderr[index]))
            )
        table.add_row(*cells)
    print_rich(table)


def _caption(errors: Errors) -> str:
    p = errors.problem
    sizes = f"n = {p.dimension}, k = {p.width}, {p.network.activation}"
    if errors.samples is None:
        sizes = f"n = {p.dimension}, m = {p.samples}, k = {p.width}, {p.network.activation}"
    if p.training.steps > 1 or p.training.rule != "gradient":
        sizes += f", {p.training.steps} steps by {p.training.rule}"
    if errors.method == "closed":
        return (
            f"{sizes}; predicted without draws: the mean over draws; theory error: how far test "
            "errors may be off, in nine cases of ten"
        )
    if errors.predicted:
        said = (
            f"{sizes}; predicted, nothing trained; {errors.trials} draws of the first layer, seed "
            f"{errors.seed}; ± standard error over draws"
        )
        if "theory_error" in errors.metrics:
            said += "; theory error: how far test errors may be off, in nine cases of ten"
            said += ", on the fitted mixture" if p.data.kind == "empirical" else ""
        return said
    method = (
        "integrated exactly" if p.test == "exact" else f"over {p.samples_in_test} sampled points"
    )
    redrawn = "everything" if p.redraw == "all" else "only the network"
    return (
        f"{sizes}; {errors.trials} trials, seed {errors.seed}, {redrawn} redrawn; "
        f"± standard error; test MSE {method}"
    )
