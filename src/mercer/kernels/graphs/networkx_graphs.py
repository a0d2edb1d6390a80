"""Batches of networkx graphs, read all at once."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from mercer import _fast
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
    numbered = _numbered(items)
    if numbered is not None:
        sizes, nodes, counts, targets = numbered
        edges: list[Any] = []
    else:
        read = _plain(items) or _any_kind(items)
        sizes, nodes = np.array(read.sizes, dtype=np.int64), read.nodes
        counts = np.fromiter(map(len, read.rows), dtype=np.int64, count=len(read.rows))
        wanted = edge_label is not None or weight is not None
        # Most edges have no attributes: they are looked at, and none is kept.
        edges = read.edges() if wanted else []
    starts, arc_starts = _starts(sizes), _starts(counts)
    try:
        if numbered is None:
            targets = np.fromiter(read.ends(), dtype=np.int64, count=int(arc_starts[-1]))
        labels = _codes(nodes, label, starts, owner)
        edge_labels = _codes(edges, edge_label, arc_starts[starts], owner)
        weights = _weights(edges, weight, len(targets))
    except (TypeError, ValueError):
        return None
    if labels is None or edge_labels is None or not np.isfinite(weights).all():
        return None
    return _in_order(Graphs(starts, labels, arc_starts, targets, weights, edge_labels))


class _Numbered(NamedTuple):
    """Graphs whose nodes are 0, 1, 2 … in this order and whose edges have no attributes."""

    sizes: Integers
    nodes: list[Any]
    """The attributes of each node."""
    counts: Integers
    """The number of neighbours of each node."""
    targets: Integers
    """The neighbours of all nodes."""


def _numbered(items: Sequence[Object]) -> _Numbered | None:
    """Return graphs as most are; None where one of them is not so."""
    nodes, rows = _kept(items)
    if not rows or not _is_numbered(nodes[0], rows[0]):
        return None  # the others are most likely no different
    numbers = {size: list(range(size)) for size in set(map(len, nodes))}
    if any(list(given) != numbers[len(given)] for given in nodes):
        return None
    try:
        # One call turns all dictionaries to bytes, and says no to what is no plain dictionary.
        data = np.frombuffer(marshal.dumps(rows, 2), dtype=np.uint8)
    except ValueError:
        return None
    sizes = np.fromiter(map(len, nodes), dtype=np.int64, count=len(nodes))
    layout = _fast.adjacency_bytes
    total = int(sizes.sum())
    left = len(data) - layout.HEAD - layout.GRAPH * len(rows) - layout.ENTRY * total
    arcs, rest = divmod(left, layout.ENTRY)
    if arcs < 0 or rest:
        return None
    counts, targets = np.empty(total, dtype=np.int64), np.empty(arcs, dtype=np.int64)
    if not layout.read_neighbours(data, sizes, counts, targets):
        return None
    return _Numbered(sizes, _values(nodes), counts, targets)


def _kept(items: Sequence[Object]) -> tuple[list[Any], list[Any]]:
    """Return the dictionaries of nodes and of neighbours; empty lists where some are no such.

    They are where networkx keeps them: its views of them cost more than to read them.
    """
    kept = [vars(graph) for graph in items]
    nodes = [held.get("_node") for held in kept]
    rows = [held.get("_adj") for held in kept]
    return (nodes, rows) if {*map(type, nodes), *map(type, rows)} <= {dict} else ([], [])


def _is_numbered(nodes: dict[Any, Any], rows: dict[Any, Any]) -> bool:
    """Tell whether one graph has numbers for names, and edges without attributes."""
    return list(nodes) == list(range(len(nodes))) and not any(
        any(row.values()) for row in rows.values()
    )


class _Dictionaries(NamedTuple):
    """The dictionaries of all graphs, in the order of their nodes."""

    sizes: list[int]
    names: list[Any]
    """The nodes of all graphs, one after the other."""
    nodes: list[Any]
    """The attributes of each node."""
    rows: list[Any]
    """The neighbours of each node, with the attributes of the edges to them."""
    plain: bool
    """Whether all of them are dictionaries and nothing else."""

    def ends(self) -> Iterator[Any]:
        """Return the numbers of all neighbours, within their graphs."""
        reached = chain.from_iterable(self.rows)
        if self.names == list(chain.from_iterable(map(range, self.sizes))):
            return reached  # the names are the numbers
        return self._numbered()

    def _numbered(self) -> Iterator[Any]:
        known: list[Any] = []
        number: dict[Any, int] = {}
        begin = 0
        for size in self.sizes:
            end = begin + size
            names = self.names[begin:end]
            if names != known:  # graphs often have the same names
                known, number = names, dict(zip(names, range(size), strict=True))
            reached = chain.from_iterable(self.rows[begin:end])
            yield from map(number.__getitem__, reached)
            begin = end

    def edges(self) -> list[Any]:
        """Return the attributes of all edges; an empty list where no edge has any."""
        if not any(chain.from_iterable(self._views())):
            return []
        return list(chain.from_iterable(self._views()))

    def _views(self) -> Iterator[Any]:
        return map(dict.values, self.rows) if self.plain else (row.values() for row in self.rows)


def _plain(items: Sequence[Object]) -> _Dictionaries | None:
    """Return what graphs hold that are made of dictionaries alone; None for any other."""
    nodes, rows = _kept(items)
    if not rows:
        return None
    names = list(chain.from_iterable(nodes))
    sizes = list(map(len, nodes))
    if names != list(chain.from_iterable(rows)) or sizes != list(map(len, rows)):
        return None
    found = _Dictionaries(sizes, names, _values(nodes), _values(rows), True)
    return found if {*map(type, found.nodes), *map(type, found.rows)} <= {dict} else None


def _values(mappings: list[Any]) -> list[Any]:
    return list(chain.from_iterable(map(dict.values, mappings)))


def _any_kind(items: Sequence[Object]) -> _Dictionaries:
    """Return what graphs of any kind hold, views of others too."""
    found = _Dictionaries([], [], [], [], False)
    for graph in items:
        attributes, neighbours = dict(graph.nodes(data=True)), dict(graph.adjacency())
        names = list(attributes)
        found.sizes.append(len(names))
        found.names.extend(names)
        found.nodes.extend(attributes.values())
        found.rows.extend(neighbours[name] for name in names)
    return found


def _starts(counts: Any) -> Integers:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))])


def _codes(attributes: list[Any], name: Parameter, starts: Integers, owner: str) -> Codes | None:
    """Return the codes of labels, or None where a part has some with a label and some without.

    An empty list stands for attributes that are all empty.
    """
    if name is None or not any(attributes):
        return np.zeros(starts[-1], dtype=np.uint64)
    try:
        found = list(map(dict.get, attributes, repeat(name)))
    except TypeError:  # mappings of other kinds
        found = [given.get(name) for given in attributes]
    codes = label_codes(found, owner)
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
