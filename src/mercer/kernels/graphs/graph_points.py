"""Graphs: one of them as plain arrays, and a batch of them as a leaf of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._files.fields import Maybe, Numbers, Plain, State, WrongState
from mercer._typing import Array, Index

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Graph:
    """One graph, written down as lists or arrays.

    Attributes
    ----------
    edges
        Pairs (u, v) of node numbers, counted from 0.
    labels
        A label for each node, or None.
    edge_labels, weights
        One for each edge, or None.
    size : int, optional
        The number of nodes; by default as many as there are labels, or as ``edges`` mention.
    directed : bool
        Whether (u, v) leads from u to v only.

    Examples
    --------
    >>> from mercer import Graph, WeisfeilerLehman
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> hydroxide = Graph([(0, 1)], labels=["O", "H"])
    >>> WeisfeilerLehman(rounds=0)([water], [hydroxide])  # one O each, two H and one
    array([[3.]])
    """

    edges: Any = ()
    labels: Any = None
    edge_labels: Any = None
    weights: Any = None
    size: int | None = None
    directed: bool = False

    STATE: ClassVar[State] = {
        **dict.fromkeys(("edges", "labels", "edge_labels", "weights", "size"), Plain()),
        "directed": Maybe(Plain()),  # older files do not have it
    }


@dataclass(frozen=True, eq=False)
class Graphs:
    """A batch of graphs in one list of nodes and one list of arcs (directed edges).

    Graph g has the nodes ``starts[g]`` to ``starts[g+1]``, node i the arcs ``arc_starts[i]`` to
    ``arc_starts[i+1]``. Targets are counted within their graph. Labels are 64-bit codes that
    depend on the label alone; 0 stands for nodes and edges without one.
    """

    starts: Integers
    labels: Codes
    arc_starts: Integers
    targets: Integers
    weights: Array
    edge_labels: Codes

    STATE: ClassVar[State] = {
        "starts": Numbers("graphs", types="i", low=0),
        "labels": Numbers("nodes", types="u"),
        "arc_starts": Numbers("rows", types="i", low=0),
        "targets": Numbers("arcs", types="i", low=0),
        "weights": Numbers("arcs"),
        "edge_labels": Numbers("arcs", types="u"),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless nodes and arcs are those of whole graphs."""
        if any(getattr(self, name).dtype.itemsize != 8 for name in self.STATE):
            raise WrongState("its numbers have not 64 bits")
        for starts, items in ((self.starts, self.labels), (self.arc_starts, self.targets)):
            ordered = len(starts) > 0 and (np.diff(starts) >= 0).all()
            if not ordered or starts[0] or starts[-1] != len(items):
                raise WrongState("its graphs do not follow one another")
        arcs = np.diff(self.arc_starts[self.starts])
        if (
            len(self.arc_starts) != len(self.labels) + 1
            or (self.targets >= np.repeat(self.sizes, arcs)).any()
        ):
            raise WrongState("an edge leads out of its graph")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Integers:
        """The number of nodes of each graph."""
        return np.diff(self.starts)

    @property
    def sources(self) -> Integers:
        """The node of the batch in which each arc begins."""
        return np.repeat(np.arange(len(self.labels)), np.diff(self.arc_starts))

    @property
    def global_targets(self) -> Integers:
        """The node of the batch in which each arc ends."""
        first = np.repeat(self.starts[:-1], np.diff(self.arc_starts[self.starts]))
        return self.targets + first

    def take(self, index: Index) -> Graphs:
        chosen = np.arange(len(self))[index]
        nodes, starts = parts_of(self.starts, chosen)
        arcs, arc_starts = parts_of(self.arc_starts, nodes)
        return Graphs(
            starts,
            self.labels[nodes],
            arc_starts,
            self.targets[arcs],
            self.weights[arcs],
            self.edge_labels[arcs],
        )

    def join(self, other: Graphs) -> Graphs:
        return Graphs(
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.arc_starts, other.arc_starts[1:] + self.arc_starts[-1]]),
            np.concatenate([self.targets, other.targets]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.edge_labels, other.edge_labels]),
        )

    def symmetric(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell of each graph whether every arc has its like in the opposite direction."""
        tails, heads = self.sources, self.global_targets
        there = np.lexsort((self.edge_labels, self.weights, heads, tails))
        back = np.lexsort((self.edge_labels, self.weights, tails, heads))
        unlike = (
            (tails[there] != heads[back])
            | (heads[there] != tails[back])
            | (self.weights[there] != self.weights[back])
            | (self.edge_labels[there] != self.edge_labels[back])
        )
        # Both orders run through the graphs one after the other.
        graph = np.searchsorted(self.starts, tails[there], "right") - 1
        wrong = np.bincount(graph, weights=unlike, minlength=len(self))
        return np.asarray(wrong == 0)

    def adjacency(self, graph: int) -> Array:
        """Return the dense matrix of the weights of one graph; parallel arcs add up."""
        first, last = self.starts[graph], self.starts[graph + 1]
        arcs = slice(self.arc_starts[first], self.arc_starts[last])
        n = int(last - first)
        rows = np.repeat(np.arange(n), np.diff(self.arc_starts[first : last + 1]))
        place = rows * n + self.targets[arcs]
        matrix = np.bincount(place, self.weights[arcs], minlength=n * n).reshape(n, n)
        return matrix.astype(np.float64, copy=False)


def parts_of(starts: Integers, chosen: Integers) -> tuple[Integers, Integers]:
    """Return the positions of the chosen parts of a list, and where each part begins there."""
    counts = starts[chosen + 1] - starts[chosen]
    begins = np.concatenate([[0], np.cumsum(counts)])
    shift = np.repeat(starts[chosen] - begins[:-1], counts)
    return np.arange(begins[-1]) + shift, begins
