"""What T steps with errors after every step take, beside T times one step.

    python benchmarks/steps_cost.py [--dimension 800] [--steps 6]

Both verbs on one problem: target (z + z², z − z²), n = k = N = m. One step is taken with its
untrained network, so that both have the errors before the first step. One BLAS thread; times are
those of the processor.
"""

from __future__ import annotations

import argparse
import os
from time import process_time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from onegrad import Problem
from onegrad.core.model_names import resolve_models
from onegrad.core.trial import run_trial
from onegrad.verbs.predict import predict_draw


def main() -> None:
    """Print the times of one trial and of one predicted draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=800)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    size, steps = options.dimension, options.steps
    one = Problem(
        dimension=size,
        network={"width": size},
        training={"samples": size},
        teacher={"links": ["z+z**2", "z-z**2"]},
    )
    for verb, function in (("simulate", run_trial), ("predict", predict_draw)):
        both = resolve_models(one, ["network", "untrained"])
        function(one, both)  # warm
        start = process_time()
        function(one, both)
        alone = process_time() - start
        start = process_time()
        function(one.replace(training__steps=steps), resolve_models(one, ["network"]))
        several = process_time() - start
        print(
            f"{verb}: {steps} steps {several:.2f} s, one step {alone:.2f} s, "
            f"ratio to {steps} times one step {several / (steps * alone):.2f}"
        )


if __name__ == "__main__":
    main()
