"""A few leading eigenvectors of a symmetric matrix that is known only by its products."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from mercer._typing import Array

_LOOKING = 20
"""Steps that look for what ARPACK has missed: they tell eigenvalues of 700 rows 2 % apart."""
_SHARPEST = 2_000
"""Residuals, in units of the rounding of one number, below which rounding rules."""


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
    floor: float = 0.0,
    random: np.random.Generator | np.random.RandomState | None = None,
    block: int | None = None,
    dtype: DTypeLike = np.float64,
    max_products: int = 1000,
    deadline: float = math.inf,
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
    floor : float
        How much rounding a product with a unit vector has. Smaller residuals are not waited for.
    random : numpy.random.RandomState or Generator
        Gives the first block.
    max_products, deadline
        The most products, and when to stop on the clock ``time.perf_counter``.
    """
    random = np.random.default_rng(0) if random is None else random
    eps = float(np.finfo(dtype).eps)
    goal = max(tol, _SHARPEST * eps)
    width = min(size, block or count + max(2, count // 2))
    limit = min(size, max(2 * count + 10 * width, 160))
    basis = np.empty((size, limit), dtype=dtype, order="F")
    images = np.empty_like(basis)
    T = np.zeros((limit, limit))
    fresh = orthonormal(random.standard_normal((size, width)).astype(dtype))
    used = products = 0
    while True:
        end = used + fresh.shape[1]
        basis[:, used:end] = fresh
        images[:, used:end] = multiply(basis[:, used:end])
        products += 1
        Q, W = basis[:, :end], images[:, :end]
        overlap = Q.T @ W[:, used:]
        T[:end, used:end] = overlap
        T[used:end, :end] = overlap.T
        theta, Y = np.linalg.eigh(T[:end, :end])
        theta, Y = theta[::-1], Y[:, ::-1]
        found = min(count, end)
        scale = float(np.abs(theta).max(initial=0.0))
        ended = products >= max_products or time.perf_counter() > deadline
        last = end == size or ended
        # Earlier images lie in the basis, so what it lacks comes from those of the last block.
        outside = W[:, used:] - Q @ overlap
        lacking = np.linalg.norm(outside @ Y[used:, :found].astype(dtype), axis=0)
        small = max(goal * scale, floor)
        if last or (found == count and bool((lacking <= small).all())):
            pairs = _ritz_pairs(Q, W, theta[:found], Y[:, :found], products)
            done = found == count and bool((pairs.residuals <= small).all())
            if done or last:
                return replace(pairs, converged=done or end == size)
        fresh = _new_directions(Q, outside, 100 * eps * scale)
        if fresh.shape[1] == 0:
            # The basis is invariant: what is missing are vectors that A maps to zero.
            if found == count:
                return _ritz_pairs(Q, W, theta[:found], Y[:, :found], products)
            more = random.standard_normal((size, width)).astype(dtype)
            fresh = _new_directions(Q, more - Q @ (Q.T @ more), 0.0)
        used = end
        if used + fresh.shape[1] > limit:
            fresh = fresh[:, : size - used] if limit == size else fresh
            if limit < size:
                used = min(count + width, limit - fresh.shape[1])
                best = Y[:, :used].astype(dtype)
                basis[:, :used], images[:, :used] = Q @ best, W @ best
                T[:] = 0.0
                T[:used, :used] = np.diag(theta[:used])


def eigenpairs_by_vectors(
    multiply: Callable[[Array], Array],
    size: int,
    count: int,
    *,
    tol: float = 0.0,
    random: np.random.Generator | np.random.RandomState,
) -> Eigenpairs | None:
    """Return the ``count`` largest eigenvalues of A ≥ 0 by ARPACK, one vector a product.

    Where the products are those of a dense matrix with BLAS, one vector costs no more for each than
    a block, and fewer do. But one vector sees one direction of each eigenvalue: of those that are
    there several times it may miss some. Steps on what it has left look for these; None says that
    there are some, or that ARPACK did not end.
    """
    goal = max(tol, _SHARPEST * float(np.finfo(np.float64).eps))
    operator = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, count, v0=random.standard_normal(size), tol=goal)
    except ArpackError:
        return None
    values, vectors = values[::-1], vectors[:, ::-1]
    if _largest_beside(multiply, vectors, random.standard_normal(size)) > values[-1]:
        return None
    residuals = np.linalg.norm(multiply(vectors) - vectors * values, axis=0)
    return Eigenpairs(values, vectors, residuals, 0, converged=True)


def _largest_beside(multiply: Callable[[Array], Array], V: Array, start: Array) -> float:
    """Return about the largest eigenvalue of A beside eigenvectors V, by a few steps of Lanczos."""
    steps = min(_LOOKING, len(start) - V.shape[1])
    basis = np.empty((steps, len(start)))
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    q: Array = start - V @ (V.T @ start)
    for step in range(steps):
        length = float(np.linalg.norm(q))
        if step:
            beside[step - 1] = length
        if length <= _SHARPEST * np.finfo(np.float64).eps * float(
            np.abs(diagonal).max(initial=0.0)
        ):
            steps = step
            break
        basis[step] = q / length
        q = multiply(basis[step])
        diagonal[step] = basis[step] @ q
        Q = basis[: step + 1]
        q = q - V @ (V.T @ q)
        q = q - (Q @ q) @ Q
    if not steps:
        return 0.0
    found = linalg.eigvalsh_tridiagonal(diagonal[:steps], beside[: steps - 1])
    return float(found[-1])


def _ritz_pairs(Q: Array, W: Array, theta: Array, Y: Array, products: int) -> Eigenpairs:
    """Return the pairs of the Rayleigh quotient with their true residuals; W is AQ."""
    values, lead = theta.astype(Q.dtype), Y.astype(Q.dtype)
    vectors = Q @ lead
    residuals = np.linalg.norm(W @ lead - vectors * values, axis=0)
    return Eigenpairs(values, vectors, residuals, products, converged=True)


def _new_directions(Q: Array, block: Array, smallest: float) -> Array:
    """Return an orthonormal basis of what a block has outside the span of Q."""
    fresh = orthonormal(block, smallest)[:, : Q.shape[0] - Q.shape[1]]
    # What cancellation has left over is not yet orthogonal to Q.
    return orthonormal(fresh - Q @ (Q.T @ fresh))


def orthonormal(block: Array, smallest: float = 0.0) -> Array:
    """Return an orthonormal basis of the columns of a block, without those that are too small.

    Products with a small triangle are much quicker than Householder's reflections. The second one
    mends what rounding has left of the first, unless the columns are nearly dependent.
    """
    sizes = np.linalg.norm(block, axis=0)
    if (sizes > smallest).all() and block.shape[1]:
        try:
            result = _divided_by_root(_divided_by_root(block / sizes))
            overlap = result.T @ result
        except np.linalg.LinAlgError:
            pass
        else:
            overlap.flat[:: len(overlap) + 1] -= 1
            if np.abs(overlap).max() <= 100 * np.finfo(block.dtype).eps:
                return result
    directions, R, _ = linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
    kept = int((np.abs(np.diagonal(R)) > smallest).sum())
    return np.asarray(directions[:, :kept])


def _divided_by_root(block: Array) -> Array:
    """Return BL⁻ᵀ with LLᵀ = BᵀB, whose columns are orthonormal."""
    L = np.linalg.cholesky(block.T @ block)
    return np.asarray(block @ np.linalg.inv(L).T)


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
