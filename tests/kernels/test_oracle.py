"""Every kernel against the naive oracle, in every form in which data come."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from scipy import sparse

from mercer import (
    RBF,
    Delta,
    FunctionKernel,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    Precomputed,
    White,
)
from mercer.kernels import algebra, registry, wrappers
from tests.kernels.cases import COMPOSITES, EXAMPLES, IDS, RADIAL, close, data, has_white
from tests.oracles.naive import naive_gram, naive_value
from tests.oracles.strategies import cases, frames, histogram_kernels, table_cases, tables

NAMES = ["a", "b", "c"]

FORMS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X.tolist())),
}


def test_the_oracle_knows_every_kernel():
    for row in registry.ROWS:
        for kernel in row.examples:
            naive_gram(kernel, data(row.domain, 2))
    nodes = [
        value
        for module in (algebra, wrappers)
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, registry.Kernel)
        and value.__module__ == module.__name__
    ]
    assert len(nodes) >= 10
    from tests.oracles.naive import _FORMULAS

    assert set(nodes) <= set(_FORMULAS)


def test_the_oracle_refuses_what_it_does_not_know():
    class Mine(RBF):
        pass

    with pytest.raises(NotImplementedError, match="Mine"):
        naive_value(Mine(gamma=1.0), [0.0], [1.0])


def test_the_oracle_itself_on_values_known_by_heart():
    assert naive_value(RBF(gamma=0.5), [0.0, 0.0], [1.0, 1.0]) == pytest.approx(np.exp(-1))
    assert naive_value(Polynomial(2), [1.0, 2.0], [3.0, -1.0]) == pytest.approx(4.0)
    assert naive_value(White(2.0), [1.0], [1.0]) == 0
    assert naive_value(White(2.0), [1.0], [1.0], same=True) == 2
    assert naive_value(Delta(), ["1"], [1]) == 0
    assert naive_value(Overlap(), ["x", 1], ["x", 2]) == 0.5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
def test_example_equals_oracle(domain, kernel, form):
    X, Y = data(domain, 8, 1), data(domain, 5, 2)
    make = FORMS[form]
    close(kernel(make(X)), naive_gram(kernel, X))
    close(kernel(make(X), make(Y)), naive_gram(kernel, X, Y))


@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
def test_forms_of_data_mix(domain, kernel):
    X, Y = data(domain, 6, 1), data(domain, 5, 2)
    expected = naive_gram(kernel, X, Y)
    close(kernel(FORMS["csr"](X), Y), expected)
    close(kernel(X, FORMS["csc"](Y)), expected)
    close(kernel(FORMS["pandas"](X), FORMS["list"](Y)), expected)


@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
def test_float32_stays_and_is_near_float64(domain, kernel):
    X, Y = data(domain, 8, 1, np.float32), data(domain, 5, 2, np.float32)
    for K, expected in [
        (kernel(X), naive_gram(kernel, X)),
        (kernel(X, Y), naive_gram(kernel, X, Y)),
        (kernel(sparse.csr_array(X), Y), naive_gram(kernel, X, Y)),
        (kernel.diag(X), np.diagonal(naive_gram(kernel, X))),
    ]:
        assert K.dtype == np.float32
        close(K, expected, 2e-5)
    assert kernel(X, Y.astype(np.float64)).dtype == np.float64
    assert kernel(X.astype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("kernel", COMPOSITES, ids=repr)
def test_float32_stays_in_composites(kernel):
    X = data("vectors", 7, 1, np.float32)
    assert kernel(X).dtype == np.float32
    assert kernel.diag(X).dtype == np.float32
    close(kernel(X), naive_gram(kernel, X), 1e-4)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, bool, np.float16])
def test_whole_numbers_become_floats(kind):
    X = np.array([[0, 1], [1, 1], [3, 0]]).astype(kind)
    K = RBF(gamma=0.5)(X)
    assert K.dtype == (np.float32 if kind is np.float16 else np.float64)
    close(K, naive_gram(RBF(gamma=0.5), X.astype(float)), 1e-6)


@pytest.mark.parametrize("kernel", RADIAL + COMPOSITES, ids=repr)
def test_radial_kernels_and_composites_equal_oracle(kernel, X, Z):
    close(kernel(X), naive_gram(kernel, X))
    close(kernel(X, Z), naive_gram(kernel, X, Z))


@pytest.mark.parametrize("kernel", [*(k for _, k in EXAMPLES if _ == "vectors"), *COMPOSITES])
def test_symmetric_diagonal_and_same_batch(kernel, X):
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    close(kernel.diag(X), np.diagonal(K), 1e-12)
    if not has_white(kernel):
        close(kernel(X, X), K, 1e-12)


@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
def test_many_rows_cross_the_borders_of_blocks(domain, kernel):
    # Blocks are at most 512 wide: rows on both sides of every border are compared.
    X = data(domain, 1100, 3)
    rows = [0, 31, 32, 137, 138, 511, 512, 550, 1023, 1024, 1099]
    settled = kernel.resolve(kernel.encode(X))
    K = settled(X)
    np.testing.assert_array_equal(K, K.T)
    close(K[np.ix_(rows, rows)], naive_gram(settled, X[rows]))
    close(settled.diag(X)[rows], np.diagonal(naive_gram(settled, X[rows])))
    if not has_white(kernel):
        close(
            settled(X[:700], X)[np.ix_(rows[:8], rows)], naive_gram(settled, X[rows[:8]], X[rows])
        )


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("offset", [1e3, 1e6, -1e6])
def test_distances_survive_a_large_offset(kernel, offset, X):
    far = X + offset
    close(kernel(far), naive_gram(kernel, far), 1e-8)
    close(kernel(far, far[:4]), naive_gram(kernel, far, far[:4]), 1e-8)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_distances_survive_a_large_offset_in_float32(kernel):
    # Quarters are exact in float32 at this offset, so nothing is lost before the kernel.
    random = np.random.default_rng(0)
    far = (random.integers(-8, 8, size=(9, 3)) / 4 + 1e6).astype(np.float32)
    close(kernel(far), naive_gram(kernel, far), 2e-5)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("form", ["array", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_and_close_rows(kernel, form, dtype):
    random = np.random.default_rng(0)
    X = np.repeat(random.normal(size=(3, 3)) * 30, 2, axis=0).astype(dtype)
    X[1::2, 0] += dtype(1e-3)
    X = np.vstack([X, X])
    close(kernel(FORMS[form](X)), naive_gram(kernel, X), 1e-9 if dtype is np.float64 else 2e-4)
    close(np.diagonal(kernel(FORMS[form](X))), np.ones(len(X)), 1e-12)


@given(cases())
def test_composites_two_levels_deep_equal_oracle(case):
    kernel, X, Y = case.kernel, case.X, case.Y
    close(kernel(X), naive_gram(kernel, X), 1e-8)
    close(kernel(X, Y), naive_gram(kernel, X, Y), 1e-8)
    close(kernel.diag(X), np.diagonal(naive_gram(kernel, X)), 1e-8)


@given(tables(nonnegative=True), histogram_kernels(), histogram_kernels())
def test_histogram_composites_equal_oracle(X, a, b):
    for kernel in (a, a + b, a * b + RBF(gamma=0.5), (2 * a) ** 2):
        close(kernel(X), naive_gram(kernel, X), 1e-9)


@given(table_cases())
def test_tables_with_several_column_kernels_equal_oracle(case):
    kernel = case.kernel
    close(kernel(case.X), naive_gram(kernel, case.X), 1e-8)
    close(kernel(case.X, case.Y), naive_gram(kernel, case.X, case.Y), 1e-8)
    close(kernel.diag(case.X), np.diagonal(naive_gram(kernel, case.X)), 1e-8)


@given(frames())
def test_frames_equal_their_columns(frame):
    kernel = RBF(gamma=0.5).on("bmi") * Delta().on("city") + Overlap().on("city", "smoker")
    numbers = np.array(frame["bmi"].to_list())[:, None]
    city = np.array(frame["city"].to_list(), dtype=object)[:, None]
    both = np.hstack([city, np.array(frame["smoker"].to_list(), dtype=object)[:, None]])
    close(kernel(frame), RBF(gamma=0.5)(numbers) * Delta()(city) + Overlap()(both))


def test_column_positions_work_on_frames_and_arrays(X):
    kernel = RBF(gamma=0.5).on(0, -1)
    expected = RBF(gamma=0.5)(X[:, [0, 2]])
    for form in FORMS.values():
        close(kernel(form(X)), expected)
    close(RBF(gamma=0.5).on("c", "a")(FORMS["polars"](X)), expected)


def test_columns_of_columns(X):
    kernel = (RBF(gamma=0.5).on(1) + Periodic(2.0)).on(2, 0)
    close(kernel(X), RBF(gamma=0.5)(X[:, [0]]) + Periodic(2.0)(X[:, [2, 0]]))
    close(kernel(X), naive_gram(kernel, X))


def test_white_noise_knows_the_same_object_from_an_equal_one(X):
    noise = White(0.5)
    np.testing.assert_array_equal(noise(X), 0.5 * np.eye(len(X)))
    np.testing.assert_array_equal(noise(X, X), np.zeros((len(X), len(X))))
    np.testing.assert_array_equal(noise.diag(X), np.full(len(X), 0.5))
    points = noise.encode(X)
    np.testing.assert_array_equal(noise(points, points.take(np.array([2, 0])))[:3, 1], [0.5, 0, 0])


def cubes(x, z):
    return float((x @ z) ** 3)


def cubes_of_batches(A, B):
    return (A @ B.T) ** 3


def shared_letters(x, z):
    return len(set(x) & set(z))


def test_function_kernels(X, Z):
    expected = naive_gram(Polynomial(3, 1.0, 0.0), X, Z)
    close(FunctionKernel(cubes)(X, Z), expected)
    close(FunctionKernel(cubes_of_batches, vectorized=True)(X, Z), expected)
    close(
        FunctionKernel(cubes_of_batches, vectorized=True)(X), naive_gram(FunctionKernel(cubes), X)
    )
    close(FunctionKernel(cubes_of_batches, vectorized=True).diag(X), FunctionKernel(cubes).diag(X))
    close(
        (FunctionKernel(cubes).on(0, 1) + RBF(gamma=1.0))(X),
        cubes_of_batches(X[:, :2], X[:, :2]) + RBF(gamma=1.0)(X),
    )
    assert FunctionKernel(cubes)(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series])
def test_function_kernels_take_any_objects(make):
    words = make(["mercer", "kernel", "gram"])
    np.testing.assert_array_equal(
        FunctionKernel(shared_letters)(words), [[4, 2, 2], [2, 5, 1], [2, 1, 4]]
    )


def test_precomputed_kernels():
    K = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]])
    kernel = Precomputed(K)
    np.testing.assert_array_equal(kernel(np.arange(3)), K)
    np.testing.assert_array_equal(kernel([2, 0], [1]), [[0.25], [1.0]])
    np.testing.assert_array_equal(kernel(np.array([[2], [0]])), K[np.ix_([2, 0], [2, 0])])
    np.testing.assert_array_equal(kernel.diag([1, 1]), [3, 3])
    close((kernel * kernel + 1)([0, 2]), K[np.ix_([0, 2], [0, 2])] ** 2 + 1)
    close(kernel.normalized()(np.arange(3)), naive_gram(kernel.normalized(), range(3)))
    close(Precomputed(K.tolist())([0, 1]), K[:2, :2])


@pytest.mark.parametrize(
    ("nu", "r", "value"),
    [
        (50.5, 0.01, 0.9999489912268066),
        (80, 1.0, 0.603686682310283),
        (150, 0.01, 0.9999496657049031),
        (150, 1.0, 0.6050140378355338),
        (400, 1.0, 0.6059619907923689),
        (400, 3.0, 0.011264600920717039),
        (1e4, 1.0, 0.6065079147341063),
    ],
)
def test_matern_of_large_order(nu, r, value):
    """Values by arithmetic of 40 digits; K_ν itself overflows there."""
    assert Matern(nu=nu, length_scale=1.0)([[0.0]], [[r]])[0, 0] == pytest.approx(value, rel=1e-9)
