"""Weights of kernels by centred alignment: non-negative least squares between matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.gram.sums import factor_of
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import OPEN, PROVEN

_BLOCK = 1 << 17
"""Values of each matrix that are centred in one go (1 MB), so that they stay in a core's cache."""


class Alignments(NamedTuple):
    """⟨HK_lH, HK_mH⟩ of all pairs of kernels, and ⟨HK_mH, HYYᵀH⟩ of each with the targets."""

    kernels: Array
    targets: Array


@dataclass(frozen=True, eq=False)
class AlignmentProblem:
    r"""The sum of kernels that is nearest to the kernel of the targets, both centred.

    min over v ≥ 0 of  ½ ‖Σ_m v_m HK_mH − HYYᵀH‖²,  H = I − 11ᵀ/n,

    in the norm of Frobenius. Up to a factor, v are the weights for which the sum has the greatest
    centred alignment ⟨HKH, HYYᵀH⟩/(‖HKH‖ ‖HYYᵀH‖) with the targets.

    With M_lm = ⟨HK_lH, HK_mH⟩ ≥ 0, a_m = ⟨HK_mH, HYYᵀH⟩ and the gradient g = Mv − a, no weight of
    the best answer is above ‖HYYᵀH‖/√M_mm = u_m, so that P(v) − gᵀv − Σ u_m max(0, −g_m) bounds the
    optimum from below.

    Parameters
    ----------
    Y : array of shape (n, c)
        The targets: a column of numbers, or a column of 0 and 1 for each class.

    References
    ----------
    C. Cortes, M. Mohri and A. Rostamizadeh, Algorithms for learning kernels based on centered
    alignment, Journal of Machine Learning Research 13 (2012).
    """

    Y: Array
    name = "centred kernel alignment"

    @cached_property
    def square(self) -> float:
        """‖HYYᵀH‖²."""
        return float(((self._centred.T @ self._centred) ** 2).sum())

    def alignments(self, gram: GramMatrix) -> Alignments:
        """Return the inner products of the terms of a sum, and with the targets."""
        terms = gram.terms()
        count = len(terms)
        factors = [factor_of(term) for term in terms]
        whole = [m for m, factor in enumerate(factors) if factor is None]
        held = {
            m: factor - factor.mean(axis=0)
            for m, factor in enumerate(factors)
            if factor is not None
        }
        found, targets = np.zeros((count, count)), np.zeros(count)
        if whole:
            matrices = [terms[m].dense() for m in whole]
            found[np.ix_(whole, whole)], targets[whole] = self._of_matrices(matrices)
        Y = self._centred
        for m, F in held.items():
            targets[m] = float(((F.T @ Y) ** 2).sum())
            for other in held:
                found[m, other] = float(((F.T @ held[other]) ** 2).sum())
            for other in whole:
                # ⟨HKH, HFFᵀH⟩ is the trace of FᵀHKHF.
                product = terms[other].multiply(F.astype(terms[other].dtype, copy=False))
                found[m, other] = found[other, m] = float(np.einsum("ij,ij->", F, product))
        return Alignments(found, targets)

    @cached_property
    def _centred(self) -> Array:
        return np.asarray(self.Y - self.Y.mean(axis=0))

    def _of_matrices(self, matrices: Sequence[Array]) -> Alignments:
        """Return the inner products of matrices in memory."""
        centred, n, count = self._centred, len(self.Y), len(matrices)
        means = np.array([K.mean(axis=0, dtype=np.float64) for K in matrices])
        found, targets = np.zeros((count, count)), np.zeros(count)
        step = max(1, _BLOCK // n)
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            block = np.empty((count, rows.stop - begin, n))
            for m, K in enumerate(matrices):
                np.subtract(K[rows], means[m], out=block[m])
                block[m] -= (means[m, rows] - means[m].mean())[:, None]
                targets[m] += float((centred[rows] * (block[m] @ centred)).sum())
            flat = block.reshape(count, -1)
            found += flat @ flat.T
        return Alignments(found, targets)

    def certify(self, value: Array, gram: GramMatrix, product: Array | None = None) -> Certificate:
        """Judge weights on the terms of a sum; ``product`` is of no use."""
        M, a = self.alignments(gram)
        gradient = M @ value - a
        primal = float(value @ (M @ value)) / 2 - float(a @ value) + self.square / 2
        sizes = np.sqrt(np.maximum(np.diagonal(M), 0.0))
        most = np.divide(np.sqrt(self.square), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        falls = np.maximum(0.0, -gradient)
        slack = gradient * value
        # Of matrices that are not definite a product may be negative, and nothing bounds weights.
        rounding = M.shape[0] * 1e-10 * float(np.abs(M).max(initial=0.0))
        return Certificate(
            self.name,
            primal,
            primal - float(slack.sum()) - float(most @ falls),
            stationarity=float(falls.max(initial=0.0)),
            primal_feasibility=float(np.maximum(0.0, -value).max(initial=0.0)),
            complementarity=float(np.abs(slack).max(initial=0.0)),
            curvature=PROVEN if M.min() >= -rounding else OPEN,
        )
