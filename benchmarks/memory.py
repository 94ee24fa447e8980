"""Peak memory of one trial at n = m = k = 4000.

    python benchmarks/memory.py [--size 4000] [--models network,hermite,linear]

Prints the largest resident set of the process beside what `peak_bytes` had estimated.
"""

from __future__ import annotations

import argparse
import os
import resource
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from onegrad import Problem
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.verbs.cost import peak_bytes


def main() -> None:
    """Run one trial and print time and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--models", default="network,hermite,linear")
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--test", default="exact")
    options = parser.parse_args()
    problem = Problem(
        dimension=options.size,
        readout={"samples": options.size},
        precision=options.precision,
        test=options.test,
    )
    models = resolve_models(problem, options.models.split(","))
    start = perf_counter()
    run_trial(problem, models)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"n = m = k = {options.size}, {options.precision}, {options.test} test error, "
        f"{options.models}: peak {peak / 1e9:.2f} GB (estimate "
        f"{peak_bytes(problem, models) / 1e9:.2f} GB), {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
