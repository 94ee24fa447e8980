"""Where laws of outputs are known to fail: at corners of a loss, near separability, small rates."""

from __future__ import annotations

from onegrad.calculus.losses import NamedLoss

FEW_BENT = (1e-3, 0.1)  # shares of margins at a corner for which ŵ does not answer linearly
CORNER_ERROR = 0.12  # there, of misclassification
SEPARABLE = 12.0  # deviation of outputs
NEARLY_NONE, SMALL_RATE = 1e-4, 0.01


def few_margins_bend(loss: NamedLoss, bent: float) -> bool:
    """Return whether a loss jumps in slope where few margins lie; `bent` is their share."""
    return not loss.smooth and FEW_BENT[0] < bent < FEW_BENT[1]


def loss_failures(loss: NamedLoss, *, bent: float, largest_variance: float) -> list[str]:
    """Return what is known to fail for a loss, a sentence each; variances are those of outputs."""
    said = []
    if few_margins_bend(loss, bent):
        said.append(
            f"few margins lie at the corner of loss={loss.name!r}, where "
            "misclassification may be 5 to 12 % off; lower the ridge, or simulate"
        )
    if largest_variance > SEPARABLE**2:
        said.append(
            "outputs are very large, as near separability: training sets differ by "
            "orders of magnitude; raise the ridge, or compare with medians"
        )
    return said


def small_rate_failures(train_misclassification: float) -> list[str]:
    """Return what is known to fail where hardly a training sample is misclassified."""
    if NEARLY_NONE < train_misclassification < SMALL_RATE:
        return ["train_misclassification below 1 % may be 10 to 40 % off; take it as small"]
    return []
