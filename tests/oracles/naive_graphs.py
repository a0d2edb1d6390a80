"""Naive references of the kernels of graphs, in plain Python, one pair at a time.

They take :class:`mercer.Graph` and networkx graphs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Object, Objects
from mercer.kernels.graphs.graph_points import Graph
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.graphs.refinement import (
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)


class Arc(NamedTuple):
    """One direction of an edge."""

    source: int
    target: int
    weight: float
    label: Any


def _read(item: Object, kernel: Any) -> tuple[list[Any], list[Arc]]:
    """Return the labels of the nodes and all arcs, without what the kernel ignores."""
    if isinstance(item, list | tuple | Mapping):
        (item,) = item.values() if isinstance(item, Mapping) else item
    labels, arcs = _read_graph(item) if isinstance(item, Graph) else _read_networkx(item, kernel)
    if kernel.label is None or getattr(kernel, "start", "labels") == "degrees":
        labels = [None] * len(labels)
    if getattr(kernel, "edge_label", None) is None:
        arcs = [arc._replace(label=None) for arc in arcs]
    if getattr(kernel, "weight", None) is None:
        arcs = [arc._replace(weight=1.0) for arc in arcs]
    return labels, arcs


def _read_graph(graph: Graph) -> tuple[list[Any], list[Arc]]:
    edges = [(int(u), int(v)) for u, v in graph.edges]
    if graph.size is not None:
        size = graph.size
    elif graph.labels is not None:
        size = len(graph.labels)
    else:
        size = max((max(edge) for edge in edges), default=-1) + 1
    labels = [None] * size if graph.labels is None else list(graph.labels)
    arcs = []
    for i, (u, v) in enumerate(edges):
        weight = 1.0 if graph.weights is None else float(graph.weights[i])
        label = None if graph.edge_labels is None else graph.edge_labels[i]
        arcs.append(Arc(u, v, weight, label))
        if u != v and not graph.directed:
            arcs.append(Arc(v, u, weight, label))
    return labels, arcs


def _read_networkx(graph: Object, kernel: Any) -> tuple[list[Any], list[Arc]]:
    number = {node: i for i, node in enumerate(graph)}
    labels = [graph.nodes[node].get(kernel.label) for node in graph]
    arcs = []
    for u in graph:
        for v in graph.adj[u]:
            data = graph.adj[u][v]
            weight = float(data.get(getattr(kernel, "weight", None), 1.0))
            label = data.get(getattr(kernel, "edge_label", None))
            arcs.append(Arc(number[u], number[v], weight, label))
    return labels, arcs


# ---- Weisfeiler–Lehman -------------------------------------------------------------------------


def _refined(kernel: WeisfeilerLehman, x: Object, z: Object) -> tuple[Counter[Any], Counter[Any]]:
    """Refine the labels of both graphs side by side, with one dictionary of names a round."""
    graphs = [_read(item, kernel) for item in (x, z)]
    colours = []
    for labels, arcs in graphs:
        degrees = Counter(arc.source for arc in arcs)
        by_degree = kernel.start == "degrees"
        colours.append([degrees[i] if by_degree else label for i, label in enumerate(labels)])
    counts = (Counter[Any](), Counter[Any]())
    for r in range(int(kernel.rounds) + 1):
        for counter, colour in zip(counts, colours, strict=True):
            counter.update((r, c) for c in colour)
        names: dict[Any, int] = {}
        colours = [
            [names.setdefault(_signature(i, colour, arcs), len(names)) for i in range(len(colour))]
            for colour, (_, arcs) in zip(colours, graphs, strict=True)
        ]
    return counts


def _signature(node: int, colour: list[Any], arcs: list[Arc]) -> tuple[Any, ...]:
    around = [(repr(arc.label), repr(colour[arc.target])) for arc in arcs if arc.source == node]
    return colour[node], tuple(sorted(around))


def _weisfeiler_lehman(kernel: Any, x: Object, z: Object, same: bool, training: Objects) -> float:
    left, right = _refined(kernel, x, z)
    return float(sum(count * right[key] for key, count in left.items()))


def _assignment(kernel: Any, x: Object, z: Object, same: bool, training: Objects) -> float:
    left, right = _refined(kernel, x, z)
    return float((left & right).total())


# ---- shortest paths ----------------------------------------------------------------------------


def _distances(kernel: ShortestPath, item: Object) -> Counter[Any]:
    labels, arcs = _read(item, kernel)
    nodes = range(len(labels))
    distance = {(u, v): 0.0 if u == v else math.inf for u in nodes for v in nodes}
    for arc in arcs:
        key = arc.source, arc.target
        distance[key] = min(distance[key], arc.weight)
    for k in nodes:
        for u in nodes:
            for v in nodes:
                distance[u, v] = min(distance[u, v], distance[u, k] + distance[k, v])
    return Counter(
        (labels[u], labels[v], float(f"{d:.8g}"))
        for (u, v), d in distance.items()
        if u != v and d < math.inf
    )


def _shortest_path(kernel: Any, x: Object, z: Object, same: bool, training: Objects) -> float:
    left, right = _distances(kernel, x), _distances(kernel, z)
    return float(sum(count * right[key] for key, count in left.items()))


# ---- random walks ------------------------------------------------------------------------------


def _random_walk(kernel: RandomWalk, x: Object, z: Object, same: bool, training: Objects) -> float:
    """Form the matrix of the product graph and invert."""
    if not kernel.tottering:
        return _onward_walks(kernel, x, z)
    (a_labels, a_arcs), (b_labels, b_arcs) = (_scaled(kernel, item) for item in (x, z))
    pairs = [
        (u, v)
        for u in range(len(a_labels))
        for v in range(len(b_labels))
        if a_labels[u] == b_labels[v]
    ]
    number = {pair: i for i, pair in enumerate(pairs)}
    matrix = np.eye(len(pairs))
    for a in a_arcs:
        for b in b_arcs:
            start, end = (a.source, b.source), (a.target, b.target)
            if a.label == b.label and start in number and end in number:
                matrix[number[start], number[end]] -= float(kernel.decay) * a.weight * b.weight
    return float(np.linalg.inv(matrix).sum())


def _onward_walks(kernel: RandomWalk, x: Object, z: Object) -> float:
    """Count walks that start in nodes and go on in arcs, as Mahé and others (2004) do."""
    sides = []
    for labels, arcs in (_read(item, kernel) for item in (x, z)):
        count = len(labels)
        steps = [(arc.source, count + e, arc.label) for e, arc in enumerate(arcs)]
        steps += [
            (count + e, count + f, onward.label)
            for e, arc in enumerate(arcs)
            for f, onward in enumerate(arcs)
            if onward.source == arc.target and onward.target != arc.source
        ]
        sides.append((count, [*labels, *(labels[arc.target] for arc in arcs)], steps))
    (n, a_labels, a_steps), (m, b_labels, b_steps) = sides
    width = len(b_labels)
    matrix = np.eye(len(a_labels) * width)
    for u, v, first in a_steps:
        for s, t, second in b_steps:
            if first == second and a_labels[u] == b_labels[s] and a_labels[v] == b_labels[t]:
                matrix[u * width + s, v * width + t] -= float(kernel.decay)
    alike = np.array([[float(a == b) for b in b_labels] for a in a_labels]).ravel()
    # A node of arcs in one graph never goes with a node of the other: both start in nodes.
    starts = [u * width + s for u in range(n) for s in range(m) if a_labels[u] == b_labels[s]]
    return float(np.linalg.solve(matrix, alike)[starts].sum())


def _scaled(kernel: RandomWalk, item: Object) -> tuple[list[Any], list[Arc]]:
    labels, arcs = _read(item, kernel)
    if not kernel.degree_normalized:
        return labels, arcs
    leaving: Counter[int] = Counter()
    entering: Counter[int] = Counter()
    for arc in arcs:
        leaving[arc.source] += arc.weight  # type: ignore[assignment]
        entering[arc.target] += arc.weight  # type: ignore[assignment]
    return labels, [
        arc._replace(weight=arc.weight / math.sqrt(leaving[arc.source] * entering[arc.target]))
        for arc in arcs
        if arc.weight > 0
    ]


FORMULAS = {
    WeisfeilerLehman: _weisfeiler_lehman,
    WeisfeilerLehmanOptimalAssignment: _assignment,
    ShortestPath: _shortest_path,
    RandomWalk: _random_walk,
}
