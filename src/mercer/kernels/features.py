"""Features: the rows φ(x) of a finite feature map, with a name for every coordinate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Array, Dtype, Index, Matrix

Keys = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, eq=False)
class Features:
    """A matrix φ(X), dense or CSR, whose columns are named by 64-bit keys.

    The keys make two batches comparable even when each holds only the coordinates it has seen:
    ``phi @ psi.T`` matches columns by key. Inside one batch it is the plain product.

    Attributes
    ----------
    values : array or CSR matrix of shape (n, m)
        φ(X).
    keys : array of shape (m,)
        The names of the columns.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> k = Spectrum(k=1)
    >>> phi, psi = k.features(["AAC"]), k.features(["CG"])
    >>> phi.values.shape, psi.values.shape  # letters A and C, and C and G
    ((1, 2), (1, 2))
    >>> phi @ psi.T  # they meet in C
    array([[1.]])
    """

    values: Any
    keys: Keys

    @classmethod
    def numbered(cls, values: Matrix) -> Features:
        """Name the columns 0, 1, 2 …: every batch has all of them."""
        return cls(values, np.arange(values.shape[1], dtype=np.uint64))

    @classmethod
    def hashed(cls, codes: Keys, weight: float) -> Features:
        """Make one-hot rows: ``weight`` at the coordinates that ``codes`` (n × c) name."""
        keys, at = np.unique(codes, return_inverse=True)
        n, c = codes.shape
        values = sparse.csr_array(
            (np.full(n * c, weight), at.reshape(-1), np.arange(0, n * c + 1, c)),
            shape=(n, len(keys)),
        )
        return cls(values, keys)

    @classmethod
    def concatenate(cls, left: Features, right: Features) -> Features:
        """Return (φ₁(x), φ₂(x)), the map of k₁ + k₂."""
        keys = np.concatenate([_tagged(left.keys, 1), _tagged(right.keys, 2)])
        if left.is_sparse or right.is_sparse:
            parts = [sparse.csr_array(part.values) for part in (left, right)]
            return cls(sparse.csr_array(sparse.hstack(parts)), keys)
        return cls(np.hstack([left.values, right.values]), keys)

    @classmethod
    def outer(cls, left: Features, right: Features) -> Features:
        """Return φ₁(x) ⊗ φ₂(x), the map of k₁ · k₂."""
        keys = combine_codes(left.keys[:, None], right.keys[None, :]).ravel()
        if left.is_sparse or right.is_sparse:
            return cls(_row_products(left.values, right.values), keys)
        values = left.values[:, :, None] * right.values[:, None, :]
        return cls(values.reshape(len(left), -1), keys)

    @classmethod
    def shared(cls, pieces: Features, cover: Any) -> Features:
        """Return which part of each coordinate each place makes: columns that add up to 1.

        ``pieces`` counts what occurs in each piece of an object, and ``cover`` (places × pieces)
        says how a piece is divided among places.
        """
        counts = sparse.csr_array(pieces.values)
        totals = np.asarray(counts.sum(axis=0)).ravel()
        inverse = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
        placed = sparse.csr_array(cover) @ counts @ sparse.diags_array(inverse)
        return cls(sparse.csr_array(placed), pieces.keys)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = np.dtype(self.values.dtype)
        return dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a CSR matrix."""
        return bool(sparse.issparse(self.values))

    @property
    def T(self) -> _Transposed:
        """The transposed matrix, to stand right of ``@``."""
        return _Transposed(self)

    def __matmul__(self, other: Any) -> Any:
        """Return φ(X) w, or with ``psi.T`` all inner products φ(x)·ψ(z)."""
        if isinstance(other, _Transposed):
            result = self.values @ other.features.aligned(self.keys).values.T
            return result.toarray() if sparse.issparse(result) else np.asarray(result)
        return self.values @ other

    def __array__(
        self, dtype: Dtype | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        dense = self.toarray()
        return dense if dtype is None else dense.astype(dtype)

    def toarray(self) -> Array:
        """Return the rows as a dense array."""
        dense: Array = self.values.toarray() if self.is_sparse else self.values
        return dense

    def take(self, index: Index) -> Features:
        """Return some rows."""
        return replace(self, values=self.values[index])

    def scaled(self, factor: float) -> Features:
        """Return all rows times a number."""
        return replace(self, values=self.values * self.dtype.type(factor))

    def normalized(self) -> Features:
        """Return rows of norm 1; rows of zeros stay."""
        values = self.values
        squares = values.multiply(values) if self.is_sparse else values**2
        norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
        if self.is_sparse:
            return replace(self, values=sparse.csr_array(sparse.diags_array(inverse) @ values))
        return replace(self, values=values * inverse[:, None])

    def aligned(self, keys: Keys) -> Features:
        """Return the rows over the coordinates ``keys``; what has no place there is dropped."""
        if keys is self.keys or np.array_equal(keys, self.keys):
            return self
        order = np.argsort(keys)
        at = np.searchsorted(keys, self.keys, sorter=order)
        # What comes after the last key has no place; without keys nothing has one.
        known = np.flatnonzero(at < len(keys))
        at[known] = order[at[known]]
        known = known[keys[at[known]] == self.keys[known]]
        move = sparse.csr_array(
            (np.ones(len(known), dtype=self.dtype), (known, at[known])),
            shape=(len(self.keys), len(keys)),
        )
        return Features(self.values @ move, keys)


@dataclass(frozen=True, eq=False)
class _Transposed:
    features: Features

    @property
    def shape(self) -> tuple[int, int]:
        return self.features.shape[::-1]

    @property
    def T(self) -> Features:
        return self.features

    def __array__(
        self, dtype: Dtype | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        return self.features.__array__(dtype).T


def combine_codes(first: Keys, second: Keys) -> Keys:
    """Hash two 64-bit codes into one; the order matters."""
    mixed = (first ^ (first >> np.uint64(32))) * np.uint64(0x9FB21C651E98DF25)
    mixed = mixed + second + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _tagged(keys: Keys, tag: int) -> Keys:
    return combine_codes(np.full_like(keys, tag), keys)


def _row_products(left: Any, right: Any) -> Any:
    """Return the row-wise Kronecker product of two sparse matrices."""
    left, right = sparse.csr_array(left), sparse.csr_array(right)
    width = right.shape[1]
    a_counts, b_counts = np.diff(left.indptr), np.diff(right.indptr)
    counts = a_counts * b_counts
    indptr = np.concatenate([[0], np.cumsum(counts)])
    row = np.repeat(np.arange(left.shape[0]), counts)
    within = np.arange(indptr[-1]) - indptr[row]
    a = left.indptr[row] + within // b_counts[row]
    b = right.indptr[row] + within % b_counts[row]
    columns = left.indices[a].astype(np.int64) * width + right.indices[b]
    return sparse.csr_array(
        (left.data[a] * right.data[b], columns, indptr),
        shape=(left.shape[0], left.shape[1] * width),
    )
