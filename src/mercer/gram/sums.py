"""The sum of several Gram matrices of the same points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import get_blas_funcs

from mercer import _fast
from mercer._typing import Array, Index, IntArray, Rows
from mercer.exceptions import InvalidInput
from mercer.gram.base import Definite, GramMatrix, placed
from mercer.gram.feature_gram import FeatureGram
from mercer.linalg.weighted_sum import weighted_sum

_HIDDEN = 0.1
"""The share of the precision of a sum that a column of features may have and not be seen in it."""


class SumGram(GramMatrix):
    """K = K₁ + … + K_M, with its terms at hand for those who weigh them.

    Parameters
    ----------
    terms : sequence of GramMatrix
        Matrices of the same shape; at least one.
    stacked : array of shape (rows, features), optional
        The features of all terms side by side, where somebody has them.
    """

    def __init__(self, terms: Sequence[GramMatrix], stacked: Array | None = None) -> None:
        shapes = sorted({term.shape for term in terms})
        if len(shapes) != 1:
            raise InvalidInput(
                "SumGram: the terms of a sum have to be matrices of one shape, at least one; got "
                f"{', '.join(map(str, shapes)) or 'none'}."
            )
        self._terms, self._stacked = list(terms), stacked
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

    def stacked(self) -> Array | None:
        """Return Φ = (Φ₁ … Φ_M) in float64, dense; None where a term is not held as ΦΦᵀ."""
        if self._stacked is None:
            factors = [factor_of(term.in_precision(np.float64)) for term in self._terms]
            parts = [factor for factor in factors if factor is not None]
            self._stacked = np.hstack(parts) if len(parts) == len(factors) else None
        return self._stacked

    def widths(self) -> IntArray:
        """Return how many features each term has, where all are held as ΦΦᵀ."""
        exact = (term.in_precision(np.float64) for term in self._terms)  # they are as they are held
        return np.array([term.features().shape[1] for term in exact])

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


def factor_of(term: GramMatrix) -> Array | None:
    """Return F of a matrix FFᵀ that is held as F, dense; None of all others."""
    factor = term.features()
    return factor if isinstance(factor, np.ndarray) else None


def seen_features(phi: Array) -> Array:
    """Return Φ without the columns that rounding of ΦΦᵀ in the precision of Φ hides."""
    energies = np.einsum("ij,ij->j", phi, phi)
    kept = energies > _HIDDEN * np.finfo(phi.dtype).eps * float(energies.sum())
    return phi if kept.all() else np.ascontiguousarray(phi[:, kept])


def weighted_features(gram: SumGram, weights: Array) -> GramMatrix | None:
    """Return Σ w_m K_m, w ≥ 0, as one matrix of features; None where a term with weight has none.

    It is None too where features are as many as rows: then the matrix itself costs less.
    """
    used = np.flatnonzero(weights > 0)
    if not len(used):
        return None
    part = gram if len(used) == len(weights) else SumGram([gram.terms()[m] for m in used.tolist()])
    stacked = part.stacked()
    if stacked is None or stacked.shape[1] >= stacked.shape[0]:
        return None
    roots = np.repeat(np.sqrt(weights[used]), part.widths())
    return FeatureGram.of_rows(stacked * roots).in_precision(gram.dtype)


def weighted_terms(terms: Sequence[GramMatrix], weights: Array) -> Array:
    """Return Σ w_m K_m in float64, w ≥ 0, of symmetric matrices, some of them held as factors."""
    factors = [factor_of(term) for term in terms]
    whole = [m for m, factor in enumerate(factors) if factor is None]
    n = terms[0].shape[0]
    total = weighted_sum([terms[m].dense() for m in whole], weights[whole], n)
    pairs = zip(factors, np.sqrt(weights).tolist(), strict=True)
    parts = [root * factor for factor, root in pairs if factor is not None and root > 0]
    if parts:
        stacked = np.hstack(parts)
        # Half of the products: what is below the diagonal there is above it in the transpose.
        syrk = get_blas_funcs("syrk", [stacked])
        total += syrk(1.0, stacked, lower=1).T
        _fast.pairwise.mirror_upper(total)
    return total
