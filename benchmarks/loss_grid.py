"""Logistic and square loss over a grid of settings: theory by types against simulation.

    python benchmarks/loss_grid.py [TRIALS] [DIMENSION] [FILE]

relu, tanh, sigmoid × (strength, weighting) = (.74, .5), (1, 0), (.5, .5) × k/m = .3, 1, 3 ×
penalties 1e-4, 1e-2, 1 × class labels without and with means ±μ (‖μ‖ = 1.5), sign teacher; m = n.
Printed for each setting: the largest deviation over the penalties of test loss (half the MSE of the
square loss) and misclassification, paired on the same first layers; then shares and medians. FILE
gets a line of CSV per number.
"""

from __future__ import annotations

import csv
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import Problem, predict, simulate
from onegrad.describe.exceptions import Failure

RIDGES = (1e-4, 1e-2, 1.0)
LIMITS = {"test_loss": 0.02, "misclassification": 0.05}
COLUMNS = (
    *("loss", "activation", "strength", "weighting", "ratio", "labels", "ridge", "metric"),
    *("value", "gap", "stderr", "theory_error"),
)


def problem_of(
    activation: str, scaling: tuple[float, float], ratio: float, labels: str, loss: str, n: int
) -> Problem:
    """Return the problem of one setting."""
    mean = np.random.default_rng(1).standard_normal(n)
    mean *= 1.5 / np.linalg.norm(mean)
    means = labels == "means"
    components: list[dict[str, Any]] = [
        {"weight": 0.5, "label": sign, **({"mean": sign * mean} if means else {})}
        for sign in (1.0, -1.0)
    ]
    return Problem(
        dimension=n,
        network={"width": round(ratio * n), "activation": activation},
        readout={"samples": n, "ridge": RIDGES, "loss": loss},
        data={"components": components},
        teacher={"kind": "sign" if labels == "sign" else "labels"},
        scaling={"strength": scaling[0], "weighting": scaling[1]},
        test_samples=10_000,
    )


def compared(problem: Problem, trials: int) -> list[dict[str, float]]:
    """Return gap and standard error of every penalty and metric."""
    simulated = simulate(problem, "network", trials=trials, workers=2).metrics
    predicted = predict(problem, "network", draws=trials, workers=2).metrics
    loss = "test_mse" if problem.readout.loss == "square" else "test_loss"
    rows = []
    for i, ridge in enumerate(problem.ridges):
        for name, metric in (("test_loss", loss), ("misclassification", "misclassification")):
            theirs, ours = simulated[metric][:, 0, i], predicted[metric][:, 0, i]
            scale = theirs.mean()
            gap = (ours - theirs).mean() / scale
            stderr = np.std(ours - (1 + gap) * theirs, ddof=1) / np.sqrt(trials) / scale
            error = predicted["theory_error"][:, 0, i].mean()
            facts = {"value": scale, "gap": gap, "stderr": stderr, "theory_error": error}
            rows.append({"ridge": ridge, "metric": name, **facts})
    return rows


def main() -> None:
    """Print a line per setting, then shares."""
    given = dict(enumerate(sys.argv[1:]))
    trials, n, path = int(given.get(0, "24")), int(given.get(1, "300")), given.get(2)
    warnings.simplefilter("ignore")
    settings = product(
        ("relu", "tanh", "sigmoid"),
        ((0.74, 0.5), (1.0, 0.0), (0.5, 0.5)),
        (0.3, 1.0, 3.0),
        ("classes", "means", "sign"),
        ("square", "logistic"),
    )
    table: list[dict[str, Any]] = []
    for activation, scaling, ratio, labels, loss in settings:
        facts = {"loss": loss, "activation": activation, "ratio": ratio, "labels": labels}
        facts |= {"strength": scaling[0], "weighting": scaling[1]}
        try:
            rows = compared(problem_of(activation, scaling, ratio, labels, loss, n), trials)
        except Failure as error:
            print(facts, error, flush=True)
            continue
        table += [{**facts, **row} for row in rows]
        worst = {name: max(rows, key=lambda r: _excess(r, name)) for name in LIMITS}
        said = "  ".join(
            f"{name} {100 * r['gap']:+.1f} ± {100 * r['stderr']:.1f} % at {r['ridge']:g}"
            for name, r in worst.items()
        )
        print(f"{activation:7s} {scaling} k/m {ratio} {labels:8s} {loss:8s} {said}", flush=True)
        if path is not None:
            _write(Path(path), table)
    for loss, metric in product(("square", "logistic"), LIMITS):
        _print_shares(loss, metric, table)


def _excess(row: dict[str, Any], metric: str) -> float:
    return abs(row["gap"]) - 4 * row["stderr"] if row["metric"] == metric else -np.inf


def _print_shares(loss: str, metric: str, table: list[dict[str, Any]]) -> None:
    rows = [row for row in table if row["loss"] == loss and row["metric"] == metric]
    gap, stderr = (np.array([row[name] for row in rows]) for name in ("gap", "stderr"))
    limit = LIMITS[metric]
    beyond = np.abs(gap) > limit + 4 * stderr
    spread = np.sqrt(np.mean((gap / np.maximum(stderr, 1e-4)) ** 2))
    gap = np.abs(gap)
    print(
        f"{loss} {metric}: {len(rows)} numbers, median {100 * np.median(gap):.2f} %, largest "
        f"{100 * np.max(gap):.1f} %; within {100 * limit:.0f} % {np.mean(gap <= limit):.3f}; "
        f"beside 4 s.e. {1 - np.mean(beyond):.3f} ({int(beyond.sum())} beyond); rms of gap/s.e. "
        f"{spread:.2f}"
    )


def _write(path: Path, table: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
