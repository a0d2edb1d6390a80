"""Solvers of (K + λW⁻¹)c = y: dense, in mixed precision, without a matrix, for all λ at once."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning

from mercer import _memory
from mercer._typing import Array, IntArray
from mercer.exceptions import NotPositiveDefinite
from mercer.gram.operator import GramMatrix
from mercer.gram.pivoted import pivoted_cholesky
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.krylov import LowRank, Product, conjugate_gradients
from mercer.solvers.ridge_path import Spectrum

METHODS = ("auto", "cholesky", "mixed", "cg", "eigen")
_MIXED_FROM = 2500
"""Rows from which a float32 factor with float64 refinement is faster."""
_PATIENCE = 40
"""Steps of refinement, after which a float64 factor is cheaper."""
_ROUNDS = 4
_MOST_RANK = 1000


@dataclass(frozen=True, eq=False)
class RidgeAnswer:
    """The coefficients c, f = Kc in float64, the constants b, and how they were found."""

    c: Array
    f: Array
    intercepts: Array
    method: str
    status: str
    iterations: int
    seconds: float
    evaluations: int


class RidgeSystem:
    """The symmetric form (SKS + λI)c̃ = Sy of the system, with S = √W and c = Sc̃."""

    def __init__(self, gram: GramMatrix, weights: Array) -> None:
        self.gram, self.weights = gram, weights
        self.scale: Array = np.sqrt(weights)
        self.evaluations = 0

    def __len__(self) -> int:
        return len(self.scale)

    def multiply(self, V: Array) -> Array:
        """Return SKSV, in float64."""
        self.evaluations += len(self) ** 2
        product: Array = self.gram @ (self.scale[:, None] * V)
        product *= self.scale[:, None]
        return product

    def dense(self, dtype: Any = np.float64) -> Array:
        """Return SKS."""
        self.evaluations += len(self) ** 2
        matrix = np.ascontiguousarray(self.gram.dense(dtype))
        if (self.scale != 1).any():
            matrix *= self.scale.astype(dtype)[:, None]
            matrix *= self.scale.astype(dtype)
        return matrix

    def diag(self) -> Array:
        """Return the diagonal of SKS."""
        return np.asarray(self.gram.diag(), dtype=np.float64) * self.weights

    def rows(self, index: IntArray) -> Array:
        """Return rows of SKS."""
        self.evaluations += len(index) * len(self)
        part = np.asarray(self.gram.rows(index), dtype=np.float64)
        return np.asarray(part * self.scale[index, None] * self.scale)

    def square(self, index: IntArray) -> Array:
        """Return rows and columns of SKS."""
        self.evaluations += len(index) ** 2
        part = np.asarray(self.gram.square(index), dtype=np.float64)
        return np.asarray(part * self.scale[index, None] * self.scale[index])


def solve(
    system: RidgeSystem,
    Y: Array,
    alpha: float,
    method: str = "auto",
    *,
    intercept: bool = False,
    cheap: bool = True,
    features: Array | None = None,
    spectrum: Spectrum | None = None,
    tol: float = 1e-13,
    max_iter: int = 1000,
    ends: float = float("inf"),
    seed: int = 0,
) -> RidgeAnswer:
    """Solve for all columns of Y and one λ.

    Parameters
    ----------
    method : {"auto", "cholesky", "mixed", "cg", "eigen"}
    intercept : bool
        Solve for a constant b too: (K + λW⁻¹)c + b = y, Σc = 0.
    cheap : bool
        Whether values of K can be computed again and again.
    features : array, optional
        F with FFᵀ = SKS and few columns, where there is one.
    spectrum : Spectrum, optional
        Of SKS, where it is known already.
    """
    began, before = time.perf_counter(), system.evaluations
    if method == "auto":
        method = choose(len(system), alpha, cheap, features is not None)
    B = system.scale[:, None] * Y
    if intercept:
        B = np.hstack([B, system.scale[:, None]])
    run = {"cholesky": _dense, "mixed": _mixed, "cg": _iterate, "eigen": _spectral}[method]
    options = {"features": features, "spectrum": spectrum, "tol": tol, "max_iter": max_iter}
    c, f, method, status, steps = run(system, B, alpha, **options, ends=ends, seed=seed)
    seconds = time.perf_counter() - began
    evaluations = system.evaluations - before
    c, f = system.scale[:, None] * c, f / system.scale[:, None]
    b = np.zeros(Y.shape[1])
    if intercept:
        # What a constant of 1 would be answered with, as often as makes the sum of c zero.
        b = c[:, :-1].sum(axis=0) / c[:, -1].sum()
        c, f = c[:, :-1] - b * c[:, -1:], f[:, :-1] - b * f[:, -1:]
    return RidgeAnswer(c, f, b, method, status, steps, seconds, evaluations)


def choose(n: int, alpha: float, cheap: bool, has_features: bool) -> str:
    """Return the method for a problem of n rows."""
    if has_features and alpha > 0:
        return "cg"
    there = _memory.available_bytes()
    single = there is None or 4.4 * n**2 < there
    double = there is None or 8.8 * n**2 < there
    if alpha > 0 and cheap and n >= _MIXED_FROM and single:
        return "mixed"
    return "cg" if alpha > 0 and not double else "cholesky"


_Found = tuple[Array, Array, str, str, int]


def _dense(system: RidgeSystem, B: Array, alpha: float, **options: Any) -> _Found:
    """Factorise K + λI in float64, in the memory of K, whose other triangle gives residuals."""
    K = system.dense()
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
            stacklevel=4,
        )
        return _spectral(system, B, alpha)
    c = factor.solve(B)
    f = factor.multiply(c)
    c += factor.solve(B - f - alpha * c)
    return c, factor.multiply(c), "cholesky", "optimal", 1


def _mixed(system: RidgeSystem, B: Array, alpha: float, **options: Any) -> _Found:
    """Refine with a float32 factor: residuals are float64, computed block by block."""
    patient = options | {"max_iter": min(options["max_iter"], _PATIENCE)}
    # Nothing holds on to the factor: where a float64 one is needed its memory is free again.
    c, f, _, status, steps = _refined(system, B, alpha, _single(system, alpha), patient)
    if status == "optimal" or not _double_fits(len(system)):
        return c, f, "mixed", status, steps
    return _dense(system, B, alpha)


def _single(system: RidgeSystem, alpha: float) -> Product:
    factor = _single_factor(system, alpha)
    return lambda R: factor.solve(R).astype(np.float64)


def _single_factor(system: RidgeSystem, alpha: float) -> Cholesky:
    """Return the factor of K + λI in float32, with a larger λ where rounding asks for it."""
    shift = alpha
    K = system.dense(np.float32)
    rounding = float(np.finfo(np.float32).eps) * float(np.diagonal(K).astype(float).sum())
    while True:
        try:
            return Cholesky(K, shift)
        except NotPositiveDefinite:
            shift = alpha + rounding if shift == alpha else 10 * shift
            del K
            K = system.dense(np.float32)


def _double_fits(n: int) -> bool:
    there = _memory.available_bytes()
    return there is None or 8.8 * n**2 < there


def _iterate(system: RidgeSystem, B: Array, alpha: float, **options: Any) -> _Found:
    """Multiply with K only; a low-rank factor of K makes the steps few."""
    F = options["features"]
    if F is None:
        random = np.random.default_rng(options["seed"])
        rank = min(_MOST_RANK, max(64, int(8 * len(system) ** 0.5)))
        F = pivoted_cholesky(system, rank, random, enough=alpha).F
    return _refined(system, B, alpha, LowRank(F, alpha), options)


def _refined(
    system: RidgeSystem, B: Array, alpha: float, precondition: Any, options: dict[str, Any]
) -> _Found:
    """Run conjugate gradients, and again on the true residual until that does not help."""

    def multiply(V: Array) -> Array:
        return np.asarray(system.multiply(V) + alpha * V)

    tol, most = options["tol"], options["max_iter"]
    c, residual = np.zeros_like(B), B
    f = np.zeros_like(B)
    lengths = np.linalg.norm(B, axis=0)
    lengths[lengths == 0] = 1.0
    before, steps, status = np.inf, 0, "optimal"
    for _ in range(_ROUNDS):
        size = float((np.linalg.norm(residual, axis=0) / lengths).max())
        if size <= tol or size > 0.3 * before or status not in ("optimal", "stalled"):
            break
        inner = max(tol / size, 1e-14)
        part = conjugate_gradients(
            multiply, precondition, residual, inner, most - steps, options["ends"]
        )
        steps, status, before = steps + part.steps, part.status, size
        c_new = c + part.x
        f_new = system.multiply(c_new)
        residual_new = B - f_new - alpha * c_new
        if np.linalg.norm(residual_new) < np.linalg.norm(residual):
            c, f, residual = c_new, f_new, residual_new
    worst = float((np.linalg.norm(residual, axis=0) / lengths).max())
    # Rounding sets the floor of the residual; what is that small is as good as it gets.
    if status in ("optimal", "stalled"):
        status = "optimal" if worst < max(1e3 * tol, 1e-10) else "stalled"
    return c, f, "cg", status, steps


def _spectral(system: RidgeSystem, B: Array, alpha: float, **options: Any) -> _Found:
    spectrum = options.get("spectrum") or Spectrum(system.dense())
    c = spectrum.solve(B, alpha)
    status = "nonconvex" if spectrum.values[0] + alpha < -spectrum.rounding else "optimal"
    f = spectrum.multiply(c)
    return c, f, "eigen", status, 1
