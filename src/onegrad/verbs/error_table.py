"""The table of errors: means, standard errors and paired gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.said_numbers import percent, with_error
from onegrad.describe.screen import ScreenTable

if TYPE_CHECKING:
    from onegrad.verbs.errors import Errors

TITLES = {
    "test_mse": "test MSE",
    "train_mse": "train MSE",
    "objective": "objective",
    "misclassification": "misclassified",
    "test_loss": "test loss",
    "train_loss": "train loss",
}

COUNTED = ("trial", "model", "step", "ridge")  # which have a plural in s


def errors_table(errors: Errors) -> ScreenTable:
    """Return means, standard errors and paired gaps, a row per model and point of the axes."""
    axes = {
        name: values
        for name, values in list(errors.axes.items())[2:]
        if name != "ridge" or len(values) > 1
    }
    metrics = [name for name in TITLES if name in errors.metrics]
    titles = ["model", *axes, *(TITLES[name] for name in metrics)]
    titles += ["theory error"] if "theory_error" in errors.metrics else []
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
            cells.append(f"{100 * float(worst):.1f} %")
        if gap is not None:
            same = model.name == "network"
            cells.append("" if same else percent(float(gap.mean[index]), float(gap.stderr[index])))
        rows.append(tuple(cells))
    constant = errors.best_constant
    if constant:
        values = [f"{constant[name]:.5g}" if name in constant else "" for name in metrics]
        cells = ["best constant", *[""] * len(axes), *values]
        rows.append((*cells, *[""] * (len(titles) - len(cells))))
    title = f"Errors: {'predicted' if errors.predicted else 'simulated'}, {_extent(errors)}"
    return ScreenTable(tuple(titles), tuple(rows), title=title, caption=_caption(errors))


def _coordinate(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _extent(errors: Errors) -> str:
    """Return the sizes of the axes."""
    return " × ".join(
        f"{len(values)} {name}{'s' if len(values) > 1 and name in COUNTED else ''}"
        for name, values in errors.axes.items()
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
