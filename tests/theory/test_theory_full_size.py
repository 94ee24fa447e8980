"""Theory at n = 1000 against simulation; minutes in all, -m slow -s shows the deviations."""

import numpy as np
import pytest

from onegrad import Problem, maximal_rate_limit, simulate
from theory_cases import limit_problem, paired

FULL = [
    (activation, beta, alpha, task, ratio)
    for activation in ("relu", "tanh", "sigmoid")
    for beta, alpha in ((0.0, 0.5), (0.5, 0.5), (0.74, 0.5), (1.0, 0.0), (1.0, 1.0))
    for task in ("index", "labels")
    for ratio in (0.3, 1.0, 3.0)
]


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "beta", "alpha", "task", "ratio"), FULL)
def test_theory_at_full_size(activation, beta, alpha, task, ratio):
    """n = m = 1000, paired on the same first layer, 20 readouts, sampled test points.

    Test error within 2 % + 4 standard errors, training error within 5 % + 4 standard errors. One
    draw of the first layer.
    """
    problem = Problem(
        test="sampled",
        teacher={"kind": task},
        network={"activation": activation, "width_ratio": ratio},
        scaling={"strength": beta, "weighting": alpha},
    )
    simulated, predicted = paired(problem, ["network"], seed=0, redraws=20)
    mean, stderr = simulated.mean(axis=0)[0], simulated.std(axis=0, ddof=1)[0] / np.sqrt(20)
    test, train = predicted[0]
    print(
        f"{activation} β={beta} α={alpha} {task} k/m={ratio}: "
        f"test {test / mean[0] - 1:+.2%} ± {stderr[0] / mean[0]:.2%}, "
        f"train {train / mean[1] - 1:+.2%} ± {stderr[1] / mean[1]:.2%}"
    )
    assert abs(test - mean[0]) <= 4 * stderr[0] + 0.02 * mean[0]
    assert abs(train - mean[1]) <= 4 * stderr[1] + 0.05 * mean[1]


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "target"), [("tanh", "sin"), ("erf", "tanh")])
@pytest.mark.parametrize("width", [0.5, 1.0, 2.0])
def test_the_corrected_limit_at_full_size(activation, target, width):
    """n = 1000, m̃ = 20n, η̃ = 3, λ = 0.1: within 2 % + 4 standard errors."""
    ratios = (0.2, 0.9, 3.0)
    limit = maximal_rate_limit(
        activation, target, step_ratio=20, rate=3, width_ratio=width, sample_ratio=ratios, ridge=0.1
    )
    for ratio, published, corrected in zip(ratios, limit.published, limit.corrected, strict=True):
        problem = limit_problem(activation, target, n=1000, width=width, ratio=ratio)
        estimate = simulate(problem, ["network"], trials=12, workers=2).estimate()
        mean, stderr = estimate.mean[0, 0], estimate.stderr[0, 0]
        print(
            f"{activation}/{target} k/n={width} m/n={ratio}: corrected "
            f"{corrected.test_mse / mean - 1:+.2%}, "
            f"published {published.test_mse / mean - 1:+.2%}, ± {stderr / mean:.2%}"
        )
        assert abs(corrected.test_mse - mean) <= 4 * stderr + 0.02 * mean


@pytest.mark.slow
def test_four_components_with_means_and_ranks_at_full_size():
    rng = np.random.default_rng(3)
    parts = tuple(
        {"weight": w, "rank": rank, "mean": 0.5 * rng.standard_normal(1000) / np.sqrt(1000) * size}
        for w, rank, size in ((0.4, 0, 1), (0.3, 1, 2), (0.2, 2, 3), (0.1, 3, 4))
    )
    problem = Problem(data={"components": parts}, test="sampled")
    simulated, predicted = paired(problem, ["network"], seed=0, redraws=20)
    mean, stderr = simulated.mean(axis=0)[0], simulated.std(axis=0, ddof=1)[0] / np.sqrt(20)
    assert abs(predicted[0, 0] - mean[0]) <= 4 * stderr[0] + 0.02 * mean[0]
