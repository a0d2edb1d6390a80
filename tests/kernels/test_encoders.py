"""Encoders: categories get codes that depend on the value alone; tables of every make."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from mercer import RBF, Delta, Linear, Overlap
from mercer.exceptions import InvalidInput
from mercer.kernels.encoders import CategoryEncoder, VectorEncoder
from tests.kernels.cases import close


def codes(X):
    return CategoryEncoder().encode(X, "Delta").codes


def code(value):
    table = np.empty((1, 1), dtype=object)
    table[0, 0] = value
    return int(codes(table)[0, 0])


values = st.one_of(
    st.text(max_size=5), st.integers(-(2**40), 2**40), st.booleans(), st.floats(-9, 9)
)


@given(values, values)
def test_codes_are_equal_exactly_where_values_are(a, b):
    assert (code(a) == code(b)) == (a == b)


def test_numbers_are_equal_whatever_their_type():
    assert len({code(v) for v in (1, 1.0, True, np.int8(1), np.float32(1), np.True_)}) == 1
    assert code(0) == code(False) == code(-0.0)
    assert code("1") != code(1)
    assert code("True") != code(True)
    assert code(0.5) == code(np.float64(0.5)) != code("0.5")
    assert code("a") == code(np.str_("a"))


def test_arrays_of_any_type_give_equal_codes():
    whole = [[1, 0], [3, 1]]
    expected = codes(np.array(whole))
    for kind in (np.int8, np.uint16, np.int64, np.float32, np.float64, object):
        np.testing.assert_array_equal(codes(np.array(whole).astype(kind)), expected)
    for form in (
        pd.DataFrame(whole),
        pl.DataFrame(whole, orient="row"),
        pa.table({"a": [1, 3], "b": [0, 1]}),
        sparse.csr_array(np.array(whole)),
        whole,
    ):
        np.testing.assert_array_equal(codes(form), expected)
    np.testing.assert_array_equal(codes(np.array([[True], [False]])), codes(np.array([[1], [0]])))
    half = np.array([[0.5], [2.0]])
    np.testing.assert_array_equal(codes(half), codes(half.astype(object)))


def test_text_of_any_library_gives_equal_codes():
    words = ["Oslo", "São Paulo", "", "Oslo"]
    expected = codes(np.array(words)[:, None])
    assert expected[0] == expected[3]
    for form in (
        np.array(words, dtype=object)[:, None],
        [[word] for word in words],
        pd.DataFrame({"c": words}),
        pd.DataFrame({"c": pd.Series(words, dtype=object)}),
        pd.DataFrame({"c": pd.Series(words, dtype="string")}),
        pd.DataFrame({"c": pd.Categorical(words)}),
        pd.DataFrame({"c": pd.Categorical(words, categories=sorted(set(words), reverse=True))}),
        pl.DataFrame({"c": words}),
        pl.DataFrame({"c": pl.Series(words, dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(words, dtype=pl.Enum(sorted(set(words))))}),
        pa.table({"c": words}),
        pa.table({"c": pa.array(words).dictionary_encode()}),
    ):
        np.testing.assert_array_equal(codes(form), expected)


def test_numbers_and_booleans_of_nullable_types():
    expected = codes(np.array([[1], [0]]))
    for form in (
        pd.DataFrame({"c": pd.array([1, 0], dtype="Int64")}),
        pd.DataFrame({"c": pd.array([True, False], dtype="boolean")}),
        pd.DataFrame({"c": pd.array([1.0, 0.0], dtype="Float64")}),
        pd.DataFrame({"c": pd.Categorical([1, 0])}),
        pl.DataFrame({"c": [True, False]}),
        pa.table({"c": [True, False]}),
    ):
        np.testing.assert_array_equal(codes(form), expected)


def test_dates_are_categories():
    days = ["2024-02-29", "2025-01-01", "2024-02-29"]
    expected = [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    array = np.array(days, dtype="datetime64[ns]")[:, None]
    frame = pd.DataFrame({"day": pd.to_datetime(days)})
    for table in (array, array.astype("datetime64[D]"), frame, pl.from_pandas(frame)):
        np.testing.assert_array_equal(Delta()(table), expected)
        np.testing.assert_array_equal(Delta()(table, array), expected)
    missing = array.copy()
    missing[1] = "NaT"
    with pytest.raises(InvalidInput, match="category in row 1, column 0 is missing"):
        Delta()(missing)


def test_mixed_lists_keep_their_types():
    # NumPy would turn 1 into "1" beside a text.
    frame = pd.DataFrame({"c": ["a", "b"], "n": [1, 2]})
    np.testing.assert_array_equal(codes([["a", 1], ["b", 2]]), codes(frame))
    close(Overlap()([["a", 1]], frame), [[1.0, 0.0]])
    close(Delta().on(1)([["a", 1]], [["a", "1"]]), [[0.0]])


def test_codes_are_the_same_in_another_process():
    program = (
        "import numpy as np; from mercer.kernels.encoders import CategoryEncoder as E;"
        "t = np.array([['Oslo', 7, 0.25, True]], dtype=object);"
        "print(*E().encode(t, 'k').codes[0])"
    )
    expected = codes(np.array([["Oslo", 7, 0.25, True]], dtype=object))[0]
    for seed in ("0", "1"):
        found = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        assert [int(word) for word in found.stdout.split()] == expected.tolist()


@pytest.mark.parametrize(
    "table",
    [
        np.array([["a"], [None]], dtype=object),
        np.array([["a"], [np.nan]], dtype=object),
        np.array([["a"], [pd.NA]], dtype=object),
        np.array([[1.0], [np.nan]]),
        pd.DataFrame({"c": ["a", None]}),
        pd.DataFrame({"c": pd.Series(["a", None], dtype=object)}),
        pd.DataFrame({"c": pd.array(["a", None], dtype="string")}),
        pd.DataFrame({"c": pd.Categorical(["a", None])}),
        pd.DataFrame({"c": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"c": pd.array([True, None], dtype="boolean")}),
        pl.DataFrame({"c": ["a", None]}),
        pl.DataFrame({"c": [1, None]}),
        pl.DataFrame({"c": [True, None]}),
        pl.DataFrame({"c": pl.Series(["a", None], dtype=pl.Categorical)}),
        pa.table({"c": ["a", None]}),
        [["a"], [None]],
    ],
    ids=lambda table: f"{type(table).__module__.partition('.')[0]}",
)
@pytest.mark.parametrize("kernel", [Delta(), Overlap()])
def test_missing_categories(kernel, table):
    name = type(kernel).__name__
    with pytest.raises(InvalidInput, match=rf"{name}: the category in row 1, column 0 is missing"):
        kernel(table)


# ---- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([0.5, 1.5], "Float64")}),
        pd.DataFrame({"a": pd.array([1, 2], dtype="int8"), "b": [0.5, 1.5]}),
        pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.UInt8), "b": [0.5, 1.5]}),
        pa.table({"a": [1, 2], "b": [0.5, 1.5]}),
        [[1, 0.5], [2, 1.5]],
        np.array([[1, 0.5], [2, 1.5]], dtype=object),
    ],
    ids=lambda frame: type(frame).__module__.partition(".")[0],
)
def test_frames_of_numbers(frame):
    close(Linear()(frame), [[1.25, 2.75], [2.75, 6.25]])


def test_booleans_are_numbers():
    expected = [[1.0, 0.0], [0.0, 0.0]]
    for frame in (
        pd.DataFrame({"a": [True, False]}),
        pd.DataFrame({"a": pd.array([True, False], dtype="boolean")}),
        pl.DataFrame({"a": [True, False]}),
        np.array([[True], [False]]),
    ):
        close(Linear()(frame), expected)


def test_frames_of_float32_stay_float32():
    column = np.array([0.5, 1.5], dtype=np.float32)
    for frame in (
        pd.DataFrame({"a": column, "b": column}),
        pl.DataFrame({"a": column, "b": column}),
        pa.table({"a": column, "b": column}),
    ):
        assert RBF(gamma=0.5)(frame).dtype == np.float32
        assert (RBF(gamma=0.5).on("a") * Delta().on("b"))(frame).dtype == np.float32
    mixed = pl.DataFrame({"a": column, "b": column.astype(np.float64)})
    assert RBF(gamma=0.5)(mixed).dtype == np.float64


def test_encoded_points_can_be_used_again(X, Z):
    kernel = RBF(gamma=0.5) * Linear().on(0) + RBF(gamma=0.7)
    A, B = kernel.encode(X), kernel.encode(Z)
    assert kernel.encode(A) is A
    assert len(A) == len(X)
    assert len(A.leaves) == 2, "each view is made once"
    close(kernel(A, B), kernel(X, Z))
    close(kernel(A.take(np.array([3, 3, 0])), B), kernel(X, Z)[[3, 3, 0]])
    close(kernel(A.join(B)), kernel(np.vstack([X, Z])))
    with pytest.raises(InvalidInput, match=r"encoded for another kernel.*Encode the data"):
        Delta()(A)


def test_data_are_not_changed_nor_copied():
    X = np.random.default_rng(0).normal(size=(4, 3))
    before = X.copy()
    for kernel in (RBF(gamma=0.5), Linear(), RBF(gamma=0.5).on(1).normalized() + Linear() ** 2):
        kernel(X)
        kernel(X, X)
        np.testing.assert_array_equal(X, before)
    assert np.shares_memory(VectorEncoder().encode(X, "RBF").values, X)
