"""Bad input and bad parameters: the cause, the place and the remedy are in the message."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer import (
    RBF,
    AdditiveChi2,
    Chi2,
    Constant,
    Delta,
    FunctionKernel,
    GaussianBasis,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    NegativeDistance,
    Overlap,
    Periodic,
    Polynomial,
    Precomputed,
    RandomFourierFeatures,
    RationalQuadratic,
    Sigmoid,
    White,
)
from mercer.exceptions import (
    InvalidInput,
    InvalidParameter,
    InvalidType,
    MercerError,
    NumericalOverflow,
)
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.registry import ROWS
from mercer.kernels.wrappers import Normalized, On

VECTOR_KERNELS = [
    row.examples[0]
    for row in ROWS
    if row.domain in ("vectors", "histograms") and row.examples[0].encoders()
]
VECTOR_IDS = [type(kernel).__name__ for kernel in VECTOR_KERNELS]
every_vector_kernel = pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=VECTOR_IDS)


def table(value=None, dtype=np.float64):
    X = np.arange(12, dtype=dtype).reshape(4, 3) / 10
    if value is not None:
        X[2, 1] = value
    return X


def raises(kind, *parts):
    """Expect an error whose message has all parts, in their order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(part) for part in parts))


# ---- values ----------------------------------------------------------------------------------


@every_vector_kernel
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_values_that_are_not_finite(kernel, value, make):
    what = "NaN" if np.isnan(value) else "infinity"
    name = type(kernel).__name__
    with raises(InvalidInput, name, f"contains {what}", "row 2, column 1", "Fill in or drop"):
        kernel(make(table(value)))
    with raises(InvalidInput, name, "row 2, column 1"):
        kernel(table(), make(table(value, np.float32)))
    with raises(InvalidInput, name, "row 2, column 1"):
        kernel.diag(make(table(value)))


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_names_of_columns_are_shown(library):
    frame = library.DataFrame({"age": [1.0, 2.0], "bmi": [3.0, float("nan")]})
    with raises(InvalidInput, "RBF", "row 1, column 'bmi' is NaN"):
        RBF(gamma=0.5)(frame)
    with raises(InvalidInput, "Linear", "row 1, column 'bmi' is NaN"):
        (RBF(gamma=0.5).on("age") + Linear().on("bmi"))(frame)
    with raises(InvalidInput, "Chi2", "row 1, column 'bmi' is negative"):
        Chi2()(library.DataFrame({"age": [1.0, 2.0], "bmi": [3.0, -1.0]}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64")}),
        pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}),
        pl.DataFrame({"a": [1, None]}),
        pl.DataFrame({"a": [1.5, None]}),
        pl.DataFrame({"a": [True, None]}),
    ],
)
def test_missing_numbers_in_frames(frame):
    with raises(InvalidInput, "RBF", "row 1, column 'a' is NaN (a missing value)"):
        RBF(gamma=0.5)(frame)


def test_missing_numbers_in_lists():
    with raises(InvalidInput, "RBF", "row 0, column 1 is NaN"):
        RBF(gamma=0.5)([[1.0, None]])


@pytest.mark.parametrize("kernel", [Chi2(), AdditiveChi2(), Intersection()], ids=repr)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_histograms_take_no_negative_values(kernel, make):
    with raises(InvalidInput, type(kernel).__name__, "row 2, column 1 is negative", "values ≥ 0"):
        kernel(make(table(-0.5)))


@every_vector_kernel
def test_strings_where_numbers_belong(kernel):
    name = type(kernel).__name__
    for X in (
        np.array([["a", "b", "c"]]),
        np.array([["a", 1.0, 2.0]], dtype=object),
        [["a", 1.0, 2.0]],
    ):
        with raises(InvalidType, f"{name}: 'a' in row 0, column 0 is not a number", "kernel"):
            kernel(X)
    for library in (pd, pl):
        frame = library.DataFrame({"x": [1.0], "y": [2.0], "city": ["Oslo"]})
        with raises(InvalidType, name, "column 'city' holds", "not numbers", "Delta().on(...)"):
            kernel(frame)


@every_vector_kernel
def test_complex_numbers(kernel):
    for X in (table() + 1j, sparse.csr_array(table() + 1j)):
        with raises(InvalidType, type(kernel).__name__, "real"):
            kernel(X)


# ---- shapes ----------------------------------------------------------------------------------


@every_vector_kernel
def test_one_and_three_dimensions(kernel):
    name = type(kernel).__name__
    with raises(InvalidInput, name, "1 dimension and shape (3,)", "X.reshape(-1, 1)"):
        kernel(np.ones(3))
    with raises(InvalidInput, name, "3 dimensions and shape (2, 2, 2)"):
        kernel(np.ones((2, 2, 2)))
    with raises(InvalidInput, name, "1 dimension"):
        kernel([1.0, 2.0, 3.0])
    with raises(InvalidInput, name, "1 dimension"):
        kernel(table(), np.ones(3))


@every_vector_kernel
def test_empty_tables(kernel):
    name = type(kernel).__name__
    with raises(InvalidInput, name, "no rows; at least one"):
        kernel(np.empty((0, 3)))
    with raises(InvalidInput, name, "no columns; at least one"):
        kernel(np.empty((3, 0)))
    with raises(InvalidInput, name, "no rows"):
        kernel(table(), [])
    with raises(InvalidInput, name, "no rows"):
        kernel(pd.DataFrame({"a": []}))
    with raises(InvalidInput, name, "no columns"):
        kernel(sparse.csr_array((3, 0)))


@every_vector_kernel
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_different_numbers_of_columns(kernel, make):
    if isinstance(kernel, GaussianBasis):
        with raises(InvalidInput, "GaussianBasis", "centres have 3 columns", "X has 2"):
            kernel(make(table()[:, :2]))
        return
    with raises(InvalidInput, "X has 3 columns", "Y has 2"):
        kernel(make(table()), make(table()[:, :2]))


@pytest.mark.parametrize("kernel", [Delta(), Overlap()])
def test_shapes_of_categories(kernel):
    with raises(InvalidInput, type(kernel).__name__, "1 dimension"):
        kernel(np.array(["a", "b"]))
    with raises(InvalidInput, "X has 2 columns of categories and Y has 1"):
        kernel(np.array([["a", "b"]]), np.array([["a"]]))
    with raises(InvalidInput, type(kernel).__name__, "no columns"):
        kernel(np.empty((2, 0), dtype=object))


@pytest.mark.parametrize("X", ["text", 3.0, None, np.float64(2.0), iter([1.0]), {1, 2}.__iter__()])
def test_no_batch_at_all(X):
    with raises(InvalidType, "Expected a batch of objects"):
        RBF(gamma=0.5)(X)


@every_vector_kernel
def test_ragged_lists(kernel):
    with raises(InvalidInput, type(kernel).__name__, "rows of different lengths"):
        kernel([[1.0, 2.0, 3.0], [1.0]])


# ---- columns ---------------------------------------------------------------------------------


def test_unknown_columns():
    frame = pd.DataFrame({"age": [1.0], "bmi": [2.0]})
    for data in (frame, pl.from_pandas(frame)):
        with raises(InvalidInput, "RBF", "no column 'size'", "has 'age', 'bmi'"):
            RBF(gamma=0.5).on("size")(data)
        with raises(InvalidInput, "RBF", "no column 2"):
            RBF(gamma=0.5).on(2)(data)
    with raises(InvalidInput, "RBF", "column 'age' was asked for by name", "array", "position"):
        RBF(gamma=0.5).on("age")(table())
    for data in (table(), sparse.csr_array(table())):
        with raises(InvalidInput, "RBF", "no column 3: X has 3 columns"):
            RBF(gamma=0.5).on(3)(data)
    with raises(InvalidInput, "RBF", "1 dimension"):
        RBF(gamma=0.5).on(0)(np.ones(3))


def test_duplicate_and_missing_column_choices():
    with raises(InvalidParameter, "On", "names a column twice"):
        RBF(gamma=0.5).on("age", "bmi", "age")
    with raises(InvalidParameter, "On", "not empty"):
        RBF(gamma=0.5).on()
    with raises(InvalidParameter, "On", "has to be a list"):
        On(RBF(gamma=0.5), "age")


def test_tables_with_two_columns_of_one_name():
    frames = (
        pd.DataFrame([[1.0, 2.0]], columns=["age", "age"]),
        pa.table([[1.0], [2.0]], names=["age", "age"]),
    )
    for kernel, frame in itertools.product(
        (RBF(gamma=0.5), RBF(gamma=0.5).on("age"), Delta()), frames
    ):
        with raises(InvalidInput, "more than one column 'age'", "Rename"):
            kernel(frame)


# ---- parameters ------------------------------------------------------------------------------

WIDTHS = [RBF, Laplacian, Matern, RationalQuadratic]


@pytest.mark.parametrize("kind", WIDTHS)
def test_two_bandwidths_at_once(kind):
    with raises(InvalidParameter, kind.__name__, "gamma and sigma are names of one width", "one"):
        kind(gamma=0.5, sigma=1.0)
    with raises(InvalidParameter, "sigma and length_scale"):
        kind(sigma=0.5, length_scale=[1.0, 2.0])
    with raises(InvalidParameter, "gamma and sigma and length_scale"):
        kind(gamma="scale", sigma=0.5, length_scale=1.0)


@pytest.mark.parametrize("kind", WIDTHS)
@pytest.mark.parametrize("name", ["gamma", "sigma", "length_scale"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, 1j])
def test_impossible_bandwidths(kind, name, value):
    with raises(InvalidParameter, kind.__name__, f"{name}=", "has to be a number > 0"):
        kind(**{name: value})


@pytest.mark.parametrize("width", [{"sigma": 1e-200}, {"length_scale": [5e-324]}])
def test_widths_whose_squares_vanish(width):
    with raises(InvalidParameter, "beyond the range of floating-point numbers"):
        RBF(**width)([[1.0], [2.0]])


@pytest.mark.parametrize(
    "kernel", [Laplacian(length_scale=[1e-320, 1.0]), Periodic(length_scale=[1e-160, 1.0])]
)
def test_slopes_along_widths_whose_squares_vanish(kernel):
    with raises(InvalidParameter, "beyond the range of floating-point numbers"):
        dict(kernel.gradients([[1.0, 0.0], [2.0, 1.0]]))


@pytest.mark.parametrize("kind", WIDTHS)
def test_unknown_heuristics_and_bad_length_scales(kind):
    name = kind.__name__
    with raises(InvalidParameter, f"{name}: gamma='wide'", "'scale', 'median' or 'auto'"):
        kind(gamma="wide")
    with raises(InvalidParameter, f"{name}: length_scale[1]=", "number > 0"):
        kind(length_scale=[1.0, -2.0])
    with raises(InvalidParameter, f"{name}: length_scale[0]="):
        kind(length_scale=[np.nan, 2.0])
    for wrong in ([], [[1.0]], ["a"], object()):
        with raises(InvalidParameter, f"{name}: length_scale=", "a list of them"):
            kind(length_scale=wrong)
    kernel = kind(length_scale=[1.0, 2.0])
    for X in (table(), sparse.csr_array(table())):
        with raises(InvalidInput, "length_scale has 2 entries and X has 3 columns"):
            kernel(X)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: -1 * Linear(), ["Scaled: factor=-1.0", "number ≥ 0"]),
        (lambda: Linear() * np.nan, ["Scaled: factor=nan"]),
        (lambda: Scaled(Linear(), "2"), ["Scaled: factor='2'"]),
        (lambda: Linear() + -2, ["Constant: value=-2.0", "≥ 0"]),
        (lambda: Constant(-1.0), ["Constant: value=-1.0", "≥ 0"]),
        (lambda: White(-1.0), ["White: noise=-1.0", "≥ 0"]),
        (lambda: Linear() ** -1, ["Power: exponent=-1", "≥ 0"]),
        (lambda: Linear() ** "2", ["Power: exponent='2'"]),
        (lambda: Linear().power_series([1.0, -0.5]), ["coefficient 1 is -0.5", "≥ 0"]),
        (lambda: Linear().power_series([np.inf]), ["coefficient 0 is inf"]),
        (lambda: Linear().power_series([]), ["coefficients=[]", "list of numbers"]),
        (lambda: Linear().power_series("ab"), ["coefficients='ab'", "list of numbers"]),
        (lambda: Linear().power_series([1.0], radius=0), ["PowerSeries: radius=0", "> 0"]),
        (lambda: Linear().power_series([1.0], radius=np.nan), ["PowerSeries: radius=nan"]),
        (lambda: Polynomial(-1), ["Polynomial: degree=-1", "≥ 0"]),
        (lambda: Polynomial(2, "median"), ["Polynomial: gamma='median'", "number or 'scale'"]),
        (lambda: Polynomial(2, 1.0, np.inf), ["Polynomial: coef0=inf"]),
        (lambda: Sigmoid("auto"), ["Sigmoid: gamma='auto'", "'scale'"]),
        (lambda: Matern(nu=0), ["Matern: nu=0", "> 0"]),
        (lambda: Matern(nu=-np.inf), ["Matern: nu=-inf"]),
        (lambda: RationalQuadratic(alpha=0.0), ["RationalQuadratic: alpha=0.0", "> 0"]),
        (lambda: Periodic(0.0), ["Periodic: period=0.0", "> 0"]),
        (lambda: Periodic(1.0, -1.0), ["Periodic: length_scale=-1.0", "> 0"]),
        (lambda: Periodic([1.0, 0.0]), ["Periodic: period[1]=", "> 0"]),
        (lambda: Periodic(1.0, [[1.0]]), ["Periodic: length_scale=", "one for each column"]),
        (lambda: NegativeDistance(2.5), ["NegativeDistance: power=2.5", "> 0 and ≤ 2"]),
        (lambda: NegativeDistance(0), ["NegativeDistance: power=0"]),
        (lambda: Chi2(0.0), ["Chi2: gamma=0.0", "> 0"]),
        (lambda: Monomials(1.5), ["Monomials: degree=1.5", "a whole number ≥ 0"]),
        (lambda: GaussianBasis([1.0, 2.0]), ["GaussianBasis: centres", "one centre a row", "(2,)"]),
        (lambda: GaussianBasis([[np.nan]]), ["GaussianBasis: centres", "centre 0", "finite"]),
        (lambda: GaussianBasis([[1.0]], 0.0), ["GaussianBasis: sigma=0.0", "> 0"]),
        (lambda: RandomFourierFeatures(RBF(), 1), ["components=1", "a whole number ≥ 2"]),
        (lambda: RandomFourierFeatures(RBF(), 10, -1), ["random_state=-1", "≥ 0"]),
        (lambda: FunctionKernel("f"), ["FunctionKernel: function='f'", "function of two objects"]),
        (lambda: Precomputed(np.ones((2, 3))), ["Precomputed", "shape (2, 3)", "square"]),
        (lambda: Precomputed(np.ones(4)), ["Precomputed", "shape (4,)", "square"]),
        (lambda: Precomputed(np.empty((0, 0))), ["Precomputed", "(0, 0)"]),
        (lambda: Precomputed([[1.0, np.nan], [0.0, 1.0]]), ["Precomputed: entry (0, 1)", "finite"]),
        (lambda: Precomputed(np.eye(2) * 1j), ["Precomputed", "complex128 is not real"]),
        (
            lambda: Precomputed([[1.0, 0.5], [0.25, 1.0]]),
            ["Precomputed: entries (0, 1) and (1, 0) differ by 0.25", "(K + K.T) / 2"],
        ),
        (lambda: Precomputed([["a"]]), ["Precomputed", "is not real"]),
        (lambda: Sum(Linear(), 2), ["Sum: right=2 has to be a kernel"]),
        (lambda: Product("a", Linear()), ["Product: left='a' has to be a kernel"]),
        (lambda: Power(2), ["Power: kernel=2 has to be a kernel"]),
        (lambda: Exp(None), ["Exp: kernel=None has to be a kernel"]),
        (lambda: PowerSeries(1, [1.0]), ["PowerSeries: kernel=1 has to be a kernel"]),
        (lambda: On(None, [0]), ["On: kernel=None has to be a kernel"]),
        (lambda: (Linear() + Linear()).set_params(left=3), ["Sum: left=3 has to be a kernel"]),
    ],
)
def test_impossible_parameters(make, parts):
    with raises(InvalidParameter, *parts):
        make()


# ---- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_overflow_names_kernel_and_pair(make):
    X = np.ones((4, 2))
    X[3] = 1e6
    kernel = Polynomial(30)
    with raises(NumericalOverflow, "Polynomial(degree=30)", "row 3 and column 3", "lower the deg"):
        kernel(make(X))
    with raises(NumericalOverflow, "row 3 and column 3"):
        kernel.diag(make(X))
    with raises(NumericalOverflow, "row 3 and column 0"):
        Polynomial(30)(make(X), make(X[3:]))
    with raises(NumericalOverflow, "Linear().exp()", "row 3 and column 0"):
        Linear().exp()(make(X), make(1e-3 * X[:1]))
    with raises(NumericalOverflow, "float32", "cale the data"):
        RBF(gamma=0.5)(make(np.array([[1e30], [2e30], [0.0]], dtype=np.float32)))
    assert np.isfinite(Polynomial(30)(make(X[:3]))).all()


def test_overflow_in_large_matrices():
    X = np.ones((1100, 1))
    X[777] = 1e200
    with raises(NumericalOverflow, "row 777 and column 777"):
        (Linear() * Constant(2.0))(X)


def test_fractional_powers_of_negative_values():
    X = np.array([[1.0], [-1.0]])
    for kernel in (Linear() ** 0.5, Polynomial(1.5, 1.0, 0.0)):
        with raises(InvalidInput, "fractional power of the negative value -1", "whole exponent"):
            kernel(X)


def test_power_series_outside_its_radius():
    geometric = Linear().power_series([1.0] * 20, radius=1.0)
    inside = np.array([[0.5], [0.7]])
    np.testing.assert_allclose(geometric(inside)[0, 0], 4 / 3)
    for X, Y in (([[0.5], [1.0]], None), ([[0.5]], [[0.1], [2.0]]), ([[0.1], [2.0]], [[0.5]])):
        with raises(
            InvalidInput, "power_series", "k(x, x) =", "row 1", "below 1", "radius of conv"
        ):
            geometric(X, Y)
    with raises(InvalidInput, "radius of convergence"):
        geometric.diag([[3.0]])
    assert np.isfinite(Linear().normalized().power_series([1.0, 0.5], radius=1.1)([[9.0]])).all()


def test_normalising_a_negative_diagonal():
    with raises(InvalidInput, "normalized()", "is negative", "k(x, x) ≥ 0"):
        Sigmoid(1.0, -2.0).normalized()([[0.1], [0.2]])
    assert isinstance(Sigmoid().normalized(), Normalized)


def nothing(x, z):
    return None


def text(x, z):
    return "high"


def pair(x, z):
    return [1.0, 2.0]


def single(x, z):
    return np.array([1.0])


def undefined(x, z):
    return float("nan")


def imaginary(x, z):
    return 1j


def broken(x, z):
    return x[99]


@pytest.mark.parametrize("function", [nothing, text, pair, single, imaginary])
def test_functions_that_return_junk(function):
    name = function.__name__
    with raises(InvalidInput, f"function={name}", "returned", "not a number", "vectorized=True"):
        FunctionKernel(function)([[1.0]])
    with raises(InvalidInput, f"function={name}", "returned"):
        FunctionKernel(function, vectorized=True)([[1.0], [2.0]])


def test_functions_that_return_nan_or_fail():
    with raises(NumericalOverflow, "FunctionKernel(function=undefined)", "row 0 and column 0"):
        FunctionKernel(undefined)([[1.0]])
    with pytest.raises(IndexError):
        FunctionKernel(broken)([[1.0]])


def test_row_numbers_of_precomputed_matrices():
    kernel = Precomputed(np.eye(3))
    with raises(InvalidInput, "Precomputed: row number 3 at position 1", "outside 0 … 2"):
        kernel([0, 3])
    with raises(InvalidInput, "Precomputed: row number -1"):
        kernel([0, 1], [-1])
    for wrong in (table(), [0.0, 1.0], np.eye(3), ["a"]):
        with raises(InvalidType, "Precomputed", "3 × 3 matrix", "np.arange(3)"):
            kernel(wrong)
    with raises(InvalidInput, "no rows"):
        kernel([])


def test_all_errors_are_one_family_and_builtin_kinds():
    for kind in (InvalidInput, InvalidParameter, InvalidType, NumericalOverflow):
        assert issubclass(kind, MercerError)
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InvalidParameter, ValueError)
    assert issubclass(InvalidType, TypeError)
    assert issubclass(NumericalOverflow, ArithmeticError)


def test_a_refused_parameter_changes_nothing():
    kernel = Matern(nu=1.5, sigma=2.0)
    with raises(InvalidParameter, "sigma=-1"):
        kernel.set_params(nu=2.5, sigma=-1)
    assert kernel == Matern(nu=1.5, sigma=2.0)


def test_the_row_outside_the_radius_is_named():
    X = np.full((700, 1), 0.5)
    X[650] = 1.5
    with raises(InvalidInput, "k(x, x) = 2.25 of row 650", "radius"):
        Linear().power_series([1, 1, 1], radius=1.0)(X)


def test_a_list_is_no_category():
    table = np.empty((2, 1), dtype=object)
    table[:, 0] = ["a", ["b"]]
    with raises(InvalidType, "Delta: ['b'] in row 1, column 0"):
        Delta()(table)
