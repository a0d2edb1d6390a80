"""The few drawing helpers; matplotlib is imported when something is drawn."""

from __future__ import annotations

from typing import Any

from mercer._typing import Axes
from mercer.exceptions import MercerError

INK, GOOD, BAD, SOFT = "#1b2a41", "#2a7f62", "#c8553d", "#8d99ae"


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
