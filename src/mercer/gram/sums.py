"""The sum of several Gram matrices of the same points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, Rows
from mercer.exceptions import InvalidInput
from mercer.gram.base import Definite, GramMatrix, placed


class SumGram(GramMatrix):
    """K = K₁ + … + K_M, with its terms at hand for those who weigh them.

    Parameters
    ----------
    terms : sequence of GramMatrix
        Matrices of the same shape; at least one.
    """

    def __init__(self, terms: Sequence[GramMatrix]) -> None:
        shapes = sorted({term.shape for term in terms})
        if len(shapes) != 1:
            raise InvalidInput(
                "SumGram: the terms of a sum have to be matrices of one shape, at least one; got "
                f"{', '.join(map(str, shapes)) or 'none'}."
            )
        self._terms = list(terms)
        self.shape = shapes[0]
        self.dtype = np.result_type(*(term.dtype for term in terms))

    @property
    def evaluations(self) -> int:
        return sum(term.evaluations for term in self._terms)

    @property
    def definite(self) -> Definite:
        return min(term.definite for term in self._terms)

    @property
    def symmetric(self) -> bool:
        return all(term.symmetric for term in self._terms)

    def terms(self) -> Sequence[GramMatrix]:
        return self._terms

    def diag(self) -> Array:
        return np.asarray(np.sum([term.diag() for term in self._terms], axis=0))

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        total = self._terms[0].block(rows, columns).astype(self.dtype, copy=False)
        for term in self._terms[1:]:
            total += term.block(rows, columns)
        return placed(total, out)

    def multiply(self, V: Array) -> Array:
        return np.asarray(np.sum([term.multiply(V) for term in self._terms], axis=0))

    def take(self, rows: Rows, columns: Rows | None = None) -> SumGram:
        return SumGram([term.take(rows, columns) for term in self._terms])

    def in_precision(self, dtype: DTypeLike) -> SumGram:
        return SumGram([term.in_precision(dtype) for term in self._terms])
