"""Least squares and ridge regression by factorisations."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import linalg as sparse_linalg

from mercer import _parallel
from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.linalg.nonnegative import nonnegative_least_squares
from mercer.linalg.pcg import ConjugateSteps, conjugate_gradients
from mercer.linalg.scatter import centred_scatter
from mercer.problems.elastic_net import Design, LassoAnswer, LassoProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status

_REFINEMENTS = 20
"""A limit: each step of refinement has to halve the correction, and few do so ten times."""
_SHARPEST = 1e-15
"""The tolerance of LSQR below which float64 has no digits left."""
_ILL = 1e-6
"""Shares of the largest singular value below which an answer may lose half of its digits."""
_TINY = 1e-9
"""Penalties below this share of the mean eigenvalue need a singular value decomposition."""
_STEP_PER_ENTRY, _STEP, _SPARSE_PRODUCT = 40, 450_000, 10
"""What a step of conjugate gradients costs for each stored number and for the calls of any step,
and what a product of two stored numbers of XᵀX does, in units of n³ for a dense factor of n × n.
Measured with 1e4 to 1e6 stored numbers."""
_FEW_COLUMNS = 2_000
"""Columns whose factor takes one thread less time than threads that hinder each other."""
_SHARPER = 0.1
"""Steps end at this share of the gap that is asked for."""


class PlainLeastSquares(FeatureSolver[LassoProblem, LassoAnswer]):
    """Without penalties: the shortest of all best w, or one with w ≥ 0."""

    def run(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget, start: LassoAnswer | None
    ) -> Outcome[LassoAnswer]:
        design = problem.design(gram)
        X = design.dense()
        w = nonnegative_least_squares(X, problem.y) if problem.positive else shortest(X, problem.y)
        return Outcome(problem.evaluate(design, w), Status.OPTIMAL)


class RidgeFactors(FeatureSolver[LassoProblem, LassoAnswer]):
    """min ½‖y − Xw‖² + ½λ₂‖w‖² by factors that serve all y and λ₂ on the same design.

    Sparse data with no more than ``largest_factor`` rows or columns are solved by a dense factor.
    """

    def __init__(self, design: Design, largest_factor: int = 5_000) -> None:
        self.design, self.largest_factor = design, largest_factor
        self._factors: dict[float, Array] = {}

    def run(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget, start: LassoAnswer | None
    ) -> Outcome[LassoAnswer]:
        n, p = self.design.shape
        if sparse.issparse(self.design.X) and min(n, p) > self.largest_factor:
            return _by_lsqr(problem, self.design, budget)
        if sparse.issparse(self.design.X) and problem.l2 > 0:
            found = self._by_steps(problem, budget)
            if found is not None:
                return found
        mean = float(np.trace(self._squares)) / max(len(self._squares), 1)
        if problem.l2 <= _TINY * mean:
            w = self._by_svd(problem.y, problem.l2)
        elif self._wide:
            w = np.asarray(self._dense.T @ self._solve(problem.l2, problem.y))
        else:
            return self._refined_once(problem, gram, budget)
        return Outcome(problem.evaluate(self.design, w), Status.OPTIMAL)

    def _refined_once(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[LassoAnswer]:
        """Solve the normal equations, and once more for the residual of the data, not of XᵀX.

        The gap of weights with the slopes g is at most ‖g‖²/2λ₂, since the objective is that much
        convex; the last step only lowers it.
        """
        design, y, alpha = self.design, problem.y, problem.l2
        w = self._solve(alpha, design.correlate(y))
        r = y - design.dot(w)
        c = design.correlate(r)
        slopes = c - alpha * w
        better = w + self._solve(alpha, slopes)
        if budget.gap < np.inf:
            before = problem.judge(w, c, float(r @ r), float(y @ r))
            most = min(budget.gap, budget.tol) * before.bounds.primal
            if float(slopes @ slopes) / (2 * alpha) <= most:
                return Outcome(replace(before, w=better), Status.OPTIMAL, gap_seen=True)
        answer = problem.evaluate(design, better)
        if design.short is not None and not problem.optimal(answer, _SHARPEST):
            # Products in float32 were not good enough.
            return RidgeFactors(replace(design, short=None)).run(problem, gram, budget, None)
        return Outcome(answer, Status.OPTIMAL)

    def _by_steps(self, problem: LassoProblem, budget: Budget) -> Outcome[LassoAnswer] | None:
        """Return the answer of conjugate gradients, None where a factor is no more work.

        With b = Xᵀy and the slopes g, which the steps carry along, the objective is
        (‖y‖² − wᵀ(b + g))/2 and its gap at most ‖g‖²/2λ₂.
        """
        design, alpha = self.design, problem.l2
        (n, p), stored = design.shape, design.X.nnz
        squares = n * n * p if self._wide else _SPARSE_PRODUCT * stored * stored // n
        work, step = min(n, p) ** 3 + squares, _STEP_PER_ENTRY * stored + _STEP
        b = design.correlate(problem.y)

        def going(at: ConjugateSteps) -> np.bool_:
            primal = (problem.yy - float(at.x @ (b + at.residual))) / 2
            return np.bool_(float(at.rho) / (2 * alpha) > _SHARPER * budget.tol * primal)

        found = conjugate_gradients(
            lambda w: design.correlate(design.dot(w)) + alpha * w,
            b,
            going=going,
            max_iter=work // step,
        )
        if found.status != "optimal":
            return None
        if budget.gap == np.inf:
            return Outcome(problem.evaluate(design, found.x), Status.OPTIMAL)
        w, c = found.x, found.residual + alpha * found.x
        left = problem.yy - float(w @ b)
        answer = problem.judge(w, c, left - float(w @ c), left)
        return Outcome(answer, Status.OPTIMAL, gap_seen=True)

    def _solve(self, alpha: float, b: Array) -> Array:
        """Solve with the smaller of XᵀX and XXᵀ, and α on its diagonal."""
        factor = self._factors.get(alpha)
        if factor is None:
            shifted = self._squares.copy()
            shifted.flat[:: len(shifted) + 1] += alpha
            # Symmetric, so that its transpose, in the order of LAPACK, is the same matrix.
            # The threads of NumPy's BLAS, which made it, wait busily on the cores of SciPy's.
            with _parallel.one_blas_thread() if len(shifted) <= _FEW_COLUMNS else nullcontext():
                factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=1)
            if failed:
                raise linalg.LinAlgError(f"minor {failed} of XᵀX + α is not positive definite")
            self._factors[alpha] = factor
        return np.asarray(dpotrs(factor, b, lower=1)[0])

    @property
    def _wide(self) -> bool:
        return self.design.shape[1] > self.design.shape[0]

    @cached_property
    def _dense(self) -> Array:
        return self.design.dense()

    @cached_property
    def _squares(self) -> Array:
        """The smaller of XᵀX and XXᵀ."""
        X, means = self.design.short, self.design.means
        if X is not None and means is not None and not self._wide and self.design.roots is None:
            return centred_scatter(X, means.astype(X.dtype)).astype(np.float64)
        everyone = np.arange(self.design.shape[1])
        return self._dense @ self._dense.T if self._wide else self.design.gram(everyone, everyone)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        parts: tuple[Array, Array, Array] = linalg.svd(self._dense, full_matrices=False)
        return parts

    def _by_svd(self, y: Array, alpha: float) -> Array:
        U, s, Vt = self._svd
        if alpha == 0 and not self._wide and s.min(initial=np.inf) <= _ILL * s.max(initial=0.0):
            found = self._refined(y)
            if found is not None:
                return found
        kept = s > max(U.shape[0], Vt.shape[1]) * np.finfo(float).eps * s.max(initial=0.0)
        scales = np.divide(s, s * s + alpha, out=np.zeros_like(s), where=kept)
        return np.asarray(Vt.T @ (scales * (U.T @ y)))

    def _refined(self, y: Array) -> Array | None:
        """Solve without a penalty to nearly all digits, None where columns depend on each other.

        Means that were taken off have cost digits of which badly conditioned columns have none to
        lose. A column of ones beside the columns as they were given does the same as centring.
        """
        X, means, roots = self.design.X, self.design.means, self.design.roots
        A = X.toarray() if sparse.issparse(X) else X
        if means is not None:
            A = np.column_stack([A, np.ones(len(A))])
        found = accurate(A if roots is None else A * roots[:, None], y)
        return found.x[: X.shape[1]] if found.rank == A.shape[1] else None


class LeastSquaresRounds(FeatureSolver[LassoProblem, LassoAnswer]):
    """min ½‖y − Xw‖² + ½λ₂‖w‖² by LSQR, for those who ask for its rounds."""

    def run(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget, start: LassoAnswer | None
    ) -> Outcome[LassoAnswer]:
        design = problem.design(gram)
        stopped = budget.stop(np.inf)
        if stopped is not None:
            return Outcome(problem.evaluate(design, np.zeros(design.shape[1])), stopped)
        return _by_lsqr(problem, design, budget)


def _by_lsqr(problem: LassoProblem, design: Design, budget: Budget) -> Outcome[LassoAnswer]:
    """LSQR on the centred operator, until the relative gap is below ``tol``."""
    operator = sparse_linalg.LinearOperator(
        design.shape, matvec=design.dot, rmatvec=design.correlate, dtype=np.float64
    )
    rounds, sharp = 0, budget.tol
    while True:
        w, _, spent = sparse_linalg.lsqr(
            operator,
            problem.y,
            damp=np.sqrt(problem.l2),
            atol=sharp,
            btol=sharp,
            iter_lim=budget.max_iter if budget.max_iter >= 0 else None,
        )[:3]
        rounds += spent
        answer = problem.evaluate(design, w)
        # What rounding leaves is no failure: the certificate says how far it is.
        if problem.optimal(answer, budget.tol) or sharp < _SHARPEST:
            return Outcome(answer, Status.OPTIMAL, rounds)
        stopped = budget.stop(answer.bounds.gap, rounds)
        if stopped is not None:
            return Outcome(answer, stopped, rounds)
        sharp /= 100


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """An answer x of min ‖Ax − b‖₂ with the numerical rank of A; the shortest if there are many."""

    x: Array
    rank: int


def shortest(A: Array, b: Array) -> Array:
    """Return the shortest x of least ‖Ax − b‖₂, with the usual limit of the numerical rank.

    LAPACK's own limit, 2⁻⁵² of the largest singular value, is below what rounding leaves of zero in
    a matrix of several rows and columns: x would be huge in such a direction.
    """
    x: Array = linalg.lstsq(A, b, max(A.shape) * np.finfo(float).eps)[0]
    return x


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
    if 0 < rank < A.shape[1]:
        # All answers have the same Vᵀz, z = x / scales; the shortest x is in the columns as they
        # were given. Another decomposition would find a rank of its own in what rounding leaves.
        Q, R = linalg.qr((Vt / scales).T, mode="economic")
        return LeastSquares(Q @ linalg.solve_triangular(R, Vt @ x.astype(float), trans="T"), rank)
    return LeastSquares((x * scales).astype(float), rank)
