"""The kernels whose sum is weighted: settled on training data, on one scale, held or fresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer import _memory
from mercer._typing import Array
from mercer.estimators.multiple_kernel.column_factors import LEFT, kernel_factors
from mercer.exceptions import InvalidParameter
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.feature_gram import FeatureGram, gram_of
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.points import Points

_ROUNDING = 64
"""A kernel whose spread, as a share of its mean diagonal, is below so many times the precision of
its values is a constant but for rounding."""
_FULL_PRECISION = 1000
"""Rows up to which matrices are held in float64: 20 of them have 160 MB."""
_COARSE = 1e-4
"""Relative gaps from which on float32 is enough: its sums are right to some 10⁻⁶."""


@dataclass(frozen=True, eq=False)
class BaseKernels:
    """Kernels k_m and their scales s_m: weights d belong to k_m/s_m, and d_m/s_m to k_m."""

    kernels: Sequence[Kernel]
    scales: Array

    def weights(self, d: Array) -> Array:
        """Return the factor of each kernel in the sum."""
        return d / self.scales

    def weighted(self, d: Array) -> Kernel:
        """Return Σ (d_m/s_m) k_m; kernels without weight are left out."""
        pairs = zip(self.weights(d).tolist(), self.kernels, strict=True)
        terms: list[Kernel] = [w * k for w, k in pairs if w > 0]
        return reduce(add, terms)

    def fresh(self, points: Points) -> SumGram:
        """Return the matrices of k_m/s_m as a judge wants them: computed anew, in float64."""
        pairs = zip(self.kernels, self.scales, strict=True)
        return SumGram([gram_of((1 / s) * k, points) for k, s in pairs])


@dataclass(frozen=True, eq=False)
class HeldKernels:
    """Kernels on one scale with the matrices of k_m/s_m, or their factors, and their spreads."""

    base: BaseKernels
    gram: SumGram
    spreads: Array
    evaluations: int
    """Values of kernels that were computed."""

    @classmethod
    def of(
        cls, kernels: Sequence[Kernel], points: Points, normalise: bool, tol: float, owner: str
    ) -> HeldKernels:
        """Compute the matrix of each kernel; with ``normalise`` each gets a spread of 1.

        The spread of a kernel is tr(HKH)/n, the mean square of the distance from the mean. Of many
        rows, matrices of low rank are held as factors in float64, all others in float32 where
        ``tol`` is no finer.
        """
        n = len(points)
        dtype: np.dtype[Any] = np.dtype(
            np.float32 if n > _FULL_PRECISION and tol >= _COARSE else np.float64
        )
        factors, stacked = kernel_factors(kernels, points)
        whole = sum(factor is None for factor in factors)
        _memory.require(
            n * n * (dtype.itemsize * whole + 3 * 8),
            f"{owner}: {whole} matrices of {n:,} × {n:,} kernel values",
            "Learn the weights from fewer rows by learn_weights, and give its kernel to a machine "
            "for all rows.",
        )
        terms: list[GramMatrix] = []
        scales, spreads = np.ones(len(kernels)), np.empty(len(kernels))
        for m, (kernel, F) in enumerate(zip(kernels, factors, strict=True)):
            if F is None:
                K = Gram.by_products(kernel, points).in_precision(dtype).dense()
                trace, total = float(np.trace(K, dtype=np.float64)), float(K.sum(dtype=np.float64))
                rounding = _ROUNDING * float(np.finfo(dtype.type).eps)
            else:
                trace, total = float(np.vdot(F.T, F.T)), float((F.sum(axis=0) ** 2).sum())
                rounding = _ROUNDING * LEFT
            spread = (trace - total / n) / n
            constant = not spread > rounding * abs(trace) / n
            spreads[m] = 0.0 if constant else spread
            if normalise and not constant:
                scales[m] = spread
            if F is None:
                K /= scales[m]
                terms.append(GivenGram(K, kernel.definite))
            else:
                if scales[m] != 1:
                    F /= np.sqrt(scales[m])
                terms.append(FeatureGram.of_rows(F).in_precision(dtype))
        seen = sum(n if F is None else F.shape[1] for F in factors)
        return cls(BaseKernels(kernels, scales), SumGram(terms, stacked), spreads, n * seen)

    def shares(self, d: Array) -> Array:
        """Return the share of each kernel in the spread of the weighted sum."""
        parts = self.base.weights(d) * self.spreads
        total = float(parts.sum())
        return parts / total if total > 0 else np.full(len(parts), 1 / len(parts))


def terms_of(kernel: Kernel) -> list[Kernel]:
    """Return the kernels that a sum is made of, with the factors that they have there."""
    return [k if factor == 1 else factor * k for factor, k in kernel.terms()]


def summed(kernels: Sequence[Kernel], owner: str) -> Kernel:
    """Return the sum of kernels that were given as a list."""
    if not len(kernels):
        raise InvalidParameter(f"{owner}: the list of kernels is empty; give one kernel at least.")
    for place, kernel in enumerate(kernels):
        if not is_kernel(kernel):
            raise InvalidParameter(
                f"{owner}: entry {place} of the list of kernels is {kernel!r}, which is no kernel. "
                "Write names as kernels, such as RBF() for 'rbf'."
            )
    return reduce(add, kernels)


def encoded_for(points: Points, kernel: Kernel) -> Points:
    """Return points without what a kernel does not look at."""
    wanted = kernel.encoders()
    return replace(points, leaves={e: leaf for e, leaf in points.leaves.items() if e in wanted})
