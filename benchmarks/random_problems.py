"""Theory by types against simulation on random problems of all kinds.

    python benchmarks/random_problems.py [COUNT] [TRIALS] [SEED] [square|all] [FILE]

Levels .25 to 4, weights, ranks, means, five activations, regression and classes, penalties 1e-6 to
1, m/n and k/m from .3 to 3; "all" draws losses and teachers of signs too. Printed: the deviation of
the predicted test error (the MSE, or the loss if it is not the square) from the trials, paired on
the same first layers; then shares within 3 %, 5 % and `theory_error`. FILE gets a line of CSV per
problem, from which `benchmarks/calibrate.py` fits the constants of `theory_error`.
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from onegrad import Problem, predict, simulate
from onegrad.core.instance import draw
from onegrad.core.models import NETWORK
from onegrad.core.run import Run
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.theory.reliability import Indicators
from onegrad.verbs.predict import PredictedRun

NAMES = ("types", "types_rate")  # of the deviations of a test error and of a rate


def random_problem(rng: np.random.Generator, kinds: str) -> Problem:
    """Return a problem of 60 to 240 dimensions."""
    n = round(60 * 4 ** rng.uniform())
    m = round(n * 3 ** rng.uniform(-1, 1))
    parts = int(rng.integers(1, 4))
    weights = rng.dirichlet(np.full(parts, 3.0))
    weights[-1] = 1 - weights[:-1].sum()
    components: list[dict[str, Any]] = [
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
    teacher: dict[str, Any] = {"kind": "labels"}
    if parts == 1 or rng.random() < 0.5:
        link = str(rng.choice(["relu", "tanh", "z+z**2/2"]))
        teacher = {"kind": "index", "link": link, "noise": 0.1}
    activation = str(rng.choice(["relu", "tanh", "sigmoid", "gelu", "erf"]))
    fields: dict[str, Any] = {
        "dimension": n,
        "network": {"width": round(m * 3 ** rng.uniform(-1, 1)), "activation": activation},
        "training": {"samples": int(rng.integers(100, 300))},
        "readout": {"samples": m, "ridge": float(10 ** rng.uniform(-6, 0))},
        "data": {"components": components},
        "teacher": teacher,
        "scaling": {"strength": float(rng.uniform()), "weighting": float(rng.uniform())},
    }
    return Problem(**(fields if kinds == "square" else _of_all_kinds(rng, fields)))


def _of_all_kinds(rng: np.random.Generator, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with a loss, and with a teacher of signs in half of the regressions."""
    teacher = fields["teacher"]
    if teacher["kind"] == "index" and rng.random() < 0.5:
        teacher = {"kind": "sign"} if rng.random() < 0.6 else {"kind": "logistic", "slope": 3.0}
    regression = teacher["kind"] == "index"
    losses = ["square", "huber:0.5"] if regression else ["square", "logistic", "squared_hinge"]
    losses += [] if regression else ["logistic", "hinge"]
    readout = {**fields["readout"], "loss": str(rng.choice(losses))}
    return {**fields, "teacher": teacher, "readout": readout, "test_samples": 4000}


def deviation(predicted: Floats, simulated: Floats) -> tuple[float, float]:
    """Return the relative gap of the means and its standard error, paired."""
    scale = float(simulated.mean())
    gap = float((predicted - simulated).mean()) / scale
    spread = np.std(predicted - (1 + gap) * simulated, ddof=1)
    return gap, float(spread) / np.sqrt(len(simulated)) / scale


def compared(problem: Problem, trials: int) -> tuple[dict[str, float], float]:
    """Return deviations, the estimated error and its indicators, and the seconds of theory."""
    simulated = simulate(problem, "network", trials=trials, workers=2).metrics
    name = "test_mse" if problem.readout.loss == "square" else "test_loss"
    row: dict[str, float] = {}
    start = process_time()
    try:
        errors = predict(problem, "network", draws=trials).metrics
    except (Failure, InvalidInput) as error:
        print(f"  {error}")
        return _indicators(problem), 0.0
    seconds = process_time() - start
    for metric, short in zip((name, "misclassification"), NAMES, strict=True):
        if metric in errors and metric in simulated:
            pair = deviation(errors[metric][:, 0, 0], simulated[metric][:, 0, 0])
            row[short], row[f"{short}_stderr"] = pair
            row[f"{short}_value"] = float(simulated[metric].mean())
    row["theory_error"] = float(errors["theory_error"].mean())
    return {**row, **_indicators(problem)}, seconds


def _indicators(problem: Problem) -> dict[str, float]:
    """Return the first draw's indicators."""
    run = PredictedRun(Run(draw(problem, seed=0, trial=0)), [NETWORK])
    types = run.types_after(problem.training.steps)[NETWORK.key]
    try:
        solution = types.solve(problem.samples, problem.ridges[0], loss=problem.readout.loss)
    except Failure:
        return {}
    return {name: float(v) for name, v in vars(Indicators.of(solution)).items()}


def main() -> None:
    """Print a line per problem, then the shares."""
    given = dict(enumerate(sys.argv[1:]))
    count, trials, seed = (int(given.get(i, d)) for i, d in enumerate(("40", "12", "0")))
    kinds, path = given.get(3, "square"), given.get(4)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    rows, total = [], 0.0
    for index in range(count):
        problem = random_problem(rng, kinds)
        row, seconds = compared(problem, trials)
        rows.append(row)
        total += seconds
        print(_line(index, problem, row), flush=True)
        if path is not None:
            _append(Path(path), problem, row)
    _print_shares(rows)
    print(f"  {total / count / trials:.3f} s per draw")


def _print_shares(rows: list[dict[str, float]]) -> None:
    for name in NAMES:
        chosen = [row for row in rows if name in row]
        if not chosen:
            continue
        gap, stderr, bound = (
            np.array([row.get(key, np.nan) for row in chosen])
            for key in (name, f"{name}_stderr", "theory_error")
        )
        gap = np.abs(gap)
        shares = [float(np.mean(gap <= limit + 4 * stderr)) for limit in (0.0, 0.03, 0.05)]
        print(
            f"{name}: {len(chosen)} problems; within 3 % {np.mean(gap <= 0.03):.2f}, 5 % "
            f"{np.mean(gap <= 0.05):.2f}; beside 4 s.e.: 0 % {shares[0]:.2f}, 3 % {shares[1]:.2f}, "
            f"5 % {shares[2]:.2f}; within theory_error {np.mean(gap <= bound):.2f}, beside 2 s.e. "
            f"{np.mean(gap <= bound + 2 * stderr):.2f}; median {np.median(gap):.4f}, worst "
            f"{np.max(gap):.3f}"
        )


def _append(path: Path, problem: Problem, row: dict[str, float]) -> None:
    facts: dict[str, Any] = {
        "teacher": problem.teacher.kind,
        "loss": problem.readout.loss,
        "activation": problem.network.activation,
        "n": problem.dimension,
        "m": problem.samples,
        "k": problem.width,
        "ridge": problem.ridges[0],
        "strength": problem.scaling.strength,
        "weighting": problem.scaling.weighting,
    }
    columns = [*facts]
    columns += [f"{name}{end}" for name in NAMES for end in ("", "_stderr", "_value")]
    columns += ["theory_error", *Indicators.__dataclass_fields__]
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns)
        if fresh:
            writer.writeheader()
        writer.writerow({**facts, **row})


def _line(index: int, problem: Problem, row: dict[str, float]) -> str:
    scaling = problem.scaling
    gaps = "  ".join(
        f"{name} {100 * row[name]:+.1f} ± {100 * row[f'{name}_stderr']:.1f} %"
        for name in NAMES
        if name in row
    )
    return (
        f"{index:3d} {problem.teacher.kind:8s} {problem.readout.loss:13s} "
        f"{problem.network.activation:7s} n {problem.dimension} m {problem.samples} "
        f"k {problem.width} ridge {problem.ridges[0]:.0e} "
        f"({scaling.strength:.2f}, {scaling.weighting:.2f})  {gaps}"
    )


if __name__ == "__main__":
    main()
