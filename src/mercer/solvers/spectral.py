"""A few leading eigenvectors of a symmetric matrix that is known only by its products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from mercer._typing import Array


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues in descending order, unit eigenvectors as columns, and how good they are.

    ``residuals`` are the norms ‖Av − λv‖: each λ is that close to a true eigenvalue of A.
    """

    values: Array
    vectors: Array
    residuals: Array
    products: int
    converged: bool


def leading_eigenpairs(
    multiply: Callable[[Array], Array],
    size: int,
    count: int,
    *,
    tol: float = 0.0,
    random: Any = None,
    block: int | None = None,
    dtype: Any = np.float64,
    max_products: int = 1000,
) -> Eigenpairs:
    """Return the ``count`` largest eigenvalues of A by block Lanczos with thick restarts.

    The basis grows by blocks, each A times the last one without what the basis has already; the
    Rayleigh quotient QᵀAQ gives the pairs. Blocks find eigenvalues that lie close together, and
    read A once for many vectors. A full basis is cut back to its best directions.

    Parameters
    ----------
    multiply : function
        V ↦ AV for V of shape (size, columns).
    tol : float
        Residuals of at most ``tol`` · ∣λ∣ₘₐₓ will do; 0 is as good as rounding allows.
    random : numpy.random.RandomState or Generator
        Gives the first block.
    """
    random = np.random.default_rng(0) if random is None else random
    eps = float(np.finfo(dtype).eps)
    goal = max(tol, 2000 * eps)
    width = min(size, block or count + max(2, count // 2))
    limit = min(size, max(2 * count + 10 * width, 160))
    basis = np.empty((size, limit), dtype=dtype, order="F")
    images = np.empty_like(basis)
    T = np.zeros((limit, limit))
    fresh: Array = np.linalg.qr(random.standard_normal((size, width)).astype(dtype))[0]
    used = products = 0
    while True:
        end = used + fresh.shape[1]
        basis[:, used:end] = fresh
        images[:, used:end] = multiply(np.ascontiguousarray(fresh))
        products += 1
        Q, W = basis[:, :end], images[:, :end]
        T[:end, used:end] = Q.T @ W[:, used:]
        T[used:end, :end] = T[:end, used:end].T
        theta, Y = linalg.eigh(T[:end, :end])
        theta, Y = theta[::-1], Y[:, ::-1]
        found = min(count, end)
        lead = Y[:, :found].astype(dtype)
        vectors = Q @ lead
        residuals = np.linalg.norm(W @ lead - vectors * theta[:found].astype(dtype), axis=0)
        scale = float(np.abs(theta).max(initial=0.0))
        done = found == count and bool((residuals <= goal * scale).all())
        if done or end == size or products >= max_products:
            break
        fresh = _new_directions(Q, W[:, used:], 100 * eps * scale)
        if fresh.shape[1] == 0:
            # The basis is invariant: what is missing are vectors that A maps to zero.
            if found == count:
                done = True
                break
            fresh = _new_directions(Q, random.standard_normal((size, width)).astype(dtype), 0.0)
        used = end
        if used + fresh.shape[1] > limit:
            fresh = fresh[:, : size - used] if limit == size else fresh
            if limit < size:
                used = min(count + width, limit - fresh.shape[1])
                best = Y[:, :used].astype(dtype)
                basis[:, :used], images[:, :used] = Q @ best, W @ best
                T[:] = 0.0
                T[:used, :used] = np.diag(theta[:used])
    complete = done or end == size
    return Eigenpairs(theta[:found].astype(dtype), vectors, residuals, products, complete)


def _new_directions(Q: Array, block: Array, smallest: float) -> Array:
    """Return an orthonormal basis of what a block has outside the span of Q."""
    block = block - Q @ (Q.T @ block)
    block -= Q @ (Q.T @ block)
    directions, R, _ = linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(R))
    directions = directions[:, : int((sizes > smallest).sum())]
    directions = directions[:, : Q.shape[0] - Q.shape[1]]
    # Directions that were left over from cancellation are not yet orthogonal to Q.
    directions = directions - Q @ (Q.T @ directions)
    result: Array = np.linalg.qr(directions)[0] if directions.shape[1] else directions
    return result


def randomised_range(
    multiply: Callable[[Array], Array],
    multiply_transposed: Callable[[Array], Array],
    start: Array,
    rounds: int,
) -> Array:
    """Return an orthonormal basis that nearly holds the range of A, by power iterations.

    Halko, Martinsson & Tropp (2011), SIAM Review 53.
    """
    Q = np.linalg.qr(multiply(start))[0]
    for _ in range(rounds):
        Q = np.linalg.qr(multiply_transposed(Q))[0]
        Q = np.linalg.qr(multiply(Q))[0]
    return Q
