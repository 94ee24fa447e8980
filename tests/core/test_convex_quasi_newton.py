"""L-BFGS alone: that it reaches the accuracy asked for, and knows where it will not soon."""

import numpy as np
import pytest

from onegrad.calculus.losses import get_loss
from onegrad.core import convex_readout
from onegrad.core.convex_readout import LossTerms, PenalisedSum, Sample, quasi_newton_minimum


def objective(shape, loss, ridge, *, decay=0.0):
    """Return the objective of normal features whose sizes fall as a power."""
    rng = np.random.default_rng(shape)
    sizes = np.arange(1, shape[1] + 1) ** -decay
    phi = sizes * rng.standard_normal(shape) / np.sqrt(shape[1])
    labels = np.sign(rng.standard_normal(shape[0]))
    return PenalisedSum(Sample(phi), LossTerms(get_loss(loss), labels), ridge)


@pytest.mark.parametrize("shape", [(60, 20), (40, 40), (30, 70)], ids=["narrow", "square", "wide"])
@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "huber:0.3"])
@pytest.mark.parametrize("ridge", [1e-4, 1e-2])
def test_rounding_of_the_objective_does_not_end_it(shape, loss, ridge):
    target = objective(shape, loss, ridge)
    # At 1e−8 of the weights the objective is within (λ/2)‖w‖²·1e−16 of its minimum.
    found = quasi_newton_minimum(target, np.zeros(shape[1]), accuracy=1e-8, patience=np.inf)
    assert found.converged
    gradient = target.gradient(target.outputs(found.weights), found.weights)
    bound = np.linalg.norm(gradient) / (ridge * np.linalg.norm(found.weights))
    assert found.error == pytest.approx(bound)
    assert bound <= 1e-8


def test_it_gives_up_once_its_rate_is_known():
    hard = objective((200, 200), "square", 1e-9, decay=1.5)
    found = quasi_newton_minimum(hard, np.zeros(200), accuracy=1e-8, patience=30)
    assert not found.converged
    assert convex_readout.FIRST_JUDGED <= found.steps < 50
    easy = quasi_newton_minimum(
        objective((200, 200), "square", 1e-2), np.zeros(200), accuracy=1e-8, patience=30
    )
    assert easy.converged


def test_a_start_at_the_minimum_takes_no_step():
    target = objective((40, 40), "logistic", 1e-3)
    first = quasi_newton_minimum(target, np.zeros(40), accuracy=1e-8, patience=np.inf)
    again = quasi_newton_minimum(target, first.weights, accuracy=1e-8, patience=np.inf)
    assert again.steps == 0
    np.testing.assert_array_equal(again.weights, first.weights)
