import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from mercer import RBF, Delta, InvalidInput, InvalidParameter, InvalidType, White, distributed
from mercer.distributed.cluster import Cluster
from mercer.distributed.pieces import DistributedChunks


@pytest.fixture(scope="module")
def rows():
    rows = np.random.default_rng(0).normal(size=(700, 4))
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def table(rows):
    names = ["red", "green", "blue"]
    return pd.DataFrame(rows, columns=list("abcd")).assign(
        colour=[names[i % 3] for i in range(len(rows))], count=np.arange(len(rows)) % 7
    )


def test_kernel_matrix_is_lazy_and_the_same(client, rows):
    k = RBF(gamma=0.3)
    lazy = distributed.kernel_matrix(k, da.from_array(rows, chunks=(150, 3)), rows[:20])
    assert lazy.chunks == ((150, 150, 150, 150, 100), (20,))
    np.testing.assert_array_equal(client.compute(lazy).result(timeout=60), k(rows, rows[:20]))


def test_frames_reach_kernels_on_columns(client, table):
    k = RBF(gamma=0.5).on("a", "count") * Delta().on("colour")
    lazy = distributed.kernel_matrix(k, dd.from_pandas(table, npartitions=3), table[:10])
    assert lazy.shape[1] == 10
    assert np.isnan(lazy.shape[0])
    expected = k(table, table[:10])
    np.testing.assert_allclose(client.compute(lazy).result(timeout=60), expected, atol=1e-14)


def test_partitions_without_rows(client, rows):
    table = pd.DataFrame(rows, columns=list("abcd")).assign(row=np.arange(700))
    frame = dd.from_pandas(table, npartitions=4)
    frame = frame[frame["row"] >= 400][list("abcd")]
    k = RBF(gamma=0.3)
    lazy = distributed.kernel_matrix(k, frame, rows[:5])
    np.testing.assert_allclose(
        client.compute(lazy).result(timeout=60), k(rows[400:], rows[:5]), atol=1e-14
    )
    assert distributed.Gram(k, frame, client=client).shape == (300, 300)


def test_gram_has_the_face_of_all_gram_matrices(client, rows):
    # White noise tells equal objects from the same one, so rows have to keep their identity.
    k = RBF(gamma=0.3) + 0.5 * White()
    K = k(rows)
    gram = distributed.Gram(k, da.from_array(rows, chunks=(250, 4)), client=client)
    V = np.random.default_rng(1).normal(size=(700, 2))
    np.testing.assert_allclose(gram @ V, K @ V, atol=1e-12)
    np.testing.assert_allclose(gram @ V[:, 0], K @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(gram.diag(), np.diag(K), atol=1e-15)
    index = np.array([699, 3, 260, 3])
    np.testing.assert_allclose(gram.rows(index), K[index], atol=1e-14)
    np.testing.assert_allclose(gram.square(index), K[np.ix_(index, index)], atol=1e-14)
    np.testing.assert_allclose(gram.dense(), K, atol=1e-14)
    assert gram.symmetric
    with pytest.raises(InvalidInput, match="no row 700"):
        gram.rows([700])
    with pytest.raises(InvalidInput, match="cannot multiply"):
        gram @ V[:10]


def test_widths_are_settled_on_all_rows_where_they_are_few(client, rows):
    gram = distributed.Gram(RBF(gamma="scale"), da.from_array(rows, chunks=(300, 4)), client=client)
    assert gram.kernel.gamma == pytest.approx(1 / (4 * rows.var()), rel=1e-12)


def test_lengths_that_dask_does_not_know(client, rows):
    X = da.from_array(rows, chunks=(200, 4))
    some = X[X[:, 0] > 0]
    assert np.isnan(some.shape[0])
    y = X[:, 1][X[:, 0] > 0]
    chunks = DistributedChunks(Cluster(client), some, y)
    here = rows[rows[:, 0] > 0]
    assert chunks.rows == len(here)
    drawn = chunks.sample(50, np.random.default_rng(3))
    at = np.sort(np.random.default_rng(3).choice(len(here), 50, replace=False, shuffle=False))
    np.testing.assert_array_equal(np.concatenate([c.X for c in drawn]), here[at])
    np.testing.assert_array_equal(np.concatenate([c.y for c in drawn]), here[at, 1])


@pytest.mark.parametrize("kind", ["array", "other chunks", "series", "column", "memory"])
def test_targets_of_any_kind(client, rows, table, kind):
    X = da.from_array(rows, chunks=(300, 4))
    y = {
        "array": da.from_array(rows[:, 1], chunks=300),
        "other chunks": da.from_array(rows[:, 1], chunks=111),
        "series": dd.from_pandas(table, npartitions=3)["b"],
        "column": dd.from_pandas(table, npartitions=3)[["b"]],
        "memory": rows[:, 1],
    }[kind]
    X = dd.from_pandas(table, npartitions=3)[["a", "b"]] if kind in ("series", "column") else X
    chunks = DistributedChunks(Cluster(client), X, y, np.arange(700.0))
    parts = [chunks.read(i) for i in range(len(chunks))]
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), rows[:, 1])
    np.testing.assert_array_equal(np.concatenate([part.weights for part in parts]), np.arange(700))


def test_bad_input_is_refused_with_its_place(client, rows):
    X = da.from_array(rows, chunks=(300, 4))
    with pytest.raises(InvalidType, match=r"dask\.array or a dask\.dataframe, got ndarray"):
        distributed.Gram(RBF(), rows, client=client)
    with pytest.raises(InvalidParameter, match="real numbers"):
        distributed.Gram(RBF(), X, client=client, dtype=int)
    cluster = Cluster(client)
    with pytest.raises(InvalidInput, match="X has 700 rows and y has 699"):
        DistributedChunks(cluster, X, X[:-1, 0])
    with pytest.raises(InvalidInput, match=r"X has 700 rows and weights has shape \(3,\)"):
        DistributedChunks(cluster, X, None, np.ones(3))
    with pytest.raises(InvalidInput, match="no rows"):
        DistributedChunks(cluster, X[:0])
    some = X[X[:, 0] > 0]
    with pytest.raises(InvalidInput, match="3 partitions and y has 1"):
        DistributedChunks(cluster, some, da.ones(350, chunks=350))
    with pytest.raises(InvalidInput, match=r"Partition \d: X has \d+ rows and y has \d00"):
        DistributedChunks(cluster, some, X[:, 0])
    holes = rows.copy()
    holes[650, 2] = np.nan
    gram = distributed.Gram(RBF(gamma=1.0), da.from_array(rows, chunks=(300, 4)), client=client)
    assert gram.shape == (700, 700)
    with pytest.raises(InvalidInput, match="NaN"):
        distributed.Gram(RBF(gamma=1.0), da.from_array(holes, chunks=(300, 4)), client=client)
