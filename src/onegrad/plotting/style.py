"""The look of all pictures: colours, markers, lines, words for values, axes to draw on, files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.files import replace_file
from onegrad.describe.numbers import Floats, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers can tell apart; luminance and markers
# differ too.
STYLES = [
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#56B4E9", "^"),
    ("#000000", "D"),
    ("#009E73", "v"),
    ("#CC79A7", "P"),
]
OWN_COLOURS = {-1: "#777777", -2: "#000000", -3: "#CC0000"}  # view.GREY, BLACK and RED
LEVEL_COLOURS = ["#f7f7f7", "#d9d9d9", "#bdbdbd", "#6baed6", "#2171b5", "#08306b"]
NO_LEVEL = "#D55E00"
WIDE_RANGE = 300.0  # of a logarithmic axis, from which only powers of ten are labelled
NEAR = 0.6  # of the range of a picture's values: constants further above would flatten them

LONG_DASHES = (0, (10, 4))
DASHDOT = (0, (7, 1.5, 1, 1.5))


@dataclass(frozen=True)
class Mark:
    """How a curve is drawn; sizes are relative to those of matplotlib's style.

    `marker` is True for the marker of the curve's colour.
    """

    line: Any = "none"
    marker: str | bool = ""
    size: float = 0.85
    width: float = 0.8
    hollow: bool = False


MARKS = {
    "points": Mark(marker=True),
    "open": Mark(marker=True, hollow=True),
    "joined": Mark("-", marker=True),
    "joined_open": Mark("--", marker=True, hollow=True),
    "line": Mark("-"),
    "dashed": Mark("--", width=0.7),
    "dotted": Mark(":", width=0.8),
    "dashdot": Mark(DASHDOT, width=0.6),
    "dashdotdot": Mark((0, (6, 1.5, 1, 1.5, 1, 1.5)), width=0.7),
    "longdash": Mark(LONG_DASHES, width=0.65),
    "cross": Mark(marker="x"),
    "plus": Mark(marker="+", size=1.1),
    "dash": Mark(marker="_", size=2.3),
    "star": Mark(marker="*", size=1.8),
    "dots": Mark(marker=".", size=0.6),
}
LINES = ("line", "dashed", "dotted", "dashdotdot", "dashdot")  # of theory, one for each model

CONSTANT_LABEL = "best constant prediction"
VALUE_LABELS = {
    "half_test_mse": "½ test MSE",
    "objective": "training objective",
    "gap": "|gap to network| / network",
    "linear_gap_percent": "gap of the linear model, %",
    "smallest_degree": "smallest sufficient degree",
    "test_mse": "test MSE",
    "train_mse": "training MSE",
}


def metric_label(metric: str) -> str:
    """Return the label of an axis that shows a metric."""
    return VALUE_LABELS.get(metric, metric.replace("_", " "))


def model_name(model: str) -> str:
    """Return the name of a model in a legend."""
    plain = model.removesuffix("_theory")
    name = {"hermite": "Hermite model"}.get(plain, plain)
    return f"{name}, theory" if model.endswith("_theory") else name


def field_label(path: str) -> str:
    """Return the label of an axis that shows a field: the end of its path, in words."""
    parts = [part for part in path.split(".") if not part.isdigit() and part != "*"]
    return (parts[-1] if parts else path).replace("_", " ")


def is_number(value: object) -> bool:
    """Return whether a value is a number, which True is not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def value_text(value: object) -> str:
    """Return a value as it is written in a legend or under an axis."""
    if is_number(value):
        return f"{value:.6g}"
    return str(value).translate(str.maketrans("", "", "[]\"'"))


def is_near(constants: Floats, values: Floats, *, log: bool) -> bool:
    """Return whether constants lie within a picture's values or a little above them."""
    if log:
        constants, values = (np.log(v[v > 0]) for v in (constants, values))
    if not len(constants) or not len(values):
        return False
    low, high = float(values.min()), float(values.max())
    return float(constants.max()) <= high + NEAR * (high - low)


def palette(count: int) -> list[tuple[str, str]]:
    """Return so many colours with markers: Okabe and Ito's, or a scale if these are too few."""
    if count <= len(STYLES):
        return STYLES
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shades = colormaps["cividis"](np.linspace(0.0, 0.92, count))
    return [(to_hex(shade), STYLES[i % len(STYLES)][1]) for i, shade in enumerate(shades)]


def number_ticks(axis: XAxis | YAxis) -> None:
    """Label a logarithmic axis with short numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high / low > WIDE_RANGE:
        return  # powers of ten are enough
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def axes_for(ax: Any = None) -> Axes:
    """Return the given axes, or those of a new figure of pyplot."""
    require_extra("plot", "figures")
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InvalidInput(
            f"ax={shown(ax)}: must be matplotlib Axes or None; pass plt.subplots()[1]"
        )
    return ax


# Styles and files.

WIDTHS = {"one": 3.375, "two": 7.0}  # inches: columns of 8.6 cm and 17.8 cm
PAPER = "onegrad.plotting.onegrad"  # as matplotlib.style.use names the file beside this one
DPI = 160
STAMPS = {
    "png": ["Software"],
    "pdf": ["Creator", "Producer", "CreationDate"],
    "svg": ["Creator", "Date"],
}


@contextmanager
def styled(style: str | None) -> Iterator[None]:
    """Draw in a style inside: "paper" is ours, None the user's own, else one of matplotlib."""
    from matplotlib import rc_context
    from matplotlib import style as styles

    with rc_context():
        if style is not None:
            try:
                styles.use(PAPER if style == "paper" else style)
            except (OSError, ValueError, TypeError, ImportError, SyntaxError):
                raise InvalidInput(
                    f"style={shown(style)}: must be paper, or a style or file that matplotlib "
                    "knows; choose one"
                ) from None
        yield


def style_dpi() -> float | str:
    """Return the dots per inch that the present style sets for files."""
    from matplotlib import rcParams

    dpi: float | str = rcParams["savefig.dpi"]
    return dpi


def save(
    figure: Figure, path: Path | BinaryIO, *, form: str, dpi: float | str | None = None
) -> None:
    """Write png, pdf or svg without dates or versions, so that equal figures are equal files."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "onegrad"}):  # else the names of its parts are random
        metadata = dict.fromkeys(STAMPS[form])
        figure.savefig(path, format=form, dpi=DPI if dpi is None else dpi, metadata=metadata)


def picture_form(path: Path) -> str:
    """Return pdf, png or svg by the end of a file's name."""
    form = path.suffix.removeprefix(".").lower()
    if form not in STAMPS:
        raise InvalidInput(f"out={str(path)!r}: must end in .pdf, .png or .svg; rename it")
    if path.is_dir():
        raise InvalidInput(f"out={str(path)!r}: is a folder; name a file")
    return form


def save_whole(figure: Figure, path: Path, *, dpi: float | str | None = None) -> None:
    """Write a picture in the form that its name ends with, whole or not at all."""
    form = picture_form(path)
    replace_file(path, lambda part: save(figure, part, form=form, dpi=dpi))
