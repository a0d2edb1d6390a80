"""Series in every form in which they come, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import (
    DTW,
    SVC,
    Delta,
    GlobalAlignment,
    InvalidInput,
    InvalidType,
    dtw_distances,
    load,
    read_table,
    save,
)
from mercer.kernels.series.series_points import Series, SeriesEncoder
from tests.kernels.cases import close

RAGGED = [[1.0, 2.0, 4.0], [0.0, 1.0], [3.0], [1.0, 2.0, 4.0]]
EQUAL = np.random.default_rng(0).normal(size=(5, 7))
MANY = np.random.default_rng(1).normal(size=(5, 2, 7))


def padded(rows):
    width = max(map(len, rows))
    return np.array([row + [np.nan] * (width - len(row)) for row in rows])


FORMS = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "arrays": lambda rows: [np.array(row) for row in rows],
    "one channel": lambda rows: [np.array([row]) for row in rows],
    "objects": lambda rows: np.array([np.array(row) for row in rows] + [None], dtype=object)[:-1],
    "padded": padded,
    "padded channel": lambda rows: padded(rows)[:, None, :],
    "pandas": lambda rows: pd.Series(rows),
    "pandas frame": lambda rows: pd.DataFrame({"x": rows}),
    "polars": lambda rows: pl.Series(rows),
    "polars frame": lambda rows: pl.DataFrame({"x": rows}),
    "pyarrow": pa.array,
    "pyarrow table": lambda rows: pa.table({"x": rows}),
    "None pads": lambda rows: [[*row, None] for row in rows],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_ragged_series(form):
    X = FORMS[form](RAGGED)
    close(dtw_distances(X), dtw_distances([np.array(row) for row in RAGGED]))
    leaf = SeriesEncoder().encode(X, "DTW")
    assert leaf.lengths.tolist() == [3, 2, 1, 3]
    assert leaf.values[:, 0].tolist() == [1, 2, 4, 0, 1, 3, 1, 2, 4]


def test_arrays_of_one_length():
    expected = dtw_distances([x[None] for x in EQUAL])
    frame = pd.DataFrame(EQUAL)
    for X in (EQUAL, EQUAL.tolist(), EQUAL[:, None], np.asfortranarray(EQUAL), frame):
        close(dtw_distances(X), expected)
    close(dtw_distances(EQUAL[:, :, None], time="first"), expected)
    whole = (EQUAL * 9).astype(int)
    close(dtw_distances(whole), dtw_distances(whole.astype(float)))


def test_channels_first_and_last():
    expected = dtw_distances(list(MANY))
    close(dtw_distances(MANY), expected)
    turned = MANY.transpose(0, 2, 1)
    close(dtw_distances(turned, time="first"), expected)
    close(dtw_distances(list(turned), time="first"), expected)
    assert not np.allclose(dtw_distances(turned), expected)
    frame = pl.DataFrame({"a": MANY[:, 0].tolist(), "b": MANY[:, 1].tolist()})
    close(dtw_distances(frame), expected)
    close(GlobalAlignment(1.0)(turned[:3], MANY[:2].transpose(0, 2, 1)).shape, (3, 2))


def test_many_channels_padded_as_in_tslearn():
    """(series, time, channels), NaN in all channels after the end of a series."""
    rng = np.random.default_rng(2)
    some, others = ([rng.normal(size=(n, 3)) for n in ns] for ns in ([4, 1, 6, 5, 2], [3, 8]))

    def tslearn(rows, width):
        table = np.full((len(rows), width, 3), np.nan)
        for place, row in zip(table, rows, strict=True):
            place[: len(row)] = row
        return table

    # The width is that of the longest series of a set, or anything above it.
    X, T = tslearn(some, 6), tslearn(others, 11)
    for kernel in (DTW(gamma=0.1, time="first"), GlobalAlignment(2.0, time="first")):
        close(kernel(X), kernel(some))
        close(kernel(X, T), kernel(some, others))
        turned = clone(kernel).set_params(time="last")
        close(kernel(X, T), turned(X.transpose(0, 2, 1), T.transpose(0, 2, 1)))
    machine = SVC(GlobalAlignment(time="first")).fit(X, [0, 1, 0, 1, 1])
    alike = SVC(GlobalAlignment(time="first")).fit(some, [0, 1, 0, 1, 1])
    close(machine.decision_function(T), alike.decision_function(others))
    X[2, 5, 1] = np.nan  # padding has to be that of all channels
    with pytest.raises(InvalidInput, match=r"series 2 has NaN .* at time 5, channel 1"):
        dtw_distances(X, time="first")


def test_types():
    assert SeriesEncoder().encode(EQUAL.astype(np.float32), "DTW").dtype == np.float32
    mixed = [np.zeros(2, dtype=np.float32), np.zeros(3)]
    assert SeriesEncoder().encode(mixed, "DTW").dtype == np.float64
    assert SeriesEncoder().encode([[1, 2], [True]], "DTW").dtype == np.float64


def test_leaves_are_taken_and_joined():
    leaf = SeriesEncoder().encode(RAGGED, "DTW")
    for index in (slice(1, 3), np.array([2, 0, 0]), slice(2, 2), np.array([], dtype=int)):
        part = leaf.take(index)
        rows = [RAGGED[i] for i in np.arange(4)[index]]
        assert part.values[:, 0].tolist() == [v for row in rows for v in row]
        assert part.lengths.tolist() == [len(row) for row in rows]
    both = leaf.take(slice(0, 2)).join(leaf.take(slice(2, 4)))
    assert np.array_equal(both.values, leaf.values)
    assert both.same_as(both)
    assert not both.same_as(leaf)
    assert leaf.take(slice(1, 3)).same_as(leaf.take(slice(1, 3)))
    with pytest.raises(InvalidInput, match="2 channels and those of Y 1"):
        Series(np.zeros((3, 2)), np.array([3])).join(leaf)


def test_on_columns_of_mixed_tables(tmp_path):
    frame = {"series": RAGGED * 3, "kind": ["x", "y", "x", "x"] * 3}
    kernel = GlobalAlignment(1.0).on("series") + 0.5 * Delta().on("kind")
    expected = GlobalAlignment(1.0)(RAGGED * 3) + 0.5 * Delta()(np.array(frame["kind"])[:, None])
    y = np.array([0, 0, 1, 1] * 3)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        table = make(frame)
        close(kernel(table), expected)
        machine = SVC(kernel).fit(table, y)
        save(machine, tmp_path / "model.mercer")
        again = load(tmp_path / "model.mercer")
        assert np.array_equal(again.decision_function(table), machine.decision_function(table))
    rows = [list(row) for row in zip(*frame.values(), strict=True)]
    close(GlobalAlignment(1.0).on(0)(rows), GlobalAlignment(1.0)(RAGGED * 3))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], InvalidInput, "no rows"),
        ([[1.0], []], InvalidInput, "series 1 is empty"),
        (np.empty((2, 0)), InvalidInput, "series 0 is empty"),
        (np.empty((2, 0, 4)), InvalidInput, "series 0 is empty"),
        ([[1.0], None], InvalidInput, "series 1 is missing"),
        ([[1.0], float("nan")], InvalidInput, "series 1 is missing"),
        ([[np.nan, np.nan]], InvalidInput, "series 0 is empty"),
        (
            [[1.0], [1.0, np.nan, 2.0]],
            InvalidInput,
            r"series 1 has NaN .* at time 1.*only pad the end",
        ),
        (np.array([[np.nan, 1.0]]), InvalidInput, "series 0 has NaN .* at time 0"),
        ([[1.0, None, 2.0]], InvalidInput, "series 0 has NaN"),
        ([[1.0, np.inf]], InvalidInput, "series 0 has an infinite value at time 1"),
        (np.array([[[1.0, 2.0], [1.0, np.nan]]]), InvalidInput, "at time 1, channel 1"),
        (
            [np.zeros((2, 3)), np.zeros((3, 2))],
            InvalidInput,
            "series 1 has 3 channels and series 0 has 2",
        ),
        ([np.zeros(3), np.zeros((2, 3))], InvalidInput, "2 channels and series 0 has 1"),
        ([[[1.0, 2.0], [1.0]]], InvalidType, "series 0 is no series of numbers"),
        ([1.0, 2.0], InvalidType, "series 0 is no series of numbers: 1.0"),
        ([["a", "b"]], InvalidType, "series 0 is no series of numbers"),
        (["abc"], InvalidType, "series 0 is no series of numbers: 'abc'"),
        (np.zeros(4), InvalidInput, r"shape \(4,\)"),
        (np.zeros((1, 1, 1, 1)), InvalidInput, "expected series, got an array of shape"),
        ([np.zeros((1, 1, 1))], InvalidInput, r"series 0 has shape \(1, 1, 1\)"),
        (sparse.eye_array(3), InvalidType, "sparse matrix"),
        (pl.DataFrame({"a": [[1.0]], "b": [[1.0, 2.0]]}), InvalidInput, "channels of series 0"),
        (np.array([[1j]]), InvalidType, "series 0 is no series of numbers"),
    ],
)
def test_what_is_not_series(X, error, message):
    with pytest.raises(error, match=message):
        DTW()(X)


def test_channels_have_to_agree():
    for kernel in (DTW(gamma=1.0), GlobalAlignment(1.0)):
        with pytest.raises(InvalidInput, match="X have 1 channel and those of Y 2"):
            kernel(EQUAL, MANY)


def test_gunpoint_comes_with_mercer():
    table = read_table("gunpoint")
    prepared = table.prepare()
    assert (len(table), table.target_name, table.columns[0].kind) == (200, "class", "series")
    X, y = prepared.X["series"].to_pylist(), prepared.y
    assert {len(x) for x in X} == {150}
    assert np.unique(y[:50], return_counts=True)[1].tolist() == [24, 26]
    # The published errors of the nearest neighbour, without and with warping.
    for band, wrong in ((0, 13), (None, 14)):
        nearest = dtw_distances(X[50:], X[:50], band=band).argmin(axis=1)
        assert (y[:50][nearest] != y[50:]).sum() == wrong
