"""Factors of kernels of low rank: those of all Gaussians of single columns in one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite
from mercer.gram.computed import Gram
from mercer.kernels.algebra import Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.kernels.vectors.radial import RBF
from mercer.kernels.wrappers import On
from mercer.linalg.pivoted import low_rank_factor

_RANK = 64
"""Columns of a factor up to which it costs less than its matrix: to make, to hold and to multiply.
RBF kernels of one column have factors of 15 to 30."""
LEFT = 1e-12
"""What a factor may leave of the trace, as a share: less than gaps can tell."""
_GAUSSIAN_LEFT = 1e-14
"""The same for Gaussians of one column, whose last columns cost next to nothing: with 1e-12 wide
ones had gaps of 4e-7."""
_FACTORED = 500
"""Rows up to which a matrix costs less than a search for its factor."""
_FEW = 100
"""Rows up to which a matrix costs less than a factor that takes no search."""


class Factors(NamedTuple):
    """F with FFᵀ = K of each kernel, None where that takes many columns, and all side by side.

    They lie side by side in memory too, unless there is a kernel without one.
    """

    parts: list[Array | None]
    stacked: Array | None


class GaussianColumn(NamedTuple):
    """c exp(−rate (x − z)²) on one column x of numbers."""

    x: Array
    rate: float
    factor: float


def kernel_factors(kernels: Sequence[Kernel], points: Points) -> Factors:
    """Return F with FFᵀ = K but for a share of the trace, in float64, for kernels of low rank."""
    parts: list[Array | None] = [None] * len(kernels)
    if len(points) <= _FEW:
        return Factors(parts, None)
    found = [(m, gaussian_column(kernel, points)) for m, kernel in enumerate(kernels)]
    gaussian = [(m, column) for m, column in found if column is not None]
    factors = _gaussian_factors([column for _, column in gaussian])
    for (m, _), part in zip(gaussian, factors.parts, strict=True):
        parts[m] = part
    others = [m for m, column in found if column is None]
    if len(points) > _FACTORED:
        with _parallel.one_blas_thread():  # once, not anew for each kernel
            for m in others:
                parts[m] = _searched(kernels[m], points)
    return Factors(parts, None if others else factors.stacked)


@singledispatch
def gaussian_column(kernel: Kernel, points: Points) -> GaussianColumn | None:
    """Return a kernel as a Gaussian of one column; None for all others."""
    return None


@gaussian_column.register
def _(kernel: Scaled, points: Points) -> GaussianColumn | None:
    inner = gaussian_column(kernel.kernel, points)
    if inner is None or not kernel.factor > 0:
        return None
    return inner._replace(factor=inner.factor * float(kernel.factor))


@gaussian_column.register
def _(kernel: On, points: Points) -> GaussianColumn | None:
    if kernel.missing != "error" or len(kernel.columns) != 1:
        return None
    return gaussian_column(kernel.kernel, points.within(tuple(kernel.columns)))


@gaussian_column.register
def _(kernel: RBF, points: Points) -> GaussianColumn | None:
    leaf = points.leaves.get(kernel.encoder)
    values: Any = getattr(leaf, "values", None)
    plain = type(values) is np.ndarray and values.dtype == np.float64 and values.shape[1] == 1
    if not plain or kernel.scales is not None:
        return None
    return GaussianColumn(values[:, 0], 0.5 * kernel.rate, 1.0)


def _gaussian_factors(columns: Sequence[GaussianColumn]) -> Factors:
    """Return the factors of Gaussians, one after the other in memory."""
    if not columns:
        return Factors([], None)
    n = len(columns[0].x)
    most = min(_RANK, n)
    # Of this memory only what is written to is ever there.
    F, ranks = np.empty((most * len(columns), n)), np.empty(len(columns), np.int64)
    _fast.gaussian_factors.gaussian_factors(
        np.array([column.x for column in columns]),
        np.array([column.rate for column in columns]),
        most,
        _GAUSSIAN_LEFT,
        F,
        ranks,
    )
    parts: list[Array | None] = []
    done = 0
    for column, rank in zip(columns, ranks.tolist(), strict=True):
        part = F[done : done + rank] if rank > 0 else None
        if part is not None and column.factor != 1:
            part *= np.sqrt(column.factor)
        parts.append(None if part is None else part.T)
        done += max(rank, 0)
    return Factors(parts, F[:done].T if (ranks > 0).all() else None)


def _searched(kernel: Kernel, points: Points) -> Array | None:
    """Return the factor of any kernel, from rows that are drawn."""
    if kernel.definite is not Definite.POSITIVE:
        return None
    gram = Gram(kernel, points, dtype=np.float64)
    try:
        return low_rank_factor(gram, _RANK, np.random.default_rng(0), LEFT)
    except NotPositiveDefinite:
        return None  # of a kernel that is not what it says
