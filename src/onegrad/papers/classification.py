"""Panels of classification, ours: which readouts tell two classes apart, by theory and trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onegrad.papers.images import CLASSES, fitted_study, image_fields
from onegrad.papers.panel import ALPHA, WIDTH, Axis, Panel, Study

MEANS = ("data.components.0.mean", "data.components.1.mean")
MEAN = Axis(MEANS[0], "mean", "length of the class means ‖μ‖")
LOSS = Axis("readout.loss", "loss", "loss of the readout")
TWO_CLASSES: dict[str, Any] = {
    "teacher": {"kind": "labels"},
    "data": {"components": [{"weight": 0.5, "mean": 1.5}, {"weight": 0.5, "mean": -1.5}]},
}


def _means(*lengths: float) -> dict[str, Sequence[float]]:
    """Return the axes that put the classes at means ±μ of these lengths."""
    return {MEANS[0]: lengths, MEANS[1]: tuple(-length for length in lengths)}


STUDIES: dict[str, Study] = {
    "two classes": Study(
        axes={
            WIDTH.path: (0.3, 0.5, 0.7, 1.0, 1.5, 2.0),
            ALPHA.path: (0.5, 0.0),
            **_means(0.0, 1.5),
        },
        quick_axes={WIDTH.path: (0.3, 1.0, 2.0), ALPHA.path: (0.0,)},
        fields={**TWO_CLASSES, "readout.loss": "logistic"},
        quick_fields={"dimension": 150, "readout.samples": 150},
        zip=MEANS,
        models=("network", "hermite", "linear"),
        redraw="all",
        trials=(3, 8),
        draws=(2, 8),
    ),
    "losses": Study(
        axes={
            **_means(0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
            LOSS.path: ("square", "logistic", "squared_hinge", "hinge"),
            "readout.ridge": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
        },
        quick_axes={**_means(0.5, 1.5, 2.5), "readout.ridge": (1e-4, 1e-3, 1e-2)},
        fields={**TWO_CLASSES, ALPHA.path: 0.0},
        quick_fields={"dimension": 150, "readout.samples": 150},
        zip=MEANS,
        models=("network",),
        redraw="all",
        trials=(3, 8),
        draws=(2, 8),
    ),
    "image classes": fitted_study(
        {
            CLASSES.path: ("0,1", "5,9"),
            WIDTH.path: (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
            LOSS.path: ("square", "logistic"),
        },
        {CLASSES.path: ("5,9",), WIDTH.path: (0.5, 2.0)},
        image_fields("0,1", centring="midpoint"),
        redraw="all",
    ),
}

PANELS: tuple[Panel, ...] = (
    Panel(
        "C1a",
        "two classes",
        "Misclassification by logistic regression on the features against width, two classes of "
        "equal weight without means (left) and with means ±μ (right); β = 0.74, α = ½ (the "
        "setting of 2a, at paper scale) and α = 0.",
        "Without means only covariances tell the classes apart: the linear model guesses, the "
        "network and its Hermite model do not once the spread is large (α = 0). Means alone are "
        "enough for the linear model (α = ½).",
        WIDTH,
        metric="misclassification",
        kind="points",
        y=ALPHA,
        facet=MEAN,
        tolerance=0.1,
        ours=True,
        title="Misclassification with and without class means",
    ),
    Panel(
        "C1b",
        "two classes",
        "Logistic test loss against width; the rows of C1a.",
        "Where there is nothing to learn the loss stays above log 2, that of a readout of zero, at "
        "every width: the margins are confident noise. Elsewhere width lowers it.",
        WIDTH,
        metric="test_loss",
        kind="points",
        y=ALPHA,
        facet=MEAN,
        tolerance=0.1,
        ours=True,
        title="Logistic loss with and without class means",
    ),
    Panel(
        "C2",
        "losses",
        "Misclassification against the length of the class means ±μ for four losses: at λ = 1e−4, "
        "and every point at its own best of five λ from 1e−4 to 1e−2 (three at quick scale), "
        "chosen by theory; ReLU, k = m, β = 0.74, α = 0.",
        "At one small λ the logistic loss is best and the square loss worst, at any overlap of the "
        "classes. With λ of its own no loss is ahead, and the hinge is a little behind: what "
        "differed was how much λ regularises.",
        MEAN,
        metric="misclassification",
        kind="penalties",
        y=LOSS,
        tolerance=0.1,
        log_value=True,
        ours=True,
        title="Four losses: what differs is how much λ regularises",
    ),
    Panel(
        "C3",
        "image classes",
        "Fashion-MNIST with class means kept: misclassification against width by ridge and by "
        "logistic regression, λ = 1e−4, real images beside theory on a fitted mixture.",
        "Logistic regression errs less than ridge regression, most where that peaks, and "
        "theory knows by how much. Wide networks with ridge catch up sooner in theory than on "
        "images, some of which no Gaussian of the mixture has. At quick scale the mixture is "
        "fitted to 600 images per class, and theory is about a fifth below the networks.",
        WIDTH,
        metric="misclassification",
        kind="points",
        y=LOSS,
        facet=CLASSES,
        tolerance=0.1,
        ours=True,
        title="Images: ridge against logistic regression",
    ),
)
