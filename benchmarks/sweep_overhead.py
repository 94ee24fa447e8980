"""What engine and store cost: a sweep of trials of about 0.1 s on two workers.

    python benchmarks/sweep_overhead.py              # 1000 trials, about a minute
    python benchmarks/sweep_overhead.py --trials 200

The overhead is the share of the workers' time that is not spent in trials: 1 − Σ seconds/(workers ×
wall time), from the first report on, so that imports and the start of workers are left out. Run it
with nothing else running.
"""

from __future__ import annotations

import argparse
import tempfile
from time import perf_counter

from onegrad import Problem, Sweep
from onegrad.sweeps.driver import run_plan
from onegrad.sweeps.plan import plan_sweep

WORKERS = 2


def main() -> None:
    """Print the overhead of one sweep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--dimension", type=int, default=600)
    trials = parser.parse_args()
    problem = Problem(dimension=trials.dimension, readout={"samples": trials.dimension})
    sweep = Sweep(problem=problem, models=["network", "hermite"], trials=trials.trials)
    marks: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        results = run_plan(
            plan_sweep(sweep, folder),
            workers=WORKERS,
            progress=lambda p: marks.append((perf_counter(), p.done)),
        )
        rows = list(results.contents.rows.values())
    start = next(mark for mark in marks if mark[1] >= 2 * WORKERS)  # both workers are at work
    wall, done = marks[-1][0] - start[0], marks[-1][1] - start[1]
    each = sum(row["seconds"] for row in rows) / trials.trials
    overhead = 1 - each * done / (WORKERS * wall)
    print(f"{done} trials of {each:.3f} s on {WORKERS} workers in {wall:.1f} s")
    print(f"overhead of engine and store: {overhead:.2%}")


if __name__ == "__main__":
    main()
