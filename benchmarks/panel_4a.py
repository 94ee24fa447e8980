"""Panel 4a per grid point, textbook beside onegrad: n = 400, k = m = 500, network and linear model.

    python benchmarks/panel_4a.py            # about a minute
    python benchmarks/panel_4a.py --trials 5

The textbook draws its data once per grid point, as the published code did; onegrad redraws
everything in every trial and runs the trials of several grid points together, as `onegrad reproduce
4a` does.
First one BLAS thread on both sides, then all cores (BLAS threads for the textbook, worker processes
for onegrad); imports and the start of workers are not timed. Both keep freed pages, as the workers
of a sweep do. Run it with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from time import perf_counter

GRID = [(b, a) for b in (0.2, 0.5, 0.74, 0.95) for a in (0.1, 0.5, 0.9)]
N, M = 400, 500


def textbook_seconds(trials: int) -> float:
    """Return the textbook's seconds per grid point of this many trials."""
    import numpy as np

    import textbook

    rng = np.random.default_rng(0)
    stages = dict.fromkeys(("step", "readout", "test"), 0.0)
    start = perf_counter()
    for strength, weighting in GRID:
        data = textbook.draw_data(
            N, M, strength=strength, weighting=weighting, rng=rng, along_spikes=True
        )
        for _ in range(trials):
            textbook.train_models(
                data,
                [M],
                strength,
                weighting,
                1e-4,
                rng,
                stages,
                activations=("relu",),
                degree=1,
            )
    return (perf_counter() - start) / len(GRID)


def grid_points(precision: str) -> list[tuple[object, list[object]]]:
    """Return problem and models of every grid point; a sweep makes them once for all trials."""
    from onegrad import Problem
    from onegrad.core.model_names import resolve_models

    base = Problem(
        dimension=N, readout={"samples": M}, precision=precision, teacher={"direction": "spikes"}
    )
    problems = [base.replace(scaling__strength=b, scaling__weighting=a) for b, a in GRID]
    return [(problem, resolve_models(problem, ["network", "linear"])) for problem in problems]


def one_trial(points: list[tuple[object, list[object]]], trial: int) -> None:
    """Run one trial of all grid points by onegrad."""
    from onegrad.core.draw_cache import Shared
    from onegrad.core.trial import run_trial

    shared = Shared()
    for problem, models in points:
        run_trial(problem, models, trial=trial, shared=shared)


def onegrad_seconds(precision: str, trials: int, cores: int) -> float:
    """Return onegrad's seconds per grid point of this many trials."""
    from onegrad.machine.pool import run_jobs

    points = grid_points(precision)

    def jobs(count: int) -> list[dict[str, object]]:
        return [{"points": points, "trial": t} for t in range(count)]

    list(run_jobs(one_trial, jobs(cores), workers=cores))  # start and warm the workers
    start = perf_counter()
    list(run_jobs(one_trial, jobs(trials), workers=cores))
    return (perf_counter() - start) / len(GRID)


def in_process(program: str, trials: int, *, cores: int, threads: int) -> float:
    """Return a program's seconds per grid point, from a fresh process that keeps freed pages."""
    from onegrad.machine.pool import KEEP_PAGES

    command = [sys.executable, __file__, "--measure", program, "--trials", str(trials)]
    environment = {**os.environ, **KEEP_PAGES, "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [*command, "--cores", str(cores)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure one program, or all of them in turn and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2, help="keep each program's fastest run")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure == "textbook":
        print(json.dumps(textbook_seconds(options.trials)))
        return
    if options.measure:
        print(json.dumps(onegrad_seconds(options.measure, options.trials, options.cores)))
        return
    for cores in dict.fromkeys((1, options.cores)):
        best: dict[str, float] = {}
        for _ in range(options.rounds):
            for program in ("textbook", "float64", "mixed"):
                threads = cores if program == "textbook" else 1
                found = in_process(program, options.trials, cores=cores, threads=threads)
                best[program] = min(found, best.get(program, found))
        print(
            f"{cores} core{'s' if cores > 1 else ''}, {options.trials} trials per grid point: ",
            end="",
        )
        print(f"textbook {best['textbook']:.2f} s", end="")
        for program in ("float64", "mixed"):
            ratio = best["textbook"] / best[program]
            print(f"; onegrad {program} {best[program]:.2f} s, {ratio:.1f}×", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
