"""Kernels of graphs with an explicit map: Weisfeiler–Lehman, optimal assignment, shortest paths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import IntArray, Objects, Parameter
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import Encoder
from mercer.kernels.features import Features
from mercer.kernels.graphs.counted import CountedFeatures, counted
from mercer.kernels.graphs.graph_encoder import GraphEncoder
from mercer.kernels.graphs.graph_points import Codes, Graphs
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points

_STARTS = ("labels", "degrees")
_PAIRS_AT_ONCE = 1 << 22
"""Pairs of nodes counted at a time: 32 MiB of distances in float64."""


class WeisfeilerLehman(CountedFeatures):
    """Weisfeiler–Lehman subtree kernel: labels that two graphs share while they are refined.

    k(x, z) = Σ_{r=0…R} Σ_c n_c^r(x) n_c^r(z), n_c^r(x) = nodes of x with label c in round r

    In every one of the R = ``rounds`` rounds the label of a node becomes a hash of itself and of
    the labels of its neighbours, together with the labels of the edges to them; in a directed
    graph, of the nodes that its arcs lead to. ``start="degrees"`` ignores the labels of nodes and
    begins with their degrees. Without labels all nodes begin alike.

    ``label`` and ``edge_label`` name the attributes of networkx graphs that hold the labels; None
    ignores labels, whatever the form of the graphs.

    Parameters
    ----------
    rounds : int
        R.
    start : {"labels", "degrees"}
        The labels of nodes in round 0.
    label, edge_label : str or None
        The attributes of networkx graphs that hold labels of nodes and edges.

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, Weisfeiler-Lehman graph
    kernels, 2011.

    Examples
    --------
    >>> from mercer import Graph, WeisfeilerLehman
    >>> path = Graph([(0, 1), (1, 2)], labels=["C", "C", "O"])
    >>> ring = Graph([(0, 1), (1, 2), (0, 2)], labels=["C", "C", "O"])
    >>> WeisfeilerLehman(rounds=0)([path, ring])  # labels alone: 2² + 1²
    array([[5., 5.],
           [5., 5.]])
    >>> WeisfeilerLehman(rounds=1)([path, ring])  # and one C with a C and an O beside it
    array([[ 8.,  7.],
           [ 7., 10.]])
    """

    def __init__(
        self,
        rounds: int = 3,
        *,
        start: str = "labels",
        label: Parameter = "label",
        edge_label: Parameter = "label",
    ) -> None:
        self.rounds, self.start = rounds, start
        self.label, self.edge_label = label, edge_label
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "rounds", low=0, high=1000, integer=True)
        if self.start not in _STARTS:
            raise InvalidParameter(
                f"{type(self).__name__}: start={self.start!r} has to be 'labels' or 'degrees'."
            )
        check_names(self, "label", "edge_label")

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        label = self.label if self.start == "labels" else None
        return GraphEncoder(label, self.edge_label)

    def phi(self, graphs: Graphs) -> Features:
        return counted(self._refined(graphs), graphs.starts)

    def place_shares(self, point: Points) -> Features:
        graph = cast(Graphs, point[self.encoder])
        nodes = len(graph.labels)
        each = counted(self._refined(graph), np.arange(nodes + 1))
        return Features.shared(each, sparse.eye_array(nodes))

    def colours(self, X: Objects) -> list[IntArray]:
        """Return the colours of the nodes of each graph, round by round.

        Parameters
        ----------
        X : list of graphs
            In any form that the kernel takes.

        Returns
        -------
        list of arrays of shape (rounds + 1, nodes)
            One for each graph; row r has the colours after r rounds. Equal colours are equal
            numbers, in all graphs of ``X``; they are counted from 0 as they first appear.

        Examples
        --------
        After a round the ends of a chain differ from its middle:

        >>> from mercer import Graph, WeisfeilerLehman
        >>> chain, triangle = Graph([(0, 1), (1, 2)]), Graph([(0, 1), (1, 2), (0, 2)])
        >>> for colours in WeisfeilerLehman(1).colours([chain, triangle]):
        ...     print(colours)
        [[0 0 0]
         [1 2 1]]
        [[0 0 0]
         [2 2 2]]
        """
        graphs = cast(Graphs, self.encode(X)[self.encoder])
        codes = self._refined(graphs)
        _, first, places = np.unique(codes.ravel(), return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        numbers = rank[places].reshape(codes.shape)
        return [numbers[:, begin:end] for begin, end in pairwise(graphs.starts.tolist())]

    def _refined(self, graphs: Graphs) -> Codes:
        """Return the label of every node (columns) after every round (rows)."""
        colours = np.empty((int(self.rounds) + 1, len(graphs.labels)), dtype=np.uint64)
        degrees = np.diff(graphs.arc_starts)
        colours[0] = graphs.labels if self.start == "labels" else degrees.astype(np.uint64) + 1
        arcs = graphs.arc_starts, graphs.global_targets, graphs.edge_labels

        def task(part: tuple[int, int]) -> None:
            _fast.refinement.refine(*arcs, *part, colours)

        # A few parts of about as many nodes each, cut between graphs.
        threads = _parallel.thread_count()
        shares = np.linspace(0, len(graphs.labels), 2 * threads + 1)
        cuts = graphs.starts[np.searchsorted(graphs.starts, shares)]
        _parallel.run(task, pairwise(cuts.tolist()), threads)
        return colours


class WeisfeilerLehmanOptimalAssignment(WeisfeilerLehman):
    """Weisfeiler–Lehman optimal assignment: the best matching of the nodes of two graphs.

    k(x, z) = Σ_{r=0…R} Σ_c min(n_c^r(x), n_c^r(z)), n_c^r as in :class:`WeisfeilerLehman`

    Two nodes are worth as many points as there are rounds in which their labels agree; k is the
    value of the best assignment of the nodes of x to those of z.

    Parameters
    ----------
    rounds, start, label, edge_label
        As in :class:`WeisfeilerLehman`.

    References
    ----------
    Kriege, Giscard and Wilson, On valid optimal assignment kernels and applications to graph
    classification, 2016.

    Examples
    --------
    >>> from mercer import Graph, WeisfeilerLehmanOptimalAssignment
    >>> path = Graph([(0, 1), (1, 2)])
    >>> ring = Graph([(0, 1), (1, 2), (0, 2)])
    >>> WeisfeilerLehmanOptimalAssignment(rounds=1)([path, ring])  # 3 alike, one of degree 2
    array([[6., 4.],
           [4., 6.]])
    """

    def place_shares(self, point: Points) -> Features:
        # A coordinate counts whether there are t nodes, which no single one of them makes.
        return Kernel.place_shares(self, point)

    def phi(self, graphs: Graphs) -> Features:
        # min(a, b) counts the t ≥ 1 with t ≤ a and t ≤ b: one coordinate for each t.
        counts = super().phi(graphs)
        matrix = counts.values
        copies = matrix.data.astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(copies)])
        keys = np.empty((1, int(ends[-1])), dtype=np.uint64)
        _fast.refinement.number_copies(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int64),
            matrix.data,
            counts.keys,
            keys[0],
        )
        return counted(keys, ends[matrix.indptr])


class ShortestPath(CountedFeatures):
    """Shortest-path kernel: pairs of nodes with the same labels and the same distance.

    k(x, z) = Σ_{a,b,d} n_{abd}(x) n_{abd}(z), n_{abd}(x) = how many ordered pairs of different
    nodes of x have the labels a, b and the distance d

    The distance is the number of edges, or with ``weight``, the name of an attribute of networkx
    graphs, the smallest sum of weights (of the entries, where a graph is a matrix), which have to
    be ≥ 0 and are compared to 9 digits. Pairs without a path do not count, labels of edges
    neither.

    Parameters
    ----------
    label : str or None
        The attribute of networkx graphs that holds labels of nodes; None ignores labels.
    weight : str or None
        The attribute that holds the lengths of edges; None takes 1 for each.

    References
    ----------
    Borgwardt and Kriegel, Shortest-path kernels on graphs, 2005.

    Examples
    --------
    >>> from mercer import Graph, ShortestPath
    >>> path = Graph([(0, 1), (1, 2)])
    >>> ring = Graph([(0, 1), (1, 2), (0, 2)])
    >>> ShortestPath()([path, ring])  # 4 and 6 ordered pairs of distance 1, 2 and 0 of distance 2
    array([[20., 24.],
           [24., 36.]])
    """

    def __init__(self, *, label: Parameter = "label", weight: Parameter = None) -> None:
        self.label, self.weight = label, weight
        super().__init__()

    def check_parameters(self) -> None:
        check_names(self, "label", "weight")

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return GraphEncoder(self.label, None, self.weight)

    def phi(self, graphs: Graphs) -> Features:
        if self.weight is not None:
            check_weights(graphs, type(self).__name__)
        # Many pairs are counted in parts, and the counts added up.
        pairs = np.cumsum(graphs.sizes**2) // _PAIRS_AT_ONCE
        cuts = [0, *(np.flatnonzero(np.diff(pairs)) + 1).tolist(), len(graphs)]
        parts = [
            self._pairs(graphs if len(cuts) == 2 else graphs.take(slice(first, last)))
            for first, last in pairwise(cuts)
        ]
        if len(parts) == 1:
            return parts[0]
        matrix = sparse.block_diag([part.values for part in parts], format="csr")
        keys = np.concatenate([part.keys for part in parts])
        starts = matrix.indptr.astype(np.int64)
        return counted(keys[matrix.indices][None, :], starts, matrix.data)

    def _pairs(self, graphs: Graphs) -> Features:
        most = int((graphs.sizes * (graphs.sizes - 1)).sum())
        keys, starts = np.empty(most, dtype=np.uint64), np.zeros(len(graphs) + 1, dtype=np.int64)
        shape = graphs.starts, graphs.labels, graphs.arc_starts, graphs.targets
        if self.weight is None:
            _fast.shortest_paths.hop_keys(*shape, keys, starts)
        else:
            lengths = np.empty(most)
            _fast.shortest_paths.length_keys(*shape, graphs.weights, keys, lengths, starts)
            mantissa, exponent = np.frexp(lengths[: starts[-1]])
            rounded = np.ldexp(np.rint(np.ldexp(mantissa, 30)), exponent - 30)
            keys[: starts[-1]] ^= (rounded + 0.0).view(np.uint64)
        return counted(keys[None, : starts[-1]], starts)


def check_names(kernel: Any, *names: str) -> None:
    """Raise unless parameters that name an attribute are texts or None."""
    for name in names:
        value = getattr(kernel, name)
        if not (value is None or isinstance(value, str)):
            raise InvalidParameter(
                f"{type(kernel).__name__}: {name}={value!r} has to be the name of an attribute, or "
                "None."
            )


def check_weights(graphs: Graphs, owner: str) -> None:
    """Refuse negative weights of edges."""
    wrong = np.flatnonzero(graphs.weights < 0)
    if wrong.size:
        node = np.searchsorted(graphs.arc_starts, wrong[0], "right") - 1
        graph = int(np.searchsorted(graphs.starts, node, "right")) - 1
        raise InvalidInput(
            f"{owner}: graph {graph} has an edge of weight {graphs.weights[wrong[0]]:g}. Weights "
            "have to be ≥ 0; weight=None ignores them."
        )
