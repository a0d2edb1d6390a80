"""Graphs in every form in which they come, machines on them, and what is refused."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from mercer import (
    RBF,
    SVC,
    Gram,
    Graph,
    InvalidInput,
    InvalidParameter,
    InvalidType,
    LinearSVC,
    MissingDependency,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
    load,
    save,
)
from mercer.kernels.graphs.graph_encoder import GraphEncoder
from mercer.kernels.graphs.graph_points import Graphs
from tests.kernels.cases import close, graphs
from tests.oracles.naive import naive_gram

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
LABELS = ["C", "C", "N", "O"]
BONDS = ["a", "a", "a", "s"]
KERNELS = [
    WeisfeilerLehman(2),
    WeisfeilerLehmanOptimalAssignment(2),
    ShortestPath(),
    RandomWalk(0.05),
    RandomWalk(0.3, degree_normalized=True),
]


def matrix():
    A = np.zeros((4, 4))
    for u, v in EDGES:
        A[u, v] = A[v, u] = 1
    return A


def networkx_graph(kind=nx.Graph, names=range(4)):
    graph = kind()
    for name, label in zip(names, LABELS, strict=True):
        graph.add_node(name, label=label)
    for (u, v), bond in zip(EDGES, BONDS, strict=True):
        graph.add_edge(names[u], names[v], label=bond)
    return graph


def bond_matrix():
    bonds = np.full((4, 4), "", dtype=object)
    for (u, v), bond in zip(EDGES, BONDS, strict=True):
        bonds[u, v] = bonds[v, u] = bond
    return bonds


BY_EDGE = dict(zip(EDGES, BONDS, strict=True))
NAMES = {"w": "C", "x": "C", "y": "N", "z": "O"}
NAMED = [("w", "x"), ("x", "y"), ("y", "w"), ("y", "z")]
FORMS = {
    "Graph": lambda: Graph(EDGES, LABELS, BONDS),
    "networkx": networkx_graph,
    "networkx names": lambda: networkx_graph(names="wxyz"),
    "networkx multigraph": lambda: networkx_graph(nx.MultiGraph),
    "mapping": lambda: {"edges": EDGES, "labels": LABELS, "edge_labels": BONDS, "weights": None},
    "matrix": lambda: (matrix(), LABELS, BY_EDGE),
    "bond matrix": lambda: (matrix(), np.array(LABELS), bond_matrix()),
    "whole numbers": lambda: (matrix().astype(np.int8), dict(enumerate(LABELS)), BY_EDGE),
    "truths": lambda: (matrix() > 0, LABELS, BY_EDGE),
    "nested lists": lambda: (matrix().tolist(), LABELS, BY_EDGE),
    "csr": lambda: (sparse.csr_array(matrix()), LABELS, BY_EDGE),
    "coo": lambda: (sparse.coo_matrix(matrix()), LABELS, BY_EDGE),
    "edges": lambda: (EDGES, LABELS, BY_EDGE),
    "set of edges": lambda: [set(EDGES), dict(enumerate(LABELS)), BY_EDGE],
    "named edges": lambda: (
        NAMED,
        NAMES,
        {pair[::-1]: bond for pair, bond in zip(NAMED, BONDS, strict=True)},
    ),
    "both directions": lambda: (EDGES + [(v, u) for u, v in EDGES], LABELS, BY_EDGE),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_form_is_the_same_graph(kernel, form):
    X = [Graph(EDGES, LABELS, BONDS), Graph([(0, 1)], ["C", "N"], ["a"])]
    expected = naive_gram(kernel, X)
    Y = [FORMS[form](), X[1]]
    close(kernel(Y), expected)
    close(kernel(Y, X), expected)


UNLABELLED = {
    "matrix": matrix,
    "csc": lambda: sparse.csc_matrix(matrix()),
    "edges": lambda: EDGES,
    "tuple of edges": lambda: tuple(EDGES),
    "array of edges": lambda: np.array([*EDGES, (1, 0)]),
    "networkx": lambda: nx.Graph(EDGES),
    "ignored": lambda: FORMS["networkx"](),
}


@pytest.mark.parametrize("form", UNLABELLED)
def test_graphs_without_labels(form):
    for kernel in (
        WeisfeilerLehman(2, label=None, edge_label=None),
        RandomWalk(0.1, label=None, edge_label=None),
    ):
        close(kernel([UNLABELLED[form]()]), naive_gram(kernel, [Graph(EDGES)]))


def test_batches():
    stack = np.stack([matrix(), np.eye(4)])
    X = [Graph(EDGES), Graph([(i, i) for i in range(4)])]
    kernel = WeisfeilerLehman(2)
    expected = naive_gram(kernel, X)
    close(kernel(stack), expected)
    column = np.empty(2, dtype=object)
    column[:] = X
    for batch in (tuple(X), column, column[:, None], pd.DataFrame({"g": column})):
        close(kernel(batch), expected)
    frame = pd.DataFrame({"g": column, "size": [1.0, 2.0]})
    mixed = kernel.on("g") * RBF(gamma=0.5).on("size")
    close(mixed(frame), expected * RBF(gamma=0.5)(frame[["size"]]))
    arrow = pa.array([{"edges": EDGES, "size": None}, {"edges": [(i, i) for i in range(4)]}])
    close(kernel(arrow), expected)
    close(kernel.on("g")(pa.table({"g": arrow})), expected)


def test_weights_and_directions():
    weighted = nx.Graph()
    weighted.add_weighted_edges_from([(0, 1, 0.5), (1, 2, 2.0), (0, 2, 4.0)])
    A = nx.to_numpy_array(weighted)
    for kernel in (ShortestPath(weight="weight"), RandomWalk(0.01)):
        expected = naive_gram(kernel, [weighted])
        close(kernel([A]), expected)
        close(kernel([[(0, 1, 0.5), (1, 2, 2.0), (0, 2, 4.0)]]), expected)
        assert kernel([A])[0, 0] != kernel.replace(weight=None)([A])[0, 0]
    # 0 to 2 goes over 1, and half a unit farther.
    assert ShortestPath(weight="weight")([A, [(0, 1, 2.5)]])[0, 1] == 2 * 2
    arcs = nx.DiGraph(EDGES)
    triangle = np.triu(np.ones((3, 3)), 1)
    for kernel in KERNELS:
        close(kernel([arcs, triangle]), naive_gram(kernel, [arcs, nx.DiGraph(triangle)]))


class Untouched(nx.Graph):
    """A graph of a class of one's own."""


def random_networkx(rng, kind=nx.Graph, names=int):
    """Return a graph with loops and shuffled edges; all nodes and edges have labels, or none."""
    size = int(rng.integers(0, 9))
    graph = kind()
    graph.add_nodes_from(names(i) for i in rng.permutation(size))
    for u, v in rng.integers(0, max(1, size), size=(2 * size, 2)):
        graph.add_edge(names(u), names(v))
    if rng.random() < 0.6:
        for node in graph:
            graph.nodes[node]["label"] = [1, "C", 2.5, True, ("a", 1)][rng.integers(5)]
    if rng.random() < 0.6:
        for *_, data in graph.edges(data=True):
            data["label"] = int(rng.integers(3))
    for *_, data in graph.edges(data=True):
        if rng.random() < 0.6:
            data["weight"] = float(rng.random())
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, Untouched], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("names", [int, str], ids=["numbers", "texts"])
def test_networkx_graphs_are_read_alike_at_once_and_one_by_one(kind, names):
    rng = np.random.default_rng(0)
    X = [random_networkx(rng, kind, names) for _ in range(60)]
    X += [nx.subgraph_view(g, filter_node=lambda name: name not in (2, "2")) for g in X[:20]]
    X += [nx.freeze(nx.path_graph(4, create_using=kind))]
    for encoder in (
        GraphEncoder(),
        GraphEncoder(None, None),
        GraphEncoder("label", None, "weight"),
        GraphEncoder("nowhere", "nowhere", "nowhere"),
    ):
        at_once = encoder.encode(X, "K")
        # A multigraph in the batch has all graphs read one by one.
        one_by_one = encoder.encode([*X, nx.MultiGraph()], "K").take(slice(0, len(X)))
        for name in Graphs.STATE:
            a, b = getattr(at_once, name), getattr(one_by_one, name)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, err_msg=name)
        at_once.check_state()


def test_small_and_odd_graphs():
    X = [
        Graph(),
        Graph(size=1),
        Graph([(0, 0)]),
        Graph(size=3),
        Graph([(0, 1), (2, 3)]),
        Graph([(0, 1), (0, 1)]),
        nx.Graph(),
        np.zeros((0, 0)),
        [],
    ]
    for kernel in KERNELS:
        K = kernel(X)
        assert np.isfinite(K).all()
        assert not K[[0, 6, 7, 8]].any()
        assert (np.linalg.eigvalsh(K) > -1e-10).all()
        close(K[:6, :6], naive_gram(kernel, X[:6]))
        close(kernel(X[:1]), [[0.0]])
        close(kernel.normalized()(X)[0, 0], 0.0)


def test_labels_are_compared_by_value():
    kernel = WeisfeilerLehman(0)
    same = [Graph(labels=labels) for labels in ([1, 2], np.array([1.0, 2.0]), np.array([1, 2]))]
    assert (kernel(same) == 2).all()
    assert kernel([Graph(labels=["1"])], [Graph(labels=[1])])[0, 0] == 0
    assert kernel([Graph(labels=[0])], [Graph(size=1)])[0, 0] == 0


def test_keys_do_not_depend_on_the_batch_or_the_process():
    code = (
        "from mercer import Graph, WeisfeilerLehman; "
        "print(sorted(WeisfeilerLehman(2).features([Graph([(0, 1)], ['C', 'N'])]).keys.tolist()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    phi = WeisfeilerLehman(2).features([Graph(EDGES, LABELS), Graph([(0, 1)], ["C", "N"])])
    own = phi.keys[phi.toarray()[1] > 0]
    assert sorted(own.tolist()) == eval(run.stdout)


def test_take_and_join():
    X = graphs(20, np.random.default_rng(1))
    kernel = RandomWalk(0.02)
    points = kernel.encode(X)
    chosen = np.array([7, 3, 3, 19])
    part = points.take(chosen).join(points.take(slice(2, 5)))
    again = [X[i] for i in (7, 3, 3, 19, 2, 3, 4)]
    close(kernel(part), kernel(again))


def test_machines_take_graphs(tmp_path):
    random = np.random.default_rng(0)
    rings = [nx.cycle_graph(int(n)) for n in random.integers(4, 12, size=40)]
    trees = [nx.random_labeled_tree(int(n), seed=int(n)) for n in random.integers(4, 12, size=40)]
    X, y = [*rings, *trees], np.repeat(["ring", "tree"], 40)
    for kernel in (WeisfeilerLehman(1).normalized(), RandomWalk(0.5, degree_normalized=True)):
        machine = SVC(kernel=kernel, C=100.0).fit(X[::2], y[::2])
        assert machine.certificate_.gap >= 0
        assert machine.score(X[1::2], y[1::2]) > 0.95
        close(Gram(kernel, X[:9]).dense(), kernel(X[:9]))
    phi = WeisfeilerLehman(1).features(X).values
    assert LinearSVC().fit(phi, y).score(phi, y) > 0.95
    plain = [Graph(list(graph.edges), size=len(graph)) for graph in X]
    machine = SVC(kernel=WeisfeilerLehman(1) * RandomWalk(0.1, degree_normalized=True)).fit(
        plain, y
    )
    save(machine, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], InvalidInput, "no rows"),
        (nx.path_graph(3), InvalidType, r"got one graph. Pass \[graph\]"),
        (np.eye(3), InvalidType, r"got one matrix. Pass \[matrix\]"),
        (sparse.eye_array(3), InvalidType, "got one matrix"),
        ([3], InvalidType, "graph 0 is of type int"),
        ([EDGES, None], InvalidType, "graph 1 is of type NoneType"),
        ([sparse.csr_array(np.ones((2, 3)))], InvalidInput, r"shape \(2, 3\). It has to be square"),
        ([np.array([[0, np.nan], [1, 0]])], InvalidInput, "not a finite number"),
        ([np.array([[0, 1j], [1, 0]])], InvalidType, "complex128, not of numbers"),
        ([(np.eye(2), ["C"])], InvalidInput, "2 nodes and 1 node labels"),
        ([(np.eye(2), ["C", None])], InvalidInput, "no label for node 1"),
        ([(np.eye(2), ["C", float("nan")])], InvalidInput, "no label for node 1"),
        ([(np.eye(2), {0: "C"})], InvalidInput, "no label for node 1"),
        ([(np.eye(2), [["C"], ["N"]])], InvalidType, r"node label \['C'\], a list"),
        ([(np.eye(2), 5)], InvalidType, "labels of type int"),
        ([(np.eye(2), [1, 2], {(0, 0): 1})], InvalidInput, r"no label for the edge \(1, 1\)"),
        ([(np.eye(2), [1, 2], np.eye(3))], InvalidInput, r"shape \(3, 3\). Give a 2 × 2"),
        ([[(0, 1, 2, 3)]], InvalidInput, "An edge is a pair"),
        ([[0, 1]], InvalidInput, "An edge is a pair"),
        ([[[0, 1], [1, 2], [2, 0]]], InvalidInput, "Write edges as tuples"),
        ([[(0, 1, "far")]], InvalidInput, "'far', which is not a number"),
        ([(EDGES, ["C"] * 3)], InvalidInput, "4 nodes and 3 node labels"),
        ([(NAMED, ["C"] * 4)], InvalidInput, "Give the labels as a mapping"),
        ([Graph([(0, 4)], size=3)], InvalidInput, "edge to node 4, but its nodes are 0 … 2"),
        ([Graph([(0, -1)])], InvalidInput, "edge to node -1"),
        ([Graph([(0, 1, 2)] * 2)], InvalidInput, "no pairs of node numbers"),
        ([Graph([(0, 0.5)])], InvalidInput, "no pairs of node numbers"),
        ([Graph([(0, 1), (2,)])], InvalidInput, "no pairs of node numbers"),
        ([Graph(5)], InvalidInput, "no pairs of node numbers"),
        ([Graph("ab")], InvalidInput, "no pairs of node numbers"),
        ([Graph(EDGES, weights=[1.0])], InvalidInput, "4 edges and 1 weights"),
        ([Graph(EDGES, weights=["x"] * 4)], InvalidInput, "weight that is not a number"),
        ([Graph(EDGES, edge_labels=[1, 2, 3, None])], InvalidInput, "no label for edge 3"),
        ([{"edges": [], "colour": 3}], InvalidInput, "a field 'colour'"),
        (
            pd.DataFrame({"a": [1], "b": [2]}),
            InvalidInput,
            r"table of 2 columns.*\.on\('molecule'\)",
        ),
    ],
)
def test_what_is_no_graph(X, error, message):
    with pytest.raises(error, match=message):
        WeisfeilerLehman()(X)


def test_labels_on_some_nodes_only():
    graph = nx.path_graph(3)
    graph.nodes[0]["label"] = "C"
    with pytest.raises(InvalidInput, match="nodes with the attribute 'label' and node 1 without"):
        WeisfeilerLehman()([graph])
    WeisfeilerLehman(label=None)([graph])
    nx.set_node_attributes(graph, "C", "element")
    graph.edges[0, 1]["order"] = 2
    WeisfeilerLehman(label="element")([graph])
    with pytest.raises(InvalidInput, match="edges with the attribute 'order' and edge"):
        WeisfeilerLehman(label="element", edge_label="order")([graph])


@pytest.mark.parametrize(
    ("where", "attribute", "error", "message"),
    [
        ("node", {"label": ["C"]}, InvalidType, r"graph 2 has the node label \['C'\], a list"),
        ("node", {"label": float("nan")}, InvalidInput, "graph 2 has no label for node 1"),
        ("node", {"label": pd.NA}, InvalidInput, "graph 2 has no label for node 1"),
        ("node", {"label": np.ones(2)}, InvalidType, "graph 2 has the node label array"),
        ("node", {"label": ("a", [])}, InvalidType, r"\('a', \[\]\) in row 7, column 0 is no"),
        ("edge", {"label": {}}, InvalidType, r"graph 2 has the edge label \{\}, a dict"),
        ("edge", {"label": None}, InvalidInput, r"'label' and edge \('b', 'c'\) without it"),
        ("edge", {"weight": "far"}, InvalidInput, "graph 2 has the edge weight 'far'"),
        ("edge", {"weight": None}, InvalidInput, "graph 2 has the edge weight None"),
        ("edge", {"weight": 1j}, InvalidInput, "graph 2 has the edge weight 1j"),
        ("edge", {"weight": float("inf")}, InvalidInput, "graph 2 has an edge whose weight is not"),
    ],
)
def test_the_wrong_one_of_many_networkx_graphs(where, attribute, error, message):
    X = [nx.Graph([("a", "b"), ("b", "c")]) for _ in range(4)]
    for graph in X:
        nx.set_node_attributes(graph, "C", "label")
        nx.set_edge_attributes(graph, "s", "label")
    (X[2].nodes["b"] if where == "node" else X[2].edges["b", "c"]).update(attribute)
    with pytest.raises(error, match=message):
        GraphEncoder("label", "label", "weight").encode(X, "K")


@pytest.mark.parametrize("kernel", [RandomWalk(0.01), ShortestPath(weight="weight")], ids=repr)
def test_negative_weights(kernel):
    with pytest.raises(InvalidInput, match="graph 1 has an edge of weight -2"):
        kernel([EDGES, [(0, 1, -2.0)]])
    kernel.replace(weight=None)([EDGES, [(0, 1, -2.0)]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeisfeilerLehman(-1), "rounds=-1 has to be a whole number ≥ 0"),
        (lambda: WeisfeilerLehman(1.5), "rounds=1.5"),
        (lambda: WeisfeilerLehman(start="colours"), "'labels' or 'degrees'"),
        (lambda: WeisfeilerLehman(label=3), "label=3 has to be the name of an attribute"),
        (lambda: ShortestPath(weight=1.0), "weight=1.0 has to be the name"),
        (lambda: RandomWalk(-0.1), "decay=-0.1 has to be a number ≥ 0"),
        (lambda: RandomWalk(degree_normalized=1), "degree_normalized=1 has to be a bool"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


# ---- molecules ---------------------------------------------------------------------------------


def test_smiles_need_rdkit(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingDependency, match=r"pip install 'mercer\[chem\]'"):
        WeisfeilerLehman()(["CCO"])


def test_smiles():
    pytest.importorskip("rdkit")
    ethanol = Graph([(0, 1), (1, 2)], ["C", "C", "O"], ["SINGLE"] * 2)
    for kernel in KERNELS:
        close(kernel(["CCO", "OCC"]), naive_gram(kernel, [ethanol] * 2))
    close(KERNELS[0].on("smiles")(pd.DataFrame({"smiles": ["CCO"]})), KERNELS[0]([ethanol]))
    with pytest.raises(InvalidInput, match="graph 1 is the string 'C1CC', which is not valid"):
        WeisfeilerLehman()(["CCO", "C1CC"])
