"""The pictures of docs/closed.md and docs/explorer.md, and the numbers behind them.

    python benchmarks/pictures.py curves    # closed theory beside simulation
    python benchmarks/pictures.py limit     # the maximal-rate limit beside both
    python benchmarks/pictures.py explorer  # screenshots; needs a browser

`--trials` sets the number of simulated trials.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onegrad import Errors, Problem, maximal_rate_limit, predict, predict_curve, simulate
from onegrad.plotting.style import STYLES, save

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

DOCS = Path(__file__).resolve().parents[1] / "docs"
DRAWN, LAW, THIRD = STYLES[0][0], STYLES[1][0], STYLES[4][0]
STRENGTHS = np.linspace(0.0, 1.0, 9)
RATIOS = np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0])
STEP_RATIOS = np.array([0.25, 0.35, 0.5, 0.7, 1.0, 2.0, 4.0])
RATE, LIMIT_RIDGE, LIMIT_WIDTH, LIMIT_SAMPLES = 2.0, 0.1, 2.0, 4.0
LARGE, LIMIT_DIMENSION = 40_000, 300
SIMULATED = """() => document.getElementById("simulate-status").textContent
                  .includes("points simulated")"""
MOVED = "slider => { slider.value = 60; slider.dispatchEvent(new Event('input')); }"


def curves_picture(trials: int) -> None:
    """Draw errors along the strength and along the width beside simulation."""
    base = Problem(
        dimension=500,
        readout={"samples": 500, "ridge": 1e-4},
        network={"activation": "relu", "width_ratio": 1.0},
        scaling={"strength": 0.9, "weighting": 1.0},
        teacher={"direction": "spikes"},
    )
    along = {"scaling.strength": STRENGTHS, "network.width_ratio": RATIOS}
    fine = [np.linspace(0, 1, 51), np.geomspace(RATIOS[0], RATIOS[-1], 51)]
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    plots = figure.subplots(1, 2)
    models = ["network", "linear", "untrained"]
    for axes, (field, values), dense in zip(plots, along.items(), fine, strict=True):
        points = [base.replace({field: float(value)}) for value in values]
        seen = [simulate(p, models, trials=trials, workers=2) for p in points]
        lines = predict_curve(base, over={field: dense}, models=models, method="closed")
        _curves(axes, values, seen, dense, lines)
    plots[0].set(xlabel="strength β", ylabel="test MSE")
    plots[1].set(xlabel="width k/m", xscale="log")
    plots[1].set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    plots[1].minorticks_off()
    plots[0].legend(frameon=False)
    save(figure, DOCS / "closed-curves.png", form="png")


def _curves(
    axes: Axes, values: np.ndarray, seen: list[Errors], dense: np.ndarray, lines: Errors
) -> None:
    """Draw simulation as markers with error bars, theory as lines."""
    predicted_mean = lines.estimate().mean[:, :, 0]
    for i, model in enumerate(lines.models):
        colour, marker = STYLES[i]
        means = np.array([errors.estimate().mean[i, 0] for errors in seen])
        bars = np.array([errors.estimate().stderr[i, 0] for errors in seen])
        axes.plot(dense, predicted_mean[i], color=colour, linewidth=1.5)
        style = {"color": colour, "fmt": marker, "markersize": 5, "capsize": 2}
        axes.errorbar(values, means, 2 * bars, label=model.name, **style)
    axes.grid(alpha=0.25, linewidth=0.6)


def limit_problem(dimension: int, step_ratio: float) -> Problem:
    """Return a finite problem of the maximal-rate limit."""
    m = int(LIMIT_SAMPLES * dimension)
    return Problem(
        dimension=dimension,
        readout={"samples": m, "ridge": LIMIT_RIDGE / m},
        training={"samples": int(step_ratio * dimension)},
        network={
            "activation": "tanh",
            "width": int(LIMIT_WIDTH * dimension),
            "second_layer": "constant",
            "normalise_rows": True,
        },
        teacher={"link": "sin", "norm": 1.0},
        data={"components": [{"rank": 1, "strengths": 0.0}]},
        scaling={"per_width": RATE, "spread": 1.0},
    )


def limit_picture(trials: int) -> None:
    """Draw the limit, closed theory and simulation against the samples of the step."""
    limits, large, own, means, bars = [], [], [], [], []
    sizes = {"width_ratio": LIMIT_WIDTH, "sample_ratio": LIMIT_SAMPLES, "ridge": LIMIT_RIDGE}
    print("m̃/n: limit / simulation − 1, closed / simulation − 1, closed at n = 40,000 / limit − 1")
    for ratio in STEP_RATIOS:
        problem = limit_problem(LIMIT_DIMENSION, ratio)
        errors = simulate(problem, "network", trials=trials, workers=2).estimate()
        limit = maximal_rate_limit("tanh", "sin", step_ratio=ratio, rate=RATE, **sizes)
        limits.append(limit.corrected[0].test_mse)
        own.append(closed_error(problem))
        large.append(closed_error(limit_problem(LARGE, ratio)))
        means.append(float(errors.mean[0, 0]))
        bars.append(float(errors.stderr[0, 0]))
        said = [limits[-1] / means[-1], own[-1] / means[-1], large[-1] / limits[-1]]
        numbers = ", ".join(f"{100 * (value - 1):+.2f}" for value in said)
        print(f"  {ratio:4.2f}  {numbers} %; simulation ± {100 * bars[-1] / means[-1]:.1f} %")
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(STEP_RATIOS, limits, "--", color=THIRD, label="limit (corrected), n → ∞")
    axes.plot(STEP_RATIOS, large, ":", color=LAW, linewidth=2.5, label="closed, n = 40,000")
    axes.plot(STEP_RATIOS, own, color=LAW, label=f"closed, n = {LIMIT_DIMENSION}")
    axes.errorbar(
        STEP_RATIOS,
        means,
        2 * np.array(bars),
        color=DRAWN,
        fmt="o",
        capsize=2,
        label=f"simulation, n = {LIMIT_DIMENSION}, ± 2 standard errors",
    )
    axes.set(xlabel="samples of the step per dimension, m̃/n", ylabel="test MSE", xscale="log")
    axes.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    axes.minorticks_off()
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False)
    save(figure, DOCS / "closed-limit.png", form="png")


def closed_error(problem: Problem) -> float:
    """Return the network's test MSE without draws."""
    return float(predict(problem, "network", method="closed").estimate().mean[0, 0])


def explorer_pictures() -> None:
    """Take the pictures of the explorer, at a size where networks are simulated quickly.

    They show the preset where the linear model fails with simulated points, the same page after a
    drag to a strength where it holds, and the page on a phone.
    """
    from browser_case import browsing, serving, visiting

    with serving("--dimension", "300", "--samples", "300") as address, browsing() as browser:
        with visiting(browser, address, viewport={"width": 1280, "height": 900}) as visit:
            page = visit.page
            visit.wait_settled()
            page.locator('[data-preset="linear-fails"]').click()
            visit.wait_drawn(after=1)
            visit.wait_settled()
            page.locator("#simulate").click()
            page.wait_for_function(SIMULATED, timeout=600_000)
            page.screenshot(path=DOCS / "explorer-fails.png", full_page=True)
            page.screenshot(path=DOCS / "explorer.png")
            turn = visit.turn()
            page.locator("#field-scaling-strength").evaluate(MOVED)
            visit.wait_drawn(after=turn)
            visit.wait_settled()
            page.screenshot(path=DOCS / "explorer-holds.png", full_page=True)
        phone = {"width": 390, "height": 844}
        with visiting(browser, address, viewport=phone, color_scheme="dark") as visit:
            visit.wait_settled()
            visit.page.screenshot(path=DOCS / "explorer-phone.png")


def main() -> None:
    """Draw the pictures that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pictures", nargs="+", choices=("curves", "limit", "explorer"))
    parser.add_argument("--trials", type=int, default=16)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "curves" in options.pictures:
        curves_picture(options.trials)
    if "limit" in options.pictures:
        limit_picture(options.trials)
    if "explorer" in options.pictures:
        explorer_pictures()


if __name__ == "__main__":
    main()
