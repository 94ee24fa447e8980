"""One trial of panel 1a, textbook beside onegrad: 13 widths × 3 activations × network and Hermite.

    python benchmarks/panel_1a.py             # everything, about ten minutes on two cores
    python benchmarks/panel_1a.py --quick     # the widths up to k = m only

Runs each program in a process of its own: first with one BLAS thread on both sides, then with all
cores (BLAS threads for the textbook, worker processes for onegrad). Imports and the start of
workers are not timed. Run it with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from time import perf_counter

RATIOS = (5, 4, 3, 2, 1.5, 1.1, 1, 0.9, 0.7, 0.5, 0.4, 0.3, 0.1)
N = M = 1000


def widths_of(quick: bool) -> list[int]:
    """Return the panel's widths, the widest first."""
    return [round(r * M) for r in RATIOS if r <= 1 or not quick]


def onegrad_flops(widths: list[int]) -> tuple[float, float]:
    """Return operations of onegrad's products: always in double, and in the problem's precision."""
    double = 3 * sum(2 * (max(k, M) * min(k, M) ** 2 + min(k, M) ** 3 / 3) for k in widths)
    follows = sum(2 * k * N * M for k in widths)  # XF of the step, shared by the activations
    follows += 3 * sum(4 * k * N * M for k in widths)  # the gradient, and X F̂
    follows += 3 * sum(k * (k + 256) * N for k in widths)  # correlations of the exact test error
    return double, follows


def some_widths(widths: list[int], precision: str) -> dict[str, float]:
    """Return ½ test MSE of all points with these widths, by onegrad."""
    from onegrad import Problem
    from onegrad.core.draw_cache import Shared
    from onegrad.core.model_names import resolve_models
    from onegrad.core.trial import run_trial

    shared, errors = Shared(), {}
    for k in widths:
        for activation in ("relu", "tanh", "sigmoid"):
            problem = Problem(
                dimension=N,
                readout={"samples": M},
                precision=precision,
                network={"activation": activation, "width": k},
            )
            models = resolve_models(problem, ["network", "hermite"])
            for model, metrics in run_trial(problem, models, shared=shared).items():
                errors[f"{activation} {k} {model}"] = 0.5 * float(metrics["test_mse"][0])
    return errors


def balanced(widths: list[int], parts: int) -> list[list[int]]:
    """Return the widths in `parts` lists of about equal work, the widest first in each."""
    lists: list[list[int]] = [[] for _ in range(parts)]
    for k in widths:
        work = [sum(onegrad_flops(part)) for part in lists]
        lists[work.index(min(work))].append(k)
    return [part for part in lists if part]


def measure(program: str, widths: list[int], cores: int) -> dict[str, object]:
    """Return seconds and errors of one program; called in a process of its own."""
    if program == "rates":
        return matrix_rates()
    if program == "textbook":
        import textbook

        start = perf_counter()
        errors, stages = textbook.run(widths, n=N, m=M)
        named = {f"{a} {k} {model}": e for (a, k, model), e in errors.items()}
        return {"seconds": perf_counter() - start, "errors": named, "stages": stages}
    from onegrad.machine.pool import run_jobs

    def jobs(lists):
        return [{"widths": part, "precision": program} for part in lists]

    list(run_jobs(some_widths, jobs([[10]] * cores), workers=cores))  # start and warm the workers
    start = perf_counter()
    errors = {}
    for part in run_jobs(some_widths, jobs(balanced(widths, cores)), workers=cores):
        errors |= part
    return {"seconds": perf_counter() - start, "errors": errors}


def matrix_rates() -> dict[str, object]:
    """Return this machine's matrix-multiply rates in operations per second, one thread."""
    import numpy as np

    rates = {}
    for name in ("float64", "float32"):
        a = np.random.default_rng(0).standard_normal((2000, 2000)).astype(name)
        best = min(_timed(lambda a=a: a @ a[::-1]) for _ in range(5))
        rates[name] = 2 * 2000**3 / best
    return rates


def _timed(function) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def in_process(program: str, widths: list[int], *, cores: int, threads: int) -> dict:
    """Return what `measure` returns, from a fresh process with this many BLAS threads."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [
            sys.executable,
            __file__,
            "--measure",
            program,
            "--cores",
            str(cores),
            "--widths",
            ",".join(map(str, widths)),
        ],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(widths: list[int], cores: int, rounds: int) -> None:
    """Run everything and print times, ratios, operations and agreement."""
    import textbook

    rates = in_process("rates", widths, cores=1, threads=1)
    double, follows = onegrad_flops(widths)
    print(
        f"matrix-multiply rate, one thread: {rates['float64'] / 1e9:.1f} Gflop/s in double, "
        f"{rates['float32'] / 1e9:.1f} in single precision\n"
        f"operations: textbook {textbook.flops(widths) / 1e9:.0f} G, "
        f"onegrad {(double + follows) / 1e9:.0f} G"
    )
    ideal = {
        "float64": (double + follows) / rates["float64"],
        "mixed": double / rates["float64"] + follows / rates["float32"],
    }
    for used in dict.fromkeys((1, cores)):
        best = best_of(rounds, widths, used)
        base = best["textbook"]
        once = base["seconds"] - base["stages"]["step"] / 2
        print(
            f"\n{used} core{'s' if used > 1 else ''}: textbook {base['seconds']:.1f} s "
            f"({once:.1f} s if network and Hermite shared one step)"
        )
        for precision in ("float64", "mixed"):
            seconds = best[precision]["seconds"]
            print(
                f"  onegrad {precision}: {seconds:.1f} s, {base['seconds'] / seconds:.1f}× "
                f"({once / seconds:.1f}×); {100 * ideal[precision] / used / seconds:.0f} % of the "
                "machine's matrix-multiply rate"
            )
        ours = best["float64"]["errors"]
        mixed = max(abs(best["mixed"]["errors"][p] / e - 1) for p, e in ours.items())
        plain = [abs(base["errors"][p] / e - 1) for p, e in ours.items()]
        print(
            f"  mixed against float64: largest relative difference {mixed:.1e}\n"
            f"  textbook against onegrad (other draws): mean difference "
            f"{100 * sum(plain) / len(plain):.1f} %, largest {100 * max(plain):.1f} %"
        )


def best_of(rounds: int, widths: list[int], cores: int) -> dict[str, dict]:
    """Return each program's fastest run; they take turns, so that all meet the same noise."""
    best: dict[str, dict] = {}
    for _ in range(rounds):
        for program in ("textbook", "float64", "mixed"):
            threads = cores if program == "textbook" else 1
            run = in_process(program, widths, cores=cores, threads=threads)
            print(f"  ({program}, {cores} cores: {run['seconds']:.1f} s)", flush=True)
            if program not in best or run["seconds"] < best[program]["seconds"]:
                best[program] = run
    return best


def main() -> None:
    """Parse, then measure one program or report on all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=2, help="keep each program's fastest run")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--widths", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.measure:
        widths = [int(k) for k in options.widths.split(",")]
        print(json.dumps(measure(options.measure, widths, options.cores)))
    else:
        report(widths_of(options.quick), options.cores, options.rounds)


if __name__ == "__main__":
    main()
