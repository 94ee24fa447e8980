"""Results of sweeps as tables: rows of a folder joined with the settings that asked for them."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.checks import of_kind, one_of, path_of
from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.paths import at, leaves
from onegrad.describe.screen import OnScreen, ScreenTable
from onegrad.running.results_table import results_table
from onegrad.running.store import Contents, read
from onegrad.running.sweep_dataset import sweep_dataset
from onegrad.running.sweeps import RIDGE, Sweep
from onegrad.verbs.errors import paired_gap

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.axes import Axes

_RESULT_COLUMNS = ["setting", "verb", "method", "seed", "model", "degree", "step"]
_RESULT_COLUMNS += ["ridge", "metric"]
_SHORT = 12  # characters of a digest that tell settings apart


@dataclass(frozen=True, repr=False)
class Results(OnScreen):
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

    def screen_table(self) -> ScreenTable:
        """Return mean and standard error of the first metric, as `onegrad results` shows them."""
        frame, failed = self.to_frame(), len(self.contents.failed)
        said = f"{len(self.contents.rows) - failed} trials of models"
        said += f", {failed} failed" if failed else ""
        title = f"Results in {self.directory}: {len(self.contents.settings)} settings, {said}"
        known = list(frame["metric"].unique()) or ["test_mse"]
        metric = "test_mse" if "test_mse" in known else str(known[0])
        from onegrad.running.constant_errors import constant_errors

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
        from onegrad.plotting.matplotlib_figure import draw_plot
        from onegrad.plotting.result_curves import curve_plot
        from onegrad.running.sweep_picture import sweep_picture

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
