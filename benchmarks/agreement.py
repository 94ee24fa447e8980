"""Theory beside simulation on random problems, and the constants of `theory_error` fitted to them.

    python benchmarks/agreement.py types [--problems 40] [--trials 24] [--seed 0] [--losses]
    python benchmarks/agreement.py closed [the same options]
    python benchmarks/agreement.py fit types|closed FILE [FILE ...]

`types` and `closed` draw random problems that the theory covers and compare its prediction with
trained networks: by types paired on the same first layers, closed with the mean of the trials.
`--losses` draws other losses than the square too, and for `types` teachers of signs. `--file FILE`
appends a line of CSV per model, which `fit` reads.

`fit` prints the constants of theory/reliability.py or closed/reliability.py. A deviation of theory
from simulation is normal with variance s² + (standard error)², and log s is linear in the
logarithms of the indicators; maximum likelihood gives the slopes. Then s is raised until 94 % of
the deviations lie within it. Most of that is the noise of the trials: the theory itself errs less.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from onegrad import Problem, predict, simulate
from onegrad.closed.problem import ClosedProblem
from onegrad.closed.reliability import FLOORS
from onegrad.closed.solve import measured
from onegrad.core.instance import draw
from onegrad.core.models import NETWORK
from onegrad.core.run import Run
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.theory.reliability import Indicators
from onegrad.verbs.predict import PredictedRun

MODELS = ("network", "hermite", "untrained")  # compared with the closed theory
METRICS = ("test_error", "misclassification", "train_mse", "squared_weight_norm")
ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "erf"]
LINKS = ["relu", "tanh", "z+z**2/2"]
CLOSED_LOSSES = {True: ("logistic", "squared_hinge", "hinge"), False: ("huber:0.3", "huber:1")}
SMALLEST, LARGEST = 100, 1000  # samples and neurons
COVERED = 0.94  # share of the fitted problems, so that nine in ten of fresh ones are covered
FREEDOM = 0.25  # most deviations are smaller than their standard errors: slopes stay near these

Row = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """The expected slope of each indicator, and what is added to an indicator."""

    slopes: dict[str, float]
    floors: dict[str, float]


FITS = {
    "types": Fit(
        {"amplification": 1.0, "size": 0.5, "count": 0.25, "reach": 0.25}, {"reach": 0.01}
    ),
    "closed": Fit(
        {"amplification": 1.0, "size": 0.5, "step_noise": 0.25, "modes": 0.25, "spread": 0.25},
        FLOORS,
    ),
}


def problem_for_types(rng: np.random.Generator, losses: bool) -> Problem:
    """Return a problem of 60 to 240 dimensions."""
    n = round(60 * 4 ** rng.uniform())
    m = round(n * 3 ** rng.uniform(-1, 1))
    parts = int(rng.integers(1, 4))
    weights = rng.dirichlet(np.full(parts, 3.0))
    weights[-1] = 1 - weights[:-1].sum()
    components: list[Row] = [
        {
            "weight": float(weight),
            "level": float(4 ** rng.uniform(-1, 1)),
            "rank": int(rng.integers(0, 3)),
            "label": 1.0 if i % 2 else -1.0,
        }
        for i, weight in enumerate(weights)
    ]
    if rng.random() < 0.4:
        for component in components:
            component["mean"] = rng.standard_normal(n) * rng.uniform(0, 1.5) / np.sqrt(n)
    teacher: Row = {"kind": "labels"}
    if parts == 1 or rng.random() < 0.5:
        teacher = {"kind": "index", "link": str(rng.choice(LINKS)), "noise": 0.1}
    activation = str(rng.choice(ACTIVATIONS))
    fields: Row = {
        "dimension": n,
        "network": {"width": round(m * 3 ** rng.uniform(-1, 1)), "activation": activation},
        "training": {"samples": int(rng.integers(100, 300))},
        "readout": {"samples": m, "ridge": float(10 ** rng.uniform(-6, 0))},
        "data": {"components": components},
        "teacher": teacher,
        "scaling": {"strength": float(rng.uniform()), "weighting": float(rng.uniform())},
    }
    return Problem(**(_with_loss(rng, fields) if losses else fields))


def _with_loss(rng: np.random.Generator, fields: Row) -> Row:
    """Return the fields with a loss, and with a teacher of signs in half of the regressions."""
    teacher = fields["teacher"]
    if teacher["kind"] == "index" and rng.random() < 0.5:
        teacher = {"kind": "sign"} if rng.random() < 0.6 else {"kind": "logistic", "slope": 3.0}
    regression = teacher["kind"] == "index"
    losses = ["square", "huber:0.5"] if regression else ["square", "logistic", "squared_hinge"]
    losses += [] if regression else ["logistic", "hinge"]
    readout = {**fields["readout"], "loss": str(rng.choice(losses))}
    return {**fields, "teacher": teacher, "readout": readout, "test_samples": 4000}


def problem_for_closed(rng: np.random.Generator, losses: bool) -> Problem:
    """Return a problem of 300 to 1000 dimensions."""
    n = round(300 * (10 / 3) ** rng.uniform())
    m = int(np.clip(n * 3 ** rng.uniform(-1, 1), SMALLEST, LARGEST))
    width = int(np.clip(m * 3 ** rng.uniform(-1, 1), SMALLEST, LARGEST))
    strength, weighting = float(rng.uniform()), float(rng.uniform())
    network: Row = {"width": width, "activation": str(rng.choice(ACTIVATIONS))}
    if rng.random() < 0.2:
        network["second_layer"] = str(rng.choice(["sign", "constant"]))
    if rng.random() < 0.1:
        network["normalise_rows"] = True
    problem = Problem(
        dimension=n,
        network=network,
        training={"samples": int(n * 3 ** rng.uniform(-0.6, 1))},
        readout={"samples": m, "ridge": float(10 ** rng.uniform(-5, 0))},
        data=_mixture(rng),
        teacher=_teacher(rng),
        scaling={"strength": strength, "weighting": weighting},
        precision="mixed",
    )
    if losses:
        problem = problem.replace(readout__loss=str(rng.choice(CLOSED_LOSSES[problem.binary])))
    return problem


def _mixture(rng: np.random.Generator) -> Row:
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
    alignment = {"alignment": float(rng.uniform(-1, 1))} if aligned else {}
    return {"components": components, **alignment}


def _teacher(rng: np.random.Generator) -> Row:
    kind = str(rng.choice(["index", "index", "labels", "sign"]))
    if kind == "labels":
        return {"kind": "labels"}
    direction = {"kind": kind, "direction": str(rng.choice(["random", "spikes"]))}
    if kind == "sign":
        return direction
    return {**direction, "link": str(rng.choice(LINKS)), "noise": float(0.2 * rng.random())}


def metric_of(problem: Problem, column: str) -> str:
    """Return the metric of a column: the test error is that of the problem's loss."""
    test = "test_mse" if problem.readout.loss == "square" else "test_loss"
    return test if column == "test_error" else column


def compared_by_types(problem: Problem, trials: int) -> list[Row]:
    """Return the network's deviations, paired on the first layers, with its indicators."""
    trained = simulate(problem, "network", trials=trials, workers=2).metrics
    predicted = predict(problem, "network", draws=trials).metrics
    row: Row = {"model": "network", "theory_error": float(predicted["theory_error"].mean())}
    for column in METRICS:
        metric = metric_of(problem, column)
        if metric in predicted and metric in trained and trained[metric].mean():
            ours, theirs = predicted[metric][:, 0, 0], trained[metric][:, 0, 0]
            gap = ours.mean() / theirs.mean() - 1
            spread = np.std(ours - (1 + gap) * theirs, ddof=1) / theirs.mean()
            row |= {column: float(gap), f"{column}_stderr": float(spread / np.sqrt(trials))}
    run = PredictedRun(Run(draw(problem, seed=0, trial=0)), [NETWORK])
    types = run.types_after(problem.training.steps)[NETWORK.key]
    solution = types.solve(problem.samples, problem.ridges[0], loss=problem.readout.loss)
    return [row | {name: float(v) for name, v in vars(Indicators.of(solution)).items()}]


def compared_closed(problem: Problem, trials: int) -> list[Row]:
    """Return every model's deviations from the mean of the trials, with its indicators."""
    predicted = predict(problem, MODELS, method="closed").metrics
    trained = simulate(problem, MODELS, trials=trials, workers=2)
    closed = ClosedProblem.of(problem)
    theories = closed.theories()[:1]
    rows = []
    for i, model in enumerate(closed.models(MODELS)):
        error = float(predicted["theory_error"][0, i, 0])
        row: Row = {"model": model.name, "theory_error": error}
        for column in METRICS:
            metric = metric_of(problem, column)
            if metric in predicted and metric in trained.metrics:
                estimate = trained.estimate(metric)
                mean, stderr = float(estimate.mean[i, 0]), float(estimate.stderr[i, 0])
                if mean:  # no deviation is relative to a rate that no trial has
                    row[column] = float(predicted[metric][0, i, 0]) / mean - 1
                    row[f"{column}_stderr"] = stderr / mean
        if problem.readout.loss == "square":
            counts, ridges = np.array([float(problem.samples)]), np.array(problem.ridges)
            ((_, indicators),) = measured(closed.curves(theories, model, counts, ridges))
            row |= {name: float(getattr(indicators[0], name)) for name in FITS["closed"].slopes}
        rows.append(row)
    return rows


COMPARED = {
    "types": (problem_for_types, compared_by_types),
    "closed": (problem_for_closed, compared_closed),
}


def facts(problem: Problem) -> Row:
    """Return what a line of the table shows of a problem."""
    return {
        "teacher": problem.teacher.kind,
        "loss": problem.readout.loss,
        "activation": problem.network.activation,
        "n": problem.dimension,
        "m": problem.samples,
        "k": problem.width,
        "ridge": float(f"{problem.ridges[0]:.2g}"),
    }


def compare(options: argparse.Namespace) -> None:
    """Print a line per problem, then shares by model and metric."""
    make, compared = COMPARED[options.what]
    rng = np.random.default_rng(options.seed)
    table: list[Row] = []
    for index in range(options.problems):
        problem = make(rng, options.losses)
        about = facts(problem)
        shown = f"{index:3d} {' '.join(str(value) for value in about.values())}"
        try:
            rows = [about | row for row in compared(problem, options.trials)]
        except (Failure, InvalidInput) as error:
            print(f"{shown}: {error}", flush=True)
            continue
        gaps = "  ".join(
            f"{r['model']} {100 * r['test_error']:+.1f} ± {100 * r['test_error_stderr']:.1f} %"
            for r in rows
        )
        print(f"{shown}: {gaps}", flush=True)
        table += rows
    frame = pd.DataFrame(table)
    if options.file:
        frame.to_csv(options.file, mode="a", index=False, header=not options.file.exists())
    for model, rows in frame.groupby("model", sort=False):
        for column in METRICS:
            if column in rows:
                print_shares(f"{model} {column}", rows[rows[column].notna()], column)


def print_shares(title: str, rows: pd.DataFrame, column: str) -> None:
    """Print the weighted mean and shares of the deviations in one column."""
    if not len(rows):
        return
    gap, stderr = rows[column].to_numpy(), rows[f"{column}_stderr"].to_numpy()
    weights = 1 / (stderr**2 + 0.01**2)
    size, error = np.abs(gap), rows["theory_error"].to_numpy()
    print(
        f"{title}: {len(gap)} problems, weighted mean {100 * weights @ gap / weights.sum():+.2f} ± "
        f"{100 / np.sqrt(weights.sum()):.2f} %, median |deviation| {100 * np.median(size):.2f} %, "
        f"of the standard errors {100 * np.median(stderr):.2f} %; within 3 % "
        f"{np.mean(size <= 0.03):.3f}, 5 % {np.mean(size <= 0.05):.3f}, 5 % + 4 s.e. "
        f"{np.mean(size <= 0.05 + 4 * stderr):.3f}; within theory_error "
        f"{np.mean(size <= error):.3f}, + 2 s.e. {np.mean(size <= error + 2 * stderr):.3f}; "
        f"worst {100 * size.max():.1f} %"
    )


def observations(frame: pd.DataFrame, fit: Fit) -> tuple[Floats, Floats, Floats]:
    """Return deviations of test errors, their standard errors, and logarithms of indicators."""
    floors = np.array([fit.floors.get(name, 0.0) for name in fit.slopes])
    parts = []
    for column in ("test_error", "misclassification"):
        known = np.isfinite(frame[column]) & np.isfinite(frame[f"{column}_stderr"])
        rows = frame[known & frame["amplification"].notna()]
        logs = np.log(rows[list(fit.slopes)].to_numpy(float) + floors)
        parts.append((rows[column].to_numpy(), rows[f"{column}_stderr"].to_numpy(), logs))
    gaps, stderrs, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return gaps, stderrs, logs


def fitted(gaps: Floats, stderrs: Floats, logs: Floats, expected: Floats) -> Floats:
    """Return constant and slopes of log s by maximum likelihood, slopes not below 0."""

    def cost(x: Floats) -> float:
        variance = np.exp(2 * (x[0] + logs @ x[1:])) + stderrs**2 + 1e-8
        # Student's t with four degrees of freedom, so that single deviations do not decide.
        likelihood = np.sum(0.5 * np.log(variance) + 2.5 * np.log1p(gaps**2 / (4 * variance)))
        return float(likelihood + np.sum((x[1:] - expected) ** 2) / (2 * FREEDOM**2))

    start = np.array([-2.0, *expected])
    bounds = [(-12.0, 3.0), *([(0.0, 2.0)] * logs.shape[1])]
    return np.asarray(minimize(cost, start, bounds=bounds, method="L-BFGS-B").x)


def fit_constants(options: argparse.Namespace) -> None:
    """Print the constants of `theory_error` and the shares that they cover."""
    fit = FITS[options.theory]
    frame = pd.concat([pd.read_csv(path) for path in options.files])
    gaps, stderrs, logs = observations(frame, fit)
    x = fitted(gaps, stderrs, logs, np.array(list(fit.slopes.values())))
    scale = np.exp(x[0] + logs @ x[1:])
    needed = np.sort(np.abs(gaps) / scale)
    factor = max(float(needed[int(COVERED * len(needed))]), 1.0)
    bound = np.maximum(factor * scale, 0.005)
    print(f"{len(frame)} rows, {len(gaps)} deviations")
    print(f"CONSTANT = {x[0] + np.log(factor):.3f}")
    print("SLOPES =", {n: round(float(s), 3) for n, s in zip(fit.slopes, x[1:], strict=True)})
    shares = [np.mean(np.abs(gaps) <= bound + noise) for noise in (0, 2 * stderrs)]
    print(f"covered: {shares[0]:.3f}, beside 2 s.e. {shares[1]:.3f}")
    print("bounds: quantiles", np.round(np.quantile(bound, [0.05, 0.25, 0.5, 0.75, 0.95]), 4))


def main() -> None:
    """Compare a theory with simulation, or fit the constants of its error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="what", required=True)
    for name in COMPARED:
        part = parts.add_parser(name)
        part.add_argument("--problems", type=int, default=40)
        part.add_argument("--trials", type=int, default=24)
        part.add_argument("--seed", type=int, default=0)
        part.add_argument("--losses", action="store_true")
        part.add_argument("--file", type=Path)
    part = parts.add_parser("fit")
    part.add_argument("theory", choices=FITS)
    part.add_argument("files", nargs="+")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    fit_constants(options) if options.what == "fit" else compare(options)


if __name__ == "__main__":
    main()
