"""Walks in a graph, product graphs, walks without tottering, colours of nodes."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from mercer import Graph, RandomWalk, WeisfeilerLehman, check_kernel, product_graph, walk_counts
from mercer.exceptions import InvalidInput, InvalidParameter
from tests.kernels.cases import close

GRAPHS = [nx.petersen_graph(), nx.path_graph(5), nx.gnp_random_graph(8, 0.4, seed=1)]
ATOMS = [
    Graph([(0, 1), (1, 2), (2, 3)], ["C", "C", "O", "C"], ["-", "=", "-"]),
    Graph([(0, 1), (1, 2), (0, 2)], ["C", "O", "C"], ["-", "-", "="]),
    Graph([(0, 1), (1, 2), (2, 0), (2, 2)], ["C", "C", "C"], ["-", "-", "-", "="], directed=True),
]


def walks(graph, k):
    """List all walks of k steps of a networkx graph by going on from node to node."""
    found = [(node,) for node in graph]
    for _ in range(k):
        found = [(*walk, end) for walk in found for end in graph.neighbors(walk[-1])]
    return found


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("graph", [*GRAPHS, nx.gn_graph(6, seed=2), nx.DiGraph([(0, 1), (1, 1)])])
def test_counts_are_those_of_listed_walks(graph, k):
    every = Counter((walk[0], walk[-1]) for walk in walks(graph, k))
    onward = Counter(
        (walk[0], walk[-1])
        for walk in walks(graph, k)
        if all(a != b for a, b in zip(walk, walk[2:], strict=False))
    )
    nodes = list(graph)
    for tottering, counts in ((True, every), (False, onward)):
        expected = [[counts[u, v] for v in nodes] for u in nodes]
        np.testing.assert_array_equal(walk_counts(graph, k, tottering=tottering), expected)


def test_counts_of_other_forms_and_weights():
    matrix = np.array([[0.0, 2.0], [2.0, 0.0]])
    np.testing.assert_array_equal(walk_counts(matrix, 2), np.eye(2))
    np.testing.assert_array_equal(walk_counts(matrix, 2, weight="weight"), 4 * np.eye(2))
    np.testing.assert_array_equal(walk_counts(Graph(size=2), 1, tottering=False), np.zeros((2, 2)))
    for k in (-1, 1.5, True):
        with pytest.raises(InvalidParameter, match="has to be a whole number ≥ 0"):
            walk_counts(matrix, k)
    with pytest.raises(InvalidInput, match="walk_counts: graph 0"):
        walk_counts([(0, 1, 2, 3)], 2)


def test_the_product_graph_is_that_of_networkx():
    for g in GRAPHS:
        for h in GRAPHS:
            ours, theirs = product_graph(g, h), nx.tensor_product(g, h)
            order = [tuple(pair) for pair in ours.nodes.tolist()]
            expected = nx.to_numpy_array(theirs, nodelist=order)
            np.testing.assert_array_equal(ours.adjacency.toarray(), expected)
            kron = np.kron(nx.to_numpy_array(g), nx.to_numpy_array(h))
            np.testing.assert_array_equal(ours.adjacency.toarray(), kron)
            assert ours.common_walks(3) == np.linalg.matrix_power(kron, 3).sum()


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(3))
def test_the_labelled_product_graph_gives_the_random_walk_kernel(i, j):
    both = product_graph(ATOMS[i], ATOMS[j])
    n = len(both.nodes)
    value = np.linalg.inv(np.eye(n) - 0.05 * both.adjacency.toarray()).sum() if n else 0.0
    assert RandomWalk(0.05)(ATOMS)[i, j] == pytest.approx(value, rel=1e-12)
    labels = [graph.labels for graph in (ATOMS[i], ATOMS[j])]
    pairs = [(u, v) for u, a in enumerate(labels[0]) for v, b in enumerate(labels[1]) if a == b]
    assert [tuple(pair) for pair in both.nodes.tolist()] == pairs
    assert both.common_walks(0) == len(pairs)


def test_the_product_of_graphs_without_anything_in_common():
    both = product_graph(Graph(labels=["a"]), Graph(labels=["b"]))
    assert both.nodes.shape == (0, 2)
    assert both.common_walks(2) == 0
    with pytest.raises(InvalidParameter, match="common_walks: k=-1"):
        both.common_walks(-1)


def test_walks_without_tottering_by_listing_them():
    decay, steps = 0.01, 12
    expected = np.zeros((3, 3))
    lists = [[walk_counts(g, k, tottering=False).sum() for k in range(steps)] for g in GRAPHS]
    for k in range(steps):
        lengths = [counts[k] for counts in lists]
        expected += decay**k * np.outer(lengths, lengths)
    close(RandomWalk(decay, tottering=False)(GRAPHS), expected, 1e-9)


def test_a_tree_has_few_walks_that_do_not_turn_round():
    star = nx.star_graph(4)
    # Five nodes, eight arcs, and from leaf to leaf twelve ways over the middle.
    K = RandomWalk(0.5, tottering=False)([star])
    assert K[0, 0] == pytest.approx(25 + 0.5 * 64 + 0.25 * 144)
    assert RandomWalk(0.5, tottering=False).largest_decay([star]) == np.inf


def test_walks_without_tottering_are_a_kernel_of_new_graphs_too():
    for kernel in (
        RandomWalk(0.05, tottering=False),
        RandomWalk(0.9, tottering=False, degree_normalized=True),
    ):
        assert check_kernel(kernel, [*GRAPHS, *ATOMS])
        K = kernel([*GRAPHS, *ATOMS])
        close(kernel(GRAPHS, ATOMS), K[:3, 3:])
        close(kernel.diag(ATOMS), np.diagonal(K)[3:])


def test_walks_without_tottering_that_grow_too_fast():
    complete = nx.complete_graph(5)
    # Every arc of K₅ has three others to go on by.
    assert RandomWalk(tottering=False).largest_decay([complete]) == pytest.approx(1 / 9)
    with pytest.raises(InvalidParameter, match="grow by 9 a step"):
        RandomWalk(0.2, tottering=False)([complete])
    with pytest.raises(InvalidInput, match=r"take no weights of edges\. weight=None ignores"):
        RandomWalk(0.1, tottering=False)([np.array([[0, 2], [2, 0]])])
    with pytest.raises(InvalidParameter, match="tottering='no' has to be a bool"):
        RandomWalk(tottering="no")


def test_colours_are_those_of_networkx():
    graphs = [*GRAPHS, nx.cycle_graph(6), nx.disjoint_union(*2 * [nx.cycle_graph(3)])]
    rounds = 3
    found = WeisfeilerLehman(rounds).colours(graphs)
    hashes = []
    for graph in map(nx.Graph, graphs):
        nx.set_node_attributes(graph, "same", "label")
        hashes.append(
            nx.weisfeiler_lehman_subgraph_hashes(graph, node_attr="label", iterations=rounds)
        )
    assert [colours.shape for colours in found] == [(rounds + 1, len(g)) for g in graphs]
    for r in range(1, rounds + 1):
        numbers = np.concatenate([colours[r] for colours in found])
        theirs = [h[node][r - 1] for g, h in zip(graphs, hashes, strict=True) for node in g]
        assert len(set(zip(numbers, theirs, strict=True))) == len(set(theirs)) == len(set(numbers))
    assert not np.concatenate([colours[0] for colours in found]).any()


def test_colours_of_labelled_graphs_count_in_the_kernel():
    kernel = WeisfeilerLehman(2)
    found = kernel.colours(ATOMS)
    assert found[0][0].tolist() == [0, 0, 1, 0]
    counts = [Counter(colours.ravel().tolist()) for colours in found]
    expected = [[sum(a[c] * b[c] for c in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(kernel(ATOMS), expected)
    degrees = WeisfeilerLehman(0, start="degrees").colours([nx.star_graph(3)])
    assert degrees[0].tolist() == [[0, 1, 1, 1]]
