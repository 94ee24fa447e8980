"""The panels of giant steps: declarative entries, no code of their own.

G1, G2, G3 and G5 are after Dandi et al., "How two-layer neural networks learn, one (giant) step
at a time"; G4 after Moniri et al., ICML 2024.
"""

from __future__ import annotations

from onegrad.figures.giant_study import GiantPanel, GiantStudy

DANDI, MONIRI = "Dandi et al.", "Moniri et al."
HERMITE_TARGET = "He4/24 + He2/2 + He1"
TWO_DIRECTIONS = {
    "dimension": 4096,
    "width": 1024,
    "steps": 6,
    "second_layer": "sign",
    "step_size.per_width": 2.0,
}
SMALLER = {"dimension": 1024, "width": 256}

STEPS_STUDIES: dict[str, GiantStudy] = {
    "one line": GiantStudy(
        fields={**TWO_DIRECTIONS, "teacher.links": ["4*z+z**2", "z"]},
        quick_fields=SMALLER,
        neurons=True,
    ),
    "off the line": GiantStudy(
        fields={**TWO_DIRECTIONS, "teacher.links": ["z+z**2", "z-z**2"]},
        quick_fields=SMALLER,
        neurons=True,
    ),
    "batch": GiantStudy(
        fields={
            "dimension": 512,
            "width": 1024,
            "step_size.per_root": 10.0,
            "teacher.links": [HERMITE_TARGET, HERMITE_TARGET],
            "test_samples": 16384,
        },
        axes={
            "batch_exponent": (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0),
            "subtract": ("none", "linear"),
        },
        quick_fields={"dimension": 128, "width": 256},
        quick_axes={"batch_exponent": (1.0, 1.3, 1.5, 1.7, 1.85, 2.0)},
        trials=(2, 3),
    ),
    "spikes": GiantStudy(
        fields={
            "dimension": 2048,
            "width": 2048,
            "readout": "fresh",
            "teacher.links": ["relu"],
            "test_samples": 2048,
        },
        axes={"step_size.exponent": (0.0, 0.15, 0.29, 0.36)},
        quick_fields={"dimension": 600, "width": 600},
    ),
    "time": GiantStudy(
        # z₁ + z₁z₂ + z₂z₃ in the eigenvectors of its quadratic part: three stairs of one leap.
        fields={
            "dimension": 2048,
            "width": 1024,
            "batch": 16384,
            "steps": 12,
            "step_size.per_width": 1.0,
            "teacher.links": ["z/2 + z**2/2**0.5", "z/2 - z**2/2**0.5", "z/2**0.5"],
            "teacher.combine": "sum",
        },
        quick_fields={"dimension": 512, "width": 256, "batch": 4096, "steps": 8},
        trials=(1, 2),
        neurons=True,
    ),
}

STEPS_PANELS: tuple[GiantPanel, ...] = (
    GiantPanel(
        "G1",
        "one line",
        "Neurons in the plane of two teacher directions over six steps, N = d; target "
        "(4z + z², z).",
        "After one step every gradient lies on one line, outside the noise circle. The weights "
        "stay close to it; later gradients shrink with the residual, and their angle wanders.",
        "plane",
        DANDI,
    ),
    GiantPanel(
        "G2",
        "off the line",
        "As G1 for the staircase target (z + z², z − z²).",
        "The first step is on the line again; then gradients turn away from it, and the "
        "weights follow: a second direction is learned.",
        "plane",
        DANDI,
    ),
    GiantPanel(
        "G3",
        "batch",
        "Test MSE after one step on N = d^κ samples, with and without subtraction of the "
        "labels' mean and linear part, beside the untrained network.",
        "With subtraction the error falls up to N = d²: neurons specialise. Without, the "
        "linear part hides the other directions; untrained features stay lazy.",
        "batch_curves",
        DANDI,
    ),
    GiantPanel(
        "G4",
        "spikes",
        "Singular values of centred ReLU features after a step of norm d^a; red: outside the bulk.",
        "A spike more with every band of a, the j-th like H_j of the inputs along the step; "
        "ReLU has no third.",
        "spikes",
        MONIRI,
    ),
    GiantPanel(
        "G5",
        "time",
        "Root mean square overlap of gradients and weights with the directions of the "
        "staircase z₁ + z₁z₂ + z₂z₃, step by step.",
        "A direction is learned only after the one before it.",
        "timelapse",
        DANDI,
    ),
)
