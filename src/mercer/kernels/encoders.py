"""Encoders: from what people have (arrays, sparse matrices, frames, lists) to leaves of points."""

from __future__ import annotations

import hashlib
import math
import numbers
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from mercer._files.fields import COUNT, FLAG, State
from mercer._typing import Frame, Parameter
from mercer.exceptions import InvalidInput, InvalidType, shown
from mercer.kernels.points import Categories, Leaf, Objects, Vectors

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Encoder:
    """One way to look at objects; equal encoders give equal leaves, so each runs once a batch.

    A subclass is a frozen dataclass with ``encode``, which looks at one object at a time and
    remembers nothing. A kernel names its encoder in the class attribute ``encoder``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from mercer import Encoder, Vectors
    >>> @dataclass(frozen=True)
    ... class Lengths(Encoder):
    ...     def encode(self, X, owner):
    ...         return Vectors(np.array([[float(len(text))] for text in X]))
    >>> Lengths().encode(["a", "abc"], "my kernel").values
    array([[1.],
           [3.]])
    """

    STATE: ClassVar[State] = {}
    """The fields and their kinds, for files."""
    makes: ClassVar[type | None] = None
    """The class of the leaves, where an encoder can be stored."""

    def is_own(self, leaf: Any) -> bool:
        """Whether a leaf is one that this encoder can have made."""
        return type(leaf) is self.makes

    def identity(self, leaf: Any, row: int) -> Hashable:
        """Return what tells an object of a leaf from others; equal objects have it in common."""
        return repr(leaf.take(slice(row, row + 1)))

    takes_vectors: ClassVar[bool] = False
    columns: ClassVar[Any] = None
    inner: ClassVar[Any] = None
    stand_in: ClassVar[Any] = None
    """What may stand where a value is missing that nobody looks at."""
    by_column: ClassVar[bool] = True
    """Whether each column of numbers is a quantity of its own, and may be scaled alone."""

    def encode(self, X: Any, owner: str) -> Leaf:
        """Return the leaf of ``X``; errors name ``owner``, the kernel that asks."""
        raise NotImplementedError


@dataclass(frozen=True)
class VectorEncoder(Encoder):
    """Numbers in rows: arrays, SciPy sparse, frames, nested lists; finite; float32 stays."""

    STATE: ClassVar[State] = {"nonnegative": FLAG}
    makes = Vectors

    def is_own(self, leaf: Any) -> bool:
        """Whether a leaf is one that this encoder can have made."""
        return super().is_own(leaf) and not (self.nonnegative and (leaf.numbers < 0).any())

    def identity(self, leaf: Vectors, row: int) -> Hashable:
        return (leaf.take(slice(row, row + 1)).dense() + 0.0).tobytes()

    nonnegative: bool = False
    takes_vectors = True
    stand_in = 0.0

    def encode(self, X: Any, owner: str) -> Vectors:
        if type(X) is np.ndarray and X.ndim == 2 and X.shape[1] and X.dtype in _FLOATS:
            vectors = Vectors(np.ascontiguousarray(X))
        elif sparse.issparse(X):
            vectors = _sparse_vectors(X, owner)
        else:
            vectors = _dense_vectors(X, owner)
        _check_finite(vectors, owner)
        if self.nonnegative:
            _check_nonnegative(vectors, owner)
        return vectors


@dataclass(frozen=True)
class CategoryEncoder(Encoder):
    """Categories in rows: text, whole numbers, booleans; each value is hashed by itself."""

    makes = Categories

    def identity(self, leaf: Categories, row: int) -> Hashable:
        return bytes(leaf.codes[row])

    stand_in = ""

    def encode(self, X: Any, owner: str) -> Categories:
        if is_frame(X):
            frame = as_narwhals(X)
            columns = [frame.get_column(name).to_numpy() for name in column_names(frame)]
        else:
            # Of lists NumPy would make one type, and of 1 beside a text "1".
            kind = None if hasattr(X, "dtype") else object
            table = as_array(X.toarray() if sparse.issparse(X) else X, owner, kind)
            if table.ndim != 2:
                raise InvalidInput(not_a_table(owner, table))
            columns = list(table.T)
        if not columns:
            raise InvalidInput(f"{owner}: X has no columns; at least one a row is needed.")
        codes = np.empty((row_count(X), len(columns)), dtype=np.uint64)
        for j, column in enumerate(columns):
            codes[:, j] = _category_codes(column, j, owner)
        return Categories(codes)


@dataclass(frozen=True)
class ObjectEncoder(Encoder):
    """Objects as they are, one a row."""

    def identity(self, leaf: Objects, row: int) -> Hashable:
        item = leaf.items[row]
        return item.tobytes() if isinstance(item, np.ndarray) else repr(item)

    def encode(self, X: Any, owner: str) -> Objects:
        del owner
        if is_frame(X):
            X = as_narwhals(X).to_numpy()
        elif sparse.issparse(X):
            X = X.toarray()
        if isinstance(X, np.ndarray):
            return Objects(X)
        items = np.empty(len(X), dtype=object)
        for i, item in enumerate(X):
            items[i] = item
        return Objects(items)


@dataclass(frozen=True)
class RowNumberEncoder(Encoder):
    """Row numbers of a matrix of ``size`` rows, or new rows of as many values."""

    STATE: ClassVar[State] = {"size": COUNT}
    makes = Objects
    identity = ObjectEncoder.identity

    def is_own(self, leaf: Any) -> bool:
        """Whether a leaf is one that this encoder can have made."""
        return super().is_own(leaf) and bool(((leaf.items >= 0) & (leaf.items < self.size)).all())

    size: int

    def encode(self, X: Any, owner: str) -> Objects:
        rows = np.asarray(X)
        if rows.ndim == 2 and rows.shape[1] == self.size and rows.dtype.kind == "f":
            return Objects(rows)
        if rows.ndim == 2 and rows.shape[1] == 1:
            rows = rows[:, 0]
        if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
            raise InvalidType(
                f"{owner}: expected row numbers of its {self.size} × {self.size} matrix, got an "
                f"array of shape {rows.shape} and type {rows.dtype}. Pass np.arange({self.size}) "
                "or a part of it."
            )
        wrong = np.flatnonzero((rows < 0) | (rows >= self.size))
        if wrong.size:
            raise InvalidInput(
                f"{owner}: row number {rows[wrong[0]]} at position {wrong[0]} lies outside "
                f"0 … {self.size - 1}, the rows of its matrix."
            )
        return Objects(rows.astype(np.intp))


def row_count(X: Any) -> int:
    """Return the number of objects in ``X``."""
    if hasattr(X, "shape"):
        if len(X.shape) == 0:
            raise InvalidType("Expected a batch of objects (rows), got a single number.")
        return int(X.shape[0])
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise InvalidType(
            f"Expected a batch of objects (an array, a frame or a list), got {type(X).__name__}."
        )
    return len(X)


def is_frame(X: Any) -> bool:
    """Tell whether ``X`` is a table with named columns (pandas, polars, pyarrow …)."""
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return False
    return hasattr(X, "columns") or hasattr(X, "column_names")


def as_narwhals(frame: Frame) -> Any:
    """Return ``frame`` behind the one face that narwhals gives to all data frames."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        wrapped = nw.from_native(frame, pass_through=True)
    except DuplicateError:
        column_names(frame)
        raise
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def column_names(frame: Frame) -> list[Any]:
    """Return the names of the columns of a frame, which have to differ."""
    names = list(frame.column_names if hasattr(type(frame), "column_names") else frame.columns)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InvalidInput(
            f"The table has more than one column {shown(twice)}. Rename all but one."
        )
    return names


def as_array(X: Any, owner: str, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return ``X`` as an array, or say that its rows are of different lengths."""
    try:
        return np.asarray(X, dtype=dtype)
    except ValueError:
        raise InvalidInput(
            f"{owner}: expected a table, got rows of different lengths. Give every row the same "
            "number of values."
        ) from None


def not_a_table(owner: str, array: Any) -> str:
    """Return what to say of an array that is no table."""
    return (
        f"{owner}: expected a table of rows and columns, got an array of {array.ndim} "
        f"dimension{'s' if array.ndim != 1 else ''} and shape {array.shape}. Use "
        "X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row."
    )


def _no_columns(owner: str) -> str:
    return f"{owner}: X has no columns; at least one number a row is needed."


def _sparse_vectors(X: Any, owner: str) -> Vectors:
    if X.dtype.kind not in "fiub":
        raise InvalidType(f"{owner}: a sparse matrix of type {X.dtype} holds no real numbers.")
    matrix = sparse.csr_array(X)
    if matrix.dtype not in _FLOATS:
        matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    if matrix.shape[1] == 0:
        raise InvalidInput(_no_columns(owner))
    return Vectors(matrix)


def _dense_vectors(X: Any, owner: str) -> Vectors:
    names = None
    if is_frame(X):
        frame = as_narwhals(X)
        names = tuple(str(name) for name in column_names(frame))
        array = _frame_values(frame, owner)
    else:
        array = as_array(X, owner)
    if array.ndim != 2:
        raise InvalidInput(not_a_table(owner, array))
    if array.shape[1] == 0:
        raise InvalidInput(_no_columns(owner))
    return Vectors(np.ascontiguousarray(_as_floats(array, names, owner)), names)


def _frame_values(frame: Frame, owner: str) -> np.ndarray[Any, Any]:
    columns = []
    for name in column_names(frame):
        column = frame.get_column(name)
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            raise InvalidType(
                f"{owner}: column {shown(name)} holds {column.dtype}, not numbers. Use a "
                "kernel for such values on it, as in Delta().on(...), or leave it out."
            )
        columns.append(np.asarray(column.to_numpy()))
    if not columns:
        return np.empty((len(frame), 0))
    for j, column in enumerate(columns):
        if column.dtype == object:
            columns[j] = np.array([math.nan if is_missing(v) else float(v) for v in column])
    return np.column_stack(columns)


def _as_floats(
    array: np.ndarray[Any, Any], names: tuple[str, ...] | None, owner: str
) -> np.ndarray[Any, Any]:
    if array.dtype in _FLOATS:
        return array
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.dtype.kind == "c":
        raise InvalidType(f"{owner}: X holds complex numbers; real ones are needed.")
    for (i, j), value in np.ndenumerate(array):
        if not (is_missing(value) or isinstance(value, numbers.Real | np.bool_)):
            shown = value.item() if isinstance(value, np.generic) else value
            raise InvalidType(
                f"{owner}: {shown!r} in row {i}, column {_label(j, names)} is not a number. Use a "
                "kernel for such values on that column, or turn them into numbers."
            )
    numbers_only = [math.nan if is_missing(value) else value for value in array.ravel()]
    return np.array(numbers_only, dtype=np.float64).reshape(array.shape)


def is_missing(value: Parameter) -> bool:
    """Tell whether a value stands for a missing one: None, NaN, NaT, pandas' NA."""
    if value is None:
        return True
    differs = value != value
    return differs is not False and (not isinstance(differs, bool | np.bool_) or bool(differs))


def _check_finite(vectors: Vectors, owner: str) -> None:
    data = vectors.values.data if sparse.issparse(vectors.values) else vectors.values
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(data.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(data)
    if not bad.any():
        return
    if vectors.is_sparse:
        entries = vectors.values.tocoo()
        i, j = int(entries.row[bad][0]), int(entries.col[bad][0])
        value = data[bad][0]
    else:
        i, j = (int(part[0]) for part in np.nonzero(bad))
        value = data[i, j]
    what = "NaN (a missing value)" if math.isnan(value) else "an infinite value"
    raise InvalidInput(
        f"{owner}: Input X contains {'NaN' if math.isnan(value) else 'infinity'}: row {i}, column "
        f"{_label(j, vectors.names)} is {what}. Fill in or drop such rows first."
    )


def _check_nonnegative(vectors: Vectors, owner: str) -> None:
    data = vectors.values.data if vectors.is_sparse else vectors.values
    if not data.size or data.min() >= 0:
        return
    dense = vectors.values.tocoo() if vectors.is_sparse else None
    if dense is not None:
        first = int(np.flatnonzero(dense.data < 0)[0])
        i, j = int(dense.row[first]), int(dense.col[first])
    else:
        i, j = (int(part[0]) for part in np.nonzero(data < 0))
    raise InvalidInput(
        f"{owner}: row {i}, column {_label(j, vectors.names)} is negative; this kernel compares "
        "histograms and takes values ≥ 0 only. Shift or scale the data, or use another kernel."
    )


def _label(column: int, names: tuple[str, ...] | None) -> str:
    return str(column) if names is None else repr(names[column])


def _category_codes(
    column: np.ndarray[Any, Any], position: int, owner: str
) -> np.ndarray[Any, np.dtype[np.uint64]]:
    if column.dtype.kind in "iub":
        return _mix(column.astype(np.int64).view(np.uint64))
    if column.dtype.kind == "f":
        if np.isnan(column).any():
            raise InvalidInput(_missing_category(owner, int(np.isnan(column).argmax()), position))
        if np.all(column == np.rint(column)) and np.all(np.abs(column) < 2**62):
            return _mix(column.astype(np.int64).view(np.uint64))
        return np.array([_value_code(value.item()) for value in column], dtype=np.uint64)
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    known: dict[Any, int] = {}
    codes = np.empty(len(column), dtype=np.uint64)
    for i, value in enumerate(column.tolist()):
        if is_missing(value):
            raise InvalidInput(_missing_category(owner, i, position))
        try:
            code = known.get(value)
        except TypeError:
            raise InvalidType(
                f"{owner}: {value!r} in row {i}, column {position} is no category: categories are "
                "text, whole numbers, booleans or dates."
            ) from None
        if code is None:
            code = known[value] = _value_code(value)
        codes[i] = code
    return codes


def _missing_category(owner: str, row: int, column: int) -> str:
    return (
        f"{owner}: the category in row {row}, column {column} is missing. Fill it in (for example "
        "with a category of its own, 'unknown') or drop the row."
    )


def _value_code(value: Parameter) -> int:
    """Hash one value; 1, 1.0 and True are equal in Python and get equal codes."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, numbers.Real) and float(value).is_integer() and abs(float(value)) < 2**62:
        return int(_mix(np.array([int(cast(int, value))], dtype=np.int64).view(np.uint64))[0])
    text = f"number {float(value)!r}" if isinstance(value, numbers.Real) else f"text {value}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mix(codes: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Scramble 64-bit integers (the finaliser of splitmix64), one to one."""
    mixed = codes + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
