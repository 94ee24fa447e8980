"""Panel 1a by theory beside panel 1a by simulation: time and agreement.

    python benchmarks/theory.py [--trials 2]

39 points, network and Hermite model, n = m = 1000: one draw by theory; a few simulated trials,
whose time per trial is multiplied by 20. One BLAS thread on both sides.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from onegrad import Problem
from onegrad.core.draw_cache import Shared
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.verbs.predict import predict_draw
from panel_1a import RATIOS, M, N


def panel(function, trial: int) -> tuple[dict[tuple[str, float, str], float], float]:
    """Return ½ test MSE of every point from `function`, and the seconds that it took."""
    start, shared, values = perf_counter(), Shared(), {}
    for ratio in RATIOS:
        for activation in ("relu", "tanh", "sigmoid"):
            problem = Problem(
                dimension=N,
                readout={"samples": M},
                network={"activation": activation, "width_ratio": ratio},
            )
            models = resolve_models(problem, ["network", "hermite"])
            for model, metrics in function(problem, models, trial=trial, shared=shared).items():
                values[activation, ratio, model] = 0.5 * float(metrics["test_mse"][0])
    return values, perf_counter() - start


def main() -> None:
    """Run both and print times and deviations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2)
    trials = parser.parse_args().trials
    predicted, seconds = panel(lambda *asked, **how: predict_draw(*asked, **how).metrics, 0)
    runs = [panel(run_trial, trial) for trial in range(trials)]
    per_trial = np.mean([time for _, time in runs])
    print(
        f"theory, one draw: {seconds:.1f} s; simulation: {per_trial:.1f} s a trial, "
        f"{20 * per_trial:.0f} s for 20; theory takes {seconds / (20 * per_trial):.3f} of that"
    )
    deviations = {
        point: predicted[point] / np.mean([values[point] for values, _ in runs]) - 1
        for point in predicted
    }
    worst = max(deviations, key=lambda point: abs(deviations[point]))
    size = np.abs(list(deviations.values()))
    print(
        f"theory against the mean of {trials} trials (other readout data): mean deviation "
        f"{100 * size.mean():.1f} %, largest {100 * size.max():.1f} % at {worst}"
    )


if __name__ == "__main__":
    main()
