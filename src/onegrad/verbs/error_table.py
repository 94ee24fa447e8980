"""The table of errors: means, standard errors and paired gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.arrays import Floats
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

THEORY_ERROR = "test errors are within it in 90 % of cases"
COUNTED = ("trial", "draw", "model", "step", "ridge")  # which have a plural in s


def errors_table(errors: Errors) -> ScreenTable:
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
    return ScreenTable(tuple(titles), tuple(rows), title=title, caption=_caption(errors))


def estimate_table(mean: Floats, stderr: Floats) -> ScreenTable:
    """Return means with their standard errors: a column per place of the last axis."""
    size = mean.shape[-1] if mean.ndim else 1
    means, stderrs = np.reshape(mean, (-1, size)), np.reshape(stderr, (-1, size))
    rows = [
        (
            str(list(place))[1:-1],
            *(with_error(float(m), float(e)) for m, e in zip(means[i], stderrs[i], strict=True)),
        )
        for i, place in enumerate(np.ndindex(mean.shape[:-1]))
    ]
    return ScreenTable(
        ("place", *(f"…, {i}" if mean.ndim > 1 else f"{i}" for i in range(size))),
        tuple(rows),
        title=f"Estimate: mean ± standard error, shape {mean.shape}",
    )


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
