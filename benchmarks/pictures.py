"""The pictures of docs/closed.md and docs/explorer.md, and the numbers behind them.

    python benchmarks/pictures.py step      # the law of the step beside drawn first layers
    python benchmarks/pictures.py curves    # closed theory beside simulation
    python benchmarks/pictures.py limit     # the maximal-rate limit beside both
    python benchmarks/pictures.py explorer  # screenshots; needs a browser

`--trials` sets the number of simulated trials.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onegrad import Errors, Problem, maximal_rate_limit, predict, predict_curve, simulate
from onegrad.calculus.expectations import smoothed_derivatives
from onegrad.calculus.functions import get_activation
from onegrad.closed.problem import closed_problem
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.step import (
    BulkGroups,
    StepLaw,
    bulk_groups,
    initial_features,
    initial_types,
    step_law,
    trained,
)
from onegrad.core.instance import draw
from onegrad.core.run import Run
from onegrad.describe.numbers import Floats
from onegrad.plotting.style import STYLES, save

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

DOCS = Path(__file__).resolve().parents[1] / "docs"
DRAWS, STEP_DIMENSION = 16, 500
DRAWN, LAW, THIRD = STYLES[0][0], STYLES[1][0], STYLES[4][0]
STRENGTHS = np.linspace(0.0, 1.0, 9)
RATIOS = np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0])
STEP_RATIOS = np.array([0.25, 0.35, 0.5, 0.7, 1.0, 2.0, 4.0])
RATE, LIMIT_RIDGE, LIMIT_WIDTH, LIMIT_SAMPLES = 2.0, 0.1, 2.0, 4.0
LARGE, LIMIT_DIMENSION = 40_000, 300
SIMULATED = """() => document.getElementById("simulate-status").textContent
                  .includes("points simulated")"""
MOVED = "slider => { slider.value = 60; slider.dispatchEvent(new Event('input')); }"


@dataclass(frozen=True)
class Drawn:
    """One drawn step in coordinates along spikes, v̂ and ê, and off them."""

    om: Floats  # (η/k)ω of every neuron
    after: Floats  # neurons × directions, of F̂
    off: Floats  # neurons × n, of F̂ off the directions
    cosine: float  # of v̂ with ξ̂ off the spikes
    noise: Floats  # B = (1/N) Σ r² z zᵀ off the directions, n × n
    slope: Floats  # A = (1/N) Σ r z zᵀ


def step_problem() -> Problem:
    """Return the problem at (β, α) = (1, 1), where the step's noise is as large as F."""
    return Problem(
        dimension=STEP_DIMENSION,
        readout={"samples": STEP_DIMENSION},
        network={"activation": "relu", "width": STEP_DIMENSION},
        training={"samples": STEP_DIMENSION // 4},
        scaling={"strength": 1.0, "weighting": 1.0},
    )


def drawn(problem: Problem, trial: int) -> Drawn:
    """Return one drawn step in the coordinates of the law.

    v̂ is the direction of the mean step over all neurons that could have been drawn,
    (1/N) Σ r E_f[σ'(fᵀx)] x, off the spikes.
    """
    instance = draw(problem, seed=0, trial=trial)
    run = Run(instance)
    first, second = run.layers.first, run.layers.second
    batch = instance.step_batch()
    after = run.advance().first
    sigma = get_activation(problem.network.activation)
    sizes = np.linalg.norm(batch.inputs, axis=1) / np.sqrt(instance.scales.trace)
    residual = batch.labels - sigma(batch.inputs @ first.T) @ second / np.sqrt(len(second))
    slope = smoothed_derivatives(sigma, np.zeros_like(sizes), sizes, 1)[1]
    mean = (residual * slope) @ batch.inputs / len(sizes)
    spikes = np.linalg.qr(np.column_stack([g.directions for g in instance.mixture.components]))[0]
    mean -= spikes @ (spikes.T @ mean)
    teacher = np.ravel(instance.teacher.directions)
    teacher = teacher - spikes @ (spikes.T @ teacher)
    columns = np.column_stack([spikes, mean, teacher])
    basis = np.linalg.qr(columns)[0]
    basis *= np.sign(np.sum(basis * columns, axis=0))
    inputs = batch.inputs - (batch.inputs @ basis) @ basis.T
    return Drawn(
        instance.scales.learning_rate / np.sqrt(len(second)) * second,
        after @ basis,
        after - (after @ basis) @ basis.T,
        float(mean @ teacher / np.linalg.norm(teacher) / np.linalg.norm(mean)),
        (inputs * (residual**2)[:, None]).T @ inputs / len(sizes),
        (inputs * residual[:, None]).T @ inputs / len(sizes),
    )


def step_picture() -> None:
    """Draw the law of the step beside drawn first layers."""
    problem = step_problem()
    setting = closed_problem(problem).settings[0].setting
    types = initial_types(setting, 1200)
    features = initial_features(setting, types)
    law = step_law(setting, types, features)
    frame = trained(setting).frame
    groups = bulk_groups(features.residuals, 0.0, frame.bulk / setting.step_samples)
    draws = [drawn(problem, trial) for trial in range(DRAWS)]
    figure = Figure(figsize=(9.6, 7.6), layout="constrained")
    axes = figure.subplots(2, 2)
    _plane(axes[0, 0], law, draws)
    _along(axes[0, 1], setting, law, draws[0])
    _lengths(axes[1, 0], setting, law, frame.bulk * setting.row_variance, draws[0])
    _groups(axes[1, 1], groups, draws[0])
    save(figure, DOCS / "closed-step.png", form="png")


def _plane(axes: Axes, law: StepLaw, draws: list[Drawn]) -> None:
    """Draw the plane of ξ̂ and ν̂ with v̂ and e."""
    cosine = law.cosine
    sine = np.sqrt(1 - cosine**2)
    for own in draws:
        place = own.cosine, np.sqrt(1 - own.cosine**2)
        axes.plot([0, place[0]], [0, place[1]], color=DRAWN, linewidth=0.8, alpha=0.5)
    axes.plot([], [], color=DRAWN, linewidth=0.8, label=f"v̂ of {len(draws)} draws")
    places = {
        "ξ̂⊥, what the teacher reads": ((1.0, 0.0), "black", (-0.55, 0.05)),
        "ν̂, sampling noise": ((0.0, 1.0), "black", (-0.52, 0.05)),
        "v̂, the step": ((cosine, sine), LAW, (0.04, 0.02)),
        "ê": ((sine, -cosine), LAW, (0.03, -0.06)),
    }
    for text, (place, colour, shift) in places.items():
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=place, xytext=(0, 0), arrowprops=arrow)
        axes.text(place[0] + shift[0], place[1] + shift[1], text, color=colour)
    axes.plot([], [], color=LAW, linewidth=2, label="law")
    axes.set(xlim=(-0.6, 1.45), ylim=(-0.5, 1.2), aspect="equal")
    axes.set_axis_off()
    axes.legend(frameon=False, loc="lower left")
    axes.set_title("the plane of the step: v̂ and ê join the spikes in S", fontsize=10)


def _along(axes: Axes, setting: ClosedSetting, law: StepLaw, own: Drawn) -> None:
    """Draw the neurons' coordinates along v̂."""
    place, step = 2, setting.step
    omega = own.om / step
    axes.plot(omega, own.after[:, place], ".", color=DRAWN, markersize=4, label="neurons, one draw")
    grid = np.linspace(omega.min(), omega.max(), 200)
    mean = step * grid * law.pull[place]
    slope, noise = law.slope, law.noise
    linear = np.eye(len(slope)) + (step * grid)[:, None, None] * slope
    total = setting.row_variance * linear @ linear.transpose(0, 2, 1)
    total += ((step * grid) ** 2)[:, None, None] * noise
    spread = 2 * np.sqrt(total[:, place, place])
    axes.plot(grid, mean, color=LAW, linewidth=2, label="law: mean")
    axes.fill_between(grid, mean - spread, mean + spread, color=LAW, alpha=0.2, linewidth=0)
    axes.plot([], [], color=LAW, alpha=0.3, linewidth=8, label="law: ± 2 deviations")
    axes.set(xlabel="ω = √k w", ylabel="v̂ᵀf̂")
    axes.legend(frameon=False)
    axes.set_title("along v̂", fontsize=10)


def _lengths(axes: Axes, setting: ClosedSetting, law: StepLaw, start: float, own: Drawn) -> None:
    """Draw the neurons' squared lengths off S."""
    step = setting.step
    omega = own.om / step
    grid = np.linspace(omega.min(), omega.max(), 200)
    scale = 1 + step * grid * float(np.mean(law.scale))
    noise = (step * grid) ** 2 * float(np.mean(law.bulk_noise))
    axes.plot(omega, np.sum(own.off**2, axis=1), ".", color=DRAWN, markersize=4)
    axes.plot(grid, scale**2 * start + noise, color=LAW, linewidth=2, label="law: with noise V")
    axes.plot(grid, scale**2 * start, "--", color=LAW, label="law: row scale alone")
    axes.set(xlabel="ω = √k w", ylabel="squared length of f̂ off S", ylim=(0, None))
    axes.legend(frameon=False)
    axes.set_title("off S: row scale and noise", fontsize=10)


def _groups(axes: Axes, groups: BulkGroups, own: Drawn) -> None:
    """Draw the groups of bulk directions beside eigenvectors of B."""
    count = len(own.noise) - own.after.shape[1]
    values, vectors = np.linalg.eigh(own.noise / (np.trace(own.noise) / count))
    values, vectors = values[-count:], vectors[:, -count:]
    seen = np.sum(vectors * (own.slope @ vectors), axis=0) - np.trace(own.slope) / count
    axes.plot(values, seen, ".", color=DRAWN, markersize=5, label="eigenvectors of B, one draw")
    ends = np.array([0.0, 1.6 * values.max()])
    slope = groups.slope[-1] / (groups.noise[-1] - 1)
    axes.plot(ends, slope * (ends - 1), "--", color=LAW, label="regression of A on B")
    shown = groups.noise < ends[1]  # the last group has next to no share
    axes.plot(groups.noise[shown], groups.slope[shown], "o", color=LAW, markersize=9)
    axes.plot([], [], "o", color=LAW, markersize=9, label="groups, with their shares")
    places = zip(groups.shares[shown], groups.noise[shown], groups.slope[shown], strict=True)
    for share, noise, along in places:
        said = f"{100 * share:.0f} %" if share > 0.01 else f"{100 * share:.1g} %"
        axes.annotate(said, (noise, along), xytext=(8, -12), textcoords="offset points")
    axes.set(
        xlabel="noise of a direction: eigenvalue of B / E r²", ylabel="its slope: A less the mean"
    )
    axes.set(xlim=(-0.03 * ends[1], ends[1]))
    axes.legend(frameon=False)
    axes.set_title("off S: noise lies in few directions", fontsize=10)


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
        _print_deviations(field, values, seen, points)
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


def _print_deviations(
    field: str, values: np.ndarray, seen: list[Errors], points: list[Problem]
) -> None:
    """Print closed/simulation − 1 of the network at every point."""
    print(f"{field}: test MSE of the network, closed / simulation − 1")
    for value, errors, point in zip(values, seen, points, strict=True):
        estimate = errors.estimate()
        mean, error = float(estimate.mean[0, 0]), float(estimate.stderr[0, 0])
        said = float(predict(point, "network", method="closed").estimate().mean[0, 0])
        print(f"  {value:5.2f}  {100 * (said / mean - 1):+.1f} ± {100 * error / mean:.1f} %")


def limit_problem(dimension: int, step_ratio: float, rate: float = RATE) -> Problem:
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
        scaling={"per_width": rate, "spread": 1.0},
    )


def limit_error(step_ratio: float, rate: float = RATE) -> float:
    """Return the test MSE of the corrected limit."""
    sizes = {"width_ratio": LIMIT_WIDTH, "sample_ratio": LIMIT_SAMPLES, "ridge": LIMIT_RIDGE}
    limit = maximal_rate_limit("tanh", "sin", step_ratio=step_ratio, rate=rate, **sizes)
    return limit.corrected[0].test_mse


def limit_table() -> None:
    """Print how far closed theory in many dimensions is from the limit."""
    print("closed at n = 40,000 / limit − 1; columns: m̃/n = 0.25, 1, 4, 20")
    for rate in (0.3, 1.0, 2.0):
        ratios = [
            closed_error(limit_problem(LARGE, ratio, rate)) / limit_error(ratio, rate)
            for ratio in (0.25, 1.0, 4.0, 20.0)
        ]
        numbers = "  ".join(f"{100 * (value - 1):+.2f} %" for value in ratios)
        print(f"  rate {rate:.1f}:  {numbers}")


def limit_picture(trials: int) -> None:
    """Draw the limit, closed theory and simulation against the samples of the step."""
    limits, large, own, means, bars = [], [], [], [], []
    print("m̃/n: limit / simulation − 1, closed / simulation − 1, closed at n = 40,000 / limit − 1")
    for ratio in STEP_RATIOS:
        problem = limit_problem(LIMIT_DIMENSION, ratio)
        errors = simulate(problem, "network", trials=trials, workers=2).estimate()
        limits.append(limit_error(ratio))
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
    parser.add_argument("pictures", nargs="+", choices=("step", "curves", "limit", "explorer"))
    parser.add_argument("--trials", type=int, default=16)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "step" in options.pictures:
        step_picture()
    if "curves" in options.pictures:
        curves_picture(options.trials)
    if "limit" in options.pictures:
        limit_table()
        limit_picture(options.trials)
    if "explorer" in options.pictures:
        explorer_pictures()


if __name__ == "__main__":
    main()
