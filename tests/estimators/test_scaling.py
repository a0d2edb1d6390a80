"""Scaling of numeric columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from mercer import InvalidInput, NumericScaler

DATA = {"a": [1.0, 2.0, 6.0], "b": ["x", "y", "z"], "n": [5, 5, 5], "t": [True, False, True]}


def test_arrays_like_standard_scaler():
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 100, 1e-3] + 7
    X[:, 1] = 4.0
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(NumericScaler().fit_transform(X), expected, atol=1e-12)
    assert NumericScaler().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_sparse_matrices_are_only_divided():
    X = sparse.random(30, 5, 0.3, format="csr", random_state=0)
    scaled = NumericScaler().fit_transform(X)
    expected = X.toarray() / np.where(X.toarray().std(axis=0) == 0, 1, X.toarray().std(axis=0))
    np.testing.assert_allclose(scaled.toarray(), expected)
    assert scaled.nnz == X.nnz


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_form_and_other_columns(kind):
    frame = kind(DATA)
    scaler = NumericScaler().fit(frame)
    scaled = scaler.transform(frame)
    assert type(scaled) is type(frame)
    back = scaled if kind is pd.DataFrame else scaled.to_pandas()
    a = np.array(DATA["a"])
    np.testing.assert_allclose(back["a"], (a - a.mean()) / a.std())
    np.testing.assert_allclose(back["n"], 0.0)
    assert list(back["b"]) == DATA["b"]
    assert list(back["t"]) == DATA["t"]
    assert list(scaler.get_feature_names_out()) == list(DATA)


def test_missing_numbers_do_not_count():
    frame = pl.DataFrame({"a": [1.0, None, 3.0]})
    scaled = NumericScaler().fit(frame).transform(frame)
    assert scaled["a"].to_list() == [-1.0, None, 1.0]


def test_wrong_tables():
    scaler = NumericScaler().fit(pd.DataFrame(DATA))
    with pytest.raises(InvalidInput, match="no column 'a'"):
        scaler.transform(pd.DataFrame({"b": ["x"]}))
    with pytest.raises(InvalidInput, match="without names"):
        scaler.transform(np.zeros((2, 4)))
    with pytest.raises(InvalidInput, match="given a table"):
        NumericScaler().fit(np.eye(4)).transform(pd.DataFrame(DATA))
    with pytest.raises(InvalidInput, match="no rows"):
        NumericScaler().fit(pd.DataFrame({"a": []}))


@pytest.mark.parametrize("names", [[0, 1], ["a", 3]])
def test_numbers_for_names_of_columns(names):
    """Frames of pandas without names have numbers in their place."""
    values = np.array([[1.0, 5.0], [2.0, 7.0], [4.0, 9.0]])
    frame = pd.DataFrame(values, columns=names)
    found = NumericScaler().fit(frame).transform(frame)
    assert list(found.columns) == names
    np.testing.assert_allclose(found, NumericScaler().fit_transform(values))
