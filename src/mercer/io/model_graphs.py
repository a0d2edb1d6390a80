"""networkx graphs in model files: they are stored as graphs of mercer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.exceptions import CannotSave
from mercer.io.model_values import Value
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import is_frame
from mercer.kernels.graphs.graph_forms import Unreadable, is_networkx, networkx_as_graph
from mercer.kernels.graphs.graph_points import Graph, Graphs


def with_own_graphs(attributes: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Return the attributes of a machine with graphs of mercer in place of those of networkx.

    They have the labels and weights that the kernel reads, so for it they are the same graphs.
    Lists, arrays of objects and series become lists; a frame stays a frame.
    """
    encoders = [encoder.inner or encoder for encoder in kernel.encoders()]
    encoders = [encoder for encoder in encoders if encoder.makes is Graphs]
    if not encoders:
        return attributes
    wanted: list[set[str]] = [
        {getattr(encoder, name) for encoder in encoders} - {None}
        for name in ("label", "edge_label", "weight")
    ]

    def own(item: Value) -> Value:
        if not is_networkx(item):
            return item
        several = next((names for names in wanted if len(names) > 1), None)
        if several:
            shown = ", ".join(map(repr, sorted(several)))
            raise CannotSave(
                f"a networkx graph of which the kernel reads the attributes {shown} in turn cannot "
                "be saved: a graph in a file has one label for a node or an edge, and one weight. "
                "Fit with a kernel that reads one of them."
            )
        try:
            graph = networkx_as_graph(item, *(next(iter(names), None) for names in wanted))
        except Unreadable as error:
            raise CannotSave(f"a networkx graph {error.args[0]}") from None
        return replace(graph, labels=_plain(graph.labels), edge_labels=_plain(graph.edge_labels))

    return {name: _replaced(value, own) for name, value in attributes.items()}


def _plain(labels: list[Any] | None) -> list[Any] | None:
    """Return labels without scalars of NumPy, each of which would be an array in the file."""
    if labels is None:
        return None
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _replaced(value: Value, own: Callable[[Any], Graph | Any]) -> Value:
    if is_frame(value):
        return _frame(value, own) if hasattr(value, "iloc") else value
    if type(value) in (list, tuple):
        items = value
    elif getattr(value, "dtype", None) == np.dtype(object) and value.shape[1:] in ((), (1,)):
        items = np.asarray(value).ravel().tolist()
    else:
        return value
    return [own(item) for item in items] if any(map(is_networkx, items)) else value


def _frame(frame: Any, own: Callable[[Any], Graph | Any]) -> Any:
    """Return a frame of pandas with graphs of mercer; the frame of the machine stays as it is."""
    copy = frame.copy(deep=False)
    for name in frame.columns:
        if any(map(is_networkx, frame[name])):
            copy[name] = frame[name].map(own)
    return copy
