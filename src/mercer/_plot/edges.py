"""Pictures of graphs of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Matrix


def draw_edges(ax: Any, rows: Array, graph: Matrix) -> None:
    """Draw a line for each edge of a graph between points, the heavier the darker."""
    from matplotlib.collections import LineCollection

    upper = graph.tocoo()
    first = upper.row < upper.col
    i, j, weights = upper.row[first], upper.col[first], upper.data[first]
    shade = 0.15 + 0.45 * weights / max(float(weights.max(initial=0.0)), np.finfo(float).tiny)
    lines = LineCollection(
        list(np.stack([rows[i], rows[j]], axis=1)), colors=_plot.ink(ax), linewidths=0.5,
        alpha=shade,
        zorder=1.5, label="_edges",
    )  # fmt: skip
    ax.add_collection(lines, autolim=False)
