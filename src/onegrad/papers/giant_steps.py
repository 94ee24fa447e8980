"""The panels of giant steps: declarative entries, no code of their own.

G1, G2, G3 and G5 are after Dandi et al. [5], "How two-layer neural networks learn, one (giant)
step at a time"; G4 after Moniri et al. [4].
"""

from __future__ import annotations

from onegrad.papers.panel import Axis, Panel, Study

DANDI, MONIRI = "Dandi et al.", "Moniri et al."
STEP = Axis("step", "step", "step")
HERMITE_TARGET = "He4/24 + He2/2 + He1"
TWO_DIRECTIONS = {
    "dimension": 4096,
    "network.width": 1024,
    "network.second_layer": "sign",
    "training.steps": 6,
    "training.samples_exponent": 1.0,
    "scaling.per_width": 2.0,
    "readout.penalty": 1.0,
    "test": "sampled",
    "test_samples": 4096,
}
SMALLER = {"dimension": 1024, "network.width": 256}


def _two_directions(*links: str) -> Study:
    return Study(
        axes={},
        fields={**TWO_DIRECTIONS, "teacher.links": list(links)},
        quick_fields=SMALLER,
        models=("network",),
        redraw="all",
        trials=(2, 4),
        draws=(2, 4),
        observe="neurons",
    )


STUDIES: dict[str, Study] = {
    "one line": _two_directions("4*z+z**2", "z"),
    "off the line": _two_directions("z+z**2", "z-z**2"),
    "batch": Study(
        axes={
            "training.samples_exponent": (
                *(1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.65, 1.7, 1.8, 1.9, 2.0),
            ),
            "training.subtract": ("none", "linear", "moments"),
            "readout.batch": ("same", "fresh"),
        },
        fields={
            "dimension": 512,
            "network.width": 1024,
            "training.samples_exponent": 1.0,
            "scaling.per_root": 10.0,
            "teacher.links": [HERMITE_TARGET, HERMITE_TARGET],
            "readout.penalty": 1.0,
            "test": "sampled",
            "test_samples": 16384,
        },
        quick_fields={"dimension": 128, "network.width": 256},
        quick_axes={"training.samples_exponent": (1.0, 1.3, 1.5, 1.7, 1.85, 2.0)},
        models=("network", "untrained"),
        redraw="all",
        trials=(2, 2),
        draws=(2, 2),
    ),
    "spikes": Study(
        axes={"scaling.change_exponent": (0.0, 0.15, 0.29, 0.36)},
        fields={
            "dimension": 2048,
            "network.width": 2048,
            "training.samples_exponent": 1.0,
            "readout.penalty": 1.0,
            "teacher.links": ["relu"],
            "test": "sampled",
            "test_samples": 2048,
        },
        quick_fields={"dimension": 600, "network.width": 600},
        models=("network",),
        verbs=("simulate",),
        redraw="all",
        trials=(2, 4),
        observe="steps",
    ),
    "time": Study(
        # z₁ + z₁z₂ + z₂z₃ in the eigenvectors of its quadratic part: three stairs of one leap.
        axes={},
        fields={
            "dimension": 2048,
            "network.width": 1024,
            "training.samples": 16384,
            "training.steps": 12,
            "scaling.per_width": 1.0,
            "teacher.links": ["z/2 + z**2/2**0.5", "z/2 - z**2/2**0.5", "z/2**0.5"],
            "teacher.combine": "sum",
            "readout.penalty": 1.0,
            "test": "sampled",
            "test_samples": 4096,
        },
        quick_fields={
            "dimension": 512,
            "network.width": 256,
            "training.samples": 4096,
            "training.steps": 8,
        },
        models=("network",),
        redraw="all",
        trials=(1, 2),
        draws=(1, 2),
        observe="neurons",
    ),
}

PANELS: tuple[Panel, ...] = (
    Panel(
        "G1",
        "one line",
        "Neurons in the plane of two teacher directions over six steps, N = d; target "
        "(4z + z², z).",
        "After one step every gradient lies on one line, outside the noise circle. The weights "
        "stay close to it; later gradients shrink with the residual, and their angle wanders.",
        STEP,
        "test_mse",
        "plane",
        source=DANDI,
        title="One line: neurons learn a single direction",
    ),
    Panel(
        "G2",
        "off the line",
        "As G1 for the staircase target (z + z², z − z²).",
        "The first step is on the line again; then gradients turn away from it, and the "
        "weights follow: a second direction is learned.",
        STEP,
        "test_mse",
        "plane",
        source=DANDI,
        title="Off the line: a second direction is learned from the second step on",
    ),
    Panel(
        "G3",
        "batch",
        "Test MSE after one step on N = d^κ samples, with and without subtraction of the "
        "labels' mean and linear part, beside the untrained network.",
        "With subtraction the error falls up to N = d²: neurons specialise. Without, the "
        "linear part hides the other directions; untrained features stay lazy.",
        Axis("training.samples_exponent", "log N/log d", "batch size, log N / log d"),
        "test_mse",
        "batch_curves",
        tolerance=0.05,
        source=DANDI,
        title="Larger batches: error after one step, with and without the linear part",
    ),
    Panel(
        "G4",
        "spikes",
        "Singular values of centred ReLU features after a step of norm d^a; red: outside the bulk.",
        "A spike more with every band of a, the j-th like H_j of the inputs along the step; "
        "ReLU has no third.",
        Axis("scaling.change_exponent", "a", "exponent a"),
        "test_mse",
        "spikes",
        source=MONIRI,
        title="Spikes of the features: one more with every band of the step's size",
    ),
    Panel(
        "G5",
        "time",
        "Root mean square overlap of gradients and weights with the directions of the "
        "staircase z₁ + z₁z₂ + z₂z₃, step by step.",
        "A direction is learned only after the one before it.",
        STEP,
        "test_mse",
        "timelapse",
        source=DANDI,
        title="A staircase is climbed one direction at a time",
    ),
)
