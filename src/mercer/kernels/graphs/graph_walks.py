"""Walks in one graph, and the product graph, whose walks are those that two graphs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mercer import _memory
from mercer._typing import Array, BoolArray, IntArray, Object, Parameter
from mercer.exceptions import InvalidParameter
from mercer.kernels.features import combine_codes
from mercer.kernels.graphs.graph_encoder import GraphEncoder
from mercer.kernels.graphs.graph_points import Graphs

_LARGE = 1 << 26
"""From 64 MiB on the memory of pairs of arcs is compared with what there is."""


def walk_counts(
    graph: Object, k: int, *, tottering: bool = True, weight: Parameter = None
) -> Array:
    """Return the number of walks of k steps from each node to each other.

    [Aᵏ]ᵢⱼ, A the adjacency matrix

    Parameters
    ----------
    graph : graph
        In any form that kernels of graphs take: networkx, a matrix, a list of edges, a
        :class:`Graph`, SMILES.
    k : int
        The number of steps.
    tottering : bool
        Whether a walk may turn round on the edge that it came by: v₀, v₁, v₀. Without tottering
        only walks with vᵢ ≠ vᵢ₊₂ count.
    weight : str or None
        The attribute of networkx graphs that holds weights, which multiply along a walk; of
        matrices the entries. None counts each edge once.

    Returns
    -------
    array of shape (nodes, nodes)
        Row i, column j: the walks from node i to node j; exact up to 2⁵³.

    References
    ----------
    P. Mahé, N. Ueda, T. Akutsu, J.-L. Perret and J.-P. Vert, Extensions of marginalized graph
    kernels, 2004.

    Examples
    --------
    >>> from mercer import walk_counts
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> walk_counts(triangle, 3)
    array([[2., 3., 3.],
           [3., 2., 3.],
           [3., 3., 2.]])
    >>> walk_counts(triangle, 3, tottering=False)  # once around, either way
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    _check_length(k, "walk_counts")
    graphs = GraphEncoder(None, None, weight).encode([graph], "walk_counts")
    if k == 0:
        return np.eye(len(graphs.labels))
    if tottering:
        return np.linalg.matrix_power(graphs.adjacency(0), int(k))
    n, arcs = len(graphs.labels), len(graphs.targets)
    steps = following_arcs(graphs)
    follow = sparse.csr_array(
        (graphs.weights[steps.second], (steps.first, steps.second)), shape=(arcs, arcs)
    )
    numbers = np.arange(arcs)
    leave = sparse.csr_array((graphs.weights, (graphs.sources, numbers)), shape=(n, arcs))
    arrive = sparse.csr_array((np.ones(arcs), (numbers, graphs.targets)), shape=(arcs, n))
    for _ in range(int(k) - 1):
        leave = leave @ follow
    return np.asarray((leave @ arrive).toarray())


@dataclass(frozen=True, eq=False)
class ProductGraph:
    """The direct product of two graphs, whose walks are the walks that both have in common.

    Attributes
    ----------
    nodes : array of shape (pairs, 2)
        The pairs of a node of the first and a node of the second graph with the same label.
    adjacency : sparse array of shape (pairs, pairs)
        A×: an arc leads from one pair to another where both graphs have an arc, with the same
        label; its weight is the product of both.

    Examples
    --------
    >>> from mercer import Graph, product_graph
    >>> edge = Graph([(0, 1)])
    >>> both = product_graph(edge, edge)
    >>> len(both.nodes), both.adjacency.toarray().sum(axis=1)  # (0, 0) leads to (1, 1) only
    (4, array([1., 1., 1., 1.]))
    """

    nodes: IntArray
    adjacency: Any

    def common_walks(self, k: int) -> float:
        """Return 1ᵀA×ᵏ1, the number of walks of k steps that both graphs have in common."""
        _check_length(k, "common_walks")
        ends = np.ones(len(self.nodes))
        for _ in range(int(k)):
            ends = self.adjacency @ ends
        return float(ends.sum())


def product_graph(
    g: Object,
    h: Object,
    *,
    label: Parameter = "label",
    edge_label: Parameter = "label",
    weight: Parameter = None,
) -> ProductGraph:
    """Return the direct product of two graphs, in which :class:`RandomWalk` counts walks.

    V× = {(u, u′) of equal labels}, an arc (u, u′) → (v, v′) where u → v and u′ → v′ have equal
    labels; without labels A× = A ⊗ A′

    Parameters
    ----------
    g, h : graph
        In any form that kernels of graphs take.
    label, edge_label, weight : str or None
        The attributes of networkx graphs that hold labels and weights. None ignores them, whatever
        the form of the graphs.

    Returns
    -------
    ProductGraph

    References
    ----------
    T. Gärtner, P. Flach and S. Wrobel, On graph kernels: hardness results and efficient
    alternatives, 2003.

    Examples
    --------
    >>> from mercer import Graph, product_graph
    >>> g = Graph([(0, 1), (1, 2)], labels=["C", "C", "O"])
    >>> h = Graph([(0, 1)], labels=["C", "O"])
    >>> both = product_graph(g, h)
    >>> both.nodes
    array([[0, 0],
           [1, 0],
           [2, 1]])
    >>> both.adjacency.toarray()
    array([[0., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """
    both = GraphEncoder(label, edge_label, weight).encode([g, h], "product_graph")
    left, right = both.take(slice(0, 1)), both.take(slice(1, 2))
    arc_pairs = len(left.targets) * len(right.targets)
    node_pairs = len(left.labels) * len(right.labels)
    size = 4 * arc_pairs + 16 * node_pairs
    if size > _LARGE:
        _memory.require(
            size,
            f"The product of graphs with {len(left.targets):,} and {len(right.targets):,} arcs",
            "RandomWalk compares such graphs without forming it.",
        )
    nodes = np.argwhere(_equal(left.labels, right.labels))
    number = np.full((len(left.labels), len(right.labels)), -1, dtype=np.int64)
    number[tuple(nodes.T)] = np.arange(len(nodes))
    p, q = np.nonzero(_equal(left.edge_labels, right.edge_labels))
    begin = number[left.sources[p], right.sources[q]]
    end = number[left.targets[p], right.targets[q]]
    there = (begin >= 0) & (end >= 0)
    weights = (left.weights[p] * right.weights[q])[there]
    adjacency = sparse.csr_array(
        (weights, (begin[there], end[there])), shape=(len(nodes), len(nodes))
    )
    return ProductGraph(nodes, adjacency)


def _check_length(k: Parameter, owner: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 0:
        raise InvalidParameter(f"{owner}: k={k!r} has to be a whole number ≥ 0.")


def _equal(left: Any, right: Any) -> BoolArray:
    equal: BoolArray = left[:, None] == right
    return equal


class ArcPairs(NamedTuple):
    """Pairs of arcs, by their numbers in a batch."""

    first: IntArray
    second: IntArray


def following_arcs(graphs: Graphs) -> ArcPairs:
    """Return the arcs (u, v), (v, w) with w ≠ u that follow one another without turning round."""
    sources, targets = graphs.sources, graphs.global_targets
    counts = np.diff(graphs.arc_starts)[targets]
    first = np.repeat(np.arange(len(targets)), counts)
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = graphs.arc_starts[targets[first]] + within
    onward = targets[second] != sources[first]
    return ArcPairs(first[onward], second[onward])


def arc_graphs(graphs: Graphs) -> Graphs:
    """Return graphs of arcs, whose walks are the walks of others that never turn round.

    A walk of l ≥ 1 steps without tottering is one of l − 1 steps here. The label of an arc is made
    of its own and of the labels of its ends.
    """
    sources, targets = graphs.sources, graphs.global_targets
    ends = graphs.labels[sources], graphs.edge_labels, graphs.labels[targets]
    labels = combine_codes(combine_codes(ends[0], ends[1]), ends[2])
    # What has no label stays without one.
    labels[(ends[0] == 0) & (ends[1] == 0) & (ends[2] == 0)] = 0
    pairs = following_arcs(graphs)
    starts = graphs.arc_starts[graphs.starts]
    graph_of = np.searchsorted(starts, pairs.second, "right") - 1
    leaving = np.bincount(pairs.first, minlength=len(labels))
    return Graphs(
        starts,
        labels,
        np.concatenate([[0], np.cumsum(leaving)]),
        pairs.second - starts[graph_of],
        np.ones(len(pairs.first)),
        np.zeros(len(pairs.first), dtype=np.uint64),
    )
