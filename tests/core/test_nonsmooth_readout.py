"""Losses whose slope jumps: rounds of multipliers, losses of one's own with several corners."""

from dataclasses import replace

import numpy as np
import pytest

from onegrad.calculus.losses import LOSSES, get_loss, register_loss
from onegrad.core.convex_readout import (
    PenalisedSum,
    Sample,
    SmoothedTerms,
    loss_readout,
    newton_minimum,
    next_round,
)

SHAPES = [(60, 20), (40, 40), (30, 70)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=["narrow", "square", "wide"])


class Tube:
    """(|r| − 0.3)₊, r = u − y: two corners, flat between them."""

    smooth = False
    scale = np.inf

    def value(self, y, u):
        return np.maximum(np.abs(u - y) - 0.3, 0)

    def derivative(self, y, u):
        return np.sign(u - y) * (np.abs(u - y) > 0.3)

    def corners(self, y):
        return [y - 0.3, y + 0.3]


class Peaked:
    """|r| + ½r²: curved on both sides of its corner."""

    smooth = False

    def value(self, y, u):
        return np.abs(u - y) + 0.5 * (u - y) ** 2

    def derivative(self, y, u):
        return np.where(u < y, -1.0, 1.0) + (u - y)

    def corners(self, y):
        return [y]


@pytest.fixture(autouse=True)
def own_losses(monkeypatch):
    monkeypatch.setattr(LOSSES, "entries", dict(LOSSES.entries))
    register_loss("tube", Tube)
    register_loss("peaked", Peaked)


def batch(shape):
    rng = np.random.default_rng(shape)
    phi = rng.standard_normal(shape)
    return phi, np.sign(phi @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]))


@shapes
@pytest.mark.parametrize("loss", ["hinge", "tube", "peaked"])
@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0])
def test_no_neighbour_is_better(shape, loss, ridge):
    features, labels = batch(shape)
    found = loss_readout(features, labels, loss=loss, ridge=ridge)
    weights, rng = found.weights[:, 0], np.random.default_rng(1)
    assert found.error[0] <= 1e-5
    for size in (1e-3, 1e-1):
        step = rng.standard_normal(len(weights))
        step *= size * max(np.linalg.norm(weights), 1e-6) / np.linalg.norm(step)
        outputs = features @ (weights + step) / np.sqrt(shape[1])
        moved = np.mean(get_loss(loss).value(labels, outputs))
        moved += ridge / 2 * np.sum((weights + step) ** 2)
        # strong convexity: a step costs at least λ/2 of its square
        assert moved >= found.objective[0] + 0.49 * ridge * step @ step - 1e-14


@shapes
@pytest.mark.parametrize("loss", ["hinge", "tube"])
def test_a_round_with_the_same_samples_held_is_over_before_it_begins(shape, loss):
    features, labels = batch(shape)
    sample, ridge = Sample(features / np.sqrt(shape[1])), 1e-2
    start = loss_readout(features, labels, loss=loss, ridge=ridge).weights[:, 0]
    terms = SmoothedTerms(get_loss(loss), labels, 1e-3, np.zeros(shape[0]))
    # A few rounds at one reach, until multipliers are near those of the minimum.
    for _ in range(8):
        objective = PenalisedSum(sample, terms, ridge)
        start = newton_minimum(objective, start, accuracy=1e-10).weights
        terms, last = replace(terms, multipliers=terms.slopes(objective.outputs(start))), terms
    objective, u = PenalisedSum(sample, last, ridge), sample.phi @ start
    assert np.any(last.held(u))
    terms, begun = next_round(objective, last, u, start, reach=1e-6)
    again = newton_minimum(replace(objective, terms=terms), begun, accuracy=1e-8)
    assert again.converged
    assert again.steps == 0


def test_the_hinge_takes_few_steps():
    features, labels = batch((200, 200))
    for ridge in (1e-2, 1e-4):
        found = loss_readout(features, labels, loss="hinge", ridge=ridge)
        assert found.steps[0] <= 20  # 47 and 38 where rounds begin where the last one has ended
