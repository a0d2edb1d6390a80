"""Least squares and ridge regression by factorisations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.sparse import linalg as sparse_linalg

from mercer import _memory
from mercer._typing import Array
from mercer.problems.lasso import Design, LassoProblem
from mercer.solvers.lasso import LassoSolution

LARGEST_FACTOR = 5_000
"""Sparse data with no more rows or columns are solved by a dense factor."""
_REFINEMENTS = 20
_TINY = 1e-9
"""Penalties below this share of the mean eigenvalue need a singular value decomposition."""


def plain(problem: LassoProblem, design: Design) -> LassoSolution:
    """Solve without penalties: the shortest of all best w, or one with w ≥ 0."""
    began = time.perf_counter()
    X = _dense(design)
    if problem.positive:
        w, _ = optimize.nnls(X, problem.y)
    else:
        w = linalg.lstsq(X, problem.y)[0]
    return _judge(problem, design, w, 0, began)


def ridge(
    problems: Sequence[LassoProblem], design: Design, tol: float, max_iter: int
) -> list[LassoSolution]:
    """Solve min ½‖y − Xw‖² + ½λ₂‖w‖² for several y and λ₂ on the same X."""
    began = time.perf_counter()
    n, p = design.shape
    if sparse.issparse(design.X) and min(n, p) > LARGEST_FACTOR:
        return [_conjugate_gradients(problem, design, tol, max_iter) for problem in problems]
    wide = p > n
    X = _dense(design) if wide or not sparse.issparse(design.X) else None
    everyone = np.arange(p)
    G = X @ X.T if wide and X is not None else design.gram(everyone, everyone)
    mean = float(np.trace(G)) / max(len(G), 1)
    factors: dict[float, Array] = {}
    weights = []
    decomposition = None
    for problem in problems:
        alpha = problem.l2
        factor = None if alpha <= _TINY * mean else factors.get(alpha)
        if factor is None and alpha > _TINY * mean:
            shifted = G + alpha * np.eye(len(G))
            factors[alpha] = factor = linalg.cholesky(shifted, lower=True, check_finite=False)
        if factor is None:
            if decomposition is None:
                decomposition = linalg.svd(_dense(design), full_matrices=False)
            U, s, Vt = decomposition
            weights.append(_by_svd(U, s, Vt, problem.y, alpha))
        elif wide and X is not None:
            weights.append(X.T @ linalg.cho_solve((factor, True), problem.y))
        else:
            q = design.correlate(problem.y)
            w = linalg.cho_solve((factor, True), q)
            # One step of refinement with the residual of the data, not of G.
            slopes = design.correlate(problem.y - design.dot(w)) - alpha * w
            weights.append(w + linalg.cho_solve((factor, True), slopes))
    return [
        _judge(problem, design, w, 0, began) for problem, w in zip(problems, weights, strict=True)
    ]


def _by_svd(U: Array, s: Array, Vt: Array, y: Array, alpha: float) -> Array:
    kept = s > max(U.shape[0], Vt.shape[1]) * np.finfo(float).eps * s.max(initial=0.0)
    scales = np.divide(s, s * s + alpha, out=np.zeros_like(s), where=kept)
    w: Array = Vt.T @ (scales * (U.T @ y))
    return w


def _conjugate_gradients(
    problem: LassoProblem, design: Design, tol: float, max_iter: int
) -> LassoSolution:
    """LSQR on the centred operator, until the relative gap is below ``tol``."""
    began = time.perf_counter()
    operator = sparse_linalg.LinearOperator(
        design.shape, matvec=design.dot, rmatvec=design.correlate, dtype=np.float64
    )
    rounds, sharp = 0, tol
    while True:
        w, _, spent = sparse_linalg.lsqr(
            operator,
            problem.y,
            damp=np.sqrt(problem.l2),
            atol=sharp,
            btol=sharp,
            iter_lim=max_iter,
        )[:3]
        rounds += spent
        solution = _judge(problem, design, w, rounds, began)
        if problem.optimal(solution.evaluation, tol) or rounds >= max_iter or sharp < 1e-15:
            return solution
        sharp /= 100


def _judge(
    problem: LassoProblem, design: Design, w: Array, rounds: int, began: float
) -> LassoSolution:
    at = problem.evaluate(design, w)
    seconds = time.perf_counter() - began
    return LassoSolution(problem, w, at, problem.certify(at, iterations=rounds, seconds=seconds))


def _dense(design: Design) -> Array:
    """Return the columns as they count: dense, centred, weighted."""
    n, p = design.shape
    _memory.require(
        8 * n * p, f"A dense copy of the {n:,} × {p:,} data", "Use fewer rows or columns."
    )
    X: Array = design.X.toarray() if sparse.issparse(design.X) else design.X
    if design.means is not None:
        X = X - design.means
    return X if design.roots is None else X * design.roots[:, None]


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """An answer x of min ‖Ax − b‖₂ with the numerical rank of A; the shortest if there are many."""

    x: Array
    rank: int
    singular_values: Array


def accurate(A: Array, b: Array) -> LeastSquares:
    """Solve min ‖Ax − b‖₂ to nearly all digits that the data determine.

    Columns are scaled to length 1 by powers of two, the singular value decomposition gives the rank
    and a first answer, and the pair (r, x) of the system r + Ax = b, Aᵀr = 0 is refined with
    residuals in extended precision.

    Å. Björck, Iterative refinement of linear least squares solutions I, BIT 7 (1967).
    """
    norms = np.sqrt((A * A).sum(axis=0))
    scales = np.exp2(-np.round(np.log2(np.where(norms > 0, norms, 1.0))))
    S = A * scales
    U, s, Vt = linalg.svd(S, full_matrices=False)
    rank = int((s > max(A.shape) * np.finfo(float).eps * s.max(initial=0.0)).sum())
    wide, target = S.astype(np.longdouble), b.astype(np.longdouble)
    x, r = np.zeros(A.shape[1], np.longdouble), np.zeros(len(b), np.longdouble)
    last = np.inf
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    for _ in range(_REFINEMENTS):
        f = (target - r - wide @ x).astype(float)
        g = (-(wide.T @ r)).astype(float)
        along = Vt @ g / s
        inside = U.T @ f - along
        step = Vt.T @ (inside / s)
        size = float(np.abs(step).max(initial=0.0))
        if not size < last / 2:
            break
        last = size
        x += step
        r += f - U @ inside
    if rank < A.shape[1]:  # the shortest answer is the one in the columns as they were given
        return LeastSquares(linalg.lstsq(A, b, lapack_driver="gelsd")[0], rank, s)
    return LeastSquares((x * scales).astype(float), rank, s)
