"""What pictures share: axes, colours, labels; matplotlib is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array, Axes, IntArray
from mercer.exceptions import MercerError

INK, SOFT = "#1b2a41", "#8d99ae"
_LOW, _HIGH = (0.16, 0.44, 0.72), (0.91, 0.45, 0.13)
"""Blue and orange, which people see apart who do not see red and green apart."""
_PALE = "#e8ecf1"  # the ink of dark backgrounds
_LIGHTER = 0.4  # the white in the colours of words on them
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#8d99ae")
"""Colours that colour-blind readers tell apart (M. Okabe and K. Ito, 2008)."""
MARKERS = "os^DvPX"
"""Marks that go with the colours, for print in grey."""
DOWN, UP = COLOURS[:2]
"""What moves an answer to the first class, or down, and to the second class, or up."""
GOOD, BAD = COLOURS[:2]


def between(heights: Array) -> Array:
    """Return colours from blue (0) to orange (1), one row for each number."""
    share = np.asarray(heights, dtype=float)[:, None]
    return np.asarray((1 - share) * np.array(_LOW) + share * np.array(_HIGH))


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of a picture.

    Attributes
    ----------
    rows : array of shape (n, d)
        Where they are.
    codes : array of shape (n,), optional
        The number of the class of each; −1 is none.
    names, columns : sequence of str
        What classes and columns are called.
    """

    rows: Array
    codes: IntArray | None = None
    names: Sequence[str] = ()
    columns: Sequence[str] = ()


def axes(count: int, axes: Axes = None, size: tuple[float, float] = (4.2, 3.6)) -> Any:
    """Return ``count`` axes side by side: the given ones, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MercerError(
            'Drawing needs matplotlib: pip install "mercer[plot]" or pip install matplotlib.'
        ) from None
    if axes is not None:
        return axes
    width, height = size
    _, made = plt.subplots(
        1, count, figsize=(width * count, height), squeeze=False, layout="constrained"
    )
    return made[0]


def one(ax: Axes = None, size: tuple[float, float] = (5.2, 4.0)) -> Any:
    """Return the given axes, or those of a new figure."""
    return axes(1, None if ax is None else [ax], size)[0]


def ink(ax: Any) -> str:
    """Return the colour of lines and words that can be read on these axes, light or dark."""
    from matplotlib.colors import to_rgba

    red, green, blue, opaque = to_rgba(ax.get_facecolor())
    if opaque == 0:
        red, green, blue, _ = to_rgba(ax.figure.get_facecolor())
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else _PALE


def on_paper(colour: str, ax: Any) -> Any:
    """Return a colour as it can be read on these axes: paler on dark ones."""
    from matplotlib.colors import to_rgb

    if ink(ax) == INK:
        return colour
    return tuple((1 - _LIGHTER) * share + _LIGHTER for share in to_rgb(colour))


def write(ax: Any, text: str, at: Sequence[float], colour: str | None = None, **style: Any) -> Any:
    """Write words at a point of a picture, with a rim that keeps them readable on anything."""
    from matplotlib.patheffects import withStroke

    rim = withStroke(linewidth=3, foreground=ax.get_facecolor())
    style = {
        "xytext": (0, 0), "textcoords": "offset points", "fontsize": 9, "ha": "center",
        "va": "center", "color": on_paper(colour, ax) if colour else ink(ax),
        "path_effects": [rim], **style,
    }  # fmt: skip
    return ax.annotate(text, at, annotation_clip=False, **style)


def ring(ax: Any, at: Sequence[float]) -> None:
    """Draw a ring around a place of a matrix, with a rim that is seen on any colour."""
    from matplotlib.patheffects import withStroke

    rim = withStroke(linewidth=5, foreground="white")
    ax.plot(*at, "o", mfc="none", mec=BAD, ms=12, mew=2, path_effects=[rim])


def bare(ax: Any) -> Any:
    """Take away the lines of the frame that say nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def colour_of(code: int) -> str:
    """Return the colour of a class."""
    return COLOURS[code % len(COLOURS)]


def marker_of(code: int) -> str:
    """Return the mark of a class."""
    return MARKERS[code % len(MARKERS)]
