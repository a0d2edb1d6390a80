"""Points: the compact, validated form of a batch of objects, and the leaves they consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from secrets import randbits
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeGuard

import numpy as np
from scipy import sparse

from mercer._files.fields import CSR, NONE, A, ListOf, Numbers, OneOf, State, WrongState
from mercer._typing import Array, Index
from mercer.exceptions import InvalidInput

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.kernels.encoders import Encoder


class Leaf(Protocol):
    """One encoded part of a batch of objects."""

    def __len__(self) -> int: ...

    def take(self, index: Index) -> Self:
        """Return the objects of ``index``."""
        ...

    def join(self, other: Self) -> Self:
        """Return the objects of both, one after the other."""
        ...


@dataclass(frozen=True, eq=False)
class Vectors:
    """Rows of numbers, dense (C-contiguous) or CSR, with their squared norms.

    Attributes
    ----------
    values : array or CSR matrix of shape (n, d)
        The rows.
    names : tuple of str, optional
        The names of the columns.

    Examples
    --------
    >>> from mercer import RBF
    >>> [leaf] = RBF(gamma=1.0).encode([[3.0, 4.0], [0.0, 1.0]]).leaves.values()
    >>> leaf.values, leaf.squared_norms
    (array([[3., 4.],
           [0., 1.]]), array([25.,  1.]))
    """

    values: Any
    names: tuple[str, ...] | None = None

    STATE: ClassVar[State] = {
        "values": OneOf(Numbers("n", "d"), CSR),
        "names": OneOf(NONE, ListOf(A((str, int)), tuple)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where types, columns and names do not fit."""
        if self.numbers.dtype not in (np.float32, np.float64) or not self.dimension:
            raise WrongState("its numbers are neither float32 nor float64, or it has no columns")
        if self.names is not None and len(self.names) != self.dimension:
            raise WrongState("it has not one name for each column")

    @property
    def numbers(self) -> Array:
        """All numbers, or those that are not zero where the rows are sparse."""
        found: Array = self.values.data if self.is_sparse else self.values
        return found

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimension(self) -> int:
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.values))

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.values.dtype)
        return dtype

    @cached_property
    def squared_norms(self) -> Array:
        if sparse.issparse(self.values):
            return _sparse_norms(self.values)
        norms: Array = np.einsum("ij,ij->i", self.values, self.values)
        return norms

    def column(self, j: int) -> Vectors:
        """Return one column, in float64."""
        values: Any = self.values[:, [j]]
        dense = values.toarray() if self.is_sparse else values
        return Vectors(np.ascontiguousarray(dense, dtype=np.float64))

    def take(self, index: Index) -> Vectors:
        """Return some rows; squared norms that are known come along."""
        part = Vectors(self.values[index], self.names)
        if "squared_norms" in self.__dict__:
            part.__dict__["squared_norms"] = self.squared_norms[index]
        return part

    def join(self, other: Vectors) -> Vectors:
        """Return the rows of both."""
        if self.dimension != other.dimension:
            raise InvalidInput(
                f"Vectors of {self.dimension} columns cannot be joined with vectors of "
                f"{other.dimension}."
            )
        if self.is_sparse or other.is_sparse:
            both = [sparse.csr_array(side.values) for side in (self, other)]
            return Vectors(sparse.csr_array(sparse.vstack(both)), self.names)
        return Vectors(np.concatenate([self.values, other.values]), self.names)

    def astype(self, dtype: np.dtype[Any]) -> Vectors:
        """Return the rows in another type; squared norms that are known are not computed anew."""
        if dtype == self.values.dtype:
            return self
        part = Vectors(self.values.astype(dtype), self.names)
        if "squared_norms" in self.__dict__:
            part.__dict__["squared_norms"] = self.squared_norms.astype(dtype)
        return part

    def dense(self) -> Array:
        """Return the rows as a dense array."""
        values: Array = self.values.toarray() if self.is_sparse else self.values
        return values


def _sparse_norms(values: Any) -> Array:
    """Return the squared norms of sparse rows; entries of one place are added up first."""
    csr = sparse.csr_array(values)
    if not csr.has_canonical_format:
        return np.asarray(csr.multiply(csr).sum(axis=1)).ravel()
    counts = np.diff(csr.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    return np.bincount(rows, csr.data**2, len(counts)).astype(csr.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Categories:
    """Rows of categories, each a 64-bit code that depends on the value alone.

    Attributes
    ----------
    codes : array of shape (n, d)
        The codes.

    Examples
    --------
    >>> from mercer import Delta
    >>> [leaf] = Delta().encode([["red"], ["blue"], ["red"]]).leaves.values()
    >>> bool(leaf.codes[0] == leaf.codes[2])
    True
    """

    codes: np.ndarray[Any, np.dtype[np.uint64]]

    STATE: ClassVar[State] = {"codes": Numbers("n", "d", types="u")}

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there are codes of 64 bits."""
        if self.codes.dtype != np.uint64 or not self.codes.shape[1]:
            raise WrongState("its codes have not 64 bits, or it has no columns")

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def dimension(self) -> int:
        """How many columns there are."""
        return int(self.codes.shape[1])

    def column(self, j: int) -> Categories:
        """Return one column."""
        return Categories(np.ascontiguousarray(self.codes[:, [j]]))

    def take(self, index: Index) -> Categories:
        """Return some rows."""
        return Categories(self.codes[index])

    def join(self, other: Categories) -> Categories:
        """Return the rows of both."""
        return Categories(np.concatenate([self.codes, other.codes]))


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects kept as they came, for kernels that are plain Python functions.

    Attributes
    ----------
    items : array of objects, of shape (n,)
        The objects.

    Examples
    --------
    >>> from mercer import FunctionKernel
    >>> k = FunctionKernel(lambda x, z: len(x & z))
    >>> [leaf] = k.encode([{1, 2}, {2, 3}]).leaves.values()
    >>> leaf.items
    array([{1, 2}, {2, 3}], dtype=object)
    """

    items: np.ndarray[Any, Any]

    STATE: ClassVar[State] = {"items": Numbers("n", types="i")}
    """Row numbers, that is: other objects are not stored."""

    def __len__(self) -> int:
        return len(self.items)

    def take(self, index: Index) -> Objects:
        """Return some objects."""
        return Objects(self.items[index])

    def join(self, other: Objects) -> Objects:
        """Return the objects of both."""
        return Objects(np.concatenate([self.items, other.items]))


def is_points(value: object) -> TypeGuard[Points]:
    """Tell points from data that are not encoded yet."""
    return isinstance(value, Points)


@dataclass(frozen=True, eq=False)
class Points:
    """A batch of encoded objects: one leaf for each distinct way in which kernels look at them.

    ``ids`` say which objects these are: two points are the *same* object, and not only equal ones,
    when their ids agree. White noise asks for that.
    """

    leaves: Mapping[Encoder, Leaf]
    ids: np.ndarray[Any, np.dtype[np.int64]]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, leaves: Mapping[Encoder, Leaf], count: int, dtype: np.dtype[Any]) -> Points:
        """Make points of a new batch, with ids that no other batch has."""
        return cls(leaves, np.arange(count, dtype=np.int64) + randbits(62), dtype)

    def __len__(self) -> int:
        return len(self.ids)

    def __getstate__(self) -> dict[str, Any]:
        # Formats other than pickle, such as skops, take no dictionaries with keys like encoders.
        return {
            "encoders": list(self.leaves),
            "leaves": list(self.leaves.values()),
            "ids": self.ids,
            "dtype": self.dtype.str,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        leaves = dict(zip(state["encoders"], state["leaves"], strict=True))
        self.__dict__.update(leaves=leaves, ids=state["ids"], dtype=np.dtype(state["dtype"]))

    @property
    def rows(self) -> Array | None:
        """The points as a dense matrix of float64, where they are that and nothing else."""
        if len(self.leaves) != 1:
            return None
        (leaf,) = self.leaves.values()
        values = getattr(leaf, "values", None)
        return values if type(values) is np.ndarray and values.dtype == np.float64 else None

    def __getitem__(self, encoder: Encoder) -> Leaf:
        try:
            return self.leaves[encoder]
        except KeyError:
            raise InvalidInput(
                f"These points were encoded for another kernel: they have no leaf {encoder}. "
                "Encode the data with this kernel."
            ) from None

    def take(self, index: Index) -> Points:
        """Return some of the points; they stay the same objects."""
        leaves = {encoder: leaf.take(index) for encoder, leaf in self.leaves.items()}
        return replace(self, leaves=leaves, ids=self.ids[index])

    def column(self, encoder: Encoder, j: int) -> Points:
        """Return the points as rows of one column of a leaf."""
        leaf: Any = self[encoder]
        return replace(self, leaves={encoder: leaf.column(j)}, dtype=np.dtype(np.float64))

    def join(self, other: Points) -> Points:
        """Return the points of both, one after the other."""
        leaves = {encoder: leaf.join(other[encoder]) for encoder, leaf in self.leaves.items()}
        dtype = np.result_type(self.dtype, other.dtype)
        return Points(leaves, np.concatenate([self.ids, other.ids]), dtype)

    def check_encoded_for(self, kernel: Kernel) -> None:
        """Raise :class:`WrongState` unless these points were encoded for a kernel."""
        if set(self.leaves) != set(kernel.encoders()):
            raise WrongState(f"its points were not encoded for its kernel {str(kernel)[:80]}")

    def within(self, columns: tuple[Any, ...]) -> Points:
        """Return the points as a kernel sees them that lives on some columns of a table."""
        inner = {
            encoder.inner: leaf
            for encoder, leaf in self.leaves.items()
            if encoder.columns == columns and encoder.inner is not None
        }
        return replace(self, leaves=inner)
