"""Panels 1a and 2b of Demir & Dogan at full size, beside the values read off the published plots.

    python benchmarks/published.py 2b --trials 100 --workers 2
    python benchmarks/published.py 1a --trials 20 --workers 2

Everything is redrawn in every trial. The published panel 1a drew one data set for all points, so
its values share a deviation of about 4 % (one standard deviation) from ours.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from onegrad import Problem, Shared, resolve_models, run_trial
from onegrad.resources import run_jobs

ACTIVATIONS = ("relu", "tanh", "sigmoid")
WIDTH_RATIOS = (0.1, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 1.1, 1.5, 2, 3, 4, 5)
MODELS = ["network", "hermite"]


def panel_point(panel: str, x: float, activation: str) -> Problem:
    """Return the problem of one point: panel 1a sweeps k/m, panel 2b the alignment."""
    problem = Problem().replace(network__activation=activation)
    if panel == "1a":
        return problem.replace(network__width_ratio=x)
    return problem.replace(data__alignment=max(-1.0, min(1.0, x)))


def one_trial(panel: str, xs: list[float], trial: int, seed: int) -> list[dict[str, object]]:
    """Return ½ test MSE of every point of the panel in one trial."""
    rows, shared = [], Shared()
    for x in xs:
        for activation in ACTIVATIONS:
            problem = panel_point(panel, x, activation)
            models = resolve_models(problem, MODELS, seed=seed)
            results = run_trial(problem, models, seed=seed, trial=trial, shared=shared)
            for model, metrics in results.items():
                value = 0.5 * float(metrics["test_mse"][0])
                rows.append(
                    {
                        "x": x,
                        "activation": activation,
                        "model": model,
                        "trial": trial,
                        "value": value,
                    }
                )
    return rows


def main() -> None:
    """Run a panel and print the deviations from the published values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("panel", choices=["1a", "2b"])
    parser.add_argument("--trials", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write every trial to this CSV file")
    options = parser.parse_args()
    xs = list(WIDTH_RATIOS) if options.panel == "1a" else list(np.linspace(-1, 1, 20))
    xs.sort(reverse=True)  # the widest first: the long jobs do not end alone
    jobs = [
        {"panel": options.panel, "xs": xs, "trial": t, "seed": options.seed}
        for t in range(options.trials)
    ]
    rows = []
    for part in run_jobs(one_trial, jobs, workers=options.workers):
        rows.extend(part)
    table = pd.DataFrame(rows)
    if options.out is not None:
        table.to_csv(options.out, index=False)
    report(table, options.panel)


def report(table: pd.DataFrame, panel: str) -> None:
    """Print ours, published and the deviation for every point, then a summary."""
    published = pd.read_csv(Path(__file__).with_name("published.csv"), dtype={"panel": str})
    published = published[(published.panel == panel) & (published.metric == "half_test_mse")]
    keys = ["activation", "model", "x"]
    ours = table.groupby(keys)["value"].agg(["mean", "sem"]).reset_index()
    ours["x"], published = ours.x.round(4), published.assign(x=published.x.round(4))
    both = ours.merge(published[[*keys, "value"]], on=keys)
    if len(both) != len(published):
        raise SystemExit(f"{len(published) - len(both)} published points found no partner")
    both["percent"] = 100 * (both["mean"] / both["value"] - 1)
    both["percent_sem"] = 100 * both["sem"] / both["value"]
    print(both.rename(columns={"mean": "ours", "value": "published"}).to_string(index=False))
    summary = both.percent.abs().groupby([both.activation, both.model]).agg(["max", "mean"])
    print(summary.to_string())
    size = both.percent.abs()
    print(
        f"panel {panel}, {table.trial.nunique()} trials: {len(both)} points, largest deviation "
        f"{size.max():.2f} %, mean absolute deviation {size.mean():.2f} %"
    )


if __name__ == "__main__":
    main()
