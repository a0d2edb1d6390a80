"""The Gram operator: every way of asking for values gives the same values."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from mercer import RBF, Definite, Gram, Linear, NegativeDistance, Sigmoid, White
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.evaluation import Evaluator, Pairs
from tests.gram.cases import (
    COMPOSITES,
    KERNELS,
    TABLE_KERNELS,
    close,
    dtypes,
    kernels,
    sizes,
    table_columns,
    vectors,
)

quick = settings(max_examples=60, deadline=None)


@quick
@given(kernel=kernels, n=sizes, m=st.one_of(st.none(), sizes), dtype=dtypes, data=st.data())
def test_blocks_rows_dense_and_products_agree(kernel, n, m, dtype, data):
    X = vectors(n, dtype=dtype)
    Y = None if m is None else vectors(m, seed=1, dtype=dtype)
    gram = Gram(kernel, X, Y, cache_bytes=data.draw(st.sampled_from([0, 2000, 10**6])))
    width = n if m is None else m
    K = gram.dense()
    assert K.shape == gram.shape == (n, width)
    assert K.dtype == gram.dtype == dtype

    # Row by row, from scratch: no tiles, no mirrored triangle, no shared diagonal.
    A = kernel.encode(X)
    B = A if Y is None else kernel.encode(Y)
    alone = np.vstack(
        [Evaluator(gram.kernel, Pairs(A.take(slice(i, i + 1)), B)).dense() for i in range(n)]
    )
    assert_allclose(K, alone, **close(dtype))

    rows = data.draw(st.lists(st.integers(-n, n - 1), max_size=12))
    assert_allclose(gram.rows(rows), K[rows], **close(dtype))
    columns = data.draw(st.integers(0, 3))
    V = np.random.default_rng(n).normal(size=(width, columns))
    scale = 1 + np.abs(K).max() * width
    assert_allclose(gram @ V, K @ V, rtol=0, atol=scale * close(dtype)["atol"])
    v = np.arange(width, dtype=dtype) / width
    product = gram @ v
    assert product.shape == (n,)
    assert product.dtype == dtype
    assert_allclose(product, K @ v, rtol=0, atol=scale * close(dtype)["atol"])
    if m is None:
        assert_array_equal(K, K.T)
        assert_allclose(gram.diag(), np.diagonal(K), **close(dtype))
        assert gram.diag().dtype == dtype


@quick
@given(kernel=kernels, n=st.integers(2, 50), m=sizes, data=st.data())
def test_take_is_indexing_of_the_dense_matrix(kernel, n, m, data):
    X, Y = vectors(n), vectors(m, seed=2)

    def index(count):
        numbers = st.lists(st.integers(-count, count - 1), min_size=1, max_size=9).map(np.array)
        masks = st.lists(st.booleans(), min_size=count, max_size=count).map(np.array)
        slices = st.slices(count)
        return data.draw(st.one_of(numbers, masks.filter(np.any), slices))

    square, wide = Gram(kernel, X), Gram(kernel, X, Y)
    K, L = square.dense(), wide.dense()
    i, j, k = index(n), index(n), index(m)
    part = square.take(i)
    assert part.symmetric
    assert_allclose(part.dense(), K[i][:, i], **close(float))
    assert_allclose(part.diag(), np.diagonal(K)[i], **close(float))
    assert_allclose(square.take(i, j).dense(), K[i][:, j], **close(float))
    assert_allclose(wide.take(i).dense(), L[i], **close(float))
    assert_allclose(wide.take(i, k).dense(), L[i][:, k], **close(float))
    assert_allclose(wide.rows(i), L[i], **close(float))
    assert_allclose(square.rows(i), K[i], **close(float))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_transposed(kernel):
    X, Y = vectors(40), vectors(30, seed=1)
    gram = Gram(kernel, X, Y, threads=1, cache_bytes=1000)
    assert gram.T.shape == (30, 40)
    assert_allclose(gram.T.dense(), gram.dense().T, **close(float))
    assert_allclose(gram.T.T.dense(), gram.dense(), **close(float))
    v = np.linspace(-1, 1, 40)
    assert_allclose(gram.T @ v, v @ gram.dense(), rtol=1e-9, atol=1e-8)
    square = Gram(kernel, X)
    assert square.T is square


@pytest.mark.parametrize("n", [1, 31, 32, 33, 257, 511, 513, 1025, 1537])
@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.5), Linear() * RBF(gamma=0.3) + White(0.1)], ids=repr
)
def test_sizes_around_the_tiles(kernel, n):
    X = vectors(n)
    gram = Gram(kernel, X, threads=2)
    S = ((X[:, None] - X) ** 2).sum(axis=2) if n < 600 else _squared_distances(X)
    if isinstance(kernel, RBF):
        expected = np.exp(-0.5 * S)
    else:
        expected = X @ X.T * np.exp(-0.3 * S) + 0.1 * np.eye(n)
    assert_allclose(gram.dense(), expected, atol=1e-9)
    v = np.cos(np.arange(n))
    assert_allclose(gram @ v, expected @ v, atol=1e-8)
    some = np.arange(0, n, 7)
    assert_allclose(gram.rows(some), expected[some], atol=1e-9)


@pytest.mark.parametrize("n", [16_384, 16_385, 17_111])
def test_products_of_large_matrices(n):
    """Bands of a symmetric product are longer than a tile here, and no multiple of it."""
    X = vectors(n, 2)
    V = np.random.default_rng(1).normal(size=(n, 2))
    product = Gram(RBF(gamma=0.5), X) @ V
    some = np.r_[0:40, 500:560, 1020:1090, n // 2 : n // 2 + 40, n - 600 : n - 500, n - 3 : n]
    expected = np.exp(-0.5 * ((X[some, None] - X) ** 2).sum(axis=2)) @ V
    assert_allclose(product[some], expected, rtol=1e-9, atol=1e-9)
    # Bᵀ(KV) = (KB)ᵀV sees every row and column.
    B = np.ones((n, 1))
    assert_allclose(B.T @ product, (Gram(RBF(gamma=0.5), X) @ B).T @ V, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 7, 300, 1500])
def test_products_of_many_rows_and_few_columns(m):
    """Blocks are the taller the fewer columns there are; the last one is shorter than the rest."""
    X, Z = vectors(4_500, 3), vectors(m, 3)[:, ::-1]
    V = np.random.default_rng(1).normal(size=(m, 2))
    expected = np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2)) @ V
    assert_allclose(Gram(RBF(gamma=0.5), X, Z) @ V, expected, rtol=1e-9, atol=1e-9)


def test_wide_right_sides_take_the_other_way():
    """Many columns would need many partial sums: symmetric products then go row by row."""
    X = vectors(300)
    V = np.random.default_rng(0).normal(size=(300, 3600))
    gram = Gram(RBF(gamma=0.5), X)
    wide, mirrored = gram @ V, gram @ V[:, :5]
    assert_allclose(wide[:, :5], mirrored, rtol=1e-12, atol=1e-12)
    assert_allclose(wide, gram.dense() @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["csr", "float32 csr"])
def test_sparse_data(kind):
    random = np.random.default_rng(5)
    X = sparse.random_array((60, 25), density=0.2, rng=random, format="csr")
    X = X.astype(np.float32) if "32" in kind else X
    for kernel in (
        RBF(gamma=0.3),
        Linear() + Linear() * RBF(gamma=0.1),
        RBF(gamma=0.1).normalized(),
    ):
        gram, plain = Gram(kernel, X), Gram(kernel, X.toarray())
        assert gram.dtype == X.dtype
        tolerance = close(X.dtype)
        assert_allclose(gram.dense(), plain.dense(), **tolerance)
        assert_allclose(gram.rows([3, 1]), plain.rows([3, 1]), **tolerance)
        assert_allclose(gram.take([5, 2, 9]).dense(), plain.take([5, 2, 9]).dense(), **tolerance)
        assert_allclose(gram @ np.ones(60), plain @ np.ones(60), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kernel", TABLE_KERNELS, ids=repr)
def test_tables_with_several_column_kernels(kernel, library):
    columns = table_columns()
    maker = pytest.importorskip(library)
    table = maker.table(columns) if library == "pyarrow" else maker.DataFrame(columns)
    gram = Gram(kernel, table)
    K = gram.dense()
    assert_allclose(gram.rows(slice(None)), K, rtol=1e-12)
    assert_allclose(gram.take([4, 1, 7]).dense(), K[np.ix_([4, 1, 7], [4, 1, 7])], rtol=1e-12)
    assert_allclose(gram @ np.eye(60), K, rtol=1e-10)
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    again = Gram(copy, table, statistic_bytes=10**7)
    assert_allclose(again.dense(), K, rtol=1e-12)
    other = gram.with_kernel(clone(gram.kernel))
    assert_allclose(other.dense(), K, rtol=1e-12)


def test_tables_against_a_naive_oracle():
    columns = table_columns()
    pandas = pytest.importorskip("pandas")
    K = Gram(TABLE_KERNELS[0], pandas.DataFrame(columns)).dense()
    age, city, smokes = (columns[name] for name in ("age", "city", "smokes"))
    for i in range(60):
        for j in range(60):
            same = [city[i] == city[j], smokes[i] == smokes[j]]
            near = np.exp(-((age[i] - age[j]) ** 2) / (2 * 12.0**2))
            assert K[i, j] == pytest.approx(near * same[0] + 0.5 * sum(same) / 2)


@pytest.mark.parametrize("kernel", COMPOSITES, ids=repr)
def test_a_clone_has_the_same_matrix(kernel):
    X = vectors(30)
    assert_array_equal(Gram(clone(kernel), X).dense(), Gram(kernel, X).dense())
    assert_array_equal(kernel(X), Gram(kernel, X).dense())


def test_not_flattened():
    """(a·b) + c is not a + b + c, nor a·(b + c)."""
    X = vectors(25)
    a, b, c = Linear(), RBF(gamma=0.3), NegativeDistance()
    A, B, C = (Gram(k, X).dense() for k in (a, b, c))
    assert_allclose(Gram((a * b) + c, X).dense(), A * B + C, rtol=1e-12, atol=1e-12)
    assert_allclose(Gram(c + (a * b), X).dense(), A * B + C, rtol=1e-12, atol=1e-12)
    assert_allclose(Gram(a * (b + c), X).dense(), A * (B + C), rtol=1e-12, atol=1e-12)
    assert_allclose(Gram((a + b) * (b + c), X).dense(), (A + B) * (B + C), rtol=1e-12, atol=1e-12)


def test_types_of_values():
    X = vectors(30)
    low = Gram(RBF(gamma=0.5), X, dtype="float32")
    assert low.dense().dtype == low.rows([0]).dtype == low.diag().dtype == np.float32
    assert low.dense("float64").dtype == np.float64
    assert_allclose(low.dense("float64"), Gram(RBF(gamma=0.5), X).dense(), rtol=1e-5)
    assert_allclose(low.dense(), Gram(RBF(gamma=0.5), X).dense(), rtol=1e-5)
    single = Gram(RBF(gamma=0.5), X.astype(np.float32))
    assert single.dense("float64").dtype == np.float64
    assert (single @ np.ones(30)).dtype == np.float64
    assert (single @ np.ones(30, dtype=np.float32)).dtype == np.float32
    assert (single @ np.ones(30, dtype=int)).dtype == np.float64
    mixed = Gram(RBF(gamma=0.5), X.astype(np.float32), X)
    assert mixed.dense().dtype == np.float64


def test_heuristics_are_settled_on_the_columns():
    X, Y = vectors(40), 3 * vectors(30, seed=1)
    assert Gram(RBF(), X, Y).kernel == RBF().resolve(RBF().encode(Y))
    assert Gram(RBF(), X).kernel == RBF().resolve(RBF().encode(X))
    assert Gram(RBF(), X).kernel != Gram(RBF(), Y).kernel
    # A part has the kernel of the whole: folds do not settle anew.
    whole = Gram(RBF("median"), X)
    assert whole.take([1, 2, 3]).kernel == whole.kernel
    assert whole.T.kernel == whole.kernel


def test_white_noise_knows_the_objects():
    X = vectors(20)
    gram = Gram(White(0.7), X)
    assert_allclose(gram.dense(), 0.7 * np.eye(20), rtol=1e-6)
    assert_allclose(gram.take([3, 5], [5, 3, 3]).dense(), [[0, 0.7, 0.7], [0.7, 0, 0]], rtol=1e-6)
    assert_array_equal(Gram(White(0.7), X, X).dense(), np.zeros((20, 20)))


def test_definiteness_comes_from_the_kernel():
    X = vectors(5)
    assert Gram(RBF(gamma=1.0), X).definite is Definite.POSITIVE
    assert Gram(Sigmoid(0.1), X).definite is Definite.INDEFINITE
    assert Gram(NegativeDistance(), X).take([0, 1]).definite is Definite.CONDITIONAL


def test_empty_parts():
    gram = Gram(RBF(gamma=1.0), vectors(5), cache_bytes=1000)
    assert gram.rows([]).shape == (0, 5)
    assert gram.take([]).dense().shape == (0, 0)
    assert (gram.take([]) @ np.ones(0)).shape == (0,)
    assert gram.take([], [1, 2]).dense().shape == (0, 2)
    assert (gram.take([1, 2], []) @ np.ones((0, 3))).tolist() == [[0] * 3] * 2
    assert (gram @ np.ones((5, 0))).shape == (5, 0)


def test_repr():
    assert repr(Gram(RBF(gamma=0.5), vectors(5))) == "Gram(RBF(gamma=0.5), 5 × 5 float64)"


def test_results_belong_to_the_caller():
    gram = Gram(RBF(gamma=0.5), vectors(20), cache_bytes=10**6, statistic_bytes=10**6)
    for ask in (gram.dense, gram.diag, lambda: gram.rows([3, 4, 3]), lambda: gram @ np.ones(20)):
        first = ask()
        kept = first.copy()
        first[...] = -7
        assert_array_equal(ask(), kept)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (3, "list of numbers"),
        ([[1, 2]], r"shape \(1, 2\)"),
        ([0.5], "float64"),
        (["a"], "<U1"),
        ([5], "There is no row 5: the matrix has 5"),
        ([0, -6], "There is no row -6"),
        ([True, False], "bool"),
    ],
)
def test_wrong_rows_are_refused(index, words):
    gram = Gram(RBF(gamma=0.5), vectors(5), vectors(4, seed=1))
    with pytest.raises(InvalidInput, match=words):
        gram.rows(index)
    with pytest.raises(InvalidInput, match=words):
        gram.take(index)
    with pytest.raises(InvalidInput):
        gram.take([0], index)


def test_wrong_right_sides_are_refused():
    gram = Gram(RBF(gamma=0.5), vectors(5), vectors(4, seed=1))
    for wrong in (np.ones(5), np.ones((5, 4)), np.ones((4, 1, 1)), 3.0):
        with pytest.raises(InvalidInput, match="5 × 4 cannot multiply"):
            gram @ wrong
    for wrong in (np.ones(4, dtype=complex), np.array(list("abcd")), np.array([None] * 4)):
        with pytest.raises(InvalidInput, match="type"):
            gram @ wrong


def test_only_matrices_of_points_with_themselves_have_a_diagonal():
    X, Y = vectors(5), vectors(5, seed=1)
    for gram in (
        Gram(RBF(gamma=0.5), X, Y),
        Gram(RBF(gamma=0.5), X).take([0], [1]),
        Gram(RBF(gamma=0.5), X, Y[:2]),
    ):
        with pytest.raises(InvalidInput, match=r"no diagonal.*k\.diag"):
            gram.diag()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cache_bytes": -1}, "cache_bytes=-1"),
        ({"statistic_bytes": -1}, "statistic_bytes=-1"),
        ({"threads": 0}, "threads=0"),
        ({"threads": 1.5}, "threads=1.5"),
        ({"dtype": int}, "dtype="),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(InvalidParameter, match=words):
        Gram(RBF(gamma=0.5), vectors(5), **options)


def test_columns_that_do_not_fit():
    with pytest.raises(InvalidInput, match="X has 3 columns and Y has 4"):
        Gram(RBF(gamma=0.5), vectors(5), vectors(5, 4)).dense()
    with pytest.raises(InvalidInput, match="encoded for another kernel"):
        Gram(RBF(gamma=0.5), vectors(5)).with_kernel(RBF(gamma=0.5).on(0)).dense()


def _squared_distances(X):
    return np.maximum(0, sum((X[:, None, k] - X[:, k]) ** 2 for k in range(X.shape[1])))
