"""`reproduce`: run the sweeps of panels, then write tables, pictures and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import whole_number
from onegrad.papers.panel import SCALES, Panel, Scale, Study
from onegrad.papers.panel_registry import STUDIES, chosen_panels, is_panel_file, register_panel_file
from onegrad.papers.published import PANED
from onegrad.papers.report import write_report
from onegrad.papers.saved_panels import write_panel
from onegrad.sweeps.driver import Done, run_plan
from onegrad.sweeps.plan import Plan, Task, plan_sweeps, setting_records
from onegrad.sweeps.results import Results, closed_tasks
from onegrad.sweeps.store import Contents
from onegrad.sweeps.sweep import Sweep

DRAW_SECONDS = 1.0  # that a panel's picture takes, about
STORE = "sweeps"  # the folder of rows inside the output folder
REDRAWS = ("all", "published")


@dataclass(frozen=True)
class PanelSweeps:
    """The sweeps of one study's panels: its own, and theory without draws.

    `published` is that theory at the size of the published values, if trials have another size.
    """

    sweep: Sweep
    closed: Sweep | None = None
    published: Sweep | None = None

    def tasks(self, rank: int) -> list[Task]:
        """Return the tasks of theory without draws."""
        sweeps = [sweep for sweep in (self.closed, self.published) if sweep is not None]
        return [task for s in sweeps for task in closed_tasks(s, s.settings(), rank=rank)]


@dataclass(frozen=True)
class Reproduction:
    """Panels at a scale, the sweeps of each study, and the plan to run them."""

    panels: tuple[Panel, ...]
    scale: Scale
    redraw: str
    seed: int
    directory: Path
    studies: dict[str, PanelSweeps]
    plan: Plan

    @property
    def missing(self) -> int:
        """How many trials are to be computed."""
        return len(self.plan.missing)

    @property
    def closed_tasks(self) -> list[Task]:
        """The tasks of theory without draws, study by study."""
        return [t for rank, shown in enumerate(self.studies.values()) for t in shown.tasks(rank)]

    @property
    def seconds_beside(self) -> float:
        """About how long theory without draws and pictures take on one core."""
        return sum(t.cost for t in self.closed_tasks) + DRAW_SECONDS * len(self.panels)


@dataclass(frozen=True)
class PanelRows:
    """A panel's rows, none of which has failed, and those at the published size, if any."""

    panel: Panel
    rows: Results
    published: Results | None


def plan_reproduction(
    panels: Sequence[str] = (),
    *,
    scale: str = "quick",
    out: str | Path = "figures",
    redraw: str = "all",
    seed: int = 0,
    retry_failed: bool = False,
) -> Reproduction:
    """Return the work to do for these panels, by default for all.

    A panel is a known name, or the path of a TOML file that declares one.
    """
    if scale not in SCALES:
        raise InvalidInput(f"scale={scale!r}: must be one of {', '.join(SCALES)}; choose one")
    if redraw not in REDRAWS:
        raise InvalidInput(f"redraw={redraw!r}: must be all or published; choose one")
    whole_number("seed", seed, least=0)
    names = [register_panel_file(p).name if is_panel_file(p) else p for p in panels]
    chosen = tuple(chosen_panels(names, scale))
    own = [panel.file for panel in chosen if panel.file]
    if own and redraw != "all":
        raise InvalidInput(
            f"redraw={redraw!r}: {own[0]} has no published protocol; set redraw in its sweep"
        )
    paned = {panel.study for panel in chosen if scale == "quick" and panel.name in PANED}
    studies = {
        name: _panel_sweeps(STUDIES[name], scale, redraw, seed, published=name in paned)
        for name in dict.fromkeys(panel.study for panel in chosen)
    }
    sweeps = [shown.sweep for shown in studies.values()]
    folder = Path(out)
    return Reproduction(
        panels=chosen,
        scale=scale,
        redraw=redraw,
        seed=seed,
        directory=folder,
        studies=studies,
        plan=plan_sweeps(sweeps, folder / STORE, retry_failed=retry_failed),
    )


def _panel_sweeps(
    study: Study, scale: Scale, redraw: str, seed: int, *, published: bool
) -> PanelSweeps:
    """Return what the panels of a study show."""
    sweep = study.sweep(scale, published_redraw=redraw == "published", seed=seed)
    if not study.closed_at(scale):
        return PanelSweeps(sweep)
    closed = study.closed_sweep(sweep, scale)
    if not published:
        return PanelSweeps(sweep, closed)
    return PanelSweeps(sweep, closed, study.closed_sweep(study.sweep("paper"), "paper"))


def reproduce(
    task: Reproduction,
    *,
    workers: int = 1,
    progress: Callable[[Done], None] | None = None,
    drawn: Callable[[Panel], None] | None = None,
) -> Path:
    """Return the path of the report after running what is missing and drawing every panel.

    A panel is drawn, and the report written, as soon as its rows are there; then `drawn` is called.
    """

    def draw(ready: PanelRows) -> None:
        write_panel(task, ready)
        write_report(task.directory)
        if drawn is not None:
            drawn(ready.panel)

    if workers == 1:
        _compute(task, workers=1, progress=progress, ready=draw)
        return write_report(task.directory)
    # Pictures are drawn in a thread of their own, so that no worker waits for them.
    with ThreadPoolExecutor(1) as thread:
        pictures: list[Future[None]] = []
        try:
            _compute(
                task,
                workers=workers,
                progress=progress,
                ready=lambda ready: pictures.append(thread.submit(draw, ready)),
            )
            for picture in pictures:
                picture.result()
        except BaseException:
            thread.shutdown(cancel_futures=True)
            raise
    return write_report(task.directory)


def panel_rows(task: Reproduction, *, workers: int = 1) -> list[PanelRows]:
    """Return the rows of every panel."""
    found: list[PanelRows] = []
    _compute(task, workers=workers, progress=None, ready=found.append)
    return found


def _compute(
    task: Reproduction,
    *,
    workers: int,
    progress: Callable[[Done], None] | None,
    ready: Callable[[PanelRows], None],
) -> None:
    """Run what is missing; hand over every panel as soon as its rows are there."""
    gathered = _Gathered(task)

    def take(state: Done) -> None:
        gathered.add(state.rows)
        for panel in gathered.complete():
            ready(panel)
        if progress is not None:
            progress(state)

    results = run_plan(task.plan, workers=workers, beside=task.closed_tasks, progress=take)
    gathered.add(results.contents.rows.values())
    for panel in gathered.complete():
        ready(panel)
    if gathered.failed:
        raise Failure(
            f"{gathered.failed} rows failed, their panels are not drawn; onegrad results "
            f"{task.directory / STORE} gives the reasons, --retry-failed computes them again"
        )


class _Gathered:
    """The rows so far, and the panels that wait for theirs."""

    def __init__(self, task: Reproduction) -> None:
        self.failed = 0
        self._folder = task.plan.directory
        self._waiting = list(task.panels)
        self._rows: dict[str, dict[str, Any]] = {}
        again = task.plan.retry_failed
        self.add(r for r in task.plan.contents.rows.values() if not again or r["status"] == "ok")
        self._studies = task.studies
        self._keys = {
            name: [
                *keys,
                *(job.key(m) for t in shown.tasks(0) for job in t.jobs for m in job.models),
            ]
            for keys, (name, shown) in zip(task.plan.keys, task.studies.items(), strict=True)
        }

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Take in rows that have come."""
        self._rows.update((row["key"], row) for row in rows)

    def complete(self) -> Iterator[PanelRows]:
        """Yield the panels that wait no longer, in order; count the rows of those that failed."""
        done = {
            name
            for name in dict.fromkeys(panel.study for panel in self._waiting)
            if all(key in self._rows for key in self._keys[name])
        }
        ended = [panel for panel in self._waiting if panel.study in done]
        self._waiting = [panel for panel in self._waiting if panel.study not in done]
        for name in dict.fromkeys(panel.study for panel in ended):
            rows = {key: self._rows[key] for key in self._keys[name]}
            failed = sum(row["status"] == "failed" for row in rows.values())
            self.failed += failed
            if failed:
                continue
            shown = self._studies[name]
            beside = self._results(rows, shown.sweep, shown.closed)
            published = self._results(rows, shown.published) if shown.published else None
            yield from (PanelRows(p, beside, published) for p in ended if p.study == name)

    def _results(self, rows: dict[str, dict[str, Any]], *sweeps: Sweep | None) -> Results:
        """Return these rows with the settings of these sweeps."""
        records = [r for s in sweeps if s is not None for r in setting_records(s, s.settings())]
        return Results(self._folder, Contents(records, rows))
