"""Batches of networkx graphs, read at once: the same as graph by graph."""

import marshal
from collections import OrderedDict, defaultdict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mercer import WeisfeilerLehman, _fast
from mercer.kernels.graphs import networkx_graphs
from mercer.kernels.graphs.graph_encoder import GraphEncoder
from mercer.kernels.graphs.graph_points import Graphs


class Ordered(nx.Graph):
    """A graph whose dictionaries are of other kinds, with an order of their own."""

    adjlist_inner_dict_factory = OrderedDict
    node_attr_dict_factory = staticmethod(lambda: defaultdict(lambda: "invented"))


NAMES = {
    "numbers": lambda i: i,
    "numpy numbers": np.int64,
    "whole floats": float,
    "from one": lambda i: i + 1,
    "backwards": lambda i: 20 - i,
    "texts": lambda i: f"v{i}",
    "mixed": lambda i: i if i % 2 else f"v{i}",
    "huge": lambda i: i + (1 << 40),
}


@st.composite
def networkx_graph(draw, kind, name):
    size = draw(st.integers(0, 8))
    graph = kind()
    nodes = [NAMES[name](i) for i in range(size)]
    graph.add_nodes_from(draw(st.permutations(nodes)) if draw(st.booleans()) else nodes)
    if nodes:
        ends = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
        graph.add_edges_from(draw(st.lists(ends, max_size=15)))
    if draw(st.integers(0, 2)) and size:
        labels = draw(st.lists(st.sampled_from([1, "C", 2.5]), min_size=size, max_size=size))
        nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    if draw(st.integers(0, 4)) == 0:
        nx.set_edge_attributes(graph, "double", "label")
    if draw(st.integers(0, 4)) == 0:
        nx.set_edge_attributes(graph, 0.5, "weight")
    return graph


def same(encoder, X):
    """Compare with graphs that are read one by one, as all are beside a multigraph."""
    at_once = encoder.encode(X, "K")
    one_by_one = encoder.encode([*X, nx.MultiGraph()], "K").take(slice(0, len(X)))
    at_once.check_state()
    for name in Graphs.STATE:
        a, b = getattr(at_once, name), getattr(one_by_one, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=name)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_batches_of_all_kinds(data):
    kinds = st.sampled_from([nx.Graph, nx.Graph, nx.DiGraph, Ordered])
    kind = data.draw(kinds)
    names = data.draw(st.sampled_from(list(NAMES)))
    X = data.draw(st.lists(networkx_graph(kind, names), min_size=1, max_size=6))
    if data.draw(st.booleans()):
        X.append(data.draw(networkx_graph(nx.Graph, "numbers")))
    if data.draw(st.booleans()):
        X.append(X[0].subgraph(list(X[0])[:3]))
    for encoder in (
        GraphEncoder(),
        GraphEncoder(None, None),
        GraphEncoder("label", None, "weight"),
    ):
        same(encoder, X)


def test_an_order_of_neighbours_of_ones_own_keeps_their_edges():
    graph = Ordered([(0, 1), (0, 2), (0, 3)])
    for v in (1, 2, 3):
        graph.edges[0, v]["label"] = f"bond {v}"
    graph.adj[0]._atlas.move_to_end(1)
    same(GraphEncoder(), [graph])
    assert "label" not in graph.nodes[0]  # and nothing was invented


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_numbered_graphs_need_no_dictionary_of_names(kind):
    X = [nx.gnp_random_graph(n, 0.3, seed=n, directed=kind is nx.DiGraph) for n in (0, 1, 5, 12)]
    X = [*X, kind([(0, 0), (0, 1)])]
    read = networkx_graphs._numbered(X)
    assert read.sizes.tolist() == [0, 1, 5, 12, 2]
    assert read.targets.tolist() == [v for g in X for u in g for v in g.adj[u]]
    assert read.counts.tolist() == [len(g.adj[u]) for g in X for u in g]
    for other in (kind([(1, 0)]), kind([("a", "b")]), kind([(0, 1, {"label": 2})]), nx.Graph()):
        found = networkx_graphs._numbered([*X, other])
        assert (found is None) == bool(other)
    assert networkx_graphs._numbered([]) is None


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 200), value=st.integers(0, 255), cut=st.integers(0, 200))
def test_bytes_that_are_something_else_are_refused(place, value, cut):
    graph = nx.path_graph(4)
    right = marshal.dumps([graph._adj, nx.path_graph(2)._adj], 2)
    wrong = bytearray(right)
    wrong[place % len(right)] = value
    sizes, counts, targets = np.array([4, 2]), np.zeros(6, np.int64), np.zeros(8, np.int64)

    def read(data):
        data = np.frombuffer(bytes(data), dtype=np.uint8)
        return _fast.adjacency_bytes.read_neighbours(data, sizes, counts, targets)

    assert read(right)
    assert targets.tolist() == [1, 0, 2, 1, 3, 2, 1, 0]
    assert not read(right[: cut % len(right)])
    assert not read(right + b"0")
    if read(wrong):  # another neighbour is one all the same
        assert ((targets >= 0) & (targets < np.repeat([4, 2], [6, 2]))).all()


def test_kernel_values_do_not_depend_on_names():
    X = [nx.gnp_random_graph(9, 0.4, seed=s) for s in range(12)]
    named = [nx.relabel_nodes(g, {i: f"v{i}" for i in g}) for g in X]
    kernel = WeisfeilerLehman(3)
    np.testing.assert_array_equal(kernel(X), kernel(named))
    np.testing.assert_array_equal(kernel(X, named), kernel(X))
