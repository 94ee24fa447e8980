"""What published values rest on, and so what a deviation from them does."""

from __future__ import annotations

COMMON = (
    "there are no error bars on them, and one data set shifts a whole curve: a common deviation of "
    "about 4 % (one standard deviation) is chance"
)
ONE_DATA_SET = f"Published values rest on one data set for all points: {COMMON}."
ONE_PER_POINT = (
    "Published values rest on one data set per point, shared by all models and activations: "
    "deviations of about 4 % (one standard deviation) from point to point are chance."
)
ALL_REDRAWN = (
    "Published values are means over trials that redraw everything, as ours: deviations rest on "
    "their standard errors, about 1 % in 2b."
)
GENERATED = (
    "Published values are of images that the authors drew from a generative network (a GAN), one "
    "data set for all points; ours are of the real images, which are harder: "
)
LITTLE = "by 2 to 15 % where class means are removed, as here, most for ReLU."
FOR_RELU = (
    "for ReLU by 9 % at small rates and 18 % at large ones; for tanh and sigmoid they agree within "
    "2 %."
)
HALF = "by about half where class means are kept, as here."
ANOTHER_CODE = "Published values are read off a plot of one run; no error bars are given there."
BASES = {
    **dict.fromkeys(("1a", "5c"), ONE_DATA_SET),
    "6": f"{ONE_DATA_SET} It is that of 1a, whose labels are small: the objective is about a tenth "
    "below ours.",
    **dict.fromkeys(("1b", "1c", "2a", "4a", "5a", "5b"), ONE_PER_POINT),
    "4b": f"{ONE_PER_POINT} Cells beyond the ends of its colour scale, 4 % and 100 %, are left "
    "white.",
    **dict.fromkeys(("2b", "2c"), ALL_REDRAWN),
    **dict.fromkeys(("3a", "3b", "7a"), GENERATED + LITTLE),
    "7b": GENERATED + FOR_RELU,
    **dict.fromkeys(("8a", "8b"), GENERATED + HALF),
    "G3": ANOTHER_CODE,
}
AT_QUICK_SCALE = (
    "Published values are for the published size: --scale paper puts them beside ours. "
)


def published_basis(panel: str, scale: str) -> str:
    """Return what a panel's published values rest on, nothing where none are known."""
    if panel not in BASES:
        return ""
    return (AT_QUICK_SCALE if scale == "quick" else "") + BASES[panel]
