"""The cost model against the clock: one trial and one prediction at n = m = k = 500 … 4000.

    python benchmarks/scaling.py            # about two minutes
    python benchmarks/scaling.py --largest 2000

Prints measured and modelled seconds on one core, the exponent of n fitted to both, and what panel
4a at n = 4000 would take on 1,000 cores by the same model. Run it with nothing else running.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad import Problem
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.machine.cost import measure_rates
from onegrad.verbs.cost import peak_bytes, seconds, stages
from onegrad.verbs.predict import predict_draw

SIZES = (500, 1000, 2000, 4000)
VERBS = {"simulate": run_trial, "predict": predict_draw}


def main() -> None:
    """Print the table, the exponents and the extrapolation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=4000)
    sizes = [n for n in SIZES if n <= parser.parse_args().largest]
    rates = measure_rates(1024)
    found: dict[str, list[tuple[float, float]]] = {verb: [] for verb in VERBS}
    print(f"rates of one core: products {rates.product / 1e9:.0f} Gflop/s, ", end="")
    print(f"normals {rates.normal / 1e6:.0f} M/s, tanh {rates.element / 1e6:.0f} M/s")
    print("verb      n     measured  modelled  ratio")
    for verb, run in VERBS.items():
        for n in sizes:
            problem = Problem(dimension=n, readout={"samples": n})
            models = resolve_models(problem, ["network", "hermite"])
            with threadpool_limits(limits=1):
                run(problem.replace(dimension=100, readout__samples=100), models)  # warm up
                start = perf_counter()
                run(problem, models)
                measured = perf_counter() - start
            modelled = seconds(problem, models, rates, verb=verb)
            found[verb].append((measured, modelled))
            print(f"{verb:9} {n:5} {measured:8.2f} s {modelled:8.2f} s {measured / modelled:6.2f}")
    for verb, pairs in found.items():
        slopes = [
            np.polyfit(np.log(sizes), np.log(column), 1)[0] for column in zip(*pairs, strict=True)
        ]
        print(f"{verb}: exponent of n {slopes[0]:.2f} measured, {slopes[1]:.2f} modelled")
    print_extrapolation(rates)


def print_extrapolation(rates) -> None:
    """Print panel 4a (900 grid points × 20 trials, k = m = 1.25 n) at n = 4000."""
    problem = Problem(dimension=4000, readout={"samples": 5000}, teacher={"direction": "spikes"})
    models = resolve_models(problem, ["network", "linear"])
    one = seconds(problem, models, rates)
    flops = sum(s.amount for s in stages(problem, models) if s.resource in ("product", "factor"))
    print(
        f"panel 4a at n = 4000: {one:.0f} s and {flops / 1e9:.0f} Gflop per trial, "
        f"{peak_bytes(problem, models) / 1e9:.1f} GB per worker; 18000 trials: "
        f"{18000 * one / 3600:.0f} core hours, {18 * one / 60:.0f} min on 1000 such cores"
    )


if __name__ == "__main__":
    main()
