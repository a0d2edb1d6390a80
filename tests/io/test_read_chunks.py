"""Files in pieces: the same rows, whatever the pieces, and errors that say where."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mercer import RBF, ArrayChunks, StreamedRidge, open_chunks
from mercer.exceptions import InvalidInput
from mercer.kernels.algebra import Sum
from mercer.landmarks.chunks import join_rows


def _all(chunks):
    parts = [chunks.read(i) for i in range(len(chunks))]
    X = join_rows([part.X for part in parts])
    assert [len(part) for part in parts] == np.diff(chunks.starts).tolist()
    # Any order, and again.
    assert len(chunks.read(0)) == len(parts[0])
    return X, None if parts[0].y is None else np.concatenate([part.y for part in parts]), parts


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    values = {name: random.standard_normal(500) for name in "abc"}
    return pa.table({**values, "w": random.random(500), "y": random.standard_normal(500)})


@pytest.fixture(scope="module")
def matrix(table):
    return np.column_stack([table.column(name).to_numpy() for name in "abc"])


@pytest.mark.parametrize("rows", [1, 33, 128, 10_000])
def test_parquet_files_folders_and_datasets(table, matrix, tmp_path, rows):
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=120)
    (tmp_path / "folder").mkdir()
    pq.write_table(table.slice(0, 200), tmp_path / "folder" / "0.parquet", row_group_size=90)
    pq.write_table(table.slice(200), tmp_path / "folder" / "1.parquet")
    pa.feather.write_feather(table, tmp_path / "one.arrow", compression="uncompressed")
    folder = tmp_path / "folder"
    for source in (tmp_path / "one.parquet", folder, ds.dataset(folder), tmp_path / "one.arrow"):
        chunks = open_chunks(source, "y", weights="w", rows=rows)
        X, y, parts = _all(chunks)
        assert np.array_equal(X, matrix)
        assert np.array_equal(y, table.column("y").to_numpy())
        weights = np.concatenate([part.weights for part in parts])
        assert np.array_equal(weights, table.column("w").to_numpy())
        assert np.diff(chunks.starts).max() <= rows


def test_columns_and_tables(table, matrix, tmp_path):
    words = pa.array(["red", "green"] * 250)
    more = table.append_column("colour", words)
    pq.write_table(more, tmp_path / "t.parquet")
    X, y, _ = _all(open_chunks(tmp_path / "t.parquet", "colour", columns=["c", "a"], rows=70))
    assert np.array_equal(X, matrix[:, [2, 0]])
    assert y.tolist() == words.to_pylist()
    X, _, _ = _all(open_chunks(tmp_path / "t.parquet", "y", table=True, rows=70))
    assert X.column_names == ["a", "b", "c", "w", "colour"]


def test_what_is_wrong_with_a_table(table, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    with pytest.raises(InvalidInput, match="no column 'z'; it has a, b, c, w, y"):
        open_chunks(path, "z")
    with pytest.raises(InvalidInput, match="no file"):
        open_chunks(tmp_path / "nothing")
    values = table.column("b").to_numpy().copy()
    values[321] = np.nan
    bad = table.set_column(1, "b", pa.array(values))
    pq.write_table(bad, path, row_group_size=100)
    with pytest.raises(InvalidInput, match=r"t.parquet, row 321, column 'b': the value is missing"):
        _all(open_chunks(path, "y", rows=50))
    pq.write_table(table.set_column(4, "y", pa.array([1.0] * 499 + [None])), path)
    with pytest.raises(InvalidInput, match="row 499, column 'y': the target is missing"):
        _all(open_chunks(path, "y", rows=50))
    pq.write_table(table.append_column("s", pa.array(["x"] * 500)), path)
    with pytest.raises(InvalidInput, match="column 's' holds string, not numbers"):
        _all(open_chunks(path, "y"))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InvalidInput, match="damaged"):
        open_chunks(path, "y")
    with pytest.raises(InvalidInput, match="not dict"):
        open_chunks({})
    with pytest.raises(InvalidInput, match="rows=0"):
        open_chunks(path, rows=0)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_libsvm_files(tmp_path, rows, zero_based):
    random = np.random.default_rng(0)
    X = sparse.random_array((83, 30), density=0.1, rng=random, format="lil")
    X[0, 0] = X[3, 29] = 1.0
    y = random.integers(0, 3, 83)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X.tocsr(), y, str(path), zero_based=zero_based, comment="made here")
    theirs, labels = load_svmlight_file(str(path))
    ours, targets, _ = _all(open_chunks(path, rows=rows))
    assert (theirs != sparse.csr_matrix(ours)).nnz == 0
    assert np.array_equal(labels, targets)


def test_what_is_wrong_with_a_libsvm_file(tmp_path):
    path = tmp_path / "data.svm"
    lines = [f"1 1:{i} 2:3" for i in range(40)]
    path.write_text("\n".join([*lines, "1 1:2 b:3"]))
    with pytest.raises(InvalidInput, match="line 41: 'b:3' is not column:value"):
        open_chunks(path, rows=10)
    path.write_text("\n".join([*lines, "", "-1 1:nan"]) + "\n")
    with pytest.raises(InvalidInput, match="line 42: a value is not finite"):
        open_chunks(path, rows=10)
    path.write_text("# nothing\n")
    with pytest.raises(InvalidInput, match="no rows"):
        open_chunks(path)
    with pytest.raises(InvalidInput, match="no named columns"):
        open_chunks(path, "y")


def test_a_machine_reads_files(table, matrix, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=64)
    machine = StreamedRidge(0.1, kernel=RBF(gamma=0.5), approximation=30)
    kept = ["a", "b", "c"]
    source = open_chunks(tmp_path / "t.parquet", "y", columns=kept)
    y = table.column("y").to_numpy()
    ours = machine.fit(source).predict(source)
    assert np.allclose(ours, machine.fit(matrix, y).predict(matrix), atol=1e-5)
    tables = open_chunks(tmp_path / "t.parquet", "y", columns=kept, table=True)
    named = StreamedRidge(
        0.1, kernel=Sum(RBF(gamma=0.5).on("a"), RBF(gamma=0.5).on("c")), approximation=30
    )
    assert np.isfinite(named.fit(tables).predict(tables)).all()


def test_a_missing_value_far_down_is_named():
    X = np.random.default_rng(0).standard_normal((900, 2))
    X[777, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"from number 700 on, counted anew: .*row 77, column 1"):
        StreamedRidge(approximation=10).fit(ArrayChunks(X, X[:, 0], size=100))
