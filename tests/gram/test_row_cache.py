"""The row cache: least recently used rows go first, and never more bytes than allowed."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

from mercer import RBF, Gram, Laplacian, Linear
from mercer.exceptions import InvalidParameter
from mercer.gram.cache import RowCache
from tests.gram.cases import vectors

ROWS, COLUMNS = 12, 5
MATRIX = np.arange(ROWS * COLUMNS, dtype=np.float64).reshape(ROWS, COLUMNS)
MATRIX.flags.writeable = False


class Model:
    """A cache in a few lines: a row and the time of its last use."""

    def __init__(self, capacity):
        self.capacity, self.last_use, self.clock = capacity, {}, 0

    def fetch(self, rows):
        """Return the rows that have to be computed."""
        self.clock += 1
        missing = sorted({row for row in rows if row not in self.last_use})
        for row in set(rows) - set(missing):
            self.last_use[row] = self.clock
        return missing

    def settle(self, kept):
        """Take over which rows stayed, after a look at whether that was allowed."""
        old, new = self.last_use, set(kept)
        assert len(new) <= self.capacity
        used = {row for row, time in old.items() if time == self.clock}
        assert used <= new  # what was just asked for does not go
        gone = set(old) - new
        stayed = new & set(old) - used
        # Nobody went who was used later than somebody who stayed.
        if gone and stayed:
            assert max(old[row] for row in gone) <= min(old[row] for row in stayed)
        # Nobody goes while there is room.
        assert not gone or len(new) == self.capacity
        self.last_use = {row: old.get(row, self.clock) for row in new}


def kept_rows(cache):
    return [] if cache._storage is None else [int(r) for r in cache._row_in if r >= 0]


@settings(max_examples=200, deadline=None)
@given(
    capacity=st.integers(0, ROWS + 3),
    spare=st.integers(0, COLUMNS * 8 - 1),
    requests=st.lists(st.lists(st.integers(0, ROWS - 1), max_size=15), max_size=25),
)
def test_against_a_model(capacity, spare, requests):
    budget = capacity * COLUMNS * 8 + spare
    cache = RowCache(MATRIX.shape, MATRIX.dtype, budget)
    assert cache.capacity == min(capacity, ROWS)
    assert cache.nbytes <= budget
    model = Model(cache.capacity)
    computed = []

    def compute(rows):
        computed.extend(rows.tolist())
        return MATRIX[rows]

    for rows in requests:
        hits, misses = cache.hits, cache.misses
        computed.clear()
        result = cache.fetch(np.array(rows, dtype=np.intp), compute)
        assert_array_equal(result, MATRIX[rows])
        result[...] = -1  # the caller's own
        if cache.capacity == 0:
            assert computed == rows
            assert cache.misses - misses == len(rows)
            assert cache.hits == 0
            continue
        missing = model.fetch(rows)
        assert sorted(computed) == missing  # each once
        assert cache.misses - misses == len(missing)
        assert cache.hits - hits == sum(row not in missing for row in rows)
        kept = kept_rows(cache)
        assert len(kept) == len(set(kept))
        model.settle(kept)
        assert cache._storage.nbytes <= budget
        for row in kept:
            assert_array_equal(cache._storage[cache._slot_of[row]], MATRIX[row])


def test_least_recently_used_goes_first():
    cache = RowCache(MATRIX.shape, MATRIX.dtype, 3 * COLUMNS * 8)
    for row in (0, 1, 2, 0, 3, 0, 4):
        cache.fetch(np.array([row]), lambda rows: MATRIX[rows])
    # 1 went for 3, and 2 for 4, though 0 came first of all.
    assert sorted(kept_rows(cache)) == [0, 3, 4]
    assert (cache.hits, cache.misses) == (2, 5)


def test_more_rows_than_fit():
    cache = RowCache(MATRIX.shape, MATRIX.dtype, 3 * COLUMNS * 8)
    asked = np.array([9, 1, 9, 4, 2, 7, 1])
    assert_array_equal(cache.fetch(asked, lambda rows: MATRIX[rows]), MATRIX[asked])
    assert cache.misses == 5
    assert len(kept_rows(cache)) == 3
    assert_array_equal(cache.fetch(asked, lambda rows: MATRIX[rows]), MATRIX[asked])
    assert len(kept_rows(cache)) == 3


def test_an_error_leaves_the_cache_usable():
    cache = RowCache(MATRIX.shape, MATRIX.dtype, 4 * COLUMNS * 8)
    cache.fetch(np.array([0, 1]), lambda rows: MATRIX[rows])

    def fail(rows):
        raise ZeroDivisionError("no rows today")

    with pytest.raises(ZeroDivisionError, match="today"):
        cache.fetch(np.array([0, 5]), fail)
    assert sorted(kept_rows(cache)) == [0, 1]
    result = cache.fetch(np.array([5, 0]), lambda rows: MATRIX[rows])
    assert_array_equal(result, MATRIX[[5, 0]])


def test_nothing_is_allocated_before_it_is_needed():
    cache = RowCache((10**6, 10**6), np.dtype(np.float64), 10**11)
    assert cache.capacity == 12_500
    assert cache.nbytes == 10**11
    assert cache._storage is None
    assert RowCache((5, 0), np.dtype(np.float64), 100).capacity == 5


def test_negative_budget():
    with pytest.raises(InvalidParameter, match="cache_bytes=-5"):
        RowCache((3, 3), np.dtype(float), -5)


@settings(max_examples=30, deadline=None)
@given(
    kernel=st.sampled_from([RBF(gamma=0.3), Linear() * RBF(gamma=0.2) + Laplacian(0.1)]),
    budget=st.integers(0, 40 * 40 * 8 + 100),
    requests=st.lists(st.lists(st.integers(-40, 39), max_size=50), max_size=8),
)
def test_cached_rows_are_the_rows(kernel, budget, requests):
    X = vectors(40)
    gram, K = Gram(kernel, X, cache_bytes=budget), Gram(kernel, X).dense()
    for rows in requests:
        np.testing.assert_allclose(gram.rows(rows), K[rows], rtol=1e-10, atol=1e-12)
    assert gram.cache.nbytes <= budget


def test_counts_of_a_gram():
    gram = Gram(RBF(gamma=0.3), vectors(40), cache_bytes=10 * 40 * 8)
    gram.rows([1, 2, 3])
    gram.rows([3, -37, 2, 30])
    assert (gram.cache.hits, gram.cache.misses) == (3, 4)
    gram.rows([-30, 10])  # one row by two numbers
    assert (gram.cache.hits, gram.cache.misses) == (3, 5)
    assert gram.take([1, 2]).cache.misses == 0


def test_many_threads_share_one_cache():
    X = vectors(60)
    gram, K = (
        Gram(RBF(gamma=0.3), X, cache_bytes=9 * 60 * 8, threads=2),
        Gram(RBF(gamma=0.3), X).dense(),
    )
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(60):
            rows = random.integers(0, 60, size=random.integers(1, 14))
            if not np.allclose(gram.rows(rows), K[rows], rtol=1e-10, atol=1e-12):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong
    assert len(kept_rows(gram.cache)) == 9


def test_without_room_all_rows_are_missed():
    cache = RowCache(MATRIX.shape, MATRIX.dtype, 0)
    for _ in range(2):
        cache.fetch(np.array([3, 4, 3]), lambda rows: MATRIX[rows])
    assert (cache.hits, cache.misses) == (0, 6)
