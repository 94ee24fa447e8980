"""Theory without draws beside the paper's figures: what it costs, and how far it is off.

    python benchmarks/closed_figures.py cost         # figure 1: closed theory, simulation, textbook
    python benchmarks/closed_figures.py published    # against the values of the published plots
    python benchmarks/closed_figures.py map          # the 200 × 200 points of panel Z1

Times are processor times of one thread, which other work on the machine moves little.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

import textbook
from onegrad.core.draw_cache import Shared
from onegrad.core.trial import run_trial
from onegrad.machine.pool import run_jobs
from onegrad.papers.panel_registry import PANELS, STUDIES, study_of
from onegrad.papers.panel_table import metric_lines, placed_lines
from onegrad.papers.published import NEGLIGIBLE, published_values
from onegrad.sweeps.plan import closed_rows
from onegrad.sweeps.results import Results, closed_tasks, with_closed
from onegrad.sweeps.store import Contents
from onegrad.sweeps.sweep import Setting
from onegrad.verbs.predict import predict_points

FIGURE_1 = ("1a", "1b", "1c")
COMPARED = ("2b", "2a", "1a", "1b", "1c", "5a", "5c", "6", "4a")
TRIALS = 20
N = M = 1000
MAP_SHARE = 20  # one of so many points of the map is timed on one thread


def processor_time(function: Callable[[], object]) -> float:
    """Return the processor time of one call with one BLAS thread."""
    start = time.process_time()
    with threadpool_limits(limits=1):
        function()
    return time.process_time() - start


def settings_of(name: str) -> list[Setting]:
    """Return the settings of a panel at paper scale."""
    return study_of(PANELS[name]).sweep("paper").settings()


def predict_all(settings: list[Setting]) -> None:
    """Compute network and Hermite model of all settings by closed theory."""
    asked = [(setting.problem, setting.models) for setting in settings]
    predict_points(asked, method="closed")


def simulate_all(settings: list[Setting]) -> None:
    """Run one trial of all settings, what they can share once, the widest first as in sweeps."""
    shared = Shared()
    for setting in sorted(settings, key=lambda s: -s.problem.width):
        run_trial(setting.problem, setting.models, shared=shared)


def textbook_flops() -> tuple[float, float]:
    """Return the operations of figure 1 in the textbook: of its data sets, and of one trial."""
    data = textbook.flops([])
    widths = [s.problem.width for s in settings_of("1a")[::3]]
    alike = [1000] * (len(settings_of("1b")) + len(settings_of("1c")))
    models = textbook.flops(widths) - data + (textbook.flops(alike) - data) / 3
    data_sets = 1 + len(alike) // 3
    return data_sets * data, models


def cost() -> None:
    """Print what figure 1 costs by closed theory, by simulation and in the textbook."""
    settings = [s for name in FIGURE_1 for s in settings_of(name)]
    first = processor_time(lambda: predict_all(settings))
    again = processor_time(lambda: predict_all(settings))
    points = len(settings)
    print(
        f"closed theory, {points} points, network and Hermite model: {first:.2f} s, again "
        f"{again:.2f} s ({1e3 * again / points:.1f} ms per point)",
        flush=True,
    )
    trial = processor_time(lambda: simulate_all(settings))
    print(
        f"one simulated trial of the same points: {trial:.1f} s; {TRIALS} trials: "
        f"{TRIALS * trial:.0f} s, {TRIALS * trial / first:.0f} times closed theory "
        f"({TRIALS * trial / again:.0f} times again)",
        flush=True,
    )
    part = processor_time(lambda: textbook.run([1000], n=N, m=M))
    rate = textbook.flops([1000]) / part
    data, models = textbook_flops()
    whole = (data + TRIALS * models) / rate
    print(
        f"textbook, k = 1000 alone: {part:.1f} s, {rate / 1e9:.1f} Gflop/s; figure 1 with "
        f"{TRIALS} trials has {(data + TRIALS * models) / 1e12:.1f} Tflop: {whole:.0f} s, "
        f"{whole / first:.0f} times closed theory"
    )


def closed_table(name: str) -> pd.DataFrame:
    """Return a panel's table at paper scale by closed theory alone."""
    panel, study = PANELS[name], study_of(PANELS[name])
    sweep = study.closed_sweep(study.sweep("paper"), "paper")
    rows = with_closed(Results(Path(), Contents()), sweep, sweep.settings())
    table = placed_lines(panel, rows, metric_lines(panel, rows))
    return table.assign(model=table["model"].str.removesuffix("_closed"))


def published() -> None:
    """Print closed theory over published values: mean and standard deviation over points."""
    for name in COMPARED:
        table = closed_table(name)
        table["published"] = published_values(table)
        table = table[table["published"] > NEGLIGIBLE * table["published"].max()]
        for model, lines in table.groupby("model", sort=False):
            ratio = lines["value"] / lines["published"]
            print(
                f"{name}, {model}: {ratio.mean():.3f} ± {ratio.std():.3f} over {len(ratio)} "
                f"points, {ratio.min():.3f} to {ratio.max():.3f}",
                flush=True,
            )


def fine_map() -> None:
    """Print the time of panel Z1 by closed theory."""
    study = STUDIES["fine plane"]
    sweep = study.closed_sweep(study.sweep("paper"), "paper")
    settings: list[Setting] = []
    making = processor_time(lambda: settings.extend(sweep.settings()))
    part = settings[::MAP_SHARE]
    one = processor_time(lambda: predict_all(part)) / len(part)
    print(
        f"{len(settings)} points: {making:.0f} s to describe them, {1e3 * one:.1f} ms each (mean "
        f"of {len(part)}), together {making + one * len(settings):.0f} s of one core",
        flush=True,
    )
    workers = os.cpu_count() or 1
    start = time.perf_counter()
    parts = [{"jobs": task.jobs} for task in closed_tasks(sweep, settings)]
    run_jobs(closed_rows, parts, workers=workers)
    print(f"on {workers} cores, whatever else they do: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # doubts of theory are not the subject here
    {"cost": cost, "published": published, "map": fine_map}[sys.argv[1]]()
