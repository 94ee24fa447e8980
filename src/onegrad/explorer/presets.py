"""Presets: states of the page with a story of one or two sentences. Data, not code."""

from __future__ import annotations

from typing import Any

from onegrad.describe.paths import leaves
from onegrad.explorer.copied import said_fields
from onegrad.explorer.sources import DEFAULT
from onegrad.explorer.state import START, Bases
from onegrad.problem.problem import Problem

RATIO, ALPHA, BETA = "network.width_ratio", "scaling.weighting", "scaling.strength"
WEIGHT, ALIGNMENT = "data.components.0.weight", "data.alignment"
RIDGE, SAMPLES = "readout.ridge", "readout.samples"

PRESETS: tuple[dict[str, Any], ...] = (
    {
        "name": "figure-1a",
        "title": "Figure 1a: width",
        "story": "The error peaks where there are as many neurons as samples. A cubic polynomial "
        "in place of the activation makes the same error at every width.",
        "state": {"problem": {}, "axis": RATIO, "models": ["network", "hermite:3"]},
    },
    {
        "name": "figure-1b",
        "title": "Figure 1b: data spread or learning rate",
        "story": "The same strength β, split between the spread of the data (left) and the "
        "learning rate (right). The split moves the error, and the polynomial follows.",
        "state": {"problem": {}, "axis": ALPHA, "models": ["network", "hermite:3"]},
    },
    {
        "name": "figure-1c",
        "title": "Figure 1c: strength",
        "story": "Stronger spread and a larger step lower the error. The stronger they are, the "
        "higher the degree of the polynomial that matches the network.",
        "state": {"problem": {}, "axis": BETA, "models": ["network", "hermite:3", "linear"]},
    },
    {
        "name": "figure-2a",
        "title": "Figure 2a: two classes of unequal size",
        "story": "Labels are the classes, ±1. Hardest are classes of one size; the fewer samples "
        "one class has, the less there is to tell apart.",
        "state": {
            "problem": {"teacher.kind": "labels"},
            "axis": WEIGHT,
            "models": ["network", "hermite:3"],
            "metrics": ["test_mse", "misclassification"],
        },
    },
    {
        "name": "figure-2b",
        "title": "Figure 2b: aligned components",
        "story": "The strong directions of the two components turn from opposite to equal. The "
        "error depends on how they lie to each other only a little.",
        "state": {
            "problem": {"data.alignment": 0.0},
            "axis": ALIGNMENT,
            "models": ["network", "hermite:3"],
        },
    },
    {
        "name": "figure-2c",
        "title": "Figure 2c: more strong directions",
        "story": "Each component has several strong directions of one total strength. Move the "
        "rank of the components and see how little the error cares.",
        "state": {
            "problem": {
                "data.components.0.rank": 4,
                "data.components.1.rank": 4,
                "data.components.0.strengths": 0.25,
                "data.components.1.strengths": 0.25,
            },
            "axis": RATIO,
            "models": ["network", "hermite:3"],
        },
    },
    {
        "name": "double-descent",
        "title": "Double descent",
        "story": "With hardly any ridge and noisy labels, more samples first make the network "
        "worse: the error peaks at m = k and falls again. Raise the ridge and the peak goes.",
        "state": {
            "problem": {"readout.ridge": 1e-6, "teacher.noise": 0.1},
            "axis": SAMPLES,
            "models": ["network", "untrained"],
            "log": True,
        },
    },
    {
        "name": "linear-fails",
        "title": "When the linear model fails",
        "story": "Spread and step reach so far along the teacher's direction that the bend of the "
        "activation counts there: a linear model cannot bend and makes half as much error again, "
        "or more; polynomials of higher degree come closer. Lower β below ½ and all curves meet.",
        "state": {
            "problem": {ALPHA: 0.25, BETA: 0.8, "teacher.direction": "spikes"},
            "axis": BETA,
            "models": ["network", "linear", "hermite:3"],
        },
    },
    {
        "name": "spread-or-rate",
        "title": "Data spread against learning rate",
        "story": "A large step and widely spread data do the same: both lift one direction out of "
        "the noise. The map shows where the linear model is not enough; click to go there.",
        "state": {
            "problem": {BETA: 0.8, "teacher.direction": "spikes"},
            "axis": ALPHA,
            "models": ["network", "linear", "hermite:3"],
        },
    },
    {
        "name": "optimal-ridge",
        "title": "The best ridge",
        "story": "Too little ridge fits the noise of the labels, too much forgets the teacher. "
        "Between them lies a best value; network and polynomial agree on it.",
        "state": {
            "problem": {"teacher.noise": 0.3},
            "axis": RIDGE,
            "models": ["network", "hermite:3", "untrained"],
        },
    },
    {
        "name": "fashion-mnist",
        "title": "Fashion-MNIST",
        "story": "Real images: theory knows them only through a mixture of Gaussians fitted to "
        "half of them. Press simulate and see how far that carries.",
        "state": {
            "base": "fashion_mnist",
            "problem": {},
            "axis": RIDGE,
            "models": ["network", "hermite:3"],
            "metrics": ["test_mse", "misclassification"],
        },
    },
)


SIZES = ("dimension", "readout.samples", "training.samples", "test_samples")


def known_presets(bases: Bases) -> list[dict[str, Any]]:
    """Return the presets whose data are here, each with the problem that it starts from.

    A story holds for the default problem, of any size: who opened another gets the default here.
    """
    stories = START if _differs_in_size_alone(bases[START]) else DEFAULT
    offered = []
    for preset in PRESETS:
        base = preset["state"].get("base", stories)
        if base in bases:
            offered.append({**preset, "state": {**preset["state"], "base": base}})
    return offered


def _differs_in_size_alone(problem: Problem) -> bool:
    return set(leaves(said_fields(problem))) <= set(SIZES)
