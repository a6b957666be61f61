"""SVG pictures by matplotlib that are the same byte for byte when the same numbers are drawn again."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00")
"""Two colours that most colour-blind readers can tell apart (Okabe and Ito 2008)."""
STYLE = {
    "svg.hashsalt": "objective-bench",  # ids of marks are the same at each drawing
    "svg.fonttype": "none",  # text stays text
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def drawing() -> AbstractContextManager[None]:
    """Draw inside with the style of all pictures."""
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def svg_of(figure: Figure) -> str:
    """Return a figure as SVG."""
    buffer = io.StringIO()
    with drawing():
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
