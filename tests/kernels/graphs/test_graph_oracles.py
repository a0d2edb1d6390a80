"""Kernels of graphs against plain Python: all graphs up to five nodes, and random ones."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from mercer import (
    Graph,
    InvalidParameter,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
    check_kernel,
)
from tests.kernels.cases import close, graphs
from tests.oracles.naive import naive_gram, naive_value
from tests.oracles.strategies_graphs import graph_kernels, graph_lists

ATLAS = [graph for graph in nx.graph_atlas_g() if len(graph) <= 5]
MATRICES = [nx.to_numpy_array(graph) for graph in ATLAS]


def explicit(A, B, decay):
    """Return 1ᵀ(I − λ A⊗B)⁻¹1 by forming the Kronecker product."""
    product = np.kron(A, B)
    return np.linalg.inv(np.eye(len(product)) - decay * product).sum()


def test_all_graphs_up_to_five_nodes_by_the_kronecker_product():
    assert len(ATLAS) == 53
    limit = RandomWalk().largest_decay(MATRICES)
    assert limit == pytest.approx(1 / 16)  # the complete graph of five nodes
    for decay in (0.01, 0.99 * limit):
        expected = [[explicit(A, B, decay) for B in MATRICES] for A in MATRICES]
        close(RandomWalk(decay)(MATRICES), expected)


def test_all_graphs_up_to_five_nodes_by_dictionaries():
    kernels = (WeisfeilerLehman(3), WeisfeilerLehmanOptimalAssignment(2), ShortestPath())
    matrices = [kernel(ATLAS) for kernel in kernels]
    for i, x in enumerate(ATLAS):
        for j in range(i, len(ATLAS), 3):
            for kernel, K in zip(kernels, matrices, strict=True):
                assert K[i, j] == K[j, i] == naive_value(kernel, x, ATLAS[j])


def test_isomorphic_graphs_have_the_same_rows():
    pairs = list(combinations(range(5), 2))
    every = [
        Graph([pairs[i] for i in range(10) if number >> i & 1], size=5) for number in range(1024)
    ]
    kernel = WeisfeilerLehman(4)
    rows = kernel.features(every).toarray()
    walks = RandomWalk(0.05)(every, MATRICES)
    classes = {tuple(row) for row in rows.tolist()}
    # WL tells all graphs of five nodes apart, so that there are as many rows as classes.
    assert len(classes) == sum(len(graph) == 5 for graph in ATLAS) == 34
    first = {}
    for row, walk in zip(map(tuple, rows.tolist()), walks, strict=True):
        np.testing.assert_allclose(walk, first.setdefault(row, walk), rtol=1e-12)


def test_numbering_of_labelled_nodes_does_not_matter():
    labels, bonds = ["C", "C", "N", "O"], [1, 2, 1, 1]
    edges = [(0, 1), (1, 2), (2, 3), (3, 3)]
    kernels = (WeisfeilerLehman(3), ShortestPath(), RandomWalk(0.2), RandomWalk(0.2, label=None))
    for directed in (False, True):
        graph = Graph(edges, labels, bonds, directed=directed)
        for order in permutations(range(4)):
            moved = [(order[u], order[v]) for u, v in edges]
            names = [labels[order.index(i)] for i in range(4)]
            other = Graph(moved[::-1], names, bonds[::-1], directed=directed)
            for kernel in kernels:
                K = kernel([graph, other])
                np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)
            phi = WeisfeilerLehman(3).features([graph, other]).toarray()
            assert (phi[0] == phi[1]).all()


@given(graph_kernels(), graph_lists(), graph_lists())
def test_any_graphs_equal_the_oracle(kernel, X, Y):
    close(kernel(X), naive_gram(kernel, X))
    close(kernel(X, Y), naive_gram(kernel, X, Y))
    close(kernel.diag(X), np.diagonal(naive_gram(kernel, X)))
    close(kernel.normalized()(X, Y), naive_gram(kernel.normalized(), X, Y))
    if kernel.has_features:
        close(kernel.features(X) @ kernel.features(Y).T, kernel(X, Y))


@settings(max_examples=30)
@given(graph_kernels(), graph_kernels(), graph_lists(rows=(2, 5)))
def test_composites_equal_the_oracle(first, second, X):
    kernel = (first + 0.5 * second) * second.normalized()
    close(kernel(X), naive_gram(kernel, X))
    assert check_kernel(kernel, X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kernel",
    [
        WeisfeilerLehman(3),
        WeisfeilerLehmanOptimalAssignment(3),
        ShortestPath(weight="weight"),
        RandomWalk(0.02),
        RandomWalk(0.02, label=None, edge_label=None, weight=None),
        RandomWalk(0.99, degree_normalized=True),
    ],
    ids=repr,
)
def test_no_eigenvalue_is_negative(kernel, seed):
    X = graphs(80, np.random.default_rng(seed))
    K = kernel.normalized()(X)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * len(X)


def test_many_graphs_cross_the_borders_of_blocks():
    X = graphs(1100, np.random.default_rng(5))
    chosen = np.array([0, 3, 511, 512, 600, 1099])
    few = [X[i] for i in chosen]
    plain = RandomWalk(0.02, label=None, edge_label=None)
    for kernel in (WeisfeilerLehman(2), ShortestPath(), plain, RandomWalk(0.02)):
        expected = naive_gram(kernel, few)
        close(kernel(few, X)[:, chosen], expected)
        if kernel.has_features:
            close(kernel(X)[np.ix_(chosen, chosen)], expected)
    close(RandomWalk(0.02)(X[:150])[:4, :4], naive_gram(RandomWalk(0.02), X[:4]))


# ---- walks -------------------------------------------------------------------------------------


def test_one_walk_by_hand():
    edge, arc = Graph([(0, 1)]), Graph([(0, 1)], directed=True)
    # Both nodes go on for ever: 2·2 pairs, each with 1 + λ + λ² + … walks.
    assert RandomWalk(0.5)([edge])[0, 0] == pytest.approx(4 / 0.5)
    # The arc has one walk of one step.
    assert RandomWalk(0.5)([arc])[0, 0] == pytest.approx(4 + 0.5)
    assert RandomWalk(0.5)([edge, arc])[0, 1] == pytest.approx(4 + 0.5 * 2)
    assert RandomWalk(5.0)([arc])[0, 0] == pytest.approx(4 + 5)
    assert RandomWalk(5.0).largest_decay([arc, Graph()]) == np.inf


@pytest.mark.parametrize("label", [None, "label"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_limit_of_the_decay(directed, label):
    random = np.random.default_rng(3)
    X = [
        Graph(
            [(u, v) for u in range(n) for v in range(n) if random.random() < 0.4 and u != v],
            random.integers(0, 2, size=n),
            directed=directed,
        )
        for n in (4, 6, 7)
    ]
    kernel = RandomWalk(label=label)
    limit = kernel.largest_decay(X)
    near = kernel.replace(decay=0.999 * limit)
    close(near(X), naive_gram(near, X), 1e-7)
    with pytest.raises(InvalidParameter, match="diverges on graph") as caught:
        kernel.replace(decay=1.001 * limit)(X)
    named = float(str(caught.value).split("graphs is ")[1].split(";")[0])
    assert 0.999 * limit < named < limit
    kernel.replace(decay=named)(X)
    # One large graph among new data is found, too.
    with pytest.raises(InvalidParameter, match="degree_normalized=True"):
        kernel.replace(decay=0.9 * limit)([nx.complete_graph(9)], X)


def test_the_degree_normalised_form_takes_any_graph():
    random = np.random.default_rng(0)
    X = [random.random((n, n)) * (random.random((n, n)) < 0.7) for n in (1, 5, 9)]
    X += [X[2] + X[2].T, np.ones((20, 20)), np.zeros((3, 3))]
    kernel = RandomWalk(0.999, degree_normalized=True)
    assert kernel.largest_decay(X) == 1
    K = kernel(X)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(kernel.normalized()(X))[0] > -1e-9
    with pytest.raises(InvalidParameter, match="has to be below 1"):
        RandomWalk(1.0, degree_normalized=True)


def test_bipartite_and_long_graphs_near_the_limit():
    X = [nx.path_graph(40), nx.star_graph(30), nx.cycle_graph(31), nx.empty_graph(2)]
    A = [nx.to_numpy_array(graph) for graph in X]
    limit = RandomWalk().largest_decay(X)
    assert limit == pytest.approx(1 / 30)
    expected = [[explicit(a, b, 0.9 * limit) for b in A] for a in A]
    for label in (None, "label"):
        for graph in X:
            nx.set_node_attributes(graph, "C", "label")
        kernel = RandomWalk(0.9 * limit, label=label)
        close(kernel(X), expected, 1e-9)
    # With one label the product graph is the whole one, and has the same limit.
    assert RandomWalk().largest_decay(X) == pytest.approx(limit)


def test_parallel_edges_with_labels_have_a_limit():
    # An edge that is written twice is two arcs each way; SciPy alone would search for ever here.
    twice = Graph([(0, 1), (0, 1), (1, 2)], ["C", "C", "C"])
    A = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert RandomWalk().largest_decay([twice]) == pytest.approx(1 / 5)
    close(RandomWalk(0.19)([twice]), [[explicit(A, A, 0.19)]])
