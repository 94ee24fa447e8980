"""`reproduce`: run what panels ask for, then write tables, pictures and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.checks import whole_number
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.figures.giant_runs import GiantPlan, plan_giant, run_giant
from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.page import write_report
from onegrad.figures.panel import SCALES, Panel, Scale
from onegrad.figures.panel_files import write_panel
from onegrad.figures.panel_registry import AnyPanel, chosen_panels, study_of
from onegrad.running.driver import Done, run_plan
from onegrad.running.plan import Plan, plan_sweeps
from onegrad.running.sweeps import Sweep
from onegrad.running.table import Results

STORE = "sweeps"  # the folder of rows inside the output folder
REDRAWS = ("all", "published")


@dataclass(frozen=True)
class Reproduction:
    """Panels at a scale, and the plans of their sweeps and of their giant steps."""

    panels: tuple[Panel, ...]
    giant_panels: tuple[GiantPanel, ...]
    scale: Scale
    redraw: str
    seed: int
    directory: Path
    plan: Plan
    giant_plan: GiantPlan

    @property
    def missing(self) -> int:
        """How many trials and runs are to be computed."""
        return len(self.plan.missing) + len(self.giant_plan.missing)

    def redraw_of(self, panel: AnyPanel) -> str:
        """Return what a trial of the panel redraws; giant steps redraw everything."""
        return self.redraw if isinstance(panel, Panel) else "all"


def plan_reproduction(
    panels: Sequence[str] = (),
    *,
    scale: str = "quick",
    out: str | Path = "figures",
    redraw: str = "all",
    seed: int = 0,
    retry_failed: bool = False,
) -> Reproduction:
    """Return what must be run for these panels, all of them when none is named."""
    if scale not in SCALES:
        raise InvalidInput(f"scale={scale!r}: must be one of {', '.join(SCALES)}; choose one")
    if redraw not in REDRAWS:
        raise InvalidInput(f"redraw={redraw!r}: must be all or published; choose one")
    whole_number("seed", seed, least=0)
    chosen = chosen_panels(panels)
    of_sweeps = tuple(panel for panel in chosen if isinstance(panel, Panel))
    of_steps = tuple(panel for panel in chosen if isinstance(panel, GiantPanel))
    sweeps = {panel.study: _sweep(panel, scale, redraw, seed) for panel in of_sweeps}
    giant = {panel.study: study_of(panel) for panel in of_steps}
    folder = Path(out)
    return Reproduction(
        panels=of_sweeps,
        giant_panels=of_steps,
        scale=scale,
        redraw=redraw,
        seed=seed,
        directory=folder,
        plan=plan_sweeps(list(sweeps.values()), folder / STORE, retry_failed=retry_failed),
        giant_plan=plan_giant(giant, scale, seed=seed, directory=folder),
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
) -> Iterator[tuple[AnyPanel, Any]]:
    """Yield every panel with the rows that its kind reads, after running what is missing."""
    results = None
    if task.panels:
        results = run_plan(task.plan, workers=workers, progress=progress)
    done, goal = len(task.plan.missing), task.missing
    run_giant(
        task.giant_plan,
        workers=workers,
        progress=lambda more: progress(Done(done + more, goal, 0)) if progress else None,
    )
    if results is not None:
        yield from _of_sweeps(task, results)
    for panel in task.giant_panels:
        yield panel, task.giant_plan.of(panel.study)


def _of_sweeps(task: Reproduction, results: Results) -> list[tuple[Panel, Results]]:
    """Return the panels of sweeps with their results, none of which may have failed."""
    pairs = [
        (panel, results.of(_sweep(panel, task.scale, task.redraw, task.seed)))
        for panel in task.panels
    ]
    failed = sum(len(of_panel.contents.failed) for _, of_panel in pairs)
    if failed:
        raise Failure(
            f"{failed} rows failed; onegrad results {task.directory / STORE} tells why, "
            "--retry-failed computes them again"
        )
    return pairs
