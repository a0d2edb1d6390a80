"""Batches of sequences: reading, totals and parts."""

import numpy as np
import pytest

from mercer import InvalidInput, InvalidType
from mercer.generative.sequences import read_series, read_symbols


def test_series_lie_one_after_the_other():
    read = read_series([[1.0, 2.0], [3.0], []], "last", "test")
    np.testing.assert_array_equal(read.values[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(read.lengths, [2, 1, 0])
    np.testing.assert_array_equal(read.starts, [0, 2, 3])
    np.testing.assert_array_equal(read.totals(np.array([[1.0], [2.0], [4.0]]))[:, 0], [3, 4, 0])
    assert [len(part) for part in read.split(read.values)] == [2, 1, 0]
    np.testing.assert_array_equal(read.part(slice(1, 3)).values[:, 0], [3])


def test_time_is_the_last_axis_or_the_first():
    X = [np.arange(6.0).reshape(2, 3)]
    assert read_series(X, "last", "test").values.shape == (3, 2)
    assert read_series(X, "first", "test").values.shape == (2, 3)


def test_symbols_become_codes():
    read, alphabet = read_symbols(["ba", "c"], None, "error", "test")
    assert alphabet == ("a", "b", "c")
    np.testing.assert_array_equal(read.values, [1, 0, 2])
    skipped, _ = read_symbols(["az"], "ab", "skip", "test")
    np.testing.assert_array_equal(skipped.values, [0, -1])
    with pytest.raises(InvalidInput, match="not in the alphabet"):
        read_symbols(["az"], "ab", "error", "test")


def test_what_is_no_batch_is_refused():
    with pytest.raises(InvalidType, match="list of sequences"):
        read_series("abc", "last", "test")
    with pytest.raises(InvalidInput, match="no sequences"):
        read_symbols([], None, "error", "test")
