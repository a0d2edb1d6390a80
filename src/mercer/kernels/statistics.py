"""Statistics: the parameter-free functions of pairs that kernels are profiles of.

A kernel is a cheap elementwise function (its profile) of a few statistics: squared distances, dot
products, matches. Equal statistics are computed once for a block of pairs, and once altogether
when a grid of parameters runs over the same points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._typing import Array, Index, Matrix
from mercer.exceptions import InvalidInput, NumericalOverflow
from mercer.kernels.compressed_rows import CompressedRows
from mercer.kernels.encoders import Encoder, VectorEncoder
from mercer.kernels.parameters import inverse_power
from mercer.kernels.points import Points, Vectors
from mercer.kernels.tables.columns import ColumnEncoder

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


class Side(Protocol):
    """The rows or the columns of a Gram matrix, prepared for one statistic."""

    def take(self, index: Index) -> Any:
        """Return some of them."""
        ...


@dataclass(frozen=True)
class Statistic:
    """A symmetric function of two objects, without parameters that a user would tune."""

    encoder: Encoder

    def prepare(self, A: Points, B: Points) -> tuple[Side, Side]:
        """Return both sides in the form that ``compute`` wants; done once, not for each block."""
        return A[self.encoder], B[self.encoder]

    def compute(self, a: Any, b: Any, out: Array | None = None) -> Array:
        """Return the statistic of all pairs: in ``out`` if that helps, else in a new array."""
        raise NotImplementedError

    def diagonal(self, a: Any) -> Array:
        """Return the statistic of each object with itself."""
        raise NotImplementedError

    def cost(self, points: Points) -> float:
        """Return about how many multiplications one value takes; ∞ where nobody knows."""
        return math.inf

    def within(self, columns: tuple[Any, ...]) -> Statistic:
        """Return the same statistic on some columns of a table."""
        return replace(self, encoder=ColumnEncoder(self.encoder, columns))


@dataclass(frozen=True)
class VectorStatistic(Statistic):
    """A statistic of two vectors."""

    encoder: Encoder = VectorEncoder()
    pace: ClassVar[float] = 1 / 8
    """How fast a multiplication is, against one in a matrix product: about so in compiled loops."""

    def cost(self, points: Points) -> float:
        values = cast(Vectors, points[self.encoder]).values
        if sparse.issparse(values):
            # Most zeros cost nothing, but what is left is done in compiled loops.
            return float(values.nnz / max(1, values.shape[0]) / VectorStatistic.pace)
        return float(values.shape[1] / self.pace)

    def prepare(self, A: Points, B: Points) -> tuple[Vectors, Vectors]:
        a = cast(Vectors, A[self.encoder])
        if B is A:
            return self.prepare_vectors(a, a)
        b = cast(Vectors, B[self.encoder])
        check_dimensions(a, b)
        if a.values.dtype != b.values.dtype:
            common = np.result_type(a.values.dtype, b.values.dtype)
            a, b = a.astype(common), b.astype(common)
        return self.prepare_vectors(a, b)

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        """Return both sides, transformed together; one object where they are one."""
        return a, b


@dataclass(frozen=True)
class DotProduct(VectorStatistic):
    """⟨x, z⟩."""

    pace = 1.0

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        return products(a.values, b.values, out)

    def diagonal(self, a: Vectors) -> Array:
        return a.squared_norms.copy()


@dataclass(frozen=True)
class SquaredDistance(VectorStatistic):
    """‖x − z‖², after each coordinate was divided by its scale.

    With a period, or one for each coordinate, coordinates are bent to circles of radius 1 first:
    the distance of two points there is |2 sin(π(x − z)/p)|.
    """

    scales: tuple[float, ...] | None = None
    period: float | tuple[float, ...] | None = None
    pace = 1.0

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Any, Any]:
        left, right = _moved_to_origin(a, b)
        if self.scales is not None or self.period is not None:
            left, right = self._embed(left), self._embed(right)
        first: Any = Vectors(left)
        second: Any = first if b is a else Vectors(right)
        _check_norms(first, second)
        if first.is_sparse or second.is_sparse:
            first = CompressedRows.of(first)
            second = first if b is a else CompressedRows.of(second)
        return first, second

    def compute(self, a: Any, b: Any, out: Array | None = None) -> Array:
        if a.is_sparse:
            distances: Array = a.squared_distances(b, out)
            return distances
        result = products(a.values, b.values, out)
        near = 1e-3 if result.dtype == np.float32 else 1e-6
        _fast.pairwise.squared_distances(
            result, a.values, b.values, a.squared_norms, b.squared_norms, result.dtype.type(near)
        )
        return result

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a), dtype=a.dtype)

    def along(self, column: int) -> CoordinateDistance:
        """Return the part of one coordinate, without its scale."""
        period = self.period[column] if isinstance(self.period, tuple) else self.period
        return CoordinateDistance(self.encoder, column, 2, period)

    def as_product(self, factor: float) -> DistanceProduct:
        """Return factor · ‖x − z‖² as a statistic that is faster and a little less exact."""
        return DistanceProduct(self.encoder, self, factor)

    def _embed(self, values: Matrix) -> Any:
        if self.period is None:
            return values if self.scales is None else _divide_columns(values, self.scales)
        if isinstance(self.period, tuple):
            _check_entries("period", self.period, values)
        angles = _dense(values) * np.asarray(2 * np.pi / np.asarray(self.period), values.dtype)
        circles = [np.cos(angles), np.sin(angles)]
        if self.scales is not None:
            circles = [_divide_columns(side, self.scales) for side in circles]
        return np.hstack(circles)


@dataclass(frozen=True, eq=False)
class Factor:
    """One side of a matrix product."""

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def take(self, index: Index) -> Factor:
        return Factor(self.values[index])

    def astype(self, dtype: np.dtype[Any]) -> Factor:
        return Factor(self.values.astype(dtype, copy=False))

    def scaled_distances(self, other: Factor, factor: float, out: Array | None) -> Array:
        """Return c‖x − z‖² of all pairs; the factors hold c already."""
        return products(self.values, other.values, out)

    def factors(self, other: Factor) -> tuple[Array, Array] | None:
        """Return both sides of the matrix product."""
        return np.ascontiguousarray(self.values), np.ascontiguousarray(other.values.T)


@dataclass(frozen=True, eq=False)
class _FarRows:
    """Rows whose distances, as a matrix product, would lose too many digits."""

    vectors: Vectors | CompressedRows
    distance: SquaredDistance

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.vectors.dtype

    def take(self, index: Index) -> _FarRows:
        return _FarRows(self.vectors.take(index), self.distance)

    def astype(self, dtype: np.dtype[Any]) -> _FarRows:
        return _FarRows(self.vectors.astype(dtype), self.distance)

    def scaled_distances(self, other: _FarRows, factor: float, out: Array | None) -> Array:
        result = self.distance.compute(self.vectors, other.vectors, out)
        result *= result.dtype.type(factor)
        return result

    def factors(self, other: _FarRows) -> tuple[Array, Array] | None:
        return None


@dataclass(frozen=True)
class DistanceProduct(VectorStatistic):
    """c‖x − z‖² with c < 0 as one matrix product, for solvers.

    −γ‖x − z‖² = (√(2γ) x, −γ‖x‖², 1)·(√(2γ) z, 1, −γ‖z‖²) cancels where points are close. What that
    costs is bounded by γ‖x‖² times the precision: where it would matter, distances are computed
    as usual.
    """

    distance: SquaredDistance = SquaredDistance()
    factor: float = -1.0

    def prepare(self, A: Points, B: Points) -> tuple[Any, Any]:
        a, b = self.distance.prepare(A, B)
        c = -self.factor
        largest = c * max(float(side.squared_norms.max()) for side in (a, b))
        if a.is_sparse or largest > _HARMLESS:
            left = _FarRows(a, self.distance)
            return left, left if b is a else _FarRows(b, self.distance)
        rows, columns = (np.empty((len(side), side.dimension + 2)) for side in (a, b))
        # Written where they stay: new memory is what this costs.
        for side, out, norm, one in ((a, rows, -2, -1), (b, columns, -1, -2)):
            np.multiply(side.values, np.sqrt(2 * c), out=out[:, :-2])
            np.multiply(side.squared_norms, -c, out=out[:, norm])
            out[:, one] = 1.0
        return Factor(rows), Factor(columns)

    def compute(self, a: Factor | _FarRows, b: Any, out: Array | None = None) -> Array:
        return a.scaled_distances(b, self.factor, out)

    def factors(self, a: Factor | _FarRows, b: Any) -> tuple[Array, Array] | None:
        """Return both sides of the matrix product, None where distances are computed as usual."""
        return a.factors(b)

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a), dtype=a.dtype)

    def within(self, columns: tuple[Any, ...]) -> DistanceProduct:
        inner = cast(SquaredDistance, self.distance.within(columns))
        return DistanceProduct(inner.encoder, inner, self.factor)


@dataclass(frozen=True)
class CoordinateSum(VectorStatistic):
    """Σⱼ f(xⱼ, zⱼ) over the coordinates; ``variant`` names f in the compiled code."""

    variant: int = 0
    scales: tuple[float, ...] | None = None

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        if self.variant != _ABSOLUTE:
            return a, b
        sides = _moved_to_origin(a, b)
        if self.scales is not None:
            sides = tuple(_divide_columns(side, self.scales) for side in sides)
        left = Vectors(sides[0])
        return left, left if b is a else Vectors(sides[1])

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        result = np.zeros((len(a), len(b)), dtype=a.dtype)
        for columns in _column_chunks(a, b):
            left = np.ascontiguousarray(_dense(a.values[:, columns]))
            right = np.ascontiguousarray(_dense(b.values[:, columns]).T)
            _fast.pairwise.coordinate_sums(left, right, self.variant, result)
        return result

    def diagonal(self, a: Vectors) -> Array:
        if self.variant == _MINIMUM:
            return np.asarray(a.values.sum(axis=1), dtype=a.dtype).ravel()
        return np.zeros(len(a), dtype=a.dtype)

    def along(self, column: int) -> CoordinateDistance:
        """Return the part of one coordinate."""
        return CoordinateDistance(self.encoder, column, 1)


@dataclass(frozen=True)
class CoordinateDistance(VectorStatistic):
    """|xⱼ − zⱼ|ᵖ of one coordinate, or |2 sin(π(xⱼ − zⱼ)/period)|ᵖ on a circle."""

    column: int = 0
    power: int = 2
    period: float | None = None

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        left = Vectors(_dense(a.values[:, [self.column]]))
        return left, left if b is a else Vectors(_dense(b.values[:, [self.column]]))

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        difference: Array = a.values - b.values[:, 0]
        if self.period is not None:
            difference *= difference.dtype.type(np.pi / self.period)
            difference = 2 * np.sin(difference, out=difference)
        if self.power == 2:
            return np.multiply(difference, difference, out=difference)
        np.abs(difference, out=difference)
        return difference if self.power == 1 else difference**self.power

    def diagonal(self, a: Vectors) -> Array:
        return np.zeros(len(a), dtype=a.dtype)


@dataclass(frozen=True)
class PeriodSlope(VectorStatistic):
    """Σⱼ θⱼ sin θⱼ/ℓⱼ², θⱼ = 2π(xⱼ − zⱼ)/p, over all coordinates or of one ``column`` alone."""

    period: float = 1.0
    scales: tuple[float, ...] | None = None
    column: int | None = None

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        left, right = a.dense(), b.dense()
        result = np.zeros((len(a), len(b)), dtype=a.dtype)
        for j in range(a.dimension) if self.column is None else [self.column]:
            angle = (left[:, j, None] - right[:, j]) * a.dtype.type(2 * np.pi / self.period)
            slope = angle * np.sin(angle)
            if self.scales is not None:
                slope *= a.dtype.type(inverse_power("Periodic", self.scales[j], 2))
            result += slope
        return result

    def diagonal(self, a: Vectors) -> Array:
        return np.zeros(len(a), dtype=a.dtype)


@dataclass(frozen=True)
class Compared(Statistic):
    """The values of a kernel that compares leaves by a method of its own."""

    kernel: Kernel

    def prepare(self, A: Points, B: Points) -> tuple[Side, Side]:
        return self.kernel.prepare(A[self.encoder], B[self.encoder])

    def compute(self, a: Any, b: Any, out: Array | None = None) -> Array:
        return self.kernel.compare(a, b)

    def diagonal(self, a: Any) -> Array:
        return self.kernel.compare_self(a)


_ABSOLUTE, _MINIMUM = 0, 1
_CHUNK_BYTES = 1 << 24
"""Columns of sparse rows are made dense 16 MiB at a time."""
_HARMLESS = 16.0
"""Up to this γ‖x‖² a float32 product is off by 4e-6 in the exponent at most."""


def check_dimensions(a: Vectors, b: Vectors) -> None:
    """Refuse to compare vectors of different lengths."""
    if a.values.shape[1] != b.values.shape[1]:
        raise InvalidInput(
            f"X has {a.dimension} columns and Y has {b.dimension}: vectors can be compared only "
            "when they have the same number of columns."
        )


def products(a: Any, b: Any, out: Array | None = None) -> Array:
    """Return the dot products of all rows of ``a`` and ``b`` as a dense array."""
    if sparse.issparse(a) and sparse.issparse(b):
        return CompressedRows.of(Vectors(a)).products(CompressedRows.of(Vectors(b)))
    if sparse.issparse(a) or sparse.issparse(b):
        return np.ascontiguousarray(_dense(a @ b.T))
    fits = out is not None and out.dtype == np.result_type(a, b)
    result: Array = np.matmul(a, b.T, out=out if fits else None)
    return result


def _check_norms(*sides: Vectors) -> None:
    for side in sides:
        with np.errstate(over="ignore"):
            norms = side.squared_norms
        if not np.isfinite(norms).all():
            row = int(np.flatnonzero(~np.isfinite(norms))[0])
            raise NumericalOverflow(
                f"The squared norm of row {row} is too large for {side.dtype}. Scale the data."
            )


def _dense(matrix: Matrix) -> Array:
    dense: Array = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def _moved_to_origin(a: Vectors, b: Vectors) -> tuple[Any, ...]:
    """Return the values of both sides, moved together; differences keep more digits that way.

    Moving comes before anything that rounds, such as scaling. Sparse sides stay: they would fill.
    """
    if sparse.issparse(a.values) or sparse.issparse(b.values):
        return a.values, b.values
    total = b.values.sum(axis=0, dtype=np.float64)
    origin = (total / max(1, len(b.values))).astype(b.values.dtype)
    left = a.values - origin
    return left, left if b is a else b.values - origin


def _divide_columns(values: Matrix, scales: tuple[float, ...]) -> Any:
    _check_entries("length_scale", scales, values)
    inverse = (1 / np.asarray(scales)).astype(values.dtype)
    return values @ sparse.diags_array(inverse) if sparse.issparse(values) else values * inverse


def _check_entries(name: str, entries: tuple[float, ...], values: Matrix) -> None:
    if len(entries) != values.shape[1]:
        raise InvalidInput(
            f"{name} has {len(entries)} entries and X has {values.shape[1]} columns: give one "
            f"{name.replace('_', ' ')}, or one for each column."
        )


def _column_chunks(a: Vectors, b: Vectors) -> list[slice]:
    """Cut the coordinates so that the dense copies of sparse sides stay small."""
    d = a.dimension
    if not (a.is_sparse or b.is_sparse):
        return [slice(0, d)]
    width = max(1, _CHUNK_BYTES // (a.dtype.itemsize * max(len(a), len(b))))
    return [slice(start, min(start + width, d)) for start in range(0, d, width)]
