"""The maximal-rate limit (Cui et al.) is theory without draws at one component and large n."""

import pytest

from onegrad import Problem, maximal_rate_limit, predict


def limit_setting(*, n, step_ratio, width, ratio, rate, ridge, target="sin", activation="tanh"):
    """Return the limit's problem: isotropic inputs, ‖ξ‖ = 1, rows of norm 1, w = 1/√k, η = η̃k."""
    k, m = int(width * n), int(ratio * n)
    return Problem(
        dimension=n,
        readout={"samples": m, "ridge": ridge / m},
        training={"samples": int(step_ratio * n)},
        network={
            "width": k,
            "activation": activation,
            "second_layer": "constant",
            "normalise_rows": True,
        },
        teacher={"link": target, "norm": 1.0},
        data={"components": [{"weight": 1.0, "rank": 0}]},
        scaling={"learning_rate": rate * k, "spread": 0.0},
    )


def closed_over_limit(*, n=40_000, activation="tanh", target="sin", **setting):
    """Return closed/corrected − 1 of test and training error, and of the published test error."""
    limit = maximal_rate_limit(
        activation,
        target,
        step_ratio=setting["step_ratio"],
        rate=setting["rate"],
        width_ratio=setting["width"],
        sample_ratio=[setting["ratio"]],
        ridge=setting["ridge"],
    )
    problem = limit_setting(n=n, activation=activation, target=target, **setting)
    found = predict(problem, ["network"], method="closed").metrics
    test, train = found["test_mse"].item(), found["train_mse"].item()
    corrected = limit.corrected[0]
    return (
        test / corrected.test_mse - 1,
        train / corrected.train_mse - 1,
        test / limit.published[0].test_mse - 1,
    )


SETTINGS = [
    {"step_ratio": 1.0, "width": 2.0, "ratio": 4.0, "rate": 1.0, "ridge": 0.1},
    {"step_ratio": 4.0, "width": 1.0, "ratio": 2.0, "rate": 1.0, "ridge": 0.1},
    {"step_ratio": 20.0, "width": 2.0, "ratio": 3.0, "rate": 3.0, "ridge": 0.1},
    {"step_ratio": 2.0, "width": 0.5, "ratio": 1.0, "rate": 1.0, "ridge": 0.01},
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_corrected_limit_is_met_where_the_step_has_a_sample_per_dimension(setting):
    test, train, published = closed_over_limit(**setting)
    print(f"{setting}: test {test:+.3%}, train {train:+.3%}, against published {published:+.2%}")
    assert abs(test) < 4e-4
    assert abs(published) > 2 * 4e-4  # negative control: without our correction it is not met


def test_fewer_step_samples_than_dimensions_leave_the_limit_s_isotropic_noise_behind():
    """The batch spans few directions there: the limit's test error is too small."""
    setting = {"width": 2.0, "ratio": 4.0, "rate": 1.0, "ridge": 0.1}
    few = [closed_over_limit(step_ratio=share, **setting)[0] for share in (0.25, 0.5, 1.0)]
    print(", ".join(f"{value:+.3%}" for value in few))
    assert few[0] > few[1] > abs(few[2])
    assert few[0] > 0.01
