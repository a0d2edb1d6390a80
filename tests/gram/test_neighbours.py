"""Graphs of nearest neighbours: against scikit-learn, loops, and any number of threads."""

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from mercer import RBF, FeatureGram, Gram, InvalidParameter, Linear
from mercer.gram import neighbours as module
from mercer.gram.held import HeldGram
from mercer.gram.neighbours import NeighbourSearch, held_precision, neighbour_graph

X = np.random.default_rng(0).normal(size=(600, 4))
X.flags.writeable = False


@pytest.mark.parametrize(
    "gram", [Gram(RBF(gamma=0.1), X), Gram(Linear(), X), FeatureGram.of(Linear(), X)]
)
def test_it_is_the_graph_of_scikit_learn(gram):
    W = kneighbors_graph(X, 7)
    ours = neighbour_graph(gram, 7, "binary").weights
    np.testing.assert_array_equal(ours.toarray(), W.maximum(W.T).toarray())


def test_neighbours_are_found_in_full_precision_while_the_matrix_is_held_in_half_of_it():
    gram = Gram(RBF(gamma=1e-9), X)  # All values are 1 in float32.
    search = NeighbourSearch(gram.diag(), 3, "heat")
    held = HeldGram(gram, np.float32, search.add_block)
    np.testing.assert_allclose(held.dense(), RBF(gamma=1e-9)(X), atol=1e-7)
    found, alone = search.graph().weights, neighbour_graph(gram, 3).weights
    np.testing.assert_array_equal(found.toarray(), alone.toarray())


def test_threads_and_ties_do_not_matter(monkeypatch):
    points = np.repeat(np.arange(300.0) // 20, 2)[:, None]
    graphs = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        graphs.append(neighbour_graph(Gram(Linear(), points), 5).weights.toarray())
    np.testing.assert_array_equal(*graphs)


@pytest.mark.parametrize("normalized", [True, False])
def test_the_laplacian_adds_up_differences(normalized):
    graph = neighbour_graph(Gram(RBF(gamma=0.1), X), 5)
    W, f = graph.weights.toarray(), np.sin(X[:, 0])
    g = f / np.sqrt(W.sum(axis=1)) if normalized else f
    energy = (W * (g[:, None] - g) ** 2).sum() / 2
    assert f @ (graph.laplacian(normalized) @ f) == pytest.approx(energy, rel=1e-10)


def test_small_and_bad():
    assert neighbour_graph(Gram(RBF(gamma=1.0), X[:1])).weights.nnz == 0
    assert neighbour_graph(Gram(RBF(gamma=1.0), X[:3]), 10).weights.nnz == 6
    with pytest.raises(InvalidParameter, match="neighbours=0"):
        neighbour_graph(Gram(RBF(gamma=1.0), X), 0)
    with pytest.raises(InvalidParameter, match="weights='cosine'"):
        neighbour_graph(Gram(RBF(gamma=1.0), X), 3, "cosine")


def test_heat_weights_are_those_of_the_formula():
    K = RBF(gamma=0.1)(X)
    squares = np.diag(K)[:, None] - 2 * K + np.diag(K)
    np.fill_diagonal(squares, np.inf)
    nearest = np.sort(squares, axis=1)[:, :4]
    joined = neighbour_graph(Gram(RBF(gamma=0.1), X), 4, "binary").weights.toarray() > 0
    expected = np.where(joined, np.exp(-squares / nearest.mean()), 0.0)
    found = neighbour_graph(Gram(RBF(gamma=0.1), X), 4).weights.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0)


def test_precision_by_memory(monkeypatch):
    room = 10**9
    monkeypatch.setattr(module._memory, "available_bytes", lambda: room * module._SHARE)
    whole, half = int((room / 4) ** 0.5), int((room / 2) ** 0.5)
    assert held_precision(whole, cheap=False) == np.float64
    assert held_precision(whole + 1, cheap=False) == np.float32
    assert held_precision(half, cheap=False) == np.float32
    assert held_precision(half + 1, cheap=False) is None
    exact = 10_000  # where the room is what it takes, to the last byte
    for share, dtype in ((4, np.float64), (2, np.float32)):
        there = share * exact**2 * module._SHARE
        monkeypatch.setattr(module._memory, "available_bytes", lambda there=there: there)
        assert held_precision(exact, cheap=False) == dtype
    monkeypatch.setattr(module._memory, "available_bytes", lambda: room * module._SHARE)
    assert held_precision(module._SMALL, cheap=True) == np.float64
    assert held_precision(module._SMALL + 1, cheap=True) == np.float32
    monkeypatch.setattr(module._memory, "available_bytes", lambda: None)
    assert held_precision(10**6, cheap=False) == np.float64
