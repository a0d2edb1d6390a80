"""The forms of one graph: networkx, matrices, edge lists, mappings, SMILES."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mercer._typing import Label, Labels, Matrix, Object, Parameter
from mercer.exceptions import MissingDependency
from mercer.kernels.encoders import is_missing
from mercer.kernels.graphs.graph_points import Graph

_FIELDS = tuple(field.name for field in fields(Graph))


class Arcs(NamedTuple):
    """One graph as arcs, u·size + v for an arc from u to v; what is None was not given."""

    size: int
    places: Any
    weights: Any
    labels: Any
    edge_labels: Any


class Unreadable(Exception):
    """What is wrong with a graph, to follow "graph 3"; a second argument says: a wrong type."""


def as_arcs(item: Object, label: Parameter, edge_label: Parameter, weight: Parameter) -> Arcs:
    """Return one graph of any form; the names are those of attributes of networkx graphs."""
    if isinstance(item, tuple | list) and _is_pair(item):
        return _from_parts(*item)
    if is_networkx(item):
        return _from_graph(networkx_as_graph(item, label, edge_label, weight))
    if isinstance(item, Graph):
        return _from_graph(item)
    if isinstance(item, str):
        return _from_smiles(item)
    if is_graph_mapping(item):
        return _from_mapping(item)
    return _from_parts(item)


def is_networkx(item: Object) -> bool:
    """Tell a networkx graph, or one of another library that has the same face."""
    return hasattr(item, "is_directed") and hasattr(item, "adj")


def is_graph(item: Object) -> bool:
    """Tell a graph of mercer's or of networkx, which cannot be taken for anything else."""
    return isinstance(item, Graph) or is_networkx(item)


def as_graph_mapping(item: Object) -> dict[str, Any]:
    """Return a graph as a mapping of its fields to lists, without what was not given."""
    graph = networkx_as_graph(item, "label", "label", "weight") if is_networkx(item) else item
    lists = {
        "edges": np.asarray(graph.edges).reshape(-1, 2),
        "labels": graph.labels,
        "edge_labels": graph.edge_labels,
        "weights": graph.weights,
    }
    given = {name: np.asarray(v).tolist() for name, v in lists.items() if v is not None}
    return {**given, "size": graph.size, "directed": graph.directed}


def is_graph_mapping(item: Object) -> bool:
    """Tell a graph that is written as a mapping of its fields."""
    return isinstance(item, Mapping) and "edges" in item


def _is_pair(item: Sequence[Any]) -> bool:
    """Tell (matrix or edges, labels, edge labels) from a list of edges or rows of a matrix."""
    if not 1 <= len(item) <= 3:
        return False
    first = item[0]
    if isinstance(first, np.ndarray):
        return first.ndim == 2
    if sparse.issparse(first) or isinstance(first, set | Mapping):
        return True
    # A tuple is no matrix, and an edge begins with a node, which is no list.
    return isinstance(item, tuple) and (
        isinstance(first, list)
        or (isinstance(first, tuple) and bool(first) and isinstance(first[0], tuple))
    )


def _from_parts(form: Object, labels: Labels = None, edge_labels: Labels = None) -> Arcs:
    square = isinstance(form, np.ndarray) and form.ndim == 2 and form.shape[0] == form.shape[1]
    if (square and form.dtype != object) or sparse.issparse(form):
        return _from_matrix(form, labels, edge_labels)
    if isinstance(form, Mapping):
        return _from_edges([(u, v) for u, ends in form.items() for v in ends], labels, edge_labels)
    if not isinstance(form, list | tuple | set | frozenset | np.ndarray):
        raise Unreadable(
            f"is of type {type(form).__name__}. Give a networkx graph, a square matrix, a pair "
            "(matrix, labels), a list of edges, a mercer.Graph or a SMILES string.",
            TypeError,
        )
    rows = list(form)
    if rows and all(isinstance(row, list) for row in rows):
        # Edges are tuples, the rows of a matrix are lists.
        if {len(row) for row in rows} != {len(rows)}:
            raise Unreadable(
                f"has {len(rows)} lists of numbers, which are no square matrix. Write edges as "
                "tuples (u, v)."
            )
        return _from_matrix(np.array(rows), labels, edge_labels)
    return _from_edges(rows, labels, edge_labels)


def _from_matrix(matrix: Matrix, labels: Labels, edge_labels: Labels) -> Arcs:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise Unreadable(
            f"has an adjacency matrix of shape {matrix.shape}. It has to be square, with a row and "
            "a column for each node."
        )
    n = int(matrix.shape[0])
    if matrix.dtype.kind not in "fiub":
        raise Unreadable(f"has an adjacency matrix of {matrix.dtype}, not of numbers.", TypeError)
    if sparse.issparse(matrix):
        compact = sparse.csr_array(matrix)
        compact.sum_duplicates()
        compact.eliminate_zeros()
        places = np.repeat(np.arange(n) * n, np.diff(compact.indptr)) + compact.indices
        weights = compact.data
    else:
        flat = matrix.ravel()
        (places,) = (flat != 0).nonzero()
        weights = flat[places]
    if edge_labels is not None:
        sources, targets = np.divmod(places, max(1, n))
        edge_labels = _labels_of_arcs(edge_labels, sources, targets, n)
    return Arcs(n, places, weights, _labels_in_order(labels, n), edge_labels)


def _labels_in_order(labels: Labels, n: int, names: Sequence[Any] | None = None) -> Any:
    """Return the labels of the nodes 0 … n−1, or of ``names``, from a list or a mapping."""
    if labels is None:
        return None
    plain = isinstance(labels, np.ndarray)
    if not plain and isinstance(labels, Mapping):
        wanted = range(n) if names is None else names
        missing = next((name for name in wanted if name not in labels), None)
        if missing is not None:
            raise Unreadable(f"has no label for node {missing!r}. Label every node, or none.")
        labels = [labels[name] for name in wanted]
    if not plain and (not hasattr(labels, "__len__") or isinstance(labels, str)):
        raise Unreadable(f"has labels of type {type(labels).__name__}; give a list.", TypeError)
    if len(labels) != n:
        raise Unreadable(f"has {n} nodes and {len(labels)} node labels. Give one for each node.")
    return _checked(labels, "node")


def _checked(labels: Labels, what: str) -> Any:
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iubU":
        return labels
    for i, label in enumerate(labels):
        if isinstance(label, list | set | dict | np.ndarray):
            raise Unreadable(
                f"has the {what} label {label!r}, a {type(label).__name__}. Labels are text, whole "
                "numbers or other single values.",
                TypeError,
            )
        if is_missing(label):
            raise Unreadable(f"has no label for {what} {i}. Label every {what}, or none.")
    return labels


def _labels_of_arcs(labels: Labels, sources: Any, targets: Any, n: int) -> Any:
    """Return a label for each arc from a mapping of pairs of nodes or a matrix."""
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    if isinstance(labels, Mapping):
        return [_label_of_edge(labels, u, v) for u, v in pairs]
    labels = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
    if labels.shape != (n, n):
        raise Unreadable(
            f"has edge labels of shape {labels.shape}. Give a {n} × {n} matrix or a mapping from "
            "pairs of nodes to labels."
        )
    return _checked(labels[sources, targets], "edge")


def _label_of_edge(labels: Mapping[Any, Any], u: Label, v: Label) -> Any:
    found = labels[u, v] if (u, v) in labels else labels.get((v, u))
    if found is None or is_missing(found):
        raise Unreadable(f"has no label for the edge ({u!r}, {v!r}). Label every edge, or none.")
    return found


def _from_edges(edges: list[Any], labels: Labels, edge_labels: Labels) -> Arcs:
    """Read a list of edges (u, v) or (u, v, weight) between nodes of any names; undirected."""
    for edge in edges:
        if not (isinstance(edge, list | tuple | np.ndarray) and 2 <= len(edge) <= 3):
            raise Unreadable(
                f"has the edge {edge!r}. An edge is a pair (u, v) or a triple (u, v, weight)."
            )
    plain = [tuple(e.tolist()) if isinstance(e, np.ndarray) else tuple(e) for e in edges]
    named = dict.fromkeys(end for edge in plain for end in edge[:2])
    if isinstance(labels, Mapping):
        named = dict.fromkeys(labels) | named
    elif labels is not None or all(isinstance(name, int) and name >= 0 for name in named):
        n = max([len(labels) if labels is not None else 0, *(1 + _number(x) for x in named)])
        named = dict.fromkeys(range(n))
    number = {name: i for i, name in enumerate(named)}
    # An edge that is listed in both directions is one edge still.
    weights = {}
    for u, v, *weight in plain:
        a, b = number[u], number[v]
        if (b, a) not in weights:
            weights[a, b] = _weight(weight[0]) if weight else 1.0
    names = list(named)
    given = None
    if isinstance(edge_labels, Mapping):
        given = [_label_of_edge(edge_labels, names[a], names[b]) for a, b in weights]
    elif edge_labels is not None:
        raise Unreadable("has edge labels that are no mapping from pairs of nodes to labels.")
    ends = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    in_order = _labels_in_order(labels, len(names), names)
    return _both_ways(len(names), ends, np.array(list(weights.values())), in_order, given)


def _number(name: Parameter) -> int:
    if isinstance(name, int | np.integer) and name >= 0:
        return int(name)
    raise Unreadable(f"has a list of labels and a node {name!r}. Give the labels as a mapping.")


def _weight(value: Parameter) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        raise Unreadable(f"has the edge weight {value!r}, which is not a number.") from None
    if not np.isfinite(weight):
        raise Unreadable("has an edge whose weight is not a finite number. Drop or fill it.")
    return weight


def _both_ways(size: int, ends: Any, weights: Any, labels: Labels, edge_labels: Labels) -> Arcs:
    """Make two arcs of each edge, and one of a loop."""
    proper = np.flatnonzero(ends[:, 0] != ends[:, 1])
    every = np.concatenate([np.arange(len(ends)), proper])
    if edge_labels is not None:
        edge_labels = [edge_labels[i] for i in every]
    places = np.concatenate([_places(ends, size), _places(ends[proper, ::-1], size)])
    weights = None if weights is None else weights[every]
    return Arcs(size, places, weights, labels, edge_labels)


def _places(ends: Any, size: int) -> Any:
    return ends[:, 0] * size + ends[:, 1]


def _from_mapping(item: Mapping[str, Any]) -> Arcs:
    unknown = next((name for name in item if name not in _FIELDS), None)
    if unknown is not None:
        raise Unreadable(f"has a field {unknown!r}. There are {', '.join(_FIELDS)}.")
    given = {name: value for name, value in item.items() if value is not None}
    return _from_graph(Graph(**given))


def _from_graph(graph: Graph) -> Arcs:
    ends = _pairs(graph.edges)
    mentioned = int(ends.max(initial=-1)) + 1
    size = graph.size
    if size is None:
        size = mentioned if graph.labels is None else len(graph.labels)
    if ends.min(initial=0) < 0 or mentioned > size:
        wrong = int(ends[(ends < 0) | (ends >= size)][0])
        raise Unreadable(f"has an edge to node {wrong}, but its nodes are 0 … {size - 1}.")
    weights, edge_labels = graph.weights, graph.edge_labels
    for what, given in (("weights", weights), ("edge labels", edge_labels)):
        if given is not None and len(given) != len(ends):
            raise Unreadable(f"has {len(ends)} edges and {len(given)} {what}.")
    if weights is not None:
        try:
            weights = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise Unreadable("has an edge weight that is not a number.") from None
    if edge_labels is not None:
        edge_labels = listed(_checked(edge_labels, "edge"))
    labels = _labels_in_order(graph.labels, size)
    if graph.directed:
        return Arcs(size, _places(ends, size), weights, labels, edge_labels)
    return _both_ways(size, ends, weights, labels, edge_labels)


def _pairs(edges: Object) -> Any:
    try:
        pairs = np.asarray(edges if hasattr(edges, "__array__") else list(edges))
    except (TypeError, ValueError):
        pairs = np.empty(())
    if pairs.ndim and not len(pairs):
        return np.empty((0, 2), dtype=np.int64)
    if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise Unreadable("has edges that are no pairs of node numbers.")
    return pairs.astype(np.int64)


def networkx_as_graph(
    graph: Object, label: Parameter, edge_label: Parameter, weight: Parameter
) -> Graph:
    """Return a networkx graph with its nodes as numbers and what the named attributes hold."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    labels = _attributes(graph.nodes(data=label), label, "node")
    found = list(graph.edges(data=True))
    ends = np.array([(number[u], number[v]) for u, v, _ in found], dtype=np.int64).reshape(-1, 2)
    edges = [(edge[:2], edge[2].get(edge_label)) for edge in found]
    edge_labels = _attributes(edges, edge_label, "edge")
    weights = None
    if weight is not None:
        weights = np.array([_weight(data.get(weight, 1.0)) for *_, data in found], dtype=float)
    return Graph(ends, labels, edge_labels, weights, len(number), graph.is_directed())


def _attributes(pairs: Iterable[tuple[Any, Any]], name: Parameter, what: str) -> list[Any] | None:
    """Return an attribute of all nodes or edges, or None where none has it."""
    if name is None:
        return None
    named = list(pairs)
    without = [key for key, value in named if value is None]
    if len(without) == len(named):
        return None
    if without:
        raise Unreadable(
            f"has {what}s with the attribute {name!r} and {what} {without[0]!r} without it. Label "
            f"every {what}, or none."
        )
    return _checked([value for _, value in named], what)  # type: ignore[no-any-return]


def _from_smiles(text: str) -> Arcs:
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise MissingDependency(
            "Molecules written as SMILES are read with rdkit, which is not installed. Install it "
            "with pip install 'mercer[chem]'."
        ) from None
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text)
    if molecule is None:
        raise Unreadable(f"is the string {text[:40]!r}, which is not valid SMILES.")
    bonds = list(molecule.GetBonds())
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    return _both_ways(
        molecule.GetNumAtoms(),
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        None,
        [atom.GetSymbol() for atom in molecule.GetAtoms()],
        [str(bond.GetBondType()) for bond in bonds],
    )


def listed(labels: Labels) -> Any:
    """Return labels as a list of plain values."""
    return labels.tolist() if isinstance(labels, np.ndarray) else labels
