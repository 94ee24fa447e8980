"""Choices that the page offers: starting problems, presets, models, metrics."""

from __future__ import annotations

from typing import Any

from onegrad import __version__
from onegrad.core.model_names import models_named as _models_named  # noqa: F401 (registers)
from onegrad.core.models import MODELS
from onegrad.core.problem import Problem
from onegrad.data.rows_files import is_here
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.value import leaves
from onegrad.explorer.controls import AXIS_FIELDS, controls_of, number_controls
from onegrad.explorer.export import own_fields
from onegrad.explorer.state import START, ExplorerState, StartingProblems

DEFAULT = "default"
SIZES = ("dimension", "readout.samples", "training.samples", "test_samples")
DROPS = ("data", "teacher")  # changes that make no sense for another source
# Problems on real data: label, sentence and fields.
REAL: dict[str, dict[str, Any]] = {
    "digits": {
        "label": "Handwritten digits",
        "sentence": "Images of 3 and 8, 8 × 8 pixels; theory reads a mixture fitted to half of "
        "them.",
        "fields": {
            "data": {"kind": "empirical", "file": "digits", "classes": "3,8"},
            "training": {"samples": 40},
            "readout": {"samples": 60, "ridge": 1e-3},
            "test_samples": 60,
        },
    },
    "fashion_mnist": {
        "label": "Fashion-MNIST",
        "sentence": "Images of shirts and trousers, 28 × 28 pixels; theory reads a mixture fitted "
        "to half of them.",
        "fields": {
            "data": {
                "kind": "empirical",
                "file": "fashion-mnist",
                "classes": "0,1",
                "fit": {"components_per_class": 2, "rank": 20},
            },
            "training": {"samples": 300},
            "readout": {"samples": 300, "ridge": 1e-2},
            "test_samples": 1000,
        },
    },
}


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


METRICS = [
    {
        "name": "test_mse",
        "label": "Test error",
        "symbol": "E(y − ŷ)²",
        "sentence": "Mean square error on data that the network has not seen.",
        "band": True,
    },
    {
        "name": "train_mse",
        "label": "Training error",
        "symbol": "(1/m) Σ(y − ŷ)²",
        "sentence": "Mean square error on the samples that the readout was trained on.",
    },
    {
        "name": "misclassification",
        "label": "Misclassification",
        "symbol": "P(sign ŷ ≠ y)",
        "sentence": "Share of labels with the wrong sign on data that the network has not seen.",
    },
    {
        "name": "train_misclassification",
        "label": "Training misclassification",
        "symbol": "",
        "sentence": "Share of labels with the wrong sign among the readout's own samples.",
    },
    {
        "name": "test_loss",
        "label": "Test loss",
        "symbol": "E ℓ(y, ŷ)",
        "sentence": "The readout's loss on data that the network has not seen.",
    },
    {
        "name": "train_loss",
        "label": "Training loss",
        "symbol": "(1/m) Σ ℓ(y, ŷ)",
        "sentence": "The readout's loss on its own samples.",
    },
    {
        "name": "squared_weight_norm",
        "label": "Squared weights",
        "symbol": "‖ŵ‖²",
        "sentence": "Squared length of the trained second layer.",
    },
]


# Labels and sentences of models; a model without an entry shows its name alone.
MODEL_WORDS = {
    "network": ("Network", "The two-layer network after its step."),
    "hermite": (
        "Hermite",
        "The same network with a polynomial in place of its activation, and noise for the rest.",
    ),
    "linear": ("Linear", "The Hermite model of degree 1: a linear model with noise."),
    "untrained": ("Untrained", "The network without the step: random features."),
    "conditional": (
        "Conditional",
        "Gaussian features with the network's means and covariances, given component and strong "
        "directions.",
    ),
}
DEGREES = list(range(1, 7))


def explorer_document(state: ExplorerState, bases: StartingProblems) -> dict[str, Any]:
    """Return everything that the page shows around its curves, for one state."""
    problem = state.problem
    controls = controls_of(problem, bases[state.base])
    axes = [
        {name: getattr(control, name) for name in AXIS_FIELDS}
        for control in number_controls(controls, problem)
    ]
    return {
        "controls": [control.to_dict() for control in controls],
        "axes": axes,
        "models": shown_models(),
        "metrics": METRICS,
        "presets": known_presets(bases),
        "sources": described_sources(bases),
        "state": state.to_dict(),
        "version": __version__,
    }


def first_problems(problem: Problem) -> dict[str, Problem]:
    """Return the problem that the explorer was opened with, and the default beside another."""
    default = Problem()
    return {START: problem} if problem == default else {START: problem, DEFAULT: default}


def real_problems() -> dict[str, Problem]:
    """Return the problems on real data that this machine has; reading them takes seconds."""
    bases = {}
    for name, described in REAL.items():
        if is_here(described["fields"]["data"]["file"]):
            try:
                bases[name] = Problem(**described["fields"])
            except InvalidInput:  # a damaged copy: an error names it when it is asked for
                continue
    return bases


def described_sources(bases: StartingProblems) -> list[dict[str, Any]]:
    """Return name, label and sentence of every source, and the changes that choosing it drops."""
    words = {
        START: ("Gaussian mixture", "The problem that this page was opened with."),
        DEFAULT: ("Default mixture", "Two components with a spike each, and a ReLU teacher."),
        **{name: (own["label"], own["sentence"]) for name, own in REAL.items()},
    }
    if not bases[START].data.exact_moments:
        words[START] = ("Your data", "The data that this page was opened with.")
    return [
        {"name": name, "label": words[name][0], "sentence": words[name][1], "drops": list(DROPS)}
        for name in bases
    ]


def known_presets(bases: StartingProblems) -> list[dict[str, Any]]:
    """Return the presets whose data are here, each with the problem that it starts from.

    A story holds for the default problem of any size. With another problem, presets start from the
    default.
    """
    sizes_alone = set(leaves(own_fields(bases[START]))) <= set(SIZES)
    stories = START if sizes_alone else DEFAULT
    offered = []
    for preset in PRESETS:
        base = preset["state"].get("base", stories)
        if base in bases:
            offered.append({**preset, "state": {**preset["state"], "base": base}})
    return offered


def shown_models() -> list[dict[str, Any]]:
    """Return the models that a page offers: all that are known by name alone, and Hermite's."""
    offered = []
    own = [name for name in MODELS if name not in MODEL_WORDS]
    for name in [*(name for name in MODEL_WORDS if name in MODELS), *own]:
        label, sentence = MODEL_WORDS.get(name, (name.replace("_", " ").capitalize(), ""))
        entry: dict[str, Any] = {"name": name, "label": label, "sentence": sentence}
        if name == "hermite":
            entry["degrees"] = DEGREES
        offered.append(entry)
    return offered
