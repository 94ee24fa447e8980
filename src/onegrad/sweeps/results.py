"""Results of sweeps as tables: rows of a folder joined with their settings."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.closed.problem import require_closed_models, uniform_strengths
from onegrad.core.problem import Problem
from onegrad.data.mixture_source import MixtureSource
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.files import digest
from onegrad.describe.numbers import of_kind, one_of, path_of, truth
from onegrad.describe.tables import ShownAsTable, Table
from onegrad.describe.value import at, last_words, leaves
from onegrad.machine.pool import run_jobs
from onegrad.plotting.curves import BANDED, CurveWords
from onegrad.plotting.style import field_label, metric_label
from onegrad.results.best_constant import best_constant
from onegrad.results.errors import paired_gap
from onegrad.sweeps.plan import Job, Task, closed_rows, setting_records
from onegrad.sweeps.store import Contents, read
from onegrad.sweeps.sweep import RIDGE, Setting, Sweep
from onegrad.theory.methods import METHODS, require

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes

POINTS_TOGETHER = 32  # that are solved together, in a tenth of a second or more
POINT_SECONDS = 0.015  # that a point of them takes, about
AVERAGED_SECONDS = 0.2  # that one of the settings takes which are averaged for random strengths


def closed_tasks(sweep: Sweep, settings: Sequence[Setting], *, rank: int = 0) -> list[Task]:
    """Return the tasks of theory without draws at these settings."""
    jobs = [Job("predict", s.problem, s.models, sweep.seed, 0, "closed") for s in settings]
    # A point that averages over strengths takes seconds: it is a task of its own.
    costs = [closed_seconds(job.problem) for job in jobs]
    quick = [job for job, cost in zip(jobs, costs, strict=True) if cost == POINT_SECONDS]
    parts = [quick[i : i + POINTS_TOGETHER] for i in range(0, len(quick), POINTS_TOGETHER)]
    tasks = [Task(part, rank=rank, cost=len(part) * POINT_SECONDS, kept=False) for part in parts]
    return tasks + [
        Task([job], rank=rank, cost=cost, kept=False)
        for job, cost in zip(jobs, costs, strict=True)
        if cost != POINT_SECONDS
    ]


def closed_seconds(problem: Problem) -> float:
    """Return about how many seconds closed theory takes for one of several points."""
    components = problem.data.components if isinstance(problem.data, MixtureSource) else ()
    ranks = [c.rank for c in components if c.strengths == "uniform" and c.rank]
    settings = len(uniform_strengths(ranks))
    return POINT_SECONDS if settings == 1 else AVERAGED_SECONDS * settings


def with_closed_of_all(results: Results) -> Results:
    """Return the results with rows by method "closed" wherever that knows setting and model.

    The sweeps are those that are kept in the folder; one that cannot be read has no such rows.
    """
    for mark in dict.fromkeys(setting["sweep"] for setting in results.contents.settings):
        kept = results.directory / f"sweep-{mark[:12]}.toml"
        try:
            sweep = Sweep.load(kept)
            # "simulate" alone: settings without theory are no error here.
            asked = sweep.replace(verbs=("simulate",), method="closed", observe="no")
            settings = [part for whole in asked.settings() for part in _known(whole)]
        except InvalidInput as error:
            warnings.warn(f"theory: closed theory is left out: {error}", stacklevel=2)
            continue
        if settings:
            results = with_closed(results, asked, settings)
    return results


def _known(setting: Setting) -> list[Setting]:
    """Return the setting with the models that theory without draws knows, nothing where none."""
    models = []
    for model in setting.models:
        try:
            require(setting.problem)
            require_closed_models([model])
        except InvalidInput:
            continue
        models.append(model)
    return [replace(setting, models=tuple(models))] if models else []


def with_closed(results: Results, sweep: Sweep, settings: Sequence[Setting]) -> Results:
    """Return the results with rows by method "closed" at these settings beside them.

    A point costs milliseconds, and stored it would be two kilobytes that every later run reads.
    Points that this theory refuses have no row; its doubts are in the metric `theory_error`.
    """
    parts = [{"jobs": task.jobs} for task in closed_tasks(sweep, settings)]
    closed = {row["key"]: row for rows in run_jobs(closed_rows, parts, workers=1) for row in rows}
    drawn = results.contents
    records = setting_records(sweep, settings)
    return Results(
        results.directory, Contents([*drawn.settings, *records], {**drawn.rows, **closed})
    )


# What the law of the labels and their metrics depends on; settings that agree in it share a draw.
LAW_FIELDS = ("dimension", "data", "teacher", "scaling", "redraw")
METRICS = ("test_mse", "misclassification", "test_loss")


def constant_errors(results: Results, lines: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return the best constant's error by the identity of settings, for those of the lines.

    Where it is not known there is none: a metric that is no test error, real data that are not on
    this machine, functions that are not registered.
    """
    if metric not in METRICS or lines.empty:
        return {}
    trials, wanted = int(lines["count"].max()), set(lines["setting"])
    by_law: dict[str, float | None] = {}
    known = {}
    for setting in results.contents.settings:
        identity = setting_identity(setting)
        if identity not in wanted or identity in known:
            continue
        fields = setting["fields"]
        own = [fields.get(name) for name in LAW_FIELDS]
        law = digest([*own, fields["readout"]["loss"], fields["readout"]["outputs"]])
        if law not in by_law:
            by_law[law] = _error(fields, metric, seed=setting["seed"], trials=trials)
        error = by_law[law]
        if error is not None:
            known[identity] = error
    return known


def _error(fields: dict[str, object], metric: str, *, seed: int, trials: int) -> float | None:
    """Return the best constant's error in a stored problem, None where it cannot be made here."""
    try:
        problem = Problem(**fields)  # type: ignore[arg-type]
        return best_constant(problem, seed=seed, trials=trials).get(metric)
    except InvalidInput:
        return None


def results_table(
    frame: pd.DataFrame,
    axes: list[str],
    *,
    metric: str = "test_mse",
    title: str = "",
    constants: Mapping[str, float] | None = None,
) -> Table:
    """Return mean and standard error of one metric per setting and model.

    `constants` are the errors of the best constant by setting, a column where any is known.
    """
    known = constants or {}
    varied = [axis for axis in axes if frame[axis].nunique(dropna=False) > 1]
    varied += [name for name in ("seed", "step", "ridge", "method") if frame[name].nunique() > 1]
    words = (*varied, "verb", "model")
    rows = []
    for row in frame[frame["metric"] == metric].to_dict("records"):
        mean, stderr = row["mean"], row["stderr"]
        number = f"{mean:.5g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.5g}"
        constant = [_cell(known.get(row["setting"], ""))] if known else []
        place = (_cell(row[str(name)]) for name in words)
        rows.append((*place, number, *constant, str(row["count"])))
    return Table(
        (*words, metric, *(["best constant"] if known else []), "trials"),
        tuple(rows),
        title=title,
        caption=f"{metric}, mean ± standard error; to_frame and --csv have the other metrics",
        left=len(words),
    )


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def sweep_dataset(frame: pd.DataFrame, axes: Sequence[str]) -> xarray.Dataset:
    """Return every metric's mean, its `…_stderr`, and `count`, by axis, verb, model and ridge.

    `frame` is the table of means. Axes that move together share one dimension; the others are
    coordinates along it.
    """
    leading: dict[str, str] = {}
    for axis in axes:
        same = (a for a in leading.values() if _together(frame, a, axis))
        leading[axis] = next(same, axis)
    steps = ["step"] if frame["step"].nunique() > 1 else []
    fixed = ["verb", "model", *steps, "ridge"]
    index = [axis for axis in axes if leading[axis] == axis] + fixed
    if frame.duplicated([*index, "metric"]).any():
        raise InvalidInput(
            "results: several seeds or methods in a folder have no view by axes; use to_frame"
        )
    data = _variables(frame, index)
    for axis, leader in leading.items():
        if axis != leader:
            pairs = frame.drop_duplicates(leader).set_index(leader)[axis]
            data = data.assign_coords({axis: (leader, pairs.loc[data[leader].values].values)})
    names = last_words(axes, taken=[*fixed, *(str(name) for name in data.data_vars)])
    return data.rename(names)


def _variables(frame: pd.DataFrame, index: list[str]) -> xarray.Dataset:
    """Return means, standard errors and counts over the columns of an index."""
    table = frame.set_index([*index, "metric"])[["mean", "stderr", "count"]].to_xarray()
    data = table[["count"]].max("metric")
    for name in (str(metric) for metric in frame["metric"].unique()):
        data[name] = table["mean"].sel(metric=name, drop=True)
        data[f"{name}_stderr"] = table["stderr"].sel(metric=name, drop=True)
    return data


def _together(frame: pd.DataFrame, axis: str, other: str) -> bool:
    """Return whether each value on one axis goes with one value on the other, and back."""
    pairs = frame[[axis, other]].drop_duplicates()
    return (
        len(pairs) > 1
        and not pairs[axis].duplicated().any()
        and not pairs[other].duplicated().any()
    )


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


_RESULT_COLUMNS = ["setting", "verb", "method", "seed", "model", "degree", "step"]
_RESULT_COLUMNS += ["ridge", "metric"]
_SHORT = 12  # characters of a digest that tell settings apart


@dataclass(frozen=True, repr=False)
class Results(ShownAsTable):
    """Everything that a folder of sweeps holds.

    `to_frame` has one line per setting × model × metric, `trials` one per trial as well, `failures`
    the trials that raised.
    """

    directory: Path
    contents: Contents

    def __post_init__(self) -> None:
        path_of("results", self.directory)
        of_kind("contents", self.contents, Contents, remedy="use Results.load")

    @classmethod
    def load(cls, directory: str | Path) -> Results:
        """Return the results in a folder; unreadable lines are skipped with a warning."""
        folder = path_of("results", directory)
        if not folder.is_dir():
            raise InvalidInput(f"results={str(folder)!r}: no such folder; run onegrad sweep first")
        contents = read(folder)
        if contents.torn:
            count = len(contents.torn)
            warnings.warn(
                f"{count} unreadable line{'s' if count > 1 else ''} skipped "
                f"({contents.torn[-1]}); run the sweep again to compute what is missing",
                stacklevel=2,
            )
        if contents.conflicts:
            warnings.warn(
                f"{len(contents.conflicts)} rows were computed twice with other numbers; the first "
                "of each is used",
                stacklevel=2,
            )
        kernels = contents.kernels()
        if len(kernels) > 1:
            warnings.warn(
                f"rows come from several BLAS kernels ({'; '.join(kernels)}); their last bits may "
                "differ",
                stacklevel=2,
            )
        return cls(folder, contents)

    def summary_table(self) -> Table:
        """Return mean and standard error of the first metric, as `onegrad results` shows them."""
        frame, failed = self.to_frame(), len(self.contents.failed)
        said = f"{len(self.contents.rows) - failed} trials of models"
        said += f", {failed} failed" if failed else ""
        title = f"Results in {self.directory}: {len(self.contents.settings)} settings, {said}"
        known = list(frame["metric"].unique()) or ["test_mse"]
        metric = "test_mse" if "test_mse" in known else str(known[0])

        constants = constant_errors(self, frame, metric)
        return results_table(frame, self.axes, metric=metric, title=title, constants=constants)

    @property
    def axes(self) -> list[str]:
        """The fields that tell settings apart: what sweeps varied, then what else differs.

        `step` and `ridge` are columns of their own.
        """
        settings = self.contents.settings
        varied = [n for s in settings for n in s["coordinates"] if n != RIDGE]
        axes = list(dict.fromkeys(varied))
        alike: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for setting in settings:
            alike[tuple(_coordinate(setting, axis) for axis in axes)].append(setting)
        for group in alike.values():
            if len({s["problem"] for s in group}) > 1:
                values = [leaves(s["fields"]) for s in group]
                paths = dict.fromkeys(path for setting in values for path in setting)
                axes += [
                    path
                    for path in paths
                    if not path.startswith(RIDGE)
                    and path not in axes
                    and len({repr(setting.get(path)) for setting in values}) > 1
                ]
        return axes

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One line per setting × verb × model × trial × step × ridge × metric."""
        require_extra("results", "frames")
        import pandas as pd

        rows: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(dict)
        for row in self.contents.rows.values():
            if row["status"] == "ok":  # one row per trial, whether observed or not
                rows[_group(row, row["model"], row.get("method"))].setdefault(row["trial"], row)
        lines: list[tuple[Any, ...]] = []
        axes = self.axes
        done: set[tuple[Any, ...]] = set()
        for setting in self.contents.settings:
            where = (*(_coordinate(setting, axis) for axis in axes), setting_identity(setting))
            for model in setting["models"]:
                for verb, method in (("simulate", None), ("predict", setting["method"])):
                    record = _trained(setting) if verb == "simulate" else {**setting, "verb": verb}
                    group = _group(record, model["key"], method)
                    mark = (group, model["name"], setting["problem"])
                    if mark in done:
                        continue
                    done.add(mark)
                    head = (*where, verb, method, setting["seed"], model["name"], model["degree"])
                    for _, row in sorted(rows[group].items()):
                        lines += _lines(head, row, setting)
        frame = pd.DataFrame(
            lines, columns=[*axes, *_RESULT_COLUMNS, "trial", "value"], dtype=object
        ).infer_objects()
        return frame.astype({"degree": "Int64"})

    def to_frame(self) -> pd.DataFrame:
        """Return mean, standard error, count per setting × verb × model × step × ridge × metric."""
        keys = [*self.axes, *_RESULT_COLUMNS]
        grouped = self.trials.groupby(keys, sort=False, dropna=False)["value"]
        summary = grouped.agg(["mean", "sem", "count"]).reset_index()
        return summary.rename(columns={"sem": "stderr"})

    def plot(
        self,
        x: str | None = None,
        *,
        hue: str | None = None,
        metric: str = "test_mse",
        theory: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Return axes with a metric against a field: markers with standard errors, and lines of
        `theory`, closed where it knows the problem, else from stored rows of predict.

        Fields are named by path; colours are values of `hue`, or models where it is not given.
        """
        from onegrad.plotting.curves import curve_plot
        from onegrad.plotting.matplotlib_figure import draw_plot

        picture = sweep_picture(self, x=x, hue=hue, metric=metric, theory=theory)
        return draw_plot(curve_plot(picture.table, picture.words), ax)

    @property
    def failures(self) -> pd.DataFrame:
        """One line per failed trial and model, with the error and its traceback."""
        require_extra("failures", "frames")
        import pandas as pd

        known = {
            mark: s for s in self.contents.settings for mark in (_training_problem(s), s["problem"])
        }
        lines = []
        for row in self.contents.failed:
            setting = known.get(row["problem"])
            where = [None if setting is None else _coordinate(setting, a) for a in self.axes]
            last = [row[name] for name in ("verb", "model", "trial", "error", "traceback")]
            lines.append([*where, *last])
        columns = [*self.axes, "verb", "model", "trial", "error", "traceback"]
        return pd.DataFrame(lines, columns=columns)

    def of(self, sweep: Sweep) -> Results:
        """Return the results of one of the folder's sweeps alone."""
        mark = of_kind("sweep", sweep, Sweep, remedy="make one, or use Sweep.load").digest
        settings = [s for s in self.contents.settings if s["sweep"] == mark]
        known = {mark for s in settings for mark in (s["problem"], _training_problem(s))}
        rows = {k: r for k, r in self.contents.rows.items() if r["problem"] in known}
        return Results(self.directory, Contents(settings, rows))

    def gaps(self, metric: str = "test_mse") -> pd.DataFrame:
        """Return each model's gap to the network of the same verb, paired over trials."""
        return self._paired(self._of_metric(metric), "model", "network", ["verb", "method"])

    def theory_gaps(self, metric: str = "test_mse") -> pd.DataFrame:
        """Return the gap of prediction to simulation for each model, paired over common trials."""
        trials = self._of_metric(metric)
        named = trials.assign(method=trials["method"].fillna("simulate"))
        return self._paired(named, "method", "simulate", ["model"])

    def _of_metric(self, metric: str) -> pd.DataFrame:
        one_of("metric", metric, self.trials["metric"].unique())
        return self.trials[self.trials["metric"] == metric]

    def _paired(
        self, trials: pd.DataFrame, over: str, reference: str, others: list[str]
    ) -> pd.DataFrame:
        """Return gaps between values of the column `over` and its value `reference`."""
        import pandas as pd

        keys = [*self.axes, "setting", *others, "seed", "step", "ridge"]
        lines = []
        for where, group in trials.groupby(keys, sort=False, dropna=False):
            table = group.pivot(index="trial", columns=over, values="value")
            if reference not in table:
                continue
            for name in (name for name in table if name != reference):
                both = table[[reference, name]].dropna().to_numpy(float)
                gap = paired_gap(both[:, 1], both[:, 0])
                lines.append((*where, name, float(gap.mean), float(gap.stderr), len(both)))
        return pd.DataFrame(lines, columns=[*keys, over, "gap", "stderr", "count"])

    def observed(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return (setting, what was observed) of every observed trial, as plain values.

        A setting has its `coordinates` along the axes and the `fields` of its problem.
        """
        seen: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(dict)
        for row in self.contents.rows.values():
            if row["status"] == "ok" and "observed" in row:
                of_group = seen[_group(row, "", None)]
                if row["trial"] not in of_group or row["observe"] == "neurons":
                    of_group[row["trial"]] = row["observed"]
        places: dict[tuple[Any, ...], dict[str, Any]] = {}  # settings of several sweeps once
        for setting in self.contents.settings:
            group = _group(_trained(setting), "", None)
            places.setdefault((group, setting["problem"]), setting)
        return [
            (setting, observed)
            for (group, _), setting in places.items()
            for _, observed in sorted(seen[group].items())
        ]

    def to_xarray(self) -> xarray.Dataset:
        """Return a variable per metric, its `…_stderr`, and `count`, over the axes.

        After them come verb, model, (step) and ridge. A dimension is the last word of an axis's
        path: `strength` for "scaling.strength". Axes that move together share one dimension; the
        others are coordinates along it.
        """
        require_extra("to_xarray", "xarray")
        return sweep_dataset(self.to_frame(), list(self.axes))


def _group(record: dict[str, Any], model: str, method: str | None) -> tuple[Any, ...]:
    """Return what rows of one curve point have in common."""
    functions = tuple(sorted(record.get("functions", {}).items()))
    same = (record[name] for name in ("verb", "problem", "seed", "numerics"))
    return (*same, model, method, functions)


def _trained(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting as rows of its trained networks say it."""
    return {**setting, "verb": "simulate", "problem": _training_problem(setting)}


def _training_problem(setting: dict[str, Any]) -> str:
    """Return the digest of the problem as its networks were trained on."""
    return str(setting["training_problem"])


def _lines(
    head: tuple[Any, ...], row: dict[str, Any], setting: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Return a row's lines; its metrics are lists over penalties, or over steps of such lists."""
    steps, ridges = setting["steps"], setting["ridges"]
    return [
        (*head, step, ridge, metric, row["trial"], value)
        for metric, values in row["metrics"].items()
        for step, of_step in zip(steps, values if len(steps) > 1 else [values], strict=True)
        for ridge, value in zip(ridges, of_step, strict=True)
    ]


def _coordinate(setting: dict[str, Any], axis: str) -> Any:
    """Return the setting's place on an axis, from its problem where its own sweep had none."""
    coordinates = setting["coordinates"]
    value = coordinates[axis] if axis in coordinates else at(setting["fields"], axis)
    return value if np.isscalar(value) or value is None else json.dumps(value)


def setting_identity(setting: dict[str, Any]) -> str:
    """Return what tells a setting from all others, also where no coordinate does."""
    marks = [setting["problem"], setting["numerics"], setting["functions"]]
    return digest(marks)[:_SHORT]
