"""How long computations take, and how much memory.

    python benchmarks/cost.py closed               # the closed theory: points, curves, tuning
    python benchmarks/cost.py types                # a draw of theory by types; further points
    python benchmarks/cost.py trial                # the cost model against the clock; memory
    python benchmarks/cost.py sweep                # the overhead of a sweep's engine and store
    python benchmarks/cost.py textbook             # panel 1a beside benchmarks/textbook.py

`--size` changes the dimension (the largest one of `trial`), and the other sizes with it. Times are
those of the processor with one BLAS thread and warm caches, except for `trial`, `sweep` and
`textbook`, which need a machine with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import textbook
from onegrad import Problem, Sweep, predict, tune
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import draw
from onegrad.core.model_names import resolve_models
from onegrad.core.models import NETWORK
from onegrad.core.run import Run
from onegrad.core.trial import run_trial
from onegrad.machine.cost import measure_rates
from onegrad.machine.pool import run_jobs
from onegrad.papers.panel_registry import PANELS, study_of
from onegrad.sweeps.driver import run_plan
from onegrad.sweeps.plan import plan_sweep
from onegrad.verbs.cost import peak_bytes, seconds
from onegrad.verbs.predict import PredictedRun, predict_curve, predict_draw

TEACHERS: tuple[dict[str, Any], ...] = (
    {"direction": "spikes"},
    {"direction": "random"},
    {"kind": "labels"},
)
EXPONENTS = ((0.74, 0.5), (0.74, 0.0), (0.74, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, 0.5), (1.0, 0.0))
POINTS = 60  # of a curve
LOSSES = ("square", "logistic", "squared_hinge", "hinge", "huber:1")
RATIOS = (5, 4, 3, 2, 1.5, 1.1, 1, 0.9, 0.7, 0.5, 0.4, 0.3, 0.1)  # k/m of panel 1a
SWEEP_WORKERS = 2

Points = list[tuple[Problem, list[Any]]]


def timed(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the least processor time of a few rounds after one that fills caches."""
    work()
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def closed(options: argparse.Namespace) -> None:
    """Print the time of points, of curves, of tuning and of the points of figure 1."""
    n = options.size or 1000
    one = partial(predict, models="network", method="closed")
    matrix = np.random.default_rng(0).standard_normal((1000, 1000))
    unit = timed(lambda: matrix @ matrix, 5)
    print(f"one 1000 × 1000 product: {1e3 * unit:.1f} ms")

    def problem_of(teacher: dict[str, Any], activation: str, **fields: Any) -> Problem:
        network = {"width": n, "activation": activation}
        return Problem(
            dimension=n, teacher=teacher, network=network, training={"samples": n}, **fields
        )

    times = []
    for teacher, activation, (beta, alpha) in product(
        TEACHERS, ("relu", "tanh", "sigmoid"), EXPONENTS
    ):
        scaling = {"strength": beta, "weighting": alpha}
        times.append(timed(partial(one, problem_of(teacher, activation, scaling=scaling))))
    low, middle, high = 1e3 * np.quantile(times, [0.1, 0.5, 0.9])
    print(
        f"one point, {len(times)} settings: median {middle:.1f} ms, 10 to 90 % {low:.1f} to "
        f"{high:.1f} ms, largest {1e3 * max(times):.0f} ms"
    )
    for large in (10**3, 10**4, 10**5, 10**6):
        problem = Problem(
            dimension=large,
            readout={"samples": large},
            network={"width": large},
            teacher={"direction": "spikes"},
            scaling={"learning_rate": large**0.37, "spread": 13.0},
        )
        print(f"n = {large}: {1e3 * timed(partial(one, problem)):.1f} ms", flush=True)
    counts = [round(m) for m in np.geomspace(100, 10_000, POINTS)]
    curves: dict[str, dict[str, Any]] = {
        "m": {"samples": counts},
        "λ": {"ridge": np.geomspace(1e-6, 1, POINTS)},
        "β": {"over": {"scaling.strength": np.linspace(0, 1, POINTS).tolist()}},
        "k": {"over": {"network.width": counts}},
    }
    for teacher, activation in product(TEACHERS, ("relu", "tanh")):
        problem = problem_of(teacher, activation)
        curve = partial(predict_curve, problem, method="closed")
        parts = [
            f"{name} {1e3 * timed(partial(curve, **c), 2):.0f} ms" for name, c in curves.items()
        ]
        tuning = timed(partial(tune, problem, method="closed"), 1)
        about = f"{next(iter(teacher.values()))}, {activation}"
        print(f"{about}: {POINTS} values of {', '.join(parts)}; tune {tuning:.2f} s", flush=True)
    points = [
        (setting.problem, setting.models)
        for name in ("1a", "1b", "1c")
        for setting in study_of(PANELS[name]).sweep("paper" if n >= 1000 else "quick").settings()
    ]
    theory = timed(lambda: [predict(p, models, method="closed") for p, models in points], 1)
    simulated = timed(lambda: run_points(points, 0), 1)
    print(
        f"figure 1, {len(points)} points: closed theory {theory:.2f} s, one simulated trial "
        f"{simulated:.1f} s, ratio {simulated / theory:.0f}"
    )


def types(options: argparse.Namespace) -> None:
    """Print the time of a predicted draw, and of further penalties by each loss."""
    n = options.size or 1000
    for factor, teacher, activation in product(
        (1, 5), ("labels", "index", "sign"), ("relu", "tanh")
    ):
        problem = Problem(
            dimension=n,
            network={"width": factor * n, "activation": activation},
            readout={"samples": n, "ridge": 1e-3},
            training={"samples": n},
            teacher={"kind": teacher},
            data={"components": [{"weight": 0.5, "label": s} for s in (1.0, -1.0)]},
        )
        drawn = timed(partial(predict_draw, problem, [NETWORK]))
        solved = PredictedRun(Run(draw(problem)), [NETWORK]).types_after(1)[NETWORK.key]
        more = []
        for loss in LOSSES if problem.binary else ("square", "huber:1"):
            solve = partial(solved.solve, n, problem.ridges[0], loss=loss)
            more.append(f"{loss} {timed(lambda solve=solve: solve().errors()):.3f}")  # type: ignore[misc]
        about = f"k = {factor * n}, {teacher}, {activation}"
        print(f"{about}: {drawn:.2f} s; each further point {', '.join(more)} s", flush=True)


def trial(options: argparse.Namespace) -> None:
    """Print measured and modelled seconds at n = m = k, and the peak memory so far."""
    sizes = [n for n in (500, 1000, 2000, 4000) if n <= (options.size or 4000)] or [options.size]
    rates = measure_rates(1024)
    for verb, run in {"simulate": run_trial, "predict": predict_draw}.items():
        measured, modelled = [], []
        for n in sizes:
            problem = Problem(dimension=n, readout={"samples": n})
            models = resolve_models(problem, options.models.split(","))
            run(problem.replace(dimension=100, readout__samples=100), models)  # warm up
            start = perf_counter()
            run(problem, models)
            measured.append(perf_counter() - start)
            modelled.append(seconds(problem, models, rates, verb=verb))
            print(
                f"{verb}, n = {n}: {measured[-1]:.2f} s, modelled {modelled[-1]:.2f} s; peak "
                f"{_peak():.2f} GB, estimated {peak_bytes(problem, models) / 1e9:.2f} GB",
                flush=True,
            )
        if len(sizes) > 1:
            slopes = [np.polyfit(np.log(sizes), np.log(t), 1)[0] for t in (measured, modelled)]
            print(f"{verb}: exponent of n {slopes[0]:.2f} measured, {slopes[1]:.2f} modelled")


def _peak() -> float:
    """Return the largest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def sweep(options: argparse.Namespace) -> None:
    """Print the share of the workers' time that is not spent in trials, after their start."""
    n = options.size or 600
    problem = Problem(dimension=n, readout={"samples": n})
    asked = Sweep(problem=problem, models=["network", "hermite"], trials=options.trials or 1000)
    marks: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_sweep(asked, folder)
        results = run_plan(
            plan,
            workers=SWEEP_WORKERS,
            progress=lambda state: marks.append((perf_counter(), state.done)),
        )
        rows = list(results.contents.rows.values())
    start = next(mark for mark in marks if mark[1] >= 2 * SWEEP_WORKERS)  # both are at work
    wall, done = marks[-1][0] - start[0], marks[-1][1] - start[1]
    each = sum(row["seconds"] for row in rows) / asked.trials
    overhead = 1 - each * done / (SWEEP_WORKERS * wall)
    print(f"{done} trials of {each:.3f} s in {wall:.1f} s: overhead {overhead:.2%}")


def run_points(points: Points, trial: int) -> dict[str, float]:
    """Return ½ test MSE of all points in one trial, which share their draws."""
    shared, errors = Shared(), {}
    for problem, models in points:
        for model, metrics in run_trial(problem, models, trial=trial, shared=shared).items():
            errors[f"{problem.digest} {model}"] = 0.5 * float(metrics["test_mse"][0])
    return errors


def textbook_jobs(n: int, precision: str, cores: int) -> list[dict[str, Any]]:
    """Return the points of panel 1a as one job per core, of about equal work."""
    jobs: list[Points] = [[] for _ in range(cores)]
    base = Problem(dimension=n, readout={"samples": n}, precision=precision)
    for ratio in RATIOS:  # the widest first; activations share draws and products
        least = min(jobs, key=lambda job: sum(problem.width**2 for problem, _ in job))
        for activation in ("relu", "tanh", "sigmoid"):
            network = {"width": round(ratio * n), "activation": activation}
            problem = base.replace(network=network)
            least.append((problem, resolve_models(problem, ["network", "hermite"])))
    return [{"points": job, "trial": 0} for job in jobs]


def measure_program(program: str, n: int, cores: int) -> dict[str, Any]:
    """Return seconds and errors of one program; called in a process of its own."""
    if program == "textbook":
        start = perf_counter()
        textbook.run([round(ratio * n) for ratio in RATIOS], n=n, m=n)
        return {"seconds": perf_counter() - start}
    list(run_jobs(run_points, textbook_jobs(20, program, cores), workers=cores))  # start them
    start = perf_counter()
    parts = list(run_jobs(run_points, textbook_jobs(n, program, cores), workers=cores))
    taken = perf_counter() - start
    return {"seconds": taken, "errors": sorted(e for part in parts for e in part.values())}


def compare_textbook(options: argparse.Namespace) -> None:
    """Print the time of one trial of panel 1a by each program.

    Each program runs in a fresh process: with one BLAS thread, then with all cores (threads for
    the textbook, worker processes for onegrad). The programs take turns; the best round counts.
    """
    if options.measure:
        found = measure_program(options.measure, options.size or 1000, options.cores)
        print(json.dumps(found))
        return
    every = os.cpu_count() or 1
    for cores in dict.fromkeys((1, every)):
        best: dict[str, dict[str, Any]] = {}
        for program in ("textbook", "float64", "mixed") * 2:
            command = [sys.executable, *sys.argv, "--measure", program, "--cores", str(cores)]
            threads = str(cores if program == "textbook" else 1)
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            run = json.loads(done.stdout.splitlines()[-1])
            best[program] = min(best.get(program, run), run, key=lambda found: found["seconds"])
        plain = best["textbook"]["seconds"]
        print(f"{cores} of {every} cores: textbook {plain:.1f} s")
        for program in ("float64", "mixed"):
            taken = best[program]["seconds"]
            print(f"  onegrad {program}: {taken:.1f} s, {plain / taken:.1f}×", flush=True)
        pairs = zip(best["mixed"]["errors"], best["float64"]["errors"], strict=True)
        largest = max(abs(mixed / double - 1) for mixed, double in pairs)
        print(f"  mixed against float64: largest relative difference {largest:.1e}")


PARTS = {f.__name__: f for f in (closed, types, trial, sweep)}
PARTS["textbook"] = compare_textbook


def main() -> None:
    """Measure the part that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--size", type=int)
    parser.add_argument("--trials", type=int, help="of sweep")
    parser.add_argument("--models", default="network,hermite", help="of trial")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # notes of the theory are not the subject here
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
