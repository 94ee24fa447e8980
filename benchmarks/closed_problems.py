"""Theory without draws against simulation on random problems of all kinds that it knows.

    python benchmarks/closed_problems.py [COUNT] [TRIALS] [SEED] [FILE] [WORKERS]

n = 300 to 1000, m/n, k/m and m̃/n from .3 to 3, five activations, regression along the spikes or at
random, classes, signs; ranks, means, levels, weights, alignments, second layers, rows of norm 1,
penalties 1e-5 to 1. Printed for each problem: the deviation of the predicted test error of network,
Hermite model and untrained network from the trials' mean; then weighted means and shares within
3 %, 5 % and `theory_error`. FILE gets a line of CSV per model, from which
`benchmarks/calibrate.py closed` fits the constants of `theory_error`.
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from onegrad import Problem, simulate
from onegrad.closed.problem import ClosedProblem, predict_closed
from onegrad.closed.solve import measured
from onegrad.describe.exceptions import Failure
from onegrad.describe.numbers import Metrics
from onegrad.results.errors import Errors

MODELS = ("network", "hermite", "untrained")
METRICS = ("test_mse", "train_mse", "squared_weight_norm", "misclassification")
INDICATORS = ("amplification", "size", "step_noise", "modes", "spread", "step_ratio", "coarse")
SMALLEST, LARGEST = 100, 1000  # samples and neurons


def random_problem(rng: np.random.Generator) -> Problem:
    """Return a problem that theory without draws knows."""
    n = round(300 * (10 / 3) ** rng.uniform())
    m = int(np.clip(n * 3 ** rng.uniform(-1, 1), SMALLEST, LARGEST))
    width = int(np.clip(m * 3 ** rng.uniform(-1, 1), SMALLEST, LARGEST))
    strength, weighting = float(rng.uniform()), float(rng.uniform())
    network = {"width": width, "activation": str(rng.choice(_ACTIVATIONS))}
    if rng.random() < 0.2:
        network["second_layer"] = str(rng.choice(["sign", "constant"]))
    if rng.random() < 0.1:
        network["normalise_rows"] = True  # type: ignore[assignment]
    return Problem(
        dimension=n,
        network=network,
        training={"samples": int(n * 3 ** rng.uniform(-0.6, 1))},
        readout={"samples": m, "ridge": float(10 ** rng.uniform(-5, 0))},
        data=_data(rng),
        teacher=_teacher(rng),
        scaling={"strength": strength, "weighting": weighting},
        precision="mixed",
    )


_ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "erf"]


def _data(rng: np.random.Generator) -> dict[str, Any]:
    parts = int(rng.choice([1, 2, 2, 2, 3]))
    weights = rng.dirichlet(np.full(parts, 4.0))
    weights[-1] = 1 - weights[:-1].sum()
    uneven, apart = rng.random() < 0.3, rng.random() < 0.25
    rank = int(rng.choice([0, 1, 1, 1, 1, 2]))
    components = [
        {
            "weight": float(weight),
            "level": float(2 ** rng.uniform(-1, 1)) if uneven else 1.0,
            "rank": max(rank, 1) if i == 0 else rank,
            "label": 1.0 if i % 2 else -1.0,
            **({"mean": float(rng.normal() * 1.2)} if apart else {}),
        }
        for i, weight in enumerate(weights)
    ]
    aligned = parts > 1 and rng.random() < 0.3
    return {
        "components": components,
        **({"alignment": float(rng.uniform(-1, 1))} if aligned else {}),
    }


def _teacher(rng: np.random.Generator) -> dict[str, Any]:
    kind = str(rng.choice(["index", "index", "labels", "sign"]))
    if kind == "labels":
        return {"kind": "labels"}
    direction = str(rng.choice(["random", "spikes"]))
    if kind == "sign":
        return {"kind": "sign", "direction": direction}
    link = str(rng.choice(["relu", "tanh", "z+z**2/2"]))
    return {
        "kind": "index",
        "direction": direction,
        "link": link,
        "noise": float(0.2 * rng.random()),
    }


def compared(problem: Problem, trials: int, workers: int) -> list[dict[str, Any]]:
    """Return a row per model: deviations with standard errors, and indicators."""
    start = perf_counter()
    closed = ClosedProblem.of(problem)
    models = closed.models(MODELS)
    (found,) = predict_closed([(closed, models)])
    predicted, notes = found.metrics, found.notes
    seconds = perf_counter() - start
    trained = simulate(problem, list(MODELS), trials=trials, workers=workers)
    theories = closed.theories()[:1]
    rows = []
    for i, model in enumerate(models):
        count = np.array([float(problem.samples)])
        ((_, sure),) = measured(closed.curves(theories, model, count, np.array(problem.ridges)))
        row: dict[str, Any] = {"model": model.name, "degree": model.degree, "seconds": seconds}
        for metric, (value, mean, stderr) in both(predicted[model.name], trained, i).items():
            row[metric] = value / mean - 1
            row[f"{metric}_stderr"] = stderr / mean
        row["theory_error"] = float(predicted[model.name]["theory_error"][0])
        row |= {name: float(getattr(sure[0], name)) for name in INDICATORS}
        row |= {"overlap": closed.overlap, "noted": len(notes), "settings": len(closed.settings)}
        rows.append(row)
    return rows


def both(predicted: Metrics, trained: Errors, model: int) -> dict[str, tuple[float, float, float]]:
    """Return, by metric, a model's predicted value, the trials' mean and its standard error."""
    values = {}
    for metric in METRICS:
        if metric in predicted and metric in trained.metrics:
            estimate = trained.estimate(metric)
            mean, stderr = float(estimate.mean[model, 0]), float(estimate.stderr[model, 0])
            if mean:  # nothing is relative to a rate that no trial has
                values[metric] = float(predicted[metric][0]), mean, stderr
    return values


def main() -> None:
    """Print a line per problem, then the shares."""
    given = dict(enumerate(sys.argv[1:]))
    count, trials, seed = (int(given.get(i, d)) for i, d in enumerate(("40", "24", "0")))
    path, workers = given.get(3), int(given.get(4, "2"))
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    table: list[dict[str, Any]] = []
    for index in range(count):
        problem = random_problem(rng)
        try:
            rows = compared(problem, trials, workers)
        except Failure as error:
            print(f"{index:3d} {_facts(problem)}: {error}", flush=True)
            continue
        rows = [{"problem": index, **_facts(problem), **row} for row in rows]
        table += rows
        gaps = "  ".join(
            f"{r['model']} {100 * r['test_mse']:+.1f} ± {100 * r['test_mse_stderr']:.1f} %"
            for r in rows
        )
        facts = " ".join(str(v) for v in _facts(problem).values())
        print(f"{index:3d} {facts}: {gaps}", flush=True)
        if path is not None:
            _append(Path(path), rows)
    summarise(pd.DataFrame(table))


def summarise(table: pd.DataFrame) -> None:
    """Print weighted means and shares by model and metric."""
    for (model, metric), rows in (
        ((model, metric), rows[np.isfinite(rows[metric]) & np.isfinite(rows[f"{metric}_stderr"])])
        for model, rows in table.groupby("model", sort=False)
        for metric in METRICS
        if metric in rows
    ):
        gap, stderr = rows[metric].to_numpy(), rows[f"{metric}_stderr"].to_numpy()
        if len(gap) == 0:
            continue
        weights = 1 / (stderr**2 + 0.01**2)
        mean = float(weights @ gap / weights.sum())
        size, error = np.abs(gap), rows["theory_error"].to_numpy()
        middle, noise = 100 * np.median(size), 100 * np.median(stderr)
        print(
            f"{model} {metric}: {len(gap)} problems, weighted mean {100 * mean:+.2f} ± "
            f"{100 / np.sqrt(weights.sum()):.2f} %, median |deviation| {middle:.2f} %, of the "
            f"standard errors {noise:.2f} %; within 3 % {np.mean(size <= 0.03):.3f}, 5 % "
            f"{np.mean(size <= 0.05):.3f}, 5 % + 4 s.e. "
            f"{np.mean(size <= 0.05 + 4 * stderr):.3f}; within theory_error "
            f"{np.mean(size <= error):.3f}, + 2 s.e. {np.mean(size <= error + 2 * stderr):.3f}; "
            f"worst {100 * size.max():.1f} %"
        )
    seconds = table.groupby("problem").seconds.first().median()
    print(f"median of {seconds:.3f} s per problem (three models)")


def _facts(problem: Problem) -> dict[str, Any]:
    teacher, scaling = problem.teacher, problem.scaling
    return {
        "teacher": teacher.kind,
        "direction": getattr(teacher, "direction", ""),
        "activation": problem.network.activation,
        "second": problem.network.second_layer,
        "n": problem.dimension,
        "m": problem.samples,
        "k": problem.width,
        "step_samples": problem.samples_per_step,
        "ridge": float(f"{problem.ridges[0]:.2g}"),
        "strength": round(scaling.strength or 0.0, 3),
        "weighting": round(scaling.weighting or 0.0, 3),
        "parts": len(problem.data.part_labels),
        "rank": max(c.rank for c in problem.data.components),  # type: ignore[attr-defined]
    }


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    names = [*rows[0], *(f"{m}{end}" for m in METRICS for end in ("", "_stderr"))]
    names = list(dict.fromkeys(names))
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, sorted(names))
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
