"""Batches of networkx graphs, read all at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from mercer._typing import Array, Object, Parameter
from mercer.kernels.graphs.graph_points import Codes, Graphs, Integers
from mercer.kernels.graphs.label_codes import label_codes


def are_simple_networkx(items: Sequence[Object]) -> bool:
    """Tell whether all objects are networkx graphs without parallel edges."""
    networkx: Any = sys.modules.get("networkx")  # who has not loaded it has none of its graphs
    return networkx is not None and all(
        isinstance(item, networkx.Graph) and not item.is_multigraph() for item in items
    )


def read_networkx(
    items: Sequence[Object], label: Parameter, edge_label: Parameter, weight: Parameter, owner: str
) -> Graphs | None:
    """Return all graphs, or None where one has to be looked at by itself, as it may be wrong.

    The names are those of attributes, None for labels or weights that are not wanted.
    """
    sizes: list[int] = []
    nodes: list[Any] = []
    rows: list[Any] = []
    ends: list[Any] = []
    for graph in items:
        # These two hand out the dictionaries that networkx has, and no object for each edge.
        attributes, neighbours = dict(graph.nodes(data=True)), dict(graph.adjacency())
        names = list(attributes)
        if list(neighbours) != names:
            neighbours = {name: neighbours[name] for name in names}
        sizes.append(len(names))
        nodes += attributes.values()
        rows += neighbours.values()
        reached = chain.from_iterable(neighbours.values())
        if names == list(range(len(names))):
            ends += reached  # the names are the numbers
        else:
            number = dict(zip(names, range(len(names)), strict=True))
            ends += map(number.__getitem__, reached)
    starts, arc_starts = _starts(sizes), _starts(list(map(len, rows)))
    wanted = edge_label is not None or weight is not None
    # Most edges have no attributes: they are looked at, and none is listed.
    if wanted and any(chain.from_iterable(row.values() for row in rows)):
        edges = list(chain.from_iterable(row.values() for row in rows))
    else:
        edges = []
    try:
        targets = np.fromiter(ends, dtype=np.int64, count=len(ends))
        labels = _codes(nodes, label, starts, owner)
        edge_labels = _codes(edges, edge_label, arc_starts[starts], owner)
        weights = _weights(edges, weight, len(ends))
    except (TypeError, ValueError):
        return None
    if labels is None or edge_labels is None or not np.isfinite(weights).all():
        return None
    return _in_order(Graphs(starts, labels, arc_starts, targets, weights, edge_labels))


def _starts(counts: Any) -> Integers:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))])


def _codes(attributes: list[Any], name: Parameter, starts: Integers, owner: str) -> Codes | None:
    """Return the codes of labels, or None where a part has some with a label and some without.

    An empty list stands for attributes that are all empty.
    """
    if name is None or not any(attributes):
        return np.zeros(starts[-1], dtype=np.uint64)
    codes = label_codes([given.get(name) for given in attributes], owner)
    without = np.diff(_starts(codes == 0)[starts])
    return codes if ((without == 0) | (without == np.diff(starts))).all() else None


def _weights(attributes: list[Any], name: Parameter, count: int) -> Array:
    if name is None or not any(attributes):
        return np.ones(count)
    given = (float(found.get(name, 1.0)) for found in attributes)
    return np.fromiter(given, dtype=np.float64, count=count)


def _in_order(graphs: Graphs) -> Graphs:
    """Return the graphs with the arcs of each node in the order of their targets."""
    widest = max(1, int(graphs.sizes.max(initial=0)))
    places = graphs.sources * widest + graphs.targets
    if (places[1:] >= places[:-1]).all():
        return graphs
    order = np.argsort(places, kind="stable")
    return replace(
        graphs,
        targets=graphs.targets[order],
        weights=graphs.weights[order],
        edge_labels=graphs.edge_labels[order],
    )
