"""The panels on real images: those of the paper, and how well fitted mixtures predict them.

The authors drew images from a generative model; these are the images themselves. Differs: a trial
draws rows anew from half of the images, the other half is kept for fitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onegrad.figures.panel import ACTIVATION_AXIS, WIDTH, Axis, Panel, Study, spaced

PIXELS = 784
WIDTHS = (0.01, 0.1, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0, 4.0, 5.0)
QUICK_WIDTHS: dict[str, Sequence[Any]] = {WIDTH.path: (0.3, 0.7, 1.0, 1.5, 3.0)}
COMPONENTS = Axis("data.fit.components_per_class", "components", "components per class")
CLASSES = Axis("data.classes", "classes", "classes")
QUICK_SIZES = {"readout.samples": 100, "test_samples": 500, COMPONENTS.path: 4}
# Each class centred and scaled by itself, and noise added: not what is done to data of one's own.
PUBLISHED_PREPARATION = {"centring": "class", "equal_traces": True, "noise": 1.0}
RATE = Axis("scaling.learning_rate", "log_eta", "learning rate, log η / log n", exponent=True)


def image_fields(classes: str, **fields: Any) -> dict[str, Any]:
    """Return the published setting on two classes of Fashion-MNIST."""
    fit = {"components_per_class": 16, "rank": 30}
    source = {"kind": "empirical", "file": "fashion-mnist", "classes": classes, "fit": fit}
    data = {**source, **PUBLISHED_PREPARATION, **fields}
    return {"readout.samples": 500, "test_samples": 2500, "data": data}


def _study(
    axes: dict[str, Sequence[Any]],
    quick_axes: dict[str, Sequence[Any]],
    fields: dict[str, Any],
    quick_fields: dict[str, Any] = QUICK_SIZES,
    **more: Any,
) -> Study:
    """Return a study on Fashion-MNIST, of networks alone unless said."""
    common = {"models": ("network",), "trials": (3, 20), "draws": (2, 4), "needs": "fashion-mnist"}
    return Study(axes, fields, quick_axes, quick_fields, **{**common, **more})


def _against_width(classes: str, *, ridge: float = 1e-4, trials: int = 20, **data: Any) -> Study:
    """Return network and Hermite model against width; from k/m = 0.7 where means are kept."""
    widths = [w for w in WIDTHS if w > 0.6] if data else WIDTHS
    return _study(
        {WIDTH.path: widths, **ACTIVATION_AXIS},
        QUICK_WIDTHS,
        {**image_fields(classes, **data), "readout.ridge": ridge},
        models=("network", "hermite"),
        trials=(3, trials),
    )


STUDIES: dict[str, Study] = {
    "images 0 1": _against_width("0,1"),
    "images 5 9": _against_width("5,9"),
    "means 0 1": _against_width("0,1", ridge=1e-5, trials=50, centring="midpoint"),
    "means 5 9": _against_width("5,9", ridge=1e-5, centring="midpoint"),
    "images rate": _study(
        {RATE.path: [float(PIXELS) ** x for x in spaced(0, 1, 10)], **ACTIVATION_AXIS},
        {RATE.path: [float(PIXELS) ** x for x in spaced(0, 1, 5)]},
        {**image_fields("0,1"), "scaling": {"learning_rate": 1.0, "spread": float(PIXELS)}},
    ),
    "fits": _study(
        {
            CLASSES.path: ("0,1", "5,9"),
            COMPONENTS.path: (1, 4, 16),
            WIDTH.path: WIDTHS,
            **ACTIVATION_AXIS,
        },
        {**QUICK_WIDTHS, COMPONENTS.path: (1, 4)},
        image_fields("0,1"),
    ),
    "images samples": _study(
        {
            "readout.samples": (100, 200, 300, 400, 500, 600, 800, 1200, 2000, 3000),
            "readout.ridge": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        },
        {"readout.samples": (50, 100, 150, 200, 300, 600)},
        {**image_fields("0,1"), "network.width": 500, "training.samples": 500},
        {"test_samples": 500, "network.width": 150, "training.samples": 100, COMPONENTS.path: 4},
    ),
    "digits": Study(
        axes={
            COMPONENTS.path: (1, 4, 8),
            WIDTH.path: (0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0),
            **ACTIVATION_AXIS,
        },
        quick_axes=QUICK_WIDTHS,
        fields={
            "readout.samples": 150,
            "test_samples": 400,
            "readout.ridge": 1e-3,
            "data": {
                "kind": "empirical",
                "file": "digits",
                "classes": "0+2+4+6+8,1+3+5+7+9",
                **PUBLISHED_PREPARATION,
                "noise": 0.1,
                "fit": {"components_per_class": 8, "rank": 10},
            },
        },
        quick_fields={},
        models=("network",),
        trials=(6, 40),
        draws=(2, 8),
    ),
}

PANELS: tuple[Panel, ...] = (
    Panel(
        "3a",
        "images 0 1",
        "Fashion-MNIST, T-shirts against trousers, each class centred: half the test MSE against "
        "width; labels ±1, θ = n, η = 1.",
        "The Hermite model of degree 4 follows the network on real images too; theory reads 16 "
        "Gaussians per class (4 at quick scale), fitted to other images. Published errors are of "
        "images from a generative model; real ones are a few per cent harder.",
        WIDTH,
        tolerance=0.06,
        compared_from=0.3,
        title="T-shirts against trousers: equivalence on images",
    ),
    Panel(
        "3b",
        "images 5 9",
        "As 3a for sandals against ankle boots.",
        "The same on a pair of classes that is harder to tell apart.",
        WIDTH,
        tolerance=0.06,
        compared_from=0.3,
        title="Sandals against ankle boots: equivalence on images",
    ),
    Panel(
        "7a",
        "images 0 1",
        "The panel of 3a again.",
        "As 3a.",
        WIDTH,
        tolerance=0.06,
        compared_from=0.3,
        title="T-shirts against trousers: test error against width",
    ),
    Panel(
        "7b",
        "images rate",
        "Fashion-MNIST, T-shirts against trousers: half the test MSE against the learning rate; "
        "k = m.",
        "Larger steps lower every error, that of ReLU first; theory knows it from the step's batch "
        "and the fitted mixture.",
        RATE,
        tolerance=0.06,
        title="T-shirts against trousers: larger steps lower the error",
    ),
    Panel(
        "8a",
        "means 0 1",
        "As 3a with the class means kept (centred by their midpoint), λ = 1e−5.",
        "The means make the classes easy to tell apart; the Hermite model still follows. Published "
        "errors are of images from a generative model; real ones are harder by half.",
        WIDTH,
        tolerance=0.06,
        title="T-shirts against trousers with class means kept",
    ),
    Panel(
        "8b",
        "means 5 9",
        "As 3b with the class means kept, λ = 1e−5.",
        "As 8a for sandals against ankle boots.",
        WIDTH,
        tolerance=0.06,
        title="Sandals against ankle boots with class means kept",
    ),
    Panel(
        "R1",
        "fits",
        "Real images against theory on mixtures of 1, 4 and (at paper scale) 16 Gaussians per "
        "class, fitted to images that no network saw.",
        "One Gaussian per class is not enough for ReLU and tanh; sixteen predict the trained "
        "network.",
        WIDTH,
        kind="fits",
        y=COMPONENTS,
        facet=CLASSES,
        tolerance=0.06,
        compared_from=0.3,
        ours=True,
        title="How many Gaussians predict networks on real images",
    ),
    Panel(
        "R2",
        "images samples",
        "T-shirts against trousers: half the test MSE against training samples and against the "
        "ridge; ReLU, fixed width and step, theory on a fitted mixture.",
        "The fitted mixture knows the peak at m = k and what the ridge does to it.",
        Axis("readout.samples", "m", "training samples m", log=True),
        kind="two_ways",
        y=Axis("ridge", "ridge", "ridge λ", log=True),
        log_value=True,
        tolerance=0.06,
        ours=True,
        title="Real images: the peak at m = k, and what the ridge does to it",
    ),
    Panel(
        "digits",
        "digits",
        "As R1 on the 8×8 digits that come with scikit-learn, even against odd; n = 64, noise 0.1.",
        "The whole path without a download. With 445 rows per class to fit, theory is a little "
        "hopeful: clusters fit their own rows.",
        WIDTH,
        kind="fits",
        y=COMPONENTS,
        tolerance=0.1,
        ours=True,
        title="How many Gaussians predict networks on digits",
    ),
)
