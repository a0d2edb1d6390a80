"""The Gram matrix of columns in use: it grows, and everything in it is that of dense columns."""

import numpy as np
import pytest
from scipy import sparse

from mercer.problems.elastic_net import Design, LassoProblem
from mercer.solvers.linear import gram_cache
from mercer.solvers.linear.gram_cache import GramCache

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 7)) * (RNG.random((12, 7)) < 0.7)
Y = RNG.normal(size=12)


def caches(kind):
    return GramCache(Design(sparse.csc_array(X) if kind == "sparse" else X))


def with_target(cache):
    cache.y, cache.Xy = Y, X.T @ Y
    return cache


@pytest.mark.parametrize("few_numbers", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_it_grows(kind, few_numbers, monkeypatch):
    monkeypatch.setattr(gram_cache, "_LITTLE_WORK", 1)  # so that columns are kept
    if not few_numbers:
        monkeypatch.setattr(gram_cache, "_FEW_NUMBERS", 12 * 5)
    cache = with_target(caches(kind))
    everything = np.empty(0, int)
    for new in ([3], [], [5, 0], [6, 1, 2], [4]):
        cache.add(np.array(new, int))
        everything = np.concatenate([everything, new]).astype(int)
        count = len(everything)
        assert len(cache) == count
        assert cache.columns.tolist() == everything.tolist()
        assert np.flatnonzero(cache.inside).tolist() == sorted(everything)
        G = X[:, everything].T @ X[:, everything]
        np.testing.assert_allclose(cache.G[:count, :count], G, atol=1e-12)
        np.testing.assert_allclose(cache.q, X[:, everything].T @ Y)
        if kind == "dense" and (few_numbers or count == 1):
            np.testing.assert_allclose(cache.parts[:count], X[:, everything].T)
    assert (cache.parts is None) == (kind == "sparse" or not few_numbers)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_parts_of_it(kind):
    cache = with_target(caches(kind))
    cache.add(np.array([3, 0, 5, 6]))
    kept = np.zeros(7, bool)
    kept[[0, 6]] = True
    block = cache.block(kept)
    assert block.columns.tolist() == [0, 6]
    np.testing.assert_allclose(block.G, X[:, [0, 6]].T @ X[:, [0, 6]], atol=1e-12)
    np.testing.assert_allclose(block.q, X[:, [0, 6]].T @ Y)
    kept[5] = True  # three of four: a copy does not pay
    assert cache.block(kept).columns.tolist() == [3, 0, 5, 6]
    assert cache.block(kept, exactly=True).columns.tolist() == [0, 5, 6]


@pytest.mark.parametrize("columns", [[3, 0, 5], [6, 5, 4, 3, 2, 1, 0]])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weights_are_judged_as_by_the_data(kind, columns):
    cache, problem = with_target(caches(kind)), LassoProblem(Y, 0.3, 0.1)
    cache.add(np.array(columns))
    w, other = RNG.normal(size=(2, len(columns)))
    full = np.zeros(7)
    full[columns] = w
    truth = problem.evaluate(Design(X), full)
    found = cache.evaluate(problem, np.array(columns), w, w, 1e-3)
    assert found.bounds.primal == pytest.approx(truth.bounds.primal)
    assert found.bounds.dual == pytest.approx(truth.bounds.dual)
    np.testing.assert_allclose(found.c, truth.c, atol=1e-10)
    full[columns] = 0.01 * other
    proof = problem.evaluate(Design(X), full)
    both = cache.evaluate(problem, np.array(columns), w, 0.01 * other, 1e-3)
    assert both.bounds.primal == pytest.approx(truth.bounds.primal)
    assert both.bounds.dual == pytest.approx(max(truth.bounds.dual, proof.bounds.dual))
    lazy = cache.evaluate(problem, np.array(columns), w, 0.01 * other, 1e9)
    assert lazy.bounds.dual == pytest.approx(truth.bounds.dual)


def test_lengths_of_columns(monkeypatch):
    lengths = np.linalg.norm(X, axis=0)
    assert with_target(caches("dense")).norms is None  # more rows than columns, and little work
    monkeypatch.setattr(gram_cache, "_NEXT_TO_NO_WORK", 12 * 7**2 - 1)
    whole = caches("dense")
    assert whole.norms is None
    whole.add(np.arange(7)[::-1])
    np.testing.assert_allclose(whole.norms, lengths)
    wide = GramCache(Design(X.T.copy()))
    np.testing.assert_allclose(wide.norms, np.linalg.norm(X, axis=1), rtol=1e-10)


def test_when_all_columns_pay(monkeypatch):
    cache, work = caches("dense"), 12 * 7**2
    assert cache.few
    assert cache.pays_whole(0)
    monkeypatch.setattr(gram_cache, "_NEXT_TO_NO_WORK", work)
    assert cache.pays_whole(0)
    monkeypatch.setattr(gram_cache, "_NEXT_TO_NO_WORK", work - 1)
    assert [cache.pays_whole(v) for v in (3, 4)] == [False, True]
    monkeypatch.setattr(gram_cache, "_LITTLE_WORK", work)
    assert cache.few
    monkeypatch.setattr(gram_cache, "_LITTLE_WORK", work - 1)
    assert not cache.few
    assert not cache.pays_whole(7)
    wide = GramCache(Design(X.T.copy()))
    assert not wide.few
    assert not wide.pays_whole(7)


def test_residuals_that_cancel_are_taken_from_the_data():
    y = X @ np.arange(1.0, 8.0)
    cache = caches("dense")
    cache.y, cache.Xy = y, X.T @ y
    cache.add(np.arange(7))
    problem, w = LassoProblem(y, 1e-6), np.arange(1.0, 8.0)
    found = cache.evaluate(problem, np.arange(7), w, w, 1e-3)
    assert found.rr < 1e-20 * problem.yy


def test_when_passes_over_columns_are_quick(monkeypatch):
    monkeypatch.setattr(gram_cache, "_ALL_AT_ONCE", 4)
    monkeypatch.setattr(gram_cache, "_FEW_ENTRIES", 60)
    monkeypatch.setattr(gram_cache, "_FEW_TALL_ENTRIES", 40)

    monkeypatch.setattr(gram_cache, "_MORE_ENTRIES", 600)

    def quick(n, p, layout=np.asarray, share=1.0, **more):
        return GramCache(Design(layout(np.ones((n, p))), **more)).quick(share)

    assert quick(6, 10)
    assert not quick(6, 11)  # 66 entries
    assert quick(8, 5)
    assert not quick(9, 5)  # 45 entries
    assert not quick(7, 7)  # as many rows
    assert quick(9, 5, share=0.01)
    assert quick(100, 5, share=0.01)
    assert not quick(101, 5, share=0.01)  # 20 rows for a column
    assert quick(60, 10, share=0.01)
    assert not quick(61, 10, share=0.01)  # 610 entries
    assert not quick(60, 10, share=0.02)
    assert quick(9, 5, share=0.03)
    assert not quick(10, 5, share=0.03)  # two rows for a column
    assert quick(20, 30, share=0.03)
    assert not quick(20, 30, share=0.05)
    assert quick(7, 70, share=0.03)
    assert not quick(7, 71, share=0.03)  # ten columns for a row
    assert not quick(3, 4)  # all at once
    assert quick(3, 20)
    assert quick(12, 5, sparse.csc_array)
    assert not quick(13, 5, sparse.csc_array)
    assert not quick(12, 5, sparse.csc_array, weights=np.ones(12))
