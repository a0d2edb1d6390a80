"""Rows of a sparse matrix, of which some are taken again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._typing import Array, Index
from mercer.kernels.points import Vectors

_NEAR = {4: 1e-3, 8: 1e-6}
"""Squared distances below this share of ‖x‖² + ‖z‖² have lost half of their digits, by the bytes of
a number."""


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """Rows with their entries between ``begins`` and ``ends``: to take some copies no entry.

    Attributes
    ----------
    begins, ends : array of shape (n,)
    indices, data : array
        The columns and the values of all entries.
    dimension : int
        The number of columns.
    squared_norms : array of shape (n,)
    """

    begins: Any
    ends: Any
    indices: Any
    data: Array
    dimension: int
    squared_norms: Array

    is_sparse: ClassVar[bool] = True

    @classmethod
    def of(cls, rows: Vectors) -> CompressedRows:
        """Return sparse rows in this form."""
        csr = sparse.csr_array(rows.values)
        begins, ends = csr.indptr[:-1], csr.indptr[1:]
        return cls(begins, ends, csr.indices, csr.data, rows.dimension, rows.squared_norms)

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the values."""
        return self.data.dtype

    def take(self, index: Index) -> CompressedRows:
        """Return some rows."""
        return replace(
            self,
            begins=self.begins[index],
            ends=self.ends[index],
            squared_norms=self.squared_norms[index],
        )

    def astype(self, dtype: np.dtype[Any]) -> CompressedRows:
        """Return the rows in another precision."""
        norms = self.squared_norms.astype(dtype, copy=False)
        return replace(self, data=self.data.astype(dtype, copy=False), squared_norms=norms)

    def products(self, other: CompressedRows, out: Array | None = None) -> Array:
        """Return the inner products of all pairs of rows, in ``out`` where that fits."""
        dtype = np.result_type(self.dtype, other.dtype)
        if out is None or out.dtype != dtype:
            out = np.zeros((len(self), len(other)), dtype)
        else:
            out[...] = 0
        _fast.sparse_rows.add_products(
            self.begins, self.ends, self.indices, self.data,
            other.begins, other.ends, other.indices, other.data, self.dimension, out,
        )  # fmt: skip
        return out

    def squared_distances(self, other: CompressedRows, out: Array | None = None) -> Array:
        """Return ‖x − z‖² of all pairs of rows, in ``out`` where that fits."""
        result = self.products(other, out)
        _fast.sparse_rows.squared_distances(
            result, self.begins, self.ends, self.indices, self.data,
            other.begins, other.ends, other.indices, other.data, self.dimension,
            self.squared_norms, other.squared_norms,
            result.dtype.type(_NEAR[result.dtype.itemsize]),
        )  # fmt: skip
        return result
