"""The axes that a picture is drawn on: given ones, or new ones, with labels and one legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_for(ax: Any = None) -> Axes:
    """Return the axes that were given, or those of a new figure of pyplot."""
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


def finish(axes: Axes, *, x: str, y: str, handles: Sequence[Any] = ()) -> Axes:
    """Return the axes after labelling them; entries join those of a legend that is there."""
    from onegrad.plotting.look import add_grid

    axes.set_xlabel(x)
    axes.set_ylabel(y)
    add_grid(axes)
    add_legend(axes, handles)
    return axes


def add_legend(axes: Axes, handles: Sequence[Any]) -> None:
    """Put entries into the legend, each label once, after those of pictures drawn before."""
    entries: dict[str, Any] = {}
    before = axes.get_legend()
    if before is not None:
        labels = [text.get_text() for text in before.get_texts()]
        entries = dict(zip(labels, before.legend_handles, strict=True))
    entries |= {str(handle.get_label()): handle for handle in handles}
    if entries:
        axes.legend(
            list(entries.values()), list(entries), frameon=False, fontsize="small", loc="best"
        )
