"""The solver of kernel ridge regression: dense, in mixed precision, matrix-free, by spectrum."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning

from mercer import _memory, _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite
from mercer.gram.base import GramMatrix
from mercer.gram.scaled import ScaledGram
from mercer.linalg.cholesky import Cholesky
from mercer.linalg.pcg import ConjugateSteps, LowRank, Mask, Product, conjugate_gradients
from mercer.linalg.pivoted import pivoted_cholesky
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.ridge_path import MatrixSpectrum

METHODS = ("auto", "cholesky", "mixed", "cg", "eigen")
_MIXED_FROM = 2500
"""Rows from which a float32 factor with float64 refinement is faster."""
_MOST_REFINEMENTS = 40
"""Steps of refinement, after which a float64 factor is cheaper."""
_ROUNDS = 4
"""Restarts of conjugate gradients on the true residual; each has to gain a factor of 3 at least."""
_MOST_RANK = 1000
"""Columns of a preconditioner: more cost more than the steps that they save."""
_FEW_ROWS = 1000
"""Rows whose matrix (8 MB) needs no question about the memory, which takes a while."""
_SMALL = 512
"""Rows up to which a second thread of BLAS gains little, and loses much where cores are busy."""
_MANY_ALPHAS = 8
"""Different λ from which one eigendecomposition is cheaper than a factor for each."""


@dataclass(frozen=True)
class RidgeSolver(Solver[RidgeProblem, RidgeFunctions]):
    """Solves (K + λW⁻¹)c + b = y for all targets, those of one λ together.

    Parameters
    ----------
    method : {"auto", "cholesky", "mixed", "cg", "eigen"}
        ``"mixed"`` refines a float32 factor in float64, ``"cg"`` never forms K.
    cheap : bool
        Whether values of K can be computed again and again.
    seed : int
        Of the pivots of the preconditioner.
    """

    method: str = "auto"
    cheap: bool = True
    seed: int = 0

    def run(
        self, problem: RidgeProblem, gram: GramMatrix, budget: Budget, start: RidgeFunctions | None
    ) -> Outcome[RidgeFunctions]:
        """Solve for each λ; the weights have to be positive."""
        small = gram.shape[0] <= _SMALL
        with _parallel.one_blas_thread() if small else nullcontext():
            return self._run(problem, gram, budget)

    def _run(
        self, problem: RidgeProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[RidgeFunctions]:
        system = ScaledGram(gram, problem.weights)
        features = _few_features(system)
        different = np.unique(problem.alphas)
        method = self.method
        if method == "auto" and features is None and len(different) > _MANY_ALPHAS:
            method = "eigen"
        spectrum = MatrixSpectrum(system.dense()) if method == "eigen" else None
        B = system.scale[:, None] * problem.Y
        C, F, intercepts = np.empty_like(B), np.empty_like(B), np.zeros(B.shape[1])
        status, steps, used = Status.OPTIMAL, 0, method
        for alpha in map(float, different):
            mine = np.flatnonzero(problem.alphas == alpha)
            right = B[:, mine]
            if problem.intercept:
                right = np.hstack([right, system.scale[:, None]])
            task = _Task(system, right, alpha, features, spectrum, budget, self.seed)
            if self.method == "auto" and method != "eigen":
                method = choose(len(B), alpha, self.cheap, features is not None)
            found = _METHODS[method](task)
            assert found.product is not None
            c, f = system.scale[:, None] * found.value, found.product / system.scale[:, None]
            if problem.intercept:
                # What a constant of 1 would be answered with, as often as makes the sum of c zero.
                b = c[:, :-1].sum(axis=0) / (c[:, -1].sum() or 1.0)
                c, f = c[:, :-1] - b * c[:, -1:], f[:, :-1] - b * f[:, -1:]
                intercepts[mine] = b
            C[:, mine], F[:, mine] = c, f
            steps, used = steps + found.iterations, found.details["method"]
            status = found.status if status == Status.OPTIMAL else status
        value = RidgeFunctions(C, intercepts)
        return Outcome(value, status, steps, F, {"method": used})


@dataclass(frozen=True, eq=False)
class _Task:
    """(SKS + λI)c = B for one λ, with what is known of SKS = FFᵀ."""

    system: ScaledGram
    B: Array
    alpha: float
    features: Array | None
    spectrum: MatrixSpectrum | None
    budget: Budget
    seed: int


def _few_features(system: ScaledGram) -> Array | None:
    """Return F with FFᵀ = SKS as a dense array, where it has fewer columns than rows."""
    phi = system.features()
    if phi is None or phi.shape[1] >= phi.shape[0]:
        return None
    return np.asarray(phi.toarray() if sparse.issparse(phi) else phi)


def choose(n: int, alpha: float, cheap: bool, has_features: bool) -> str:
    """Return the method for a problem of n rows."""
    if has_features and alpha > 0:
        return "cg"
    if alpha > 0 and cheap and n >= _MIXED_FROM and _fits(n, 4):
        return "mixed"
    return "cg" if alpha > 0 and not _fits(n, 8) else "cholesky"


def _fits(n: int, size: int) -> bool:
    """Tell whether a factor of n rows, of numbers of so many bytes, fits the memory."""
    there = None if n <= _FEW_ROWS else _memory.available_bytes()
    return there is None or 1.1 * size * n**2 < there


def _dense(task: _Task) -> Outcome[Array]:
    """Factorise K + λI in float64, in the memory of K, whose other triangle gives residuals."""
    B, alpha = task.B, task.alpha
    K = task.system.dense()
    n = len(K)
    try:
        factor = Cholesky(K, alpha)
        sound = factor.smallest_pivot > n * float(np.finfo(np.float64).eps)
    except NotPositiveDefinite:
        sound = False
    if not sound:
        warnings.warn(
            "KernelRidge: the matrix K + alpha·I is singular to working precision; the "
            "least-squares solution of least norm is taken. Raise alpha for a stable one.",
            LinAlgWarning,
            stacklevel=7,
        )
        return _least_norm(task)
    c = factor.solve(B)
    f = factor.multiply(c)
    c += factor.solve(B - f - alpha * c)
    return Outcome(c, Status.OPTIMAL, 1, factor.multiply(c), {"method": "cholesky"})


def _least_norm(task: _Task) -> Outcome[Array]:
    """Take the pseudo-inverse, and once more for what its rounding has left."""
    spectrum = task.spectrum or MatrixSpectrum(task.system.dense())
    found = _spectral(replace(task, spectrum=spectrum))
    c = found.value
    rest = task.B - task.system.multiply(c) - task.alpha * c
    c = c + spectrum.solve(rest, task.alpha)
    return replace(found, value=c, product=task.system.multiply(c))


def _mixed(task: _Task) -> Outcome[Array]:
    """Refine with a float32 factor: residuals are float64, computed block by block."""
    limit = task.budget.max_iter
    most = _MOST_REFINEMENTS if limit < 0 else min(limit, _MOST_REFINEMENTS)
    # Nothing holds on to the factor: where a float64 one is needed its memory is free again.
    found = _refined(task, _single(task), most, "mixed")
    slow = found.status in (Status.MAX_ITER, Status.STALLED)
    return _dense(task) if slow and _fits(task.system.shape[0], 8) else found


def _single(task: _Task) -> Product:
    """Return the inverse of K + λI in float32, with a larger λ where rounding asks for it."""
    shift = task.alpha
    K = task.system.dense(np.float32)
    rounding = float(np.finfo(np.float32).eps) * float(np.diagonal(K).astype(float).sum())
    while True:
        try:
            factor = Cholesky(K, shift)
            return lambda R: factor.solve(R).astype(np.float64)
        except NotPositiveDefinite:
            shift = task.alpha + rounding if shift == task.alpha else 10 * shift
            del K
            K = task.system.dense(np.float32)


def _iterate(task: _Task) -> Outcome[Array]:
    """Multiply with K only; a low-rank factor of K makes the steps few."""
    F = task.features
    if F is None:
        random = np.random.default_rng(task.seed)
        rank = min(_MOST_RANK, max(64, int(8 * len(task.B) ** 0.5)))
        F = pivoted_cholesky(task.system, rank, random, enough=task.alpha).F
    return _refined(task, LowRank(F, task.alpha), task.budget.max_iter, "cg")


def _refined(task: _Task, precondition: Product, most: int, method: str) -> Outcome[Array]:
    """Run conjugate gradients, and again on the true residual until that does not help."""
    system, B, alpha, tol = task.system, task.B, task.alpha, task.budget.tol
    budget, stopped = task.budget.but(max_iter=most), None

    def multiply(V: Array) -> Array:
        return np.asarray(system.multiply(V) + alpha * V)

    def going(at: ConjugateSteps) -> Mask:
        nonlocal stopped
        sizes = np.linalg.norm(at.residual, axis=0)
        wanted = sizes > goal
        if wanted.any():
            stopped = budget.stop(float((sizes / lengths).max()), steps + at.steps)
        return wanted if stopped is None else np.False_

    c, residual = np.zeros_like(B), B
    f = np.zeros_like(B)
    lengths = np.linalg.norm(B, axis=0)
    lengths[lengths == 0] = 1.0
    before, steps, status = np.inf, 0, Status.OPTIMAL
    for _ in range(_ROUNDS):
        size = float((np.linalg.norm(residual, axis=0) / lengths).max())
        if size <= tol or size > 0.3 * before or status not in (Status.OPTIMAL, Status.STALLED):
            break
        goal = max(tol / size, 1e-14) * np.linalg.norm(residual, axis=0)
        part = conjugate_gradients(
            multiply, residual, going=going, precondition=precondition, max_iter=sys.maxsize
        )
        steps, status, before = steps + part.steps, stopped or Status(part.status), size
        c_new = c + part.x
        f_new = system.multiply(c_new)
        residual_new = B - f_new - alpha * c_new
        if np.linalg.norm(residual_new) < np.linalg.norm(residual):
            c, f, residual = c_new, f_new, residual_new
    worst = float((np.linalg.norm(residual, axis=0) / lengths).max())
    # Rounding sets the floor of the residual; what is that small is as good as it gets.
    if status in (Status.OPTIMAL, Status.STALLED):
        status = Status.OPTIMAL if worst < max(1e3 * tol, 1e-10) else Status.STALLED
    return Outcome(c, status, steps, f, {"method": method})


def _spectral(task: _Task) -> Outcome[Array]:
    spectrum = task.spectrum or MatrixSpectrum(task.system.dense())
    c = spectrum.solve(task.B, task.alpha)
    nonconvex = spectrum.values[0] + task.alpha < -spectrum.rounding
    status = Status.NONCONVEX if nonconvex else Status.OPTIMAL
    return Outcome(c, status, 1, spectrum.multiply(c), {"method": "eigen"})


_METHODS = {"cholesky": _dense, "mixed": _mixed, "cg": _iterate, "eigen": _spectral}
