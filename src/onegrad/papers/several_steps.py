"""Panels of several steps, ours: theory beside simulation after every step, rule and source."""

from __future__ import annotations

from onegrad.papers.giant_steps import STEP
from onegrad.papers.images import fitted_study, image_fields
from onegrad.papers.panel import Axis, Panel, Study

RULE = Axis("training.rule", "rule", "update rule")
DIRECTIONS = Axis("teacher.directions", "directions", "teacher's directions")
TARGETS = (["z+z**2", "z-z**2"], ["4*z+z**2", "z"])

STUDIES: dict[str, Study] = {
    "six steps": Study(
        axes={"teacher.links": TARGETS},
        fields={
            "dimension": 1024,
            "network.width": 512,
            "network.second_layer": "sign",
            "training.steps": 6,
            "training.samples": 2048,
            "scaling.per_width": 2.0,
            "teacher.links": TARGETS[0],
            "readout.samples": 2048,
            "readout.ridge": 1e-3,
        },
        quick_fields={
            "dimension": 256,
            "network.width": 128,
            "training.samples": 512,
            "readout.samples": 512,
        },
        models=("network", "linear"),
        redraw="all",
        trials=(4, 8),
        draws=(4, 8),
    ),
    "rules": Study(
        axes={
            RULE.path: ("gradient", "sign", "polar", "whitened"),
            "readout.samples": (256, 362, 512, 724, 1024, 1448, 2048, 4096),
        },
        fields={
            "dimension": 512,
            "network.width": 512,
            "training.samples": 1024,
            "scaling.change_exponent": 0.2,
            "teacher.links": TARGETS[0],
            "readout.ridge": 1e-3,
        },
        quick_axes={"readout.samples": (64, 128, 256, 512)},
        quick_fields={"dimension": 128, "network.width": 128, "training.samples": 256},
        models=("network",),
        redraw="all",
        trials=(6, 8),
        draws=(6, 8),
    ),
    "staircase": Study(
        axes={DIRECTIONS.path: ("spikes", "random", "last_spikes")},
        fields={
            "dimension": 512,
            "data": {"components": [{"weight": 0.5}, {"weight": 0.5, "rank": 0}]},
            "network.width": 512,
            "training.steps": 6,
            "training.samples": 2048,
            "scaling.per_width": 1.0,
            "scaling.spread": 3.0,
            "teacher.links": ["z", "z"],
            "teacher.combine": "staircase",
            "readout.samples": 2048,
            "readout.ridge": 1e-3,
        },
        quick_fields={
            "dimension": 128,
            "network.width": 128,
            "training.samples": 512,
            "readout.samples": 512,
        },
        models=("network",),
        redraw="all",
        trials=(6, 8),
        draws=(6, 8),
    ),
    "image steps": fitted_study(
        {"network.activation": ("relu", "tanh")},
        {},
        {
            **image_fields("0,1"),
            "network.width_ratio": 2.0,
            "training.steps": 5,
            "scaling": {"learning_rate": 28.0, "spread": 784.0},
        },
        {"training.steps": 3, "test_samples": 400},
        redraw="all",
        trials=(4, 8),
    ),
}

PANELS: tuple[Panel, ...] = (
    Panel(
        "T1",
        "six steps",
        "Half the test MSE after 0 to 6 giant steps on fresh batches, N = 2d, for two targets of "
        "two directions; network and its linear equivalent, theory and simulation.",
        "Theory knows the error after every step. The first target's second direction is learned "
        "from the second step on; the linear equivalent stays behind.",
        STEP,
        y=Axis("teacher.links", "target", "target"),
        tolerance=0.05,
        ours=True,
        title="Error after every giant step, for two targets",
    ),
    Panel(
        "T2",
        "rules",
        "Half the test MSE against readout samples after one step by four rules, all with a change "
        "of spectral norm d^0.2; target (z + z², z − z²).",
        "At equal norm the rules differ in how much of the change is signal: theory asks only for "
        "the first layer, whichever rule made it.",
        Axis("readout.samples", "m", "readout samples m", log=True),
        y=RULE,
        tolerance=0.05,
        ours=True,
        title="Four update rules of equal norm",
    ),
    Panel(
        "T3",
        "staircase",
        "Half the test MSE against steps for the staircase z₁ + z₁z₂ on a mixture, half of which "
        "has a spike: along the first stair, along none, along the last.",
        "Along the first stair the first step counts most, along the last the second. A spike "
        "along a stair makes labels larger: compare falls, not levels.",
        STEP,
        y=DIRECTIONS,
        tolerance=0.05,
        ours=True,
        title="A staircase on a mixture: which stair the spike lies along",
    ),
    Panel(
        "T4",
        "image steps",
        "T-shirts against trousers: half the test MSE after 0 to 5 steps (3 at quick scale) on "
        "fresh batches, real images beside theory on a fitted mixture.",
        "Theory on the fitted mixture follows the network from step to step.",
        STEP,
        tolerance=0.05,
        ours=True,
        title="Real images: error after every step",
    ),
)
