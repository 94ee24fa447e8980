"""`reproduce`: run what panels ask for, then write tables, pictures and the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onegrad.describe.checks import whole_number
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.figures.panel import SCALES, Panel, Scale
from onegrad.figures.panel_declaration import is_panel_file, register_panel_file
from onegrad.figures.panel_files import write_panel
from onegrad.figures.panel_registry import chosen_panels, study_of
from onegrad.figures.report.report_page import write_report
from onegrad.running.closed_rows import with_closed
from onegrad.running.driver import Done, run_plan
from onegrad.running.plan import Plan, plan_sweeps
from onegrad.running.sweeps import Sweep
from onegrad.running.table import Results

STORE = "sweeps"  # the folder of rows inside the output folder
REDRAWS = ("all", "published")


@dataclass(frozen=True)
class Reproduction:
    """Panels at a scale, and the plan of their sweeps."""

    panels: tuple[Panel, ...]
    scale: Scale
    redraw: str
    seed: int
    directory: Path
    plan: Plan

    @property
    def missing(self) -> int:
        """How many trials are to be computed."""
        return len(self.plan.missing)


def plan_reproduction(
    panels: Sequence[str] = (),
    *,
    scale: str = "quick",
    out: str | Path = "figures",
    redraw: str = "all",
    seed: int = 0,
    retry_failed: bool = False,
) -> Reproduction:
    """Return what must be run for these panels, all of them when none is named.

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
            f"redraw={redraw!r}: {own[0]} has no published protocol; say redraw in its sweep"
        )
    sweeps = {panel.study: _sweep(panel, scale, redraw, seed) for panel in chosen}
    folder = Path(out)
    return Reproduction(
        panels=chosen,
        scale=scale,
        redraw=redraw,
        seed=seed,
        directory=folder,
        plan=plan_sweeps(list(sweeps.values()), folder / STORE, retry_failed=retry_failed),
    )


def _sweep(panel: Panel, scale: Scale, redraw: str, seed: int) -> Sweep:
    """Return the sweep whose rows the panel shows."""
    return study_of(panel).sweep(scale, published_redraw=redraw == "published", seed=seed)


def reproduce(
    task: Reproduction,
    *,
    workers: int = 1,
    progress: Callable[[Done], None] | None = None,
) -> Path:
    """Return the path of the report after running what is missing and drawing every panel."""
    for panel, rows in panel_rows(task, workers=workers, progress=progress):
        write_panel(task, panel, rows)
    return write_report(task.directory)


def panel_rows(
    task: Reproduction,
    *,
    workers: int = 1,
    progress: Callable[[Done], None] | None = None,
) -> list[tuple[Panel, Results]]:
    """Return every panel with its results, none of which may have failed.

    Rows by theory without draws stand beside those of the sweep where the study asks for them.
    """
    results = run_plan(task.plan, workers=workers, progress=progress)
    by_study: dict[str, Results] = {}
    for panel in task.panels:
        if panel.study not in by_study:
            sweep = _sweep(panel, task.scale, task.redraw, task.seed)
            of_study, study = results.of(sweep), study_of(panel)
            if study.closed:
                closed = study.closed_sweep(sweep, task.scale)
                of_study = with_closed(of_study, closed, workers=workers)
            by_study[panel.study] = of_study
    pairs = [(panel, by_study[panel.study]) for panel in task.panels]
    failed = sum(len(of_panel.contents.failed) for _, of_panel in pairs)
    if failed:
        raise Failure(
            f"{failed} rows failed; onegrad results {task.directory / STORE} tells why, "
            "--retry-failed computes them again"
        )
    return pairs
