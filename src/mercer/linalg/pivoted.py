"""Randomly pivoted Cholesky: the one low-rank factor of a kernel matrix from few of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpstrf

from mercer import _parallel
from mercer._typing import Array, Index, IntArray
from mercer.exceptions import NotPositiveDefinite

EPS = float(np.finfo(np.float64).eps)
_FEWEST, _MOST = 64, 256
"""Proposals of one round: fewer make more rounds, each of which reads the whole factor."""
_BAND = 2048
"""Rows of the factor that grow at once."""
_SHARED = 1 << 22
"""Multiplications of a round from which on it is shared by threads: about a millisecond."""


class SymmetricBlocks(Protocol):
    """A symmetric matrix that gives its diagonal and blocks, on any thread."""

    def diag(self) -> Array:
        """Return the diagonal."""
        ...

    def block(self, rows: Index, columns: Index) -> Array:
        """Return the values of some rows and columns."""
        ...


@dataclass(frozen=True, eq=False)
class PivotedFactor:
    """F with FFᵀ ≈ K, the rows of K that it was made of, and the diagonal of K − FFᵀ.

    The first m columns of F belong to the first m pivots alone: K − FFᵀ falls with each column.
    """

    F: Array
    pivots: IntArray
    left: Array


@_parallel.one_blas_thread()  # once, not anew for each round
def pivoted_cholesky(
    K: SymmetricBlocks, rank: int, random: np.random.Generator, enough: float = 0.0
) -> PivotedFactor:
    """Return F with FFᵀ ≈ K from at most ``rank`` rows of K, in rounds of many pivots.

    A pivot is drawn with a probability proportional to what the diagonal of K − FFᵀ has left.
    A round draws many proposals at once from the diagonal as it was, and accepts each with the
    share of its entry that the accepted ones before it leave: the accepted pivots then have the
    law of pivots drawn one by one, and only their rows of K are computed. Stops early where what
    is left of the trace is below ``enough``, or is rounding alone.

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, Comm. Pure Appl. Math. 2025.
    Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky, 2024.
    """
    first = K.diag().astype(np.float64)
    n, rank = len(first), min(rank, len(first))
    scale = float(np.abs(first).max(initial=0.0))
    check_sign(first, scale)
    left = np.maximum(first, 0.0)
    F = np.zeros((n, rank), order="F")
    pivots = np.empty(rank, dtype=np.intp)
    proposals = proposal_count(rank)
    done = 0
    while done < rank:
        _parallel.check_stopped()
        total = float(left.sum())
        if total <= max(enough, n * scale * EPS):
            break
        drawn = random.choice(n, proposals, p=left / total).astype(np.intp)
        old = F[drawn, :done]
        square = K.block(drawn, drawn).astype(np.float64) - old @ old.T
        most = rank - done
        accepted, L = accept(square, left[drawn], random, scale, most)
        if not len(accepted):
            left[drawn] = 0.0  # nothing but rounding was left of them
            continue
        new = drawn[accepted]
        end = done + len(new)
        _grow(F, left, K, new, F[new, :done], L)
        pivots[done:end] = new
        check_sign(left, scale)
        np.maximum(left, 0.0, out=left)
        left[new] = 0.0
        done = end
    return PivotedFactor(F[:, :done], pivots[:done], left)


def low_rank_factor(
    K: SymmetricBlocks, rank: int, random: np.random.Generator, share: float
) -> Array | None:
    """Return F with FFᵀ = K but for a share of the trace; None where that takes more columns.

    A round draws many rows by what the diagonal of K − FFᵀ has left, and takes those in turn of
    which the most is left until next to nothing is left of any. Two or three rounds do for a smooth
    kernel of one column, and the first drawn rows tell which matrix has no such factor.
    """
    left = K.diag().astype(np.float64)
    n, scale = len(left), float(np.abs(left).max(initial=0.0))
    check_sign(left, scale)
    enough = share * float(left.sum())
    least = max(enough / n, scale * EPS)
    F = np.zeros((n, rank), order="F")
    done = 0
    while float(left.sum()) > enough:
        # Sorted uniform numbers in steps: rows by what they have left, few of them twice.
        places = (np.arange(rank) + random.random(rank)) * (float(left.sum()) / rank)
        drawn = np.minimum(np.searchsorted(np.cumsum(left), places), n - 1)
        old = F[drawn, :done]
        square = np.asfortranarray(K.block(drawn, drawn), dtype=np.float64) - old @ old.T
        found, order, count, _ = dpstrf(square, tol=least, lower=1)
        if count == 0 or done + count >= rank:
            return None
        new = drawn[order[:count] - 1]
        _grow(F, left, K, new, F[new, :done], np.tril(found[:count, :count]))
        check_sign(left, scale)
        np.maximum(left, 0.0, out=left)
        left[new] = 0.0
        done += count
    return F[:, :done]


def _grow(F: Array, left: Array, K: SymmetricBlocks, new: IntArray, old: Array, L: Array) -> None:
    """Add the columns of F that belong to some rows of K, and subtract their squares.

    ``old`` holds these rows of F until now, L is the Cholesky factor of their square of K − FFᵀ.
    """
    done, end = old.shape[1], old.shape[1] + len(old)

    def task(start: int) -> None:
        band = slice(start, min(start + _BAND, len(F)))
        # Columns of F lie in one piece each: along them nothing has to be turned.
        part = old @ F[band, :done].T
        # A band of K lives only here: whole rows of it would be written to new memory.
        np.subtract(K.block(new, band), part, out=part)
        part = dtrsm(1.0, L, part.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        F[band, done:end].T[...] = part
        left[band] -= np.einsum("ij,ij->j", part, part)

    # Threads of our own: NumPy and SciPy have a BLAS each, whose threads wait for one another.
    threads = _parallel.thread_count() if len(F) * end * len(old) > _SHARED else 1
    _parallel.run(task, range(0, len(F), _BAND), threads)


def proposal_count(rank: int) -> int:
    """Return how many pivots a round proposes."""
    return min(_MOST, max(_FEWEST, math.ceil(rank / 8)))


def accept(
    H: Array, drawn_from: Array, random: np.random.Generator, scale: float, most: int
) -> tuple[IntArray, Array]:
    """Return which proposals are accepted, and the Cholesky factor of their square of H.

    ``H`` is the residual matrix of all proposals. ``drawn_from`` is its diagonal when they were
    drawn, and ``scale`` the largest entry of the whole matrix.
    """
    least = max(scale * EPS * 64, 1e-300)
    accepted: list[int] = []
    wanted = np.maximum(random.random(len(H)) * drawn_from, least)
    left = np.diagonal(H).copy()
    columns = np.empty((min(most, len(H)), len(H)))
    for i in range(len(H)):
        k = len(accepted)
        if k == most:
            break
        if not left[i] >= wanted[i]:
            continue
        column = columns[k]
        np.subtract(H[i], columns[:k, i] @ columns[:k], out=column)
        column /= math.sqrt(left[i])
        left -= column * column
        accepted.append(i)
    at = np.array(accepted, dtype=np.intp)
    return at, np.tril(columns[: len(at)].T[at])


def check_sign(left: Array, scale: float) -> None:
    """Refuse a matrix whose diagonal, or what is left of it, is negative by more than rounding."""
    lowest = float(left.min(initial=0.0))
    if lowest < -1e-6 * scale:
        raise NotPositiveDefinite(
            f"The kernel matrix is not positive semi-definite: its row {int(left.argmin())} has "
            f"{lowest:.3g} left of its diagonal where nothing may be below 0. Landmarks need a "
            "positive definite kernel; see repair(...) for a matrix of your own."
        )
