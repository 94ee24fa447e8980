"""The metrics of the page, and which of them a task shows before anyone has chosen."""

from __future__ import annotations

from collections.abc import Collection

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


def task_metrics(known: Collection[str]) -> list[str]:
    """Return what is shown first of the metrics that theory knows here.

    Errors on new and on old data; where labels are ±1 the rate of wrong ones and what is minimised.
    """
    if "misclassification" not in known:
        return ["test_mse", "train_mse"]
    return ["misclassification", "test_loss" if "test_loss" in known else "test_mse"]
