"""Statistics: the parameter-free functions of pairs that kernels are profiles of.

A kernel is a cheap elementwise function (its profile) of a few statistics: squared distances, dot
products, matches. Equal statistics are computed once for a block of pairs, and once altogether
when a grid of parameters runs over the same points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._typing import Array, Index
from mercer.exceptions import InvalidInput, NumericalOverflow
from mercer.kernels.columns import ColumnEncoder
from mercer.kernels.encoders import CategoryEncoder, Encoder, VectorEncoder
from mercer.kernels.points import Categories, Objects, Points, Vectors

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

    def within(self, columns: tuple[Any, ...]) -> Statistic:
        """Return the same statistic on some columns of a table."""
        return replace(self, encoder=ColumnEncoder(self.encoder, columns))


@dataclass(frozen=True)
class VectorStatistic(Statistic):
    """A statistic of two vectors."""

    encoder: Encoder = VectorEncoder()

    def prepare(self, A: Points, B: Points) -> tuple[Vectors, Vectors]:
        a, b = cast(Vectors, A[self.encoder]), cast(Vectors, B[self.encoder])
        check_dimensions(a, b)
        if a.dtype != b.dtype:
            common = np.result_type(a.dtype, b.dtype)
            a, b = (Vectors(side.values.astype(common, copy=False)) for side in (a, b))
        return self.prepare_vectors(a, a if B is A else b)

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        """Return both sides, transformed together; one object where they are one."""
        return a, b


@dataclass(frozen=True)
class DotProduct(VectorStatistic):
    """⟨x, z⟩."""

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        return products(a.values, b.values, out)

    def diagonal(self, a: Vectors) -> Array:
        return a.squared_norms.copy()


@dataclass(frozen=True)
class SquaredDistance(VectorStatistic):
    """‖x − z‖², after each coordinate was divided by its scale, or bent to a circle."""

    scales: tuple[float, ...] | None = None
    period: float | None = None

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        left, right = _moved_to_origin(a, b)
        sides = (Vectors(self._embed(left)), Vectors(self._embed(right)))
        if sides[0].is_sparse or sides[1].is_sparse:
            left, right = (sparse.csr_array(side.values) for side in sides)
            sides = Vectors(left), Vectors(right)
        if b is a:
            sides = sides[0], sides[0]
        for side in sides:
            _check_norms(side)
        return sides

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        result = products(a.values, b.values, out)
        near = 1e-3 if result.dtype == np.float32 else 1e-6
        if a.is_sparse:
            result *= -2
            result += a.squared_norms[:, None]
            result += b.squared_norms
            _recompute_close(result, a, b, near)
            return result
        _fast.pairwise.squared_distances(
            result, a.values, b.values, a.squared_norms, b.squared_norms, result.dtype.type(near)
        )
        return result

    def diagonal(self, a: Vectors) -> Array:
        return np.zeros(len(a), dtype=a.dtype)

    def along(self, column: int) -> CoordinateDistance:
        """Return the part of one coordinate."""
        return CoordinateDistance(self.encoder, column, 2)

    def as_product(self, factor: float) -> DistanceProduct:
        """Return factor · ‖x − z‖² as a statistic that is faster and a little less exact."""
        return DistanceProduct(self.encoder, self, factor)

    def _embed(self, values: Any) -> Any:
        if self.scales is not None:
            values = _divide_columns(values, self.scales)
        if self.period is not None:
            angles = _dense(values) * values.dtype.type(2 * np.pi / self.period)
            values = np.hstack([np.cos(angles), np.sin(angles)])
        return values


@dataclass(frozen=True, eq=False)
class Factor:
    """One side of a matrix product."""

    values: Array

    def take(self, index: Index) -> Factor:
        return Factor(self.values[index])

    def astype(self, dtype: np.dtype[Any]) -> Factor:
        return Factor(self.values.astype(dtype, copy=False))


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
        if a.is_sparse:
            return a, b
        c = -self.factor
        largest = c * max(float(side.squared_norms.max()) for side in (a, b))
        if largest > _HARMLESS:
            return a, b
        root, ones = np.sqrt(2 * c), (np.ones((len(side), 1)) for side in (a, b))
        left = np.hstack([root * a.values, -c * a.squared_norms[:, None], next(ones)])
        right = np.hstack([root * b.values, next(ones), -c * b.squared_norms[:, None]])
        return Factor(left), Factor(right)

    def compute(self, a: Any, b: Any, out: Array | None = None) -> Array:
        if isinstance(a, Factor):
            return products(a.values, b.values, out)
        result = self.distance.compute(a, b, out)
        result *= result.dtype.type(self.factor)
        return result

    def factors(self, a: Any, b: Any) -> tuple[Array, Array] | None:
        """Return both sides of the matrix product, None where distances are computed as usual."""
        if not isinstance(a, Factor):
            return None
        return np.ascontiguousarray(a.values), np.ascontiguousarray(b.values.T)

    def diagonal(self, a: Any) -> Array:
        return np.zeros(len(a.values), dtype=a.values.dtype)

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
    """|xⱼ − zⱼ|ᵖ of one coordinate."""

    column: int = 0
    power: int = 2

    def prepare_vectors(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        left = Vectors(_dense(a.values[:, [self.column]]))
        return left, left if b is a else Vectors(_dense(b.values[:, [self.column]]))

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        difference: Array = a.values - b.values[:, 0]
        if self.power == 2:
            return np.multiply(difference, difference, out=difference)
        np.abs(difference, out=difference)
        return difference if self.power == 1 else difference**self.power

    def diagonal(self, a: Vectors) -> Array:
        return np.zeros(len(a), dtype=a.dtype)


@dataclass(frozen=True)
class PeriodSlope(VectorStatistic):
    """Σⱼ θⱼ sin θⱼ with θⱼ = 2π(xⱼ − zⱼ)/p: how distances on circles change with the period p."""

    period: float = 1.0

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        left, right = a.dense(), b.dense()
        result = np.zeros((len(a), len(b)), dtype=a.dtype)
        for j in range(a.dimension):
            angle = (left[:, j, None] - right[:, j]) * a.dtype.type(2 * np.pi / self.period)
            result += angle * np.sin(angle)
        return result

    def diagonal(self, a: Vectors) -> Array:
        return np.zeros(len(a), dtype=a.dtype)


@dataclass(frozen=True)
class Matches(Statistic):
    """The share of columns in which two rows of categories are equal."""

    encoder: Encoder = CategoryEncoder()

    def prepare(self, A: Points, B: Points) -> tuple[Categories, Categories]:
        a, b = cast(Categories, A[self.encoder]), cast(Categories, B[self.encoder])
        if a.codes.shape[1] != b.codes.shape[1]:
            raise InvalidInput(
                f"X has {a.codes.shape[1]} columns of categories and Y has {b.codes.shape[1]}."
            )
        return a, b

    def compute(self, a: Categories, b: Categories, out: Array | None = None) -> Array:
        result = np.zeros((len(a), len(b)))
        _fast.pairwise.count_matches(a.codes, np.ascontiguousarray(b.codes.T), result)
        result /= a.codes.shape[1]
        return result

    def diagonal(self, a: Categories) -> Array:
        return np.ones(len(a))


@dataclass(frozen=True)
class SameObject(Statistic):
    """1 where both are the very same object of one batch, 0 elsewhere."""

    encoder: Encoder = Encoder()

    def prepare(self, A: Points, B: Points) -> tuple[Objects, Objects]:
        return Objects(A.ids), Objects(B.ids)

    def compute(self, a: Objects, b: Objects, out: Array | None = None) -> Array:
        return np.asarray(a.items[:, None] == b.items, dtype=np.float32)

    def diagonal(self, a: Objects) -> Array:
        return np.ones(len(a), dtype=np.float32)

    def within(self, columns: tuple[Any, ...]) -> SameObject:
        return self


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
_HARMLESS = 16.0
"""Up to this γ‖x‖² a float32 product is off by 4e-6 in the exponent at most."""
_CLOSE_PAIRS = 4096


def check_dimensions(a: Vectors, b: Vectors) -> None:
    """Refuse to compare vectors of different lengths."""
    if a.dimension != b.dimension:
        raise InvalidInput(
            f"X has {a.dimension} columns and Y has {b.dimension}: vectors can be compared only "
            "when they have the same number of columns."
        )


def products(a: Any, b: Any, out: Array | None = None) -> Array:
    """Return the dot products of all rows of ``a`` and ``b`` as a dense array."""
    if sparse.issparse(a) or sparse.issparse(b):
        return np.ascontiguousarray(_dense(a @ b.T))
    fits = out is not None and out.dtype == np.result_type(a, b)
    result: Array = np.matmul(a, b.T, out=out if fits else None)
    return result


def _check_norms(side: Vectors) -> None:
    with np.errstate(over="ignore"):
        norms = side.squared_norms
    if not np.isfinite(norms).all():
        row = int(np.flatnonzero(~np.isfinite(norms))[0])
        raise NumericalOverflow(
            f"The squared norm of row {row} is too large for {side.dtype}. Scale the data."
        )


def _dense(matrix: Any) -> Array:
    dense: Array = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def _moved_to_origin(a: Vectors, b: Vectors) -> tuple[Any, ...]:
    """Return the values of both sides, moved together; differences keep more digits that way.

    Moving comes before anything that rounds, such as scaling. Sparse sides stay: they would fill.
    """
    if a.is_sparse or b.is_sparse:
        return a.values, b.values
    total = b.values.sum(axis=0, dtype=np.float64)
    origin = (total / max(1, len(b))).astype(b.dtype)
    left = a.values - origin
    return left, left if b is a else b.values - origin


def _recompute_close(squared: Array, a: Vectors, b: Vectors, near: float) -> None:
    """Compute small squared distances of sparse rows again, from the differences."""
    rows, columns = np.nonzero(squared < near * (a.squared_norms[:, None] + b.squared_norms))
    for start in range(0, len(rows), _CLOSE_PAIRS):
        part = slice(start, start + _CLOSE_PAIRS)
        difference = a.values[rows[part]] - b.values[columns[part]]
        squared[rows[part], columns[part]] = Vectors(difference).squared_norms


def _divide_columns(values: Any, scales: tuple[float, ...]) -> Any:
    if len(scales) != values.shape[1]:
        raise InvalidInput(
            f"length_scale has {len(scales)} entries and X has {values.shape[1]} columns: give one "
            "length scale, or one for each column."
        )
    inverse = (1 / np.asarray(scales)).astype(values.dtype)
    return values @ sparse.diags_array(inverse) if sparse.issparse(values) else values * inverse


def _column_chunks(a: Vectors, b: Vectors) -> list[slice]:
    """Cut the coordinates so that the dense copies of sparse sides stay small."""
    d = a.dimension
    if not (a.is_sparse or b.is_sparse):
        return [slice(0, d)]
    width = max(1, _CHUNK_BYTES // (a.dtype.itemsize * max(len(a), len(b))))
    return [slice(start, min(start + width, d)) for start in range(0, d, width)]
