"""Which rows of a sweep a picture shows: an axis, colours, facets, and theory beside simulation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.checks import one_of, truth
from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.result_curves import BANDED, CurveWords
from onegrad.plotting.style import field_label, metric_label
from onegrad.running.closed_rows import with_closed_of_all
from onegrad.running.constant_errors import constant_errors
from onegrad.running.sweeps import RIDGE
from onegrad.verbs.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd

    from onegrad.running.table import Results

OWN_COLUMNS = ("step", "ridge", "seed")  # that rows have beside the sweep's axes
MODEL = "model"
PREFERRED = ("closed", "types", "auto")


@dataclass(frozen=True)
class SweepPicture:
    """The table of a picture, with columns x, hue and facet, and what these are called."""

    table: pd.DataFrame
    words: CurveWords
    facet: str


def sweep_picture(
    results: Results,
    *,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
    metric: str = "test_mse",
    theory: bool = False,
) -> SweepPicture:
    """Return what a picture of the results shows; raise InvalidInput where lines would mix.

    Fields are named by path, as the columns of `to_frame`. Simulation is shown where there is any;
    `theory` adds, point by point, theory without draws where it knows the problem, else the rows of
    predict that are stored, and says which in a warning.
    """
    truth("theory", theory)
    frame = results.to_frame()
    if frame.empty:
        raise InvalidInput(
            f"results={str(results.directory)!r}: holds no finished trials; run onegrad sweep"
        )
    one_of("metric", metric, frame["metric"].unique())
    trained = bool((frame["verb"] == "simulate").any())
    if theory:
        frame = with_closed_of_all(results).to_frame()
    lines = _with_doubts(frame, metric, results.axes)
    lines = _chosen_verbs(lines, results, trained=trained, theory=theory)
    varied = _varied(lines, results)
    columns = [*results.axes, *OWN_COLUMNS, MODEL]
    given = {"x": x, "hue": hue, "facet": facet}
    known = {name: _column(name, path, columns) for name, path in given.items()}
    if known["x"] is None:
        known["x"] = _only_axis(varied, known)
    _require_all_shown(varied, known)
    constants = lines["setting"].map(constant_errors(results, lines, metric))
    return _picture(lines.assign(constant=constants), known, metric)


def _column(name: str, path: str | None, columns: list[str]) -> str | None:
    """Return the column of a field; penalties have one of their own."""
    if path is None:
        return None
    return "ridge" if isinstance(path, str) and path == RIDGE else one_of(name, path, columns)


def _with_doubts(frame: pd.DataFrame, metric: str, axes: list[str]) -> pd.DataFrame:
    """Return the lines of a metric, with how far theory may be off beside them."""
    place = [*axes, "setting", "verb", "method", "seed", "model", "step", "ridge"]
    lines = frame[frame["metric"] == metric].copy()
    doubts = frame[frame["metric"] == "theory_error"][[*place, "mean"]]
    if metric not in BANDED or doubts.empty:
        return lines.assign(theory_error=np.nan)
    return lines.merge(doubts.rename(columns={"mean": "theory_error"}), on=place, how="left")


def _chosen_verbs(
    lines: pd.DataFrame, results: Results, *, trained: bool, theory: bool
) -> pd.DataFrame:
    """Return simulated lines and one prediction per point, as asked for."""
    import pandas as pd

    predicted = lines["verb"] == "predict"
    if not theory:
        return lines[~predicted] if trained else _best_method(lines, results)
    beside = _best_method(lines[predicted], results)
    if beside.empty:
        raise InvalidInput(
            "theory: neither closed theory knows these problems nor are there rows of predict; run "
            'the sweep with verbs = ["simulate", "predict"]'
        )
    _say_methods(beside, lines[~predicted])
    return pd.concat([lines[~predicted], beside], ignore_index=True)


def _best_method(lines: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Return one line per point: that of the method which comes first in PREFERRED."""
    assert set(PREFERRED) == set(METHODS)
    rank = lines["method"].map({name: i for i, name in enumerate(PREFERRED)})
    place = [*results.axes, "model", "step", "ridge"]  # theory without draws has one seed for all
    ordered = lines.assign(rank=rank).sort_values("rank", kind="stable")
    return ordered.drop_duplicates(place).sort_index().drop(columns="rank")


def _say_methods(beside: pd.DataFrame, trained: pd.DataFrame) -> None:
    """Say by which method theory is, and where it is missing."""
    counts = beside["method"].value_counts()
    parts = [f"{count} points by {name!r}" for name, count in counts.items()]
    missing = len(trained) - len(beside)
    parts += [f"{missing} points without theory"] if missing > 0 and len(trained) else []
    warnings.warn(f"theory: {', '.join(parts)}", stacklevel=4)


def _varied(lines: pd.DataFrame, results: Results) -> list[str]:
    """Return the columns along which lines differ, models aside."""
    own = [name for name in OWN_COLUMNS if name != "seed"]
    varied = [c for c in (*results.axes, *own) if lines[c].nunique(dropna=False) > 1]
    seeds = lines.loc[lines["verb"] == "simulate", "seed"].nunique()
    return [*varied, *(["seed"] if seeds > 1 else [])]


def _only_axis(varied: list[str], known: dict[str, str | None]) -> str:
    """Return the axis that is left for x."""
    free = [name for name in varied if name not in known.values()]
    if not free:
        return MODEL
    if len(free) > 1:
        raise InvalidInput(f"x: must be one of {', '.join(free)}; choose one")
    return free[0]


def _require_all_shown(varied: list[str], known: dict[str, str | None]) -> None:
    """Raise InvalidInput where one place of the picture stands for several settings."""
    given = [path for path in known.values() if path is not None]
    if len(set(given)) < len(given):
        raise InvalidInput(f"x, hue, facet={', '.join(given)}: must differ; change one")
    mixed = [name for name in varied if name not in given]
    if mixed:
        raise InvalidInput(
            f"plot: results differ in {', '.join(mixed)} too; give it to x, hue or facet"
        )


def _picture(lines: pd.DataFrame, known: dict[str, str | None], metric: str) -> SweepPicture:
    import pandas as pd

    x, hue, facet = (known[name] for name in ("x", "hue", "facet"))
    assert x is not None

    def column(path: str | None) -> pd.Series:
        return lines[path] if path is not None else pd.Series("", index=lines.index, dtype=object)

    colours = None if hue == MODEL else hue  # models have colours where nothing else has
    table = pd.DataFrame(
        {
            "x": column(x),
            "value": lines["mean"],
            "stderr": lines["stderr"],
            "theory_error": lines["theory_error"],
            "constant": lines["constant"].astype(float),
            "model": lines["model"],
            "hue": column(colours),
            "theory": lines["verb"] == "predict",
            "facet": column(facet),
        }
    )
    words = CurveWords(
        field_label(x), metric_label(metric), "" if colours is None else field_label(colours)
    )
    return SweepPicture(table, words, "" if facet is None else field_label(facet))
