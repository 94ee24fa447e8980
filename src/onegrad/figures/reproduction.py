"""`reproduce`: run the sweeps of panels, then write tables, pictures and the report."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onegrad.describe.checks import whole_number
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.files import replace_file
from onegrad.figures.page import write_report
from onegrad.figures.panel import SCALES, Panel, Scale
from onegrad.figures.registry import STUDIES, chosen_panels
from onegrad.figures.steps_runs import StepsPlan, plan_steps, run_steps
from onegrad.figures.steps_study import StepsPanel
from onegrad.figures.steps_tables import key_numbers, steps_table
from onegrad.figures.tables import deviations, panel_table
from onegrad.machine.rates import Rates, measure_rates
from onegrad.running.driver import Done, run_plan
from onegrad.running.jobs import versions
from onegrad.running.plan import Plan, plan_sweeps
from onegrad.running.sweeps import Sweep
from onegrad.running.table import Results
from onegrad.verbs.cost import seconds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STORE = "sweeps"  # the folder of rows inside the output folder


@dataclass(frozen=True)
class Reproduction:
    """Panels at a scale, and the plans of their sweeps and of their giant steps."""

    panels: tuple[Panel, ...]
    steps_panels: tuple[StepsPanel, ...]
    scale: Scale
    redraw: str
    seed: int
    directory: Path
    plan: Plan
    steps: StepsPlan

    @property
    def missing(self) -> int:
        """How many trials and runs are to be computed."""
        return len(self.plan.missing) + len(self.steps.missing)

    def sweep(self, panel: Panel) -> Sweep:
        """Return the sweep whose rows the panel shows."""
        study = STUDIES[panel.study]
        return study.sweep(self.scale, published_redraw=self.redraw == "published", seed=self.seed)


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
    if redraw not in ("all", "published"):
        raise InvalidInput(f"redraw={redraw!r}: must be all or published; choose one")
    whole_number("seed", seed, least=0)
    every = chosen_panels(panels)
    chosen = tuple(panel for panel in every if isinstance(panel, Panel))
    giant = tuple(panel for panel in every if isinstance(panel, StepsPanel))
    studies = dict.fromkeys(panel.study for panel in chosen)
    sweeps = [
        STUDIES[name].sweep(scale, published_redraw=redraw == "published", seed=seed)
        for name in studies
    ]
    folder = Path(out)
    plan = plan_sweeps(sweeps, folder / STORE, retry_failed=retry_failed)
    steps = plan_steps(giant, scale, seed=seed, directory=folder)
    return Reproduction(chosen, giant, scale, redraw, seed, folder, plan, steps)


def reproduce(
    task: Reproduction,
    *,
    workers: int = 1,
    progress: Callable[[Done], None] | None = None,
) -> Path:
    """Return the path of the report after running what is missing and drawing every panel."""
    found: dict[Panel, Results] = {}
    if task.panels:
        results = run_plan(task.plan, workers=workers, progress=progress)
        found = {panel: results.of(task.sweep(panel)) for panel in task.panels}
    done, goal = len(task.plan.missing), task.missing
    run_steps(
        task.steps,
        workers=workers,
        progress=lambda more: progress(Done(done + more, goal, 0)) if progress else None,
    )
    failed = sum(len(mine.contents.failed) for mine in found.values())
    if failed:
        raise Failure(
            f"{failed} rows failed; onegrad results {task.directory / STORE} tells why, "
            "--retry-failed computes them again"
        )
    for panel, mine in found.items():
        write_panel(task, panel, mine)
    for giant in task.steps_panels:
        write_steps_panel(task, giant)
    return write_report(task.directory)


def write_panel(task: Reproduction, panel: Panel, results: Results) -> None:
    """Write PANEL.csv, PANEL.png, PANEL.pdf, and what the report says of it as PANEL.json."""
    from onegrad.figures.plot import draw

    comparable = task.scale == "paper"
    table = panel_table(panel, results, beside_published=comparable)
    sweep = task.sweep(panel)
    figure = draw(panel, table, show_published=comparable)
    found = deviations(panel, table, results)
    redraw = "" if task.redraw == "all" else f" --redraw {task.redraw}"
    about = {
        "ours": panel.ours,
        "settings": _sizes(sweep),
        "deviations": [asdict(d) for d in found],
        "redraw": task.redraw,
    }
    _write(task, panel, table, figure, about, options=redraw)


def write_steps_panel(task: Reproduction, panel: StepsPanel) -> None:
    """Write the same files for a panel of giant steps."""
    from onegrad.figures.steps_plot import draw_steps

    found = task.steps.of(panel.study)
    table = steps_table(panel, found)
    problem = found[0][0].problem
    about = {
        "ours": False,
        "source": panel.source,
        "settings": f"d = {problem.dimension}, p = {problem.width}; ",
        "deviations": [],
        "numbers": key_numbers(panel, table),
        "redraw": "all",
    }
    _write(task, panel, table, draw_steps(panel, table), about)


def _write(
    task: Reproduction,
    panel: Panel | StepsPanel,
    table: pd.DataFrame,
    figure: Figure,
    about: dict[str, Any],
    *,
    options: str = "",
) -> None:
    """Write a panel's table and pictures, and `about` it with what all panels tell."""
    from onegrad.figures.plot import save

    replace_file(task.directory / f"{panel.name}.csv", lambda p: table.to_csv(p, index=False))
    for kind in ("png", "pdf"):
        place = task.directory / f"{panel.name}.{kind}"
        replace_file(place, functools.partial(save, figure, kind=kind))
    seed = "" if task.seed == 0 else f" --seed {task.seed}"
    about = {
        "panel": panel.name,
        "caption": panel.caption,
        "shows": panel.shows,
        "scale": task.scale,
        "trials": int(table["trials"].max()),
        "command": f"onegrad reproduce {panel.name} --scale {task.scale} --out "
        f"{task.directory.name}{options}{seed}",
        "seed": task.seed,
        "versions": versions(),
        **about,
    }
    text = json.dumps(about, indent=1, ensure_ascii=False)
    replace_file(task.directory / f"{panel.name}.json", lambda p: p.write_text(text, "utf-8"))


def _sizes(sweep: Sweep) -> str:
    """Return the sizes that no axis changes."""
    sizes = {"dimension": "n", "samples": "m"}
    fixed = [f"{s} = {getattr(sweep.problem, f)}" for f, s in sizes.items() if f not in sweep.axes]
    return ", ".join(fixed) + "; " if fixed else ""


def estimated_seconds(panel: Panel, scale: Scale, rates: Rates | None = None) -> float:
    """Return about how long the panel's sweep takes on one core."""
    measured = measure_rates() if rates is None else rates
    sweep = STUDIES[panel.study].sweep(scale)
    counts = {"simulate": sweep.trials, "predict": sweep.draws}
    return sum(
        counts[verb] * seconds(setting.problem, setting.models, measured, verb=verb)
        for setting in sweep.settings()
        for verb in sweep.verbs
    )
