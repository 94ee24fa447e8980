"""The results of a folder of sweeps, as tables, datasets and pictures."""

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
from onegrad.core.models import Model
from onegrad.core.problem import Problem
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
from onegrad.theory.methods import require

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes

_RESULT_COLUMNS = ["setting", "verb", "method", "seed", "model", "degree", "step"]
_RESULT_COLUMNS += ["ridge", "metric"]
_SHORT = 12  # characters of a digest that identify a setting


@dataclass(frozen=True, repr=False)
class Results(ShownAsTable):
    """All results in a folder of sweeps.

    `to_frame` has one line per setting × model × metric, `trials` one line per trial as well, and
    `failures` the trials that raised.
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
        title = f"Results in {self.directory}: {len(self.contents.settings)} settings, "
        title += f"{len(self.contents.rows) - failed} trials of models"
        title += f", {failed} failed" if failed else ""
        known = list(frame["metric"].unique()) or ["test_mse"]
        metric = "test_mse" if "test_mse" in known else str(known[0])
        constants = constant_errors(self, frame, metric)
        return results_table(frame, self.axes, metric=metric, title=title, constants=constants)

    @property
    def axes(self) -> list[str]:
        """The fields in which settings differ: those that sweeps varied, then any others.

        `step` and `ridge` are separate columns.
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
        `theory`: the closed theory if it covers the problem, else the stored rows of predict.

        Fields are named by path; colours are values of `hue`, by default the models.
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
            s[name]: s for s in self.contents.settings for name in ("training_problem", "problem")
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
        known = {s[name] for s in settings for name in ("problem", "training_problem")}
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
        """Return (setting, observations) of every observed trial, as plain values.

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
    """Return the identity of a curve's point, which its rows share."""
    functions = tuple(sorted(record.get("functions", {}).items()))
    same = (record[name] for name in ("verb", "problem", "seed", "numerics"))
    return (*same, model, method, functions)


def _trained(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting with the verb and problem of the rows of its trained networks."""
    return {**setting, "verb": "simulate", "problem": setting["training_problem"]}


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
    """Return the setting's place on an axis, which another sweep of the folder may have varied."""
    coordinates = setting["coordinates"]
    value = coordinates[axis] if axis in coordinates else at(setting["fields"], axis)
    return value if np.isscalar(value) or value is None else json.dumps(value)


def setting_identity(setting: dict[str, Any]) -> str:
    """Return an identity of the setting, also if no coordinate distinguishes it."""
    marks = [setting["problem"], setting["numerics"], setting["functions"]]
    return digest(marks)[:_SHORT]


POINTS_TOGETHER = 32  # that are solved together, in a tenth of a second or more
POINT_SECONDS = 0.015  # per point of these, about
AVERAGED_SECONDS = 0.2  # per setting over which random strengths are averaged


def closed_tasks(sweep: Sweep, settings: Sequence[Setting], *, rank: int = 0) -> list[Task]:
    """Return the tasks of the closed theory at these settings."""
    tasks, quick = [], []
    for setting in settings:
        job = Job("predict", setting.problem, setting.models, sweep.seed, 0, "closed")
        cost = closed_seconds(job.problem)
        if cost == POINT_SECONDS:
            quick.append(job)
        else:  # a point that averages over strengths takes seconds
            tasks.append(Task([job], rank=rank, cost=cost, kept=False))
    parts = [quick[i : i + POINTS_TOGETHER] for i in range(0, len(quick), POINTS_TOGETHER)]
    together = [Task(p, rank=rank, cost=len(p) * POINT_SECONDS, kept=False) for p in parts]
    return together + tasks


def closed_seconds(problem: Problem) -> float:
    """Return about how many seconds the closed theory takes for one of several points."""
    components = getattr(problem.data, "components", ())
    ranks = [c.rank for c in components if c.strengths == "uniform" and c.rank]
    settings = len(uniform_strengths(ranks))
    return POINT_SECONDS if settings == 1 else AVERAGED_SECONDS * settings


def with_closed_of_all(results: Results) -> Results:
    """Return the results with rows by method "closed" for all settings and models it covers.

    The settings are those of the sweeps that are saved in the folder; a sweep that cannot be read
    gets no such rows.
    """
    for mark in dict.fromkeys(setting["sweep"] for setting in results.contents.settings):
        try:
            sweep = Sweep.load(results.directory / f"sweep-{mark[:12]}.toml")
            # "simulate" alone, so that settings without theory are no error here.
            asked = sweep.replace(verbs=("simulate",), method="closed", observe="no")
            covered = [
                replace(setting, models=models)
                for setting in asked.settings()
                if (models := tuple(m for m in setting.models if _is_closed(setting.problem, m)))
            ]
        except InvalidInput as error:
            warnings.warn(f"theory: closed theory is left out: {error}", stacklevel=2)
            continue
        if covered:
            results = with_closed(results, asked, covered)
    return results


def _is_closed(problem: Problem, model: Model) -> bool:
    """Return whether the closed theory covers the model."""
    try:
        require(problem)
        require_closed_models([model])
    except InvalidInput:
        return False
    return True


def with_closed(results: Results, sweep: Sweep, settings: Sequence[Setting]) -> Results:
    """Return the results with rows by method "closed" at these settings.

    Such rows are not stored: a point costs milliseconds to compute, and two kilobytes that every
    later run would read. Points that this theory refuses have no row; its doubts are in the metric
    `theory_error`.
    """
    parts = [{"jobs": task.jobs} for task in closed_tasks(sweep, settings)]
    closed = {row["key"]: row for rows in run_jobs(closed_rows, parts, workers=1) for row in rows}
    drawn = results.contents
    records = setting_records(sweep, settings)
    return Results(
        results.directory, Contents([*drawn.settings, *records], {**drawn.rows, **closed})
    )


# The fields that determine the law of the labels; settings that agree in them share a draw.
LAW_FIELDS = ("dimension", "data", "teacher", "scaling", "redraw")
METRICS = ("test_mse", "misclassification", "test_loss")


def constant_errors(results: Results, lines: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return the best constant's error by the identity of settings, for settings in the lines.

    Settings without a known error are left out: for metrics that are no test error, real data that
    are not on this machine, and functions that are not registered.
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
            try:
                constants = best_constant(Problem(**fields), seed=setting["seed"], trials=trials)
                by_law[law] = constants.get(metric)
            except InvalidInput:
                by_law[law] = None
        error = by_law[law]
        if error is not None:
            known[identity] = error
    return known


def results_table(
    frame: pd.DataFrame,
    axes: list[str],
    *,
    metric: str = "test_mse",
    title: str = "",
    constants: Mapping[str, float] | None = None,
) -> Table:
    """Return mean and standard error of one metric per setting and model.

    `constants` are the errors of the best constant by setting; if any is known, they have a column.
    """

    def cell(value: object) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    known = constants or {}
    varied = [axis for axis in axes if frame[axis].nunique(dropna=False) > 1]
    varied += [name for name in ("seed", "step", "ridge", "method") if frame[name].nunique() > 1]
    words = (*varied, "verb", "model")
    rows = []
    for row in frame[frame["metric"] == metric].to_dict("records"):
        mean, stderr = row["mean"], row["stderr"]
        number = f"{mean:.5g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.5g}"
        constant = [cell(known.get(row["setting"], ""))] if known else []
        rows.append((*(cell(row[name]) for name in words), number, *constant, str(row["count"])))
    return Table(
        (*words, metric, *(["best constant"] if known else []), "trials"),
        tuple(rows),
        title=title,
        caption=f"{metric}, mean ± standard error; to_frame and --csv have the other metrics",
        left=len(words),
    )


def sweep_dataset(frame: pd.DataFrame, axes: Sequence[str]) -> xarray.Dataset:
    """Return every metric's mean, its `…_stderr`, and `count`, by axis, verb, model and ridge.

    `frame` is the table of means. Axes that move together share one dimension; the others are
    coordinates along it.
    """
    leading: dict[str, str] = {}
    for axis in axes:
        same = (a for a in leading.values() if _move_together(frame, a, axis))
        leading[axis] = next(same, axis)
    steps = ["step"] if frame["step"].nunique() > 1 else []
    fixed = ["verb", "model", *steps, "ridge"]
    index = [axis for axis in axes if leading[axis] == axis] + fixed
    if frame.duplicated([*index, "metric"]).any():
        raise InvalidInput(
            "results: several seeds or methods in a folder have no view by axes; use to_frame"
        )
    table = frame.set_index([*index, "metric"])[["mean", "stderr", "count"]].to_xarray()
    data = table[["count"]].max("metric")
    for name in (str(metric) for metric in frame["metric"].unique()):
        data[name] = table["mean"].sel(metric=name, drop=True)
        data[f"{name}_stderr"] = table["stderr"].sel(metric=name, drop=True)
    for axis, leader in leading.items():
        if axis != leader:
            pairs = frame.drop_duplicates(leader).set_index(leader)[axis]
            data = data.assign_coords({axis: (leader, pairs.loc[data[leader].values].values)})
    names = last_words(axes, taken=[*fixed, *(str(name) for name in data.data_vars)])
    return data.rename(names)


def _move_together(frame: pd.DataFrame, axis: str, other: str) -> bool:
    """Return whether values on two axes correspond one to one."""
    pairs = frame[[axis, other]].drop_duplicates()
    repeated = pairs[axis].duplicated().any() or pairs[other].duplicated().any()
    return len(pairs) > 1 and not repeated


OWN_COLUMNS = ("step", "ridge", "seed")  # of rows, beside the sweep's axes
MODEL = "model"
PREFERRED = ("closed", "types", "auto")


@dataclass(frozen=True)
class SweepPicture:
    """The table of a picture, with columns x, hue and facet, and their names in words."""

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
    """Return the data of a picture of the results; raise InvalidInput if lines would mix.

    Fields are named by path, as the columns of `to_frame`. Simulation is shown if there is any;
    `theory` adds, point by point, the closed theory if it covers the problem, else the stored rows
    of predict, and a warning says which.
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
    places = _places(lines, results, {"x": x, "hue": hue, "facet": facet})
    constants = lines["setting"].map(constant_errors(results, lines, metric))

    def column(path: str | None) -> pd.Series:
        return lines[path] if path is not None else lines["model"].map(lambda _: "")

    colours = None if places["hue"] == MODEL else places["hue"]  # models have colours by default
    table = lines[["model", "stderr", "theory_error"]].assign(
        x=column(places["x"]),
        value=lines["mean"],
        constant=constants.astype(float),
        hue=column(colours),
        theory=lines["verb"] == "predict",
        facet=column(places["facet"]),
    )
    x_words, hue_words, facet_words = (
        "" if path is None else field_label(path)
        for path in (places["x"], colours, places["facet"])
    )
    return SweepPicture(table, CurveWords(x_words, metric_label(metric), hue_words), facet_words)


def _with_doubts(frame: pd.DataFrame, metric: str, axes: list[str]) -> pd.DataFrame:
    """Return the lines of a metric, with the estimated error of theory as a column."""
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
    simulated, beside = lines[~predicted], _best_method(lines[predicted], results)
    if beside.empty:
        raise InvalidInput(
            "theory: neither closed theory knows these problems nor are there rows of predict; run "
            'the sweep with verbs = ["simulate", "predict"]'
        )
    counts = beside["method"].value_counts()
    parts = [f"{count} points by {name!r}" for name, count in counts.items()]
    if 0 < len(beside) < len(simulated):
        parts.append(f"{len(simulated) - len(beside)} points without theory")
    warnings.warn(f"theory: {', '.join(parts)}", stacklevel=3)
    return pd.concat([simulated, beside], ignore_index=True)


def _best_method(lines: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Return one line per point, by the method that comes first in PREFERRED."""
    rank = lines["method"].map({name: i for i, name in enumerate(PREFERRED)})
    place = [*results.axes, "model", "step", "ridge"]  # the closed theory has one seed for all
    ordered = lines.assign(rank=rank).sort_values("rank", kind="stable")
    return ordered.drop_duplicates(place).sort_index().drop(columns="rank")


def _places(
    lines: pd.DataFrame, results: Results, given: dict[str, str | None]
) -> dict[str, str | None]:
    """Return the columns of x, hue and facet; raise InvalidInput if settings would coincide."""
    columns = {**{name: name for name in (*results.axes, *OWN_COLUMNS, MODEL)}, RIDGE: "ridge"}
    known = {
        name: None if path is None else columns[one_of(name, path, columns)]
        for name, path in given.items()
    }
    varied = [c for c in (*results.axes, "step", "ridge") if lines[c].nunique(dropna=False) > 1]
    if lines.loc[lines["verb"] == "simulate", "seed"].nunique() > 1:
        varied.append("seed")
    if known["x"] is None:
        free = [name for name in varied if name not in known.values()]
        if len(free) > 1:
            raise InvalidInput(f"x: must be one of {', '.join(free)}; choose one")
        known["x"] = free[0] if free else MODEL
    chosen = [path for path in known.values() if path is not None]
    if len(set(chosen)) < len(chosen):
        raise InvalidInput(f"x, hue, facet={', '.join(chosen)}: must differ; change one")
    mixed = [name for name in varied if name not in chosen]
    if mixed:
        raise InvalidInput(
            f"plot: results differ in {', '.join(mixed)} too; give it to x, hue or facet"
        )
    return known
