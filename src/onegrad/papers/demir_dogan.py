"""The synthetic panels of the paper, and ours beside them.

A study is a sweep at two scales; a panel reads one study's rows: which metric, against what. Panels
are numbered as in Demir & Dogan [1]; those named with a word are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onegrad.papers.panel import ACTIVATION_AXIS, ALPHA, BETA, WIDTH, Axis, Panel, Study, spaced

SMALL_MAP = {"dimension": 120, "readout.samples": 150}


def _square(count: int) -> dict[str, Sequence[Any]]:
    """Return axes of count × count points of (α, β)."""
    return {ALPHA.path: spaced(0, 1, count), BETA.path: spaced(0, 1, count)}


_STUDIES: dict[str, Study] = {
    "width": Study(
        axes={
            WIDTH.path: (0.1, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0, 4.0, 5.0),
            **ACTIVATION_AXIS,
        },
        quick_axes={WIDTH.path: (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0)},
    ),
    "weighting": Study(
        axes={ALPHA.path: spaced(0, 1, 20), **ACTIVATION_AXIS},
        quick_axes={ALPHA.path: spaced(0, 1, 10)},
    ),
    **{
        name: Study(
            axes={BETA.path: spaced(0, 1, 10), **ACTIVATION_AXIS},
            quick_axes={BETA.path: spaced(0, 1, 7)},
            fields={ALPHA.path: alpha},
        )
        for name, alpha in (("strength", 0.5), ("spread only", 0.0), ("rate only", 1.0))
    },
    "classes": Study(
        axes={
            "data.components.0.weight": spaced(0, 1, 10),
            "data.components.1.weight": spaced(1, 0, 10),
            **ACTIVATION_AXIS,
        },
        quick_axes={
            "data.components.0.weight": spaced(0, 1, 7),
            "data.components.1.weight": spaced(1, 0, 7),
        },
        zip=("data.components.0.weight", "data.components.1.weight"),
        fields={"teacher": {"kind": "labels"}},
    ),
    "alignment": Study(
        axes={"data.alignment": spaced(-1, 1, 20), **ACTIVATION_AXIS},
        quick_axes={"data.alignment": spaced(-1, 1, 7)},
        redraw="all",
    ),
    "rank": Study(
        axes={"data.components.*.rank": tuple(range(1, 11)), **ACTIVATION_AXIS},
        quick_axes={"data.components.*.rank": (1, 2, 4, 7, 10)},
        fields={"data.components.*.strengths": "uniform", "data.equal_totals": True},
        trials=(6, 100),
        draws=(3, 20),
        redraw="all",
    ),
    "plane": Study(
        axes=_square(30),
        quick_axes=_square(11),
        # Mixed precision moves errors by 1e−7 and saves a quarter of the 18,000 trials' time.
        fields={
            "dimension": 400,
            "readout.samples": 500,
            "teacher.direction": "spikes",
            "precision": "mixed",
        },
        quick_fields=SMALL_MAP,
        models=("network", "linear"),
        trials=(3, 20),
    ),
    "degrees": Study(
        axes={ALPHA.path: spaced(0, 1, 11), BETA.path: spaced(0, 0.95, 20)},
        quick_axes={ALPHA.path: spaced(0, 1, 5), BETA.path: spaced(0, 0.9, 10)},
        fields={"teacher.direction": "spikes"},
        quick_fields={"dimension": 200, "readout.samples": 200},
        models=("network", *(f"hermite:{d}" for d in range(1, 7))),
        verbs=("predict",),
        draws=(2, 4),
    ),
    "size": Study(
        axes=dict.fromkeys(("dimension", "readout.samples"), (250, 500, 1000, 2000, 4000)),
        quick_axes={"dimension": (125, 250, 500), "readout.samples": (125, 250, 500)},
        fields={"teacher.direction": "spikes"},
        quick_fields={},
        zip=("dimension", "readout.samples"),
        models=("network", *(f"hermite:{d}" for d in range(1, 5))),
        verbs=("predict",),
        draws=(4, 4),
    ),
    "samples": Study(
        axes={
            "readout.samples": (100, 200, 300, 500, 700, 850, 1000, 1150, 1500, 2000, 3000, 5000),
            "readout.ridge": (1e-6, 1e-4, 1e-2),
        },
        quick_axes={"readout.samples": (30, 60, 120, 180, 240, 270, 300, 330, 390, 600, 1000)},
        fields={"network.width": 1000, "training.samples": 1000, "teacher.noise": 0.1},
        quick_fields={"dimension": 300, "network.width": 300, "training.samples": 300},
        models=("network",),
    ),
}
_STUDIES["fine plane"] = replace(
    _STUDIES["plane"],
    models=("network",),
    verbs=("simulate",),
    closed_axes=(_square(30), _square(200)),
)
# Theory without draws knows every problem of the paper that is not of images.
STUDIES = {name: replace(study, closed=True) for name, study in _STUDIES.items()}
# It averages over random strengths, where six trials have six of them, and takes its time.
STUDIES["rank"] = replace(STUDIES["rank"], closed="paper")

PANELS: tuple[Panel, ...] = (
    Panel(
        "1a",
        "width",
        "Half the test MSE against width; β = 0.74, α = ½.",
        "The Hermite model of degree 3 follows the network at every width, also through the peak.",
        WIDTH,
        title="Wider networks: test error peaks, then falls; the Hermite model follows",
    ),
    Panel(
        "1b",
        "weighting",
        "Half the test MSE against the weighting α between data spread and learning rate; "
        "β = 0.74, k = m.",
        "How the strength is split moves the error, and the Hermite model follows.",
        ALPHA,
        title="Strength into the data or into the step: test error against their split",
    ),
    Panel(
        "1c",
        "strength",
        "Half the test MSE against the strength β; α = ½, k = m.",
        "Stronger spread and step lower the error; the Hermite degree rises with β.",
        BETA,
        title="Stronger data spread and step: test error falls",
    ),
    Panel(
        "2a",
        "classes",
        "Classification by squared loss: half the test MSE against the weight of the first "
        "class; labels ±1.",
        "Balanced classes are hardest; with one class left there is nothing to tell apart.",
        Axis("data.components.0.weight", "rho_1", "weight of the first component, ρ₁"),
        title="Two classes: balanced ones are hardest to tell apart",
    ),
    Panel(
        "2b",
        "alignment",
        "Half the test MSE against the cosine between the two components' spikes.",
        "The curve is symmetric: only the angle between the spike lines matters.",
        Axis("data.alignment", "alignment", "alignment γ₁ᵀγ₂"),
        title="Two spikes: only the angle between their lines matters",
    ),
    Panel(
        "2c",
        "rank",
        "Half the test MSE against the number of spikes per component, strengths uniform in "
        "[0, θ].",
        "Equivalence is not limited to a single spike.",
        Axis("data.components.*.rank", "rank", "spikes per component"),
        title="More spikes per component: the Hermite model still follows",
    ),
    Panel(
        "4a",
        "plane",
        "Half the test MSE of the ReLU network over α and β; teacher along the spikes.",
        "Errors fall with β, and more so when the strength goes into the data (small α).",
        ALPHA,
        kind="map",
        y=BETA,
        title="Test error over the split α and the strength β",
    ),
    Panel(
        "4b",
        "plane",
        "Relative gap of the linear model to the network in per cent, clipped at 100.",
        "The linear model fails where β exceeds about ½: the network has learned a feature.",
        ALPHA,
        metric="linear_gap_percent",
        kind="linear_map",
        y=BETA,
        title="Where the linear model fails: its gap to the network",
    ),
    Panel(
        "5a",
        "spread only",
        "As 1c with α = 0: all strength in the data spread.",
        "The spread alone lowers the error.",
        BETA,
        title="All strength in the data spread",
    ),
    Panel(
        "5b",
        "strength",
        "As 1c, α = ½.",
        "The panel of figure 1c again, between the two extremes.",
        BETA,
        title="Strength shared between data spread and step",
    ),
    Panel(
        "5c",
        "rate only",
        "As 1c with α = 1: all strength in the learning rate.",
        "The step alone does less than the spread for this target.",
        BETA,
        title="All strength in the learning rate",
    ),
    Panel(
        "6",
        "width",
        "Training objective, ½ train MSE + (λ/2)‖ŵ‖², against width; the rows of 1a.",
        "The models agree on training errors too.",
        WIDTH,
        metric="objective",
        log_value=True,
        title="Wider networks: the training objective",
    ),
    Panel(
        "degrees",
        "degrees",
        "Smallest Hermite degree within 2 % of the network, by theory, teacher along the "
        "spikes; lines: above them the theorem asks for the degree written there.",
        "The theorem's boundaries are for n → ∞: at this n, degree 2 is needed earlier when "
        "the strength goes into the data, and suffices longer when it goes into the step.",
        ALPHA,
        metric="smallest_degree",
        kind="degree_map",
        y=BETA,
        ours=True,
        title="Which Hermite degree is enough",
    ),
    Panel(
        "gap",
        "size",
        "Gap between network and Hermite model against n, by theory; β = 0.74, α = ½, "
        "k = m = n, teacher along the spikes.",
        "The theorem's degree 3 closes the gap as n grows; that of degree 1 falls far more "
        "slowly and stays a hundred times larger at n = 4000. Degree 2 is degree 3 here: ReLU "
        "has no third coefficient.",
        Axis("dimension", "n", "dimension n", log=True),
        metric="gap",
        kind="gaps",
        log_value=True,
        ours=True,
        title="The gap to Hermite models closes as n grows",
    ),
    Panel(
        "samples",
        "samples",
        "Half the test MSE against the number of training samples for three ridges; ReLU, "
        "noise 0.1, width and step fixed.",
        "The interpolation peak at m = k grows as the ridge vanishes, as theory says.",
        Axis("readout.samples", "m", "training samples m", log=True),
        y=Axis("ridge", "ridge", "ridge λ"),
        log_value=True,
        ours=True,
        title="Double descent: the peak at m = k, and what the ridge does to it",
    ),
    Panel(
        "Z1",
        "fine plane",
        "Map 4a at 200 × 200 points (30 × 30 at quick scale) by closed theory, which draws "
        "nothing, beside the simulated map.",
        "Errors fall smoothly towards strong data spread, as in the simulated map, whose points "
        "share their draws and so are off together.",
        ALPHA,
        kind="fine_map",
        y=BETA,
        ours=True,
        title="The map of test errors at every point, by theory without draws",
    ),
)
