"""Convex losses without draws, against simulation and against theory by types.

    python benchmarks/closed_losses.py settings [TRIALS] [SEED] [DRAWS] [DIMENSION] [NAME]
    python benchmarks/closed_losses.py random [COUNT] [TRIALS] [SEED]

`settings`: fourteen settings with m = n = DIMENSION, every loss and kind of labels; printed is
closed/simulation − 1 with the standard error of TRIALS trials, and closed/types − 1 with that of
DRAWS draws, of every metric, then medians and processor times. NAME chooses those that contain it.
`random`: the random problems of benchmarks/closed_problems.py with a loss that fits their labels;
printed are deviations of the test loss of network, Hermite model and untrained network, then for
every metric medians, shares within `theory_error`, and the factor by which that would have to be
multiplied to cover as many as benchmarks/calibrate.py asks for.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time
from typing import Any

import numpy as np

from closed_problems import MODELS, random_problem
from onegrad import Problem, predict, simulate
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.results.errors import Errors

METRICS = (
    *("test_loss", "test_mse", "misclassification", "train_loss", "train_misclassification"),
    *("objective", "squared_weight_norm"),
)
SMALLEST_RATE = 1e-3  # that is compared
COVERED = 0.94  # as in benchmarks/calibrate.py
LOSSES = {True: ("logistic", "squared_hinge", "hinge"), False: ("huber:0.3", "huber:1")}
LABELS = {"kind": "labels"}
SIGN = {"kind": "sign"}
ALONG = {"direction": "spikes"}


def settings(n: int) -> dict[str, Problem]:
    """Return the problems by name."""
    base = Problem(
        dimension=n,
        network={"width": round(0.6 * n)},
        readout={"samples": n, "ridge": 1e-2},
        scaling={"strength": 0.9, "weighting": 0.5},
    )
    strong = {"strength": 1.0, "weighting": 0.0}
    apart = [
        {"weight": 0.6, "mean": 1.0, "level": 0.5, "label": 1.0},
        {"weight": 0.4, "mean": -1.0, "level": 1.5, "label": -1.0},
    ]
    changes: dict[str, dict[str, Any]] = {
        "logistic, classes": {"teacher": LABELS},
        "logistic, classes, strong spikes": {
            "teacher": LABELS,
            "scaling": strong,
            "readout__ridge": 1e-4,
        },
        "logistic, classes, ridge 1": {
            "teacher": LABELS,
            "scaling": strong,
            "readout__ridge": 1.0,
        },
        "logistic, means and levels": {"teacher": LABELS, "data": {"components": apart}},
        "logistic, sampled counts": {
            "teacher": LABELS,
            "data": {"counts": "sampled", "components": apart},
        },
        "logistic, signs along spikes": {"teacher": SIGN | ALONG, "readout__ridge": 1e-3},
        "logistic, signs at random": {"teacher": SIGN, "scaling": {"strength": 0.5}},
        "logistic, logistic labels": {"teacher": {"kind": "logistic", "slope": 3.0} | ALONG},
        "squared hinge, flipped signs": {
            "teacher": {"kind": "sign", "flips": 0.1} | ALONG,
            "network__activation": "tanh",
        },
        "squared hinge, strong step": {
            "teacher": LABELS,
            "scaling": {"strength": 1.0, "weighting": 1.0},
        },
        "hinge, signs along spikes": {"teacher": SIGN | ALONG, "readout__ridge": 1e-3},
        "hinge, classes, strong spikes": {
            "teacher": LABELS,
            "scaling": strong,
            "network__width": 2 * n,
        },
        "huber, along spikes": {"teacher": {**ALONG, "noise": 0.3}},
        "huber, strong step at random": {
            "scaling": {"strength": 1.0, "weighting": 1.0},
            "readout__ridge": 1e-3,
        },
    }
    named = {"logistic": "logistic", "squared hinge": "squared_hinge", "hinge": "hinge"}
    return {
        name: base.replace(**own, readout__loss=named.get(name.split(",")[0], "huber:0.3"))
        for name, own in changes.items()
    }


def beside(closed: Errors, other: Errors, metric: str) -> tuple[Floats, Floats]:
    """Return closed/other − 1 of every model, and the standard error."""
    estimate = other.estimate(metric)
    mean, stderr = estimate.mean[:, 0], estimate.stderr[:, 0]
    if "misclassification" in metric:  # of which trials see nothing, or a handful
        mean = np.where(mean < SMALLEST_RATE, np.nan, mean)
    return closed.metrics[metric][0, :, 0] / mean - 1, stderr / np.abs(mean)


def said(gaps: Floats, stderrs: Floats) -> str:
    """Return deviations with their standard errors, in per cent."""
    pairs = zip(100 * gaps, 100 * stderrs, strict=True)
    return "  ".join(f"{gap:+6.2f} ± {stderr:4.2f}" for gap, stderr in pairs)


def compare_settings(trials: int, seed: int, draws: int, n: int, chosen: str) -> None:
    """Print every metric of the chosen settings beside simulation and types."""
    scores: dict[str, list[Floats]] = {}
    seconds = []
    for name, problem in settings(n).items():
        if chosen not in name:
            continue
        start = process_time()
        closed = predict(problem, MODELS, method="closed")
        seconds.append(process_time() - start)
        trained = simulate(problem, MODELS, trials=trials, seed=seed)
        types = predict(problem, MODELS, draws=draws, seed=seed + 1)
        errors = " ".join(f"{100 * e:.1f}" for e in closed.metrics["theory_error"][0, :, 0])
        print(f"{name} (theory_error {errors} %), network, hermite, untrained:", flush=True)
        for metric in METRICS:
            if metric not in trained.metrics:
                continue
            gaps = [beside(closed, other, metric) for other in (trained, types)]
            print(f"  {metric:24s} simulated {said(*gaps[0])}   types {said(*gaps[1])}", flush=True)
            for other, (gap, stderr) in zip(("simulated", "types"), gaps, strict=True):
                row = np.array([np.abs(gap), np.abs(gap) / stderr])
                scores.setdefault(f"{metric} beside {other}", []).append(row)
    for metric, rows in scores.items():
        gap, score = np.concatenate(rows, axis=1)
        print(
            f"{metric}: median {100 * np.median(gap):.2f} %, largest {100 * gap.max():.2f} %, "
            f"root mean square of deviation/standard error {np.sqrt(np.mean(score**2)):.2f}"
        )
    least, middle, most = np.quantile(seconds, [0, 0.5, 1])
    print(f"processor time of three models: {least:.2f} to {most:.2f} s, median {middle:.2f} s")


def compare_random(count: int, trials: int, seed: int) -> None:
    """Print deviations of test errors on random problems, and shares within `theory_error`."""
    rng = np.random.default_rng(seed)
    table: dict[str, list[list[float]]] = {metric: [] for metric in METRICS}
    for index in range(count):
        problem = random_problem(rng)
        loss = str(rng.choice(LOSSES[problem.binary]))
        problem = problem.replace(readout__loss=loss)
        try:
            closed, notes = noted(problem)
            trained = simulate(problem, MODELS, trials=trials, seed=seed)
        except (Failure, InvalidInput) as error:
            print(f"{index:3d} {loss}: {error}", flush=True)
            continue
        errors = closed.metrics["theory_error"][0, :, 0]
        for metric in METRICS:
            if metric in trained.metrics:
                gaps, stderrs = beside(closed, trained, metric)
                rows = zip(gaps, stderrs, errors, [notes] * len(gaps), strict=True)
                table[metric] += [list(row) for row in rows]
        shown = said(*beside(closed, trained, "test_loss"))
        facts = f"{loss} {problem.teacher.kind} {problem.network.activation} n={problem.dimension}"
        where = f"m={problem.samples} k={problem.width} ridge={problem.ridges[0]:.1g}"
        print(f"{index:3d} {facts} {where}: {shown} ({notes} notes)", flush=True)
    for metric, rows in table.items():
        summarise(metric, np.array(rows))


def noted(problem: Problem) -> tuple[Errors, int]:
    """Return the prediction and how many notes it came with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        closed = predict(problem, MODELS, method="closed")
    return closed, len(caught)


def summarise(metric: str, rows: Floats) -> None:
    """Print medians and shares of one metric; rows are deviation, error, theory_error, notes."""
    rows = rows[np.all(np.isfinite(rows), axis=1)] if len(rows) else rows  # rates
    if not len(rows):
        return
    for what, chosen in (("all", rows), ("without a note", rows[rows[:, 3] == 0])):
        gap, stderr, error = np.abs(chosen[:, 0]), chosen[:, 1], chosen[:, 2]
        print(
            f"{metric}, {what}: {len(gap)}, mean {100 * np.mean(chosen[:, 0]):+.2f} %, median "
            f"|deviation| {100 * np.median(gap):.2f} %, of the standard errors "
            f"{100 * np.median(stderr):.2f} %; within 5 % + 4 s.e. "
            f"{np.mean(gap <= 0.05 + 4 * stderr):.3f}; within theory_error "
            f"{np.mean(gap <= error):.3f}, + 2 s.e. {np.mean(gap <= error + 2 * stderr):.3f}; "
            f"{COVERED} are within {np.quantile(gap / error, COVERED):.2f} of it; "
            f"worst {100 * gap.max():.1f} %"
        )


def main() -> None:
    """Run what the first word says."""
    what, *given = sys.argv[1:] or ["settings"]
    numbers = [int(text) for text in given[:4]]
    warnings.simplefilter("ignore")
    if what == "random":
        compare_random(*numbers, *(40, 24, 0)[len(numbers) :])
    else:
        numbers += (24, 0, 8, 300)[len(numbers) :]
        compare_settings(*numbers, chosen="".join(given[4:]))


if __name__ == "__main__":
    main()
