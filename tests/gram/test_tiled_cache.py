"""Rows that are kept for products: sums, places, and exact counts of what is computed again."""

import numpy as np
import pytest

from mercer.gram import cached
from mercer.gram.cached import TiledCache, row_products
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram

N = 60
A = np.random.default_rng(0).normal(size=(N, 5))
K = A @ A.T


@pytest.fixture
def small(monkeypatch):
    """Tiles of 16 columns and chunks of 4 rows, so that there are several of both."""
    monkeypatch.setattr(cached, "FINE_TILE", 16)
    monkeypatch.setattr(cached, "CHUNK", 4)


def cache_of(slots, precise=False):
    size = 8 if precise else 4
    found = TiledCache(GivenGram(K), slots * size * 64, 1)  # four tiles of 16 columns
    if precise:
        found.restart(np.arange(N), precise=True)
    return found


def added(cache, rows, keep, columns=None):
    rows = np.array(rows)
    weights = np.arange(1.0, len(rows) + 1)
    f = np.zeros(N if columns is None else len(columns), cache.store.dtype)
    cache.add(rows, weights, np.array(keep, bool), f)
    expected = weights @ K[rows]
    np.testing.assert_allclose(f, expected if columns is None else expected[columns], rtol=1e-4,
                               atol=1e-4)  # fmt: skip


def values_in(cache, row, columns):
    slot = int(cache.slots(np.array([row]))[0])
    places = slot * cache.width + cache.offsets(np.arange(len(columns))).astype(int)
    np.testing.assert_allclose(cache.store[places], K[row, columns], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precise", [False, True])
def test_rows_that_are_kept_are_not_computed_again(small, precise):
    cache = cache_of(7, precise)
    assert cache.capacity == 7
    assert cache.precise == precise
    assert cache.store.dtype == (np.float64 if precise else np.float32)
    added(cache, [3, 9, 3 + 20], [True, False, True])
    assert (cache.hits, cache.misses) == (0, 3)
    assert cache.slots(np.array([3, 9, 23, 0])).tolist() == [0, -1, 1, -1]
    added(cache, [3, 23, 9], [True] * 3)
    assert (cache.hits, cache.misses) == (2, 4)
    added(cache, [0, 1, 2, 4, 5], [True] * 5)  # three have room; they go to the oldest places
    assert (cache.hits, cache.misses) == (2, 9)
    assert cache.slots(np.array([0, 1, 2, 4, 5])).tolist() == [0, 1, 2, 3, 4]
    assert cache.slots(np.array([3, 9, 23])).tolist() == [-1, -1, -1]
    for row in (0, 5):
        values_in(cache, row, np.arange(N))
    added(cache, [5, 6, 7, 0], [True] * 4)
    assert cache.slots(np.array([5, 6, 7, 0])).tolist() == [4, 5, 6, 0]
    values_in(cache, 7, np.arange(N))
    added(cache, list(range(10, 22)), [True] * 12)  # more than fit
    assert (cache.slots(np.arange(10, 22)) >= 0).sum() == 7
    added(cache, list(range(10, 22)), [False] * 12)


def test_no_row_goes_while_there_is_room(small):
    cache = cache_of(7)
    for row in range(7):
        added(cache, [row], [True])
        assert cache.slots(np.arange(row + 1)).tolist() == list(range(row + 1))
    assert (cache.hits, cache.misses) == (0, 7)
    added(cache, [7], [True])  # the oldest makes room
    assert cache.slots(np.arange(8)).tolist() == [-1, 1, 2, 3, 4, 5, 6, 0]


def test_other_columns_forget_the_rows(small):
    cache = cache_of(7)
    added(cache, [3, 4], [True, True])
    columns = np.array([50, 2, 17, 31, 8])
    cache.restart(columns, precise=True)
    assert cache.slots(np.array([3, 4])).tolist() == [-1, -1]
    assert cache.capacity == min(N, 7 * 4 * 64 // (8 * 16))  # one tile, of numbers twice as long
    assert cache.columns is columns
    added(cache, [3, 4, 40], [True, False, True], columns)
    values_in(cache, 40, columns)
    cache.restart(np.arange(N), precise=False)
    added(cache, [3, 4], [True, True])


def test_one_row_always_fits(small):
    cache = cache_of(0)
    assert cache.capacity == 1
    added(cache, [3, 4], [True, True])
    assert (cache.slots(np.array([3, 4])) >= 0).sum() == 1
    assert TiledCache(GivenGram(K), 1 << 30, 1).capacity == N


def test_cheap_values_get_less_memory(small, monkeypatch):
    monkeypatch.setattr(cached, "CHEAP_BYTES", 5 * 4 * 64)
    monkeypatch.setattr(cached, "EXPENSIVE_SECONDS", 1e9)
    assert TiledCache(GivenGram(K), 1 << 30, 1).capacity == 5
    monkeypatch.setattr(cached, "EXPENSIVE_SECONDS", 1e-2)  # for each value, 36 s for all
    assert TiledCache(GivenGram(K), 1 << 30, 1).capacity == 5
    monkeypatch.setattr(cached, "EXPENSIVE_SECONDS", 0.0)
    assert TiledCache(GivenGram(K), 20 * 4 * 64, 1).capacity == 20


def test_tiles_are_wider_where_there_are_many_columns(monkeypatch):
    monkeypatch.setattr(cached, "FEW_COLUMNS", N)
    assert TiledCache(GivenGram(K), 1 << 20, 1).width == cached.FINE_TILE
    monkeypatch.setattr(cached, "FEW_COLUMNS", N - 1)
    assert TiledCache(GivenGram(K), 1 << 20, 1).width == cached.TILE


def test_features_need_no_rows():
    products = row_products(FeatureGram.of_rows(A), 1 << 20, 1)
    assert isinstance(row_products(GivenGram(K), 1 << 20, 1), TiledCache)
    assert products.slots(np.array([1, 2])).tolist() == [-1, -1]
    assert products.offsets(np.array([1, 2, 3])).tolist() == [0, 0, 0]
    assert products.store.dtype == np.float32
    assert products.count == N
    columns = np.array([7, 3, 9])
    products.restart(columns, precise=True)
    assert products.store.dtype == np.float64
    f = np.ones(3)
    products.add(np.array([1, 40]), np.array([2.0, -1.0]), np.array([True, True]), f)
    np.testing.assert_allclose(f, 1 + 2 * K[1, columns] - K[40, columns])
    assert (products.hits, products.misses) == (0, 0)
