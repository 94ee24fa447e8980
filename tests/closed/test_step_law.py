"""The law of the step against drawn first layers, moment by moment."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.closed.problem import ClosedProblem
from onegrad.closed.step import initial_features, initial_types, step_law, trained, untrained
from theory_cases import train_first_layer

N, DRAWS = 300, 24
CASES = {
    "spikes, ReLU": {"teacher": {"direction": "spikes"}},
    "spikes, tanh": {"teacher": {"direction": "spikes"}, "network__activation": "tanh"},
    "classes": {"teacher": {"kind": "labels"}},
    "random": {"teacher": {"direction": "random"}, "network__activation": "tanh"},
}


def described(**changes):
    """Return a strong step on two components whose spikes are given, so that draws share them."""
    spikes = np.linalg.qr(np.random.default_rng(3).standard_normal((N, 2)))[0]
    parts = [
        {"weight": 0.5, "directions": spikes[:, i : i + 1], "label": 1.0 - 2 * i} for i in range(2)
    ]
    base = Problem(
        dimension=N,
        readout={"samples": N},
        network={"width": 2 * N},
        data={"components": parts},
        scaling={"learning_rate": float(N), "spread": 8.0},
    )
    return base.replace(**changes), spikes


def drawn_moments(problem, spikes, trial):
    """Return what a drawn step did: pull, loads on both spikes, scale of rows, length of the move.

    With ω = √k w: Σ_γ (E ωℓ_γ)² less its noise from k neurons, E ℓ_γ², and off the spikes
    E[ω f̂ᵀf]/E|f|² and E|f̂ − f|².
    """
    _, layers, first = train_first_layer(problem, seed=2, trial=trial)
    before, after = np.asarray(layers.first), np.asarray(first)
    k = len(layers.second)
    omega = np.sqrt(k) * np.asarray(layers.second)
    loads = after @ spikes
    moved = (after - before) - (after - before) @ spikes @ spikes.T
    start = before - before @ spikes @ spikes.T
    pulls = omega[:, None] * loads
    pull = np.sum(pulls.mean(axis=0) ** 2 - pulls.var(axis=0, ddof=1) / k)
    scale = np.sum(omega[:, None] * moved * start) / np.sum(start**2)
    return np.array([pull, *np.mean(loads**2, axis=0), scale, np.mean(np.sum(moved**2, axis=1))])


def predicted_moments(problem):
    """Return the same by the law, averaged over settings."""
    total = 0.0
    for weight, setting in ClosedProblem.of(problem).settings:
        initial = initial_types(setting, 400)
        law = step_law(setting, initial, initial_features(setting, initial))
        types = trained(setting)
        load = types.load[:2, :2]
        along = []
        for part in setting.frame.parts:  # Σ_c = I + θ γγᵀ
            spike = part.covariance - np.eye(2)
            along.append(np.trace(load @ spike) / np.trace(spike))
        off = types.bulk_variance + np.trace(types.load[2:, 2:])
        plane = np.trace(law.slope[2:, 2:]) / setting.frame.bulk
        numbers = [
            setting.step**2 * np.sum(law.pull[:2] ** 2),
            *along,
            setting.step * (initial.weights @ law.scale + plane),
            off - (setting.dimension - 2) * setting.row_variance,
        ]
        total = total + weight * np.array(numbers)
    return total


@pytest.mark.parametrize("name", CASES)
def test_drawn_steps_have_the_moments_of_the_law(name):
    """4 standard errors over draws, + 6/n of a moment's size: v̂ and γ's overlap by 1/√n, squared.

    A load's standard error is at least that of k·draws squares of Gaussians, √(2/(k·draws)).
    """
    problem, spikes = described(**CASES[name])
    drawn = np.array([drawn_moments(problem, spikes, trial) for trial in range(DRAWS)])
    mean, stderr = drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    stderr[1:3] = np.maximum(stderr[1:3], mean[1:3] * np.sqrt(2 / (2 * N * DRAWS)))
    law = predicted_moments(problem)
    size = np.array([mean[1] + mean[2], mean[1], mean[2], max(abs(mean[3]), 0.1), mean[4]])
    report = " ".join(f"{a:.5f}±{s:.5f}/{b:.5f}" for a, s, b in zip(mean, stderr, law, strict=True))
    print(name, report)
    assert np.all(np.abs(law - mean) <= 4 * stderr + 6 / N * size), report
    # Negative control: twice the learning rate is refused.
    faster = predicted_moments(problem.replace(scaling__learning_rate=2.0 * N))
    assert abs(faster[4] - mean[4]) > 4 * stderr[4] + 6 / N * size[4]


def test_loads_after_a_step_on_a_small_batch_vary_as_drawn():
    """The variance of ℓ over neurons for m̃ = n/10, within 4 standard errors + 6/n as above.

    Here 7 % of it would be noise of the batch that the step's own direction contains.
    """
    mean = 3.0 * described()[1][:, 0]
    component = {"weight": 1.0, "directions": mean[:, None] / 3.0, "mean": mean, "label": 1.0}
    problem, spikes = described(
        data={"components": [component]},
        teacher={"kind": "labels"},
        training__samples=N // 10,
        network__second_layer="constant",
        scaling={"learning_rate": 0.3 * N, "spread": 1.0},
    )
    layers = [train_first_layer(problem, seed=2, trial=trial)[2] for trial in range(8 * DRAWS)]
    drawn = [np.var(layer @ spikes[:, 0], ddof=1) for layer in layers]
    allowed = 4 * np.std(drawn, ddof=1) / np.sqrt(len(drawn)) + 6 / N * np.mean(drawn)

    def predicted(samples):
        own = ClosedProblem.of(problem.replace(training__samples=samples)).settings[0][1]
        types = trained(own)
        loads = types.loads[:, 0]
        return types.weights @ loads**2 - (types.weights @ loads) ** 2

    assert abs(predicted(N // 10) - np.mean(drawn)) <= allowed
    assert abs(predicted(N) - np.mean(drawn)) > allowed  # the control: a larger batch


def test_before_the_step_rows_are_isotropic():
    problem, _ = described()
    setting = ClosedProblem.of(problem).settings[0][1]
    types = untrained(setting)
    np.testing.assert_allclose(types.load, setting.row_variance * np.eye(2), rtol=1e-6, atol=1e-9)
    assert types.bulk_variance == pytest.approx((N - 2) * setting.row_variance)


def test_profiles_share_the_length_of_a_row_among_the_groups():
    problem, _ = described(training__samples=N // 4, scaling__learning_rate=3.0 * N)
    types = trained(ClosedProblem.of(problem).settings[0][1])
    assert types.step_noise > 0.02
    assert len(types.groups) > 1
    assert types.groups.sum() == pytest.approx(1)
    np.testing.assert_allclose(types.groups @ types.profile, 1, rtol=1e-12)
    assert np.all(types.profile >= 0)
