"""Draw the README's picture: test error against width, networks beside their Hermite models.

python docs/picture.py [--workers 2]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from onegrad import Problem, simulate

WIDTH_RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9, 1, 1.2, 1.5, 2, 3, 4)
# Okabe and Ito's colours: safe for colour-blind readers, and apart in grey.
STYLES = {"relu": ("#0072B2", "o"), "tanh": ("#D55E00", "s"), "sigmoid": ("#009E73", "^")}
TRIALS = 8


def main() -> None:
    """Simulate and draw; n = m = 400, β = 0.74, α = 0.5."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1)
    workers = parser.parse_args().workers
    figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for activation, (colour, marker) in STYLES.items():
        means, stderrs = [], []
        for ratio in WIDTH_RATIOS:
            problem = Problem(
                dimension=400,
                samples=400,
                network={"activation": activation, "width_ratio": ratio},
            )
            errors = simulate(problem, ["network", "hermite:3"], trials=TRIALS, workers=workers)
            means.append(errors.estimate().mean[:, 0] / 2)
            stderrs.append(errors.estimate().stderr[:, 0] / 2)
        mean, stderr = np.array(means), np.array(stderrs)
        axis.plot(WIDTH_RATIOS, mean[:, 1], color=colour, lw=1.5)
        axis.errorbar(
            WIDTH_RATIOS,
            mean[:, 0],
            stderr[:, 0],
            color=colour,
            fmt=marker,
            ms=5,
            capsize=2,
            label=activation,
        )
    axis.plot([], [], color="0.4", lw=1.5, label="Hermite model")
    axis.set(xlabel="neurons per sample, $k/m$", ylabel="½ test MSE", ylim=(0, None))
    axis.set_title("one gradient step, structured Gaussian mixture, n = m = 400", fontsize=10)
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("picture.png"), dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
