"""Tables as rows of numbers: frames of all kinds, missing values, new categories."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.estimators.automatic.table_coding import TableCoding, are_aligned, codes_of_categories
from mercer.exceptions import InvalidInput

DATA = {
    "age": [30.5, 40.5, None, 50.5],
    "kind": ["cat", "dog", "cat", None],
    "well": [True, False, True, True],
    "day": [datetime.datetime(2020, 1, d, 6) for d in (1, 2, 3, 4)],
    "code": [1, 2, 3, 1],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
def test_frames_of_all_kinds_are_coded_alike(make):
    frame = make(DATA)
    coding = TableCoding.of(frame)
    assert coding.names == [
        "age", "age is missing", "kind = cat", "kind = dog", "kind is missing", "well", "day",
        "code",
    ]  # fmt: skip
    Z = coding.transform(frame)
    ages = np.array([30.5, 40.5, 40.5, 50.5])  # the median where it is missing
    np.testing.assert_allclose(Z[:, 0], (ages - ages.mean()) / ages.std())
    np.testing.assert_array_equal(Z[:, 1], [0, 0, 1, 0])
    np.testing.assert_array_equal(Z[:, 2:5], [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(np.diff(Z[:, 6]), np.diff(Z[:, 6])[0])
    assert codes_of_categories(frame) == ["code"]
    coded = TableCoding.of(frame, ["code"])
    assert coded.names[-3:] == ["code = 1", "code = 2", "code = 3"]
    assert coded.owners[-3:] == ["code"] * 3


def test_new_rows():
    coding = TableCoding.of(pd.DataFrame(DATA))
    new = pd.DataFrame({**DATA, "kind": ["cow", "dog", "dog", "dog"]})
    np.testing.assert_array_equal(coding.transform(new)[0, 2:5], 0)
    shuffled = pd.DataFrame(DATA)[["well", "code", "kind", "age", "day"]]
    np.testing.assert_array_equal(coding.transform(shuffled), coding.transform(pd.DataFrame(DATA)))
    with pytest.raises(InvalidInput, match="no column 'age'"):
        coding.transform(pd.DataFrame(DATA).drop(columns="age"))
    with pytest.raises(InvalidInput, match="'age' held numbers in fit"):
        coding.transform(pd.DataFrame({**DATA, "age": ["old"] * 4}))
    with pytest.raises(InvalidInput, match="'age' holds infinity in row 2"):
        TableCoding.of(pd.DataFrame({"age": [1.0, 2.0, np.inf]}))
    with pytest.raises(InvalidInput, match="no columns"):
        TableCoding.of(pd.DataFrame(index=range(3)))


def test_columns_that_never_change_or_are_empty():
    coding = TableCoding.of(np.array([[1.0, np.nan], [1.0, np.nan]]))
    np.testing.assert_array_equal(coding.transform(np.array([[1.0, np.nan]])), [[0, 0, 1]])


def test_sequences_of_one_length_are_a_category_for_each_place():
    dna = ["ACGTACGT", "ACGTACGA", None, "TCGTAC-T"]
    coding = TableCoding.of(pd.DataFrame({"dna": dna, "x": [1.0, 2.0, 3.0, 4.0]}))
    assert coding.names[:4] == ["dna[1] = A", "dna[1] = T", "dna is missing", "dna[2] = C"]
    assert coding.owners[:4] == ["dna[1]", "dna[1]", "dna[1]", "dna[2]"]
    assert coding.names[-1] == "x"
    Z = coding.transform(pd.DataFrame({"dna": ["ACGTACGT", "AG", ""], "x": [0.0, 0.0, 0.0]}))
    known = dict(zip(coding.names, Z.T, strict=True))
    assert known["dna[1] = A"].tolist() == [1, 1, 0]
    assert known["dna[2] = C"].tolist() == [1, 0, 0]
    assert known["dna[8] = T"].tolist() == [1, 0, 0]
    assert known["dna is missing"].tolist() == [0, 0, 1]


def test_what_is_no_sequence_stays_a_category():
    assert are_aligned(["ACGTACGT", "TTTTACGT", "", None])
    assert not are_aligned(["ACGTACGT", "TTTTACG"])
    assert not are_aligned(["ACGTACGT"] * 3 + ["TTTTACGT"])
    assert not are_aligned(["2020 May", "2021 May"])
    assert not are_aligned(["Bob", "Amy"])
    assert not are_aligned([None, ""])
