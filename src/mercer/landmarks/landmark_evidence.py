"""The evidence of Gaussian processes through landmarks: bounds of it, and their gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit

from mercer import _memory, _parallel
from mercer._typing import Array
from mercer.exceptions import InvalidParameter, NotPositiveDefinite, NumericalOverflow
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Block, Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.basis import LandmarkBasis

_LAPLACE_GAIN = 1e-10
"""Gain of the evidence at which Newton's method ends, as without landmarks."""
_TILE = 256
"""Rows and columns of a block of slopes: half a megabyte, about the size of an L2 cache."""


def without_noise(kernel: Kernel) -> Kernel:
    """Return a kernel without its white noise, which landmarks cannot explain."""
    names = [name for name in kernel.free_parameters() if _is_noise(name)]
    return kernel.with_parameters(dict.fromkeys(names, 0.0)) if names else kernel


def with_logarithms(kernel: Kernel, names: Sequence[str], theta: Array) -> Kernel:
    """Return a kernel with some parameters changed, given by their logarithms."""
    values = {n: float(np.exp(t)) for n, t in zip(names, theta, strict=True)}
    return kernel.with_parameters(values) if values else kernel


def _is_noise(name: str) -> bool:
    return name.rpartition("__")[2] == "noise"


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A Gaussian process for some parameters, conditioned on data through landmarks.

    With A = L⁻¹K_MnΛ^(−½), LLᵀ = K_MM and the noise Λ: B = I + AAᵀ = L_B L_Bᵀ.

    Attributes
    ----------
    basis : LandmarkBasis
    A : array of shape (r, n)
    B_factor : array of shape (r, r)
        L_B.
    scaled : array of shape (r, targets)
        L_B⁻¹AΛ^(−½)Y.
    noise : array of shape (n,)
        The diagonal of Λ: that given, and the white noise of the kernel.
    unseen : array of shape (n,)
        The diagonal of K − Q, with Q = K_nM K_MM⁺ K_Mn.
    """

    basis: LandmarkBasis
    A: Array
    B_factor: Array
    scaled: Array
    noise: Array
    unseen: Array

    def whitened_weights(self) -> Array:
        """Return the mean of L⁻¹ times the values at the landmarks."""
        return np.asarray(
            solve_triangular(self.B_factor, self.scaled, lower=True, trans="T", check_finite=False)
        )

    def dual(self, Y: Array) -> Array:
        """Return (Q + Λ)⁻¹Y."""
        root = np.sqrt(self.noise)[:, None]
        return np.asarray((Y / root - self.A.T @ self.whitened_weights()) / root)

    def explained(self) -> Array:
        """Return the diagonal of Aᵀ B⁻¹ A, below 1: 1 − Λ(Q + Λ)⁻¹."""
        half = solve_triangular(self.B_factor, self.A, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", half, half))

    def log_determinant(self) -> float:
        """Return log det(Q + Λ)."""
        return float(np.log(self.noise).sum() + 2 * np.log(np.diagonal(self.B_factor)).sum())

    def density(self, Y: Array) -> float:
        """Return log N(Y | 0, Q + Λ), summed over the columns."""
        n, count = Y.shape
        square = float((Y**2 / self.noise[:, None]).sum()) - float((self.scaled**2).sum())
        constant = n * math.log(2 * math.pi) + self.log_determinant()
        return float(-0.5 * (square + count * constant))

    def bound(self, Y: Array) -> float:
        """Return log N(Y | 0, Q + Λ) − ½ tr(Λ⁻¹(K − Q)) ≤ log N(Y | 0, K + Λ)."""
        return self.density(Y) - 0.5 * float(Y.shape[1] * (self.unseen / self.noise).sum())


@dataclass(frozen=True, eq=False)
class LandmarkEvidence:
    """A lower bound of the evidence log N(Y | 0, K(θ) + noise), and its gradient.

    F(θ) = log N(Y | 0, Q + Λ) − ½ tr(Λ⁻¹(K − Q)) with Q = K_nM K_MM⁺ K_Mn

    White noise of the kernel belongs to Λ. The landmarks stay what they are while θ changes; time
    grows with n·M², memory with n·M.

    References
    ----------
    Titsias, Variational learning of inducing variables in sparse Gaussian processes, AISTATS 2009.
    """

    kernel: Kernel
    points: Points
    landmarks: Points
    names: Sequence[str]
    Y: Array
    noise: Array

    def __post_init__(self) -> None:
        n, m = len(self.points), len(self.landmarks)
        _memory.require(
            3 * 8 * n * m,
            f"A Gaussian process of {n:,} rows and {m:,} landmarks",
            "Use fewer landmarks.",
        )

    def at(self, theta: Array) -> Kernel:
        """Return the kernel with these log parameters."""
        return with_logarithms(self.kernel, self.names, theta)

    def condition(self, kernel: Kernel, more: float = 0.0) -> Conditioned:
        """Condition on the data, with ``more`` noise if asked for."""
        signal = without_noise(kernel)
        basis = LandmarkBasis(signal, self.landmarks)
        own = self._diagonal(signal)
        white = 0.0 if signal is kernel else self._diagonal(kernel) - own
        noise = self.noise + white + more
        if not noise.min() > 0:
            raise NotPositiveDefinite(
                "A Gaussian process on landmarks needs noise: raise alpha, or add White()."
            )
        A = np.empty((len(basis), len(own)))
        for part, block in basis.blocks(self.points, np.float64):
            A[:, part] = block.T
        unseen = np.maximum(own - np.einsum("ij,ij->j", A, A), 0.0)
        A /= np.sqrt(noise)
        B = A @ A.T
        B.flat[:: len(B) + 1] += 1.0
        factor = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
        scaled = solve_triangular(
            factor, A @ (self.Y / np.sqrt(noise)[:, None]), lower=True, check_finite=False
        )
        return Conditioned(basis, A, factor, scaled, noise, unseen)

    def value(self, theta: Array) -> float:
        """Return the bound; −∞ where it cannot be computed."""
        try:
            return self.condition(self.at(theta)).bound(self.Y)
        except (NotPositiveDefinite, NumericalOverflow, np.linalg.LinAlgError):
            return -np.inf

    def ends(self, theta: Array) -> tuple[float, float]:
        """Return a lower and an upper bound of the evidence.

        With t = tr(K − Q) ≥ λ_max(K − Q) the quadratic form yᵀ(K + Λ)⁻¹y is at least
        yᵀ(Q + tI + Λ)⁻¹y, and log det(K + Λ) is at least log det(Q + Λ).
        """
        kernel = self.at(theta)
        here = self.condition(kernel)
        more = float(here.unseen.sum())
        noisier = self.condition(kernel, more)
        change = noisier.log_determinant() - here.log_determinant()
        upper = noisier.density(self.Y) + 0.5 * self.Y.shape[1] * change
        return here.bound(self.Y), max(upper, here.bound(self.Y))

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the bound and its gradient for the log parameters."""
        kernel = self.at(theta)
        try:
            here = self.condition(kernel)
        except (NotPositiveDefinite, NumericalOverflow, np.linalg.LinAlgError):
            return -np.inf, np.zeros(len(theta))
        return here.bound(self.Y), self._gradient(kernel, here)

    def _gradient(self, kernel: Kernel, here: Conditioned) -> Array:
        count, noise, A = self.Y.shape[1], here.noise, here.A
        L, L_B = here.basis.factor, here.B_factor
        r = len(L)
        identity = np.eye(r)
        half = solve_triangular(L_B, identity, lower=True, check_finite=False)
        B_inverse = half.T @ half
        L_inverse = solve_triangular(L, identity, lower=True, check_finite=False)
        v = here.whitened_weights()
        a = here.dual(self.Y)
        # With respect to K_MM, and to K_nM in two factors.
        inner = v @ v.T + count * (B_inverse - 2 * identity + L_B @ L_B.T)
        to_square = -0.5 * L_inverse.T @ inner @ L_inverse
        right = (count * (identity - B_inverse)) @ L_inverse
        weights = v.T @ L_inverse
        # With respect to the diagonals: of the noise, and of K without white noise.
        to_noise = -0.5 * (
            count * (1 - here.explained() - here.unseen / noise) / noise
            - np.einsum("ij,ij->i", a, a)
        )
        to_own = -0.5 * count / noise
        signal = without_noise(kernel)
        sums = dict.fromkeys(self.names, 0.0)
        signal_names = [name for name in self.names if not _is_noise(name)]
        has_noise = signal is not kernel
        self._add_diagonal(sums, signal, signal_names, to_own - to_noise if has_noise else to_own)
        if has_noise:
            self._add_diagonal(sums, kernel, self.names, to_noise)
        if signal_names:
            M = here.basis.points

            def tall(i: slice) -> Array:
                left: Array = a[i] @ weights
                left += (A[:, i] / np.sqrt(noise[i])).T @ right
                return left

            across = Pairs(self.points, M, None, np.float64)
            self._add_blocks(sums, signal, signal_names, across, tall)
            square = Pairs(M, None, None, np.float64)
            self._add_blocks(sums, signal, signal_names, square, lambda i: to_square[i])
        return np.array([sums[name] for name in self.names])

    def _diagonal(self, kernel: Kernel) -> Array:
        return Evaluator(kernel, Pairs(self.points, None, None, np.float64)).diagonal()

    def _add_diagonal(
        self, sums: dict[str, float], kernel: Kernel, names: Sequence[str], weights: Array
    ) -> None:
        values = Pairs(self.points, None, None, np.float64).row_diagonal()
        for name in names:
            sums[name] += float(np.vdot(weights, kernel.gradient(values, name)))

    def _add_blocks(
        self,
        sums: dict[str, float],
        kernel: Kernel,
        names: Sequence[str],
        pairs: Pairs,
        weights: Callable[[slice], Array],
    ) -> None:
        """Add Σ W ∂K/∂θ over all pairs, where ``weights`` gives some rows of W."""
        n, m = pairs.shape
        lock = Lock()
        for statistic in set(kernel.statistics()):
            pairs.sides(statistic)

        def task(i: slice) -> None:
            W = weights(i)
            for start in range(0, m, _TILE):
                _parallel.check_stopped()
                j = slice(start, min(start + _TILE, m))
                with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                    slopes = kernel.slopes(Block(pairs, i, j, {}), names, W[:, j])
                    found = {name: float(slope.sum()) for name, slope in slopes}
                with lock:
                    for name in names:
                        sums[name] += found[name]

        rows = [slice(s, min(s + _TILE, n)) for s in range(0, n, _TILE)]
        _parallel.run(task, rows, _parallel.thread_count())


@dataclass(frozen=True, eq=False)
class LandmarkMode:
    """The mode f = Zv of a posterior on landmarks, and the Gaussian around it.

    π = σ(f), W = π(1 − π), B = I + ZᵀWZ = L_B L_Bᵀ.
    """

    basis: LandmarkBasis
    Z: Array
    v: Array
    pi: Array
    B_factor: Array
    value: float


@dataclass(frozen=True, eq=False)
class LandmarkLaplace:
    """Laplace's approximation for labels 0 and 1 under the logistic likelihood, with K̃ = ZZᵀ.

    log q = −½vᵀv − Σ log(1 + exp(−(2y−1)f)) − ½ log det B, at the mode f = Zv

    The same numbers as those of the matrix K̃ itself, in time n·M² and memory n·M.
    """

    kernel: Kernel
    points: Points
    landmarks: Points
    names: Sequence[str]
    scales: Array
    y: Array
    max_iter: int = 100

    def at(self, theta: Array) -> Kernel:
        """Return the kernel of θ; the logarithms of its parameters are ``scales`` · θ."""
        return with_logarithms(self.kernel, self.names, self.scales * theta)

    def mode(self, kernel: Kernel) -> LandmarkMode:
        """Find the mode by Newton's method."""
        basis = LandmarkBasis(kernel, self.landmarks)
        Z = basis.features(self.points, np.float64)
        f, signs = np.zeros(len(Z)), 2 * self.y - 1
        best: LandmarkMode | None = None
        for _ in range(self.max_iter):
            pi = expit(f)
            W = pi * (1 - pi)
            B = Z.T @ (W[:, None] * Z)
            B.flat[:: len(B) + 1] += 1.0
            factor = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
            v = cho_solve((factor, True), Z.T @ (W * f + self.y - pi), check_finite=False)
            f = Z @ v
            value = float(
                -0.5 * (v @ v)
                - np.logaddexp(0, -signs * f).sum()
                - np.log(np.diagonal(factor)).sum()
            )
            gain = np.inf if best is None else value - best.value
            best = LandmarkMode(basis, Z, v, pi, factor, value)
            if gain < _LAPLACE_GAIN:
                break
        assert best is not None
        return best

    def value(self, theta: Array) -> float:
        """Return the approximate evidence; −∞ where it cannot be computed."""
        try:
            return self.mode(self.at(theta)).value
        except (NotPositiveDefinite, NumericalOverflow, np.linalg.LinAlgError):
            return -np.inf

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Refuse: parameters are learnt on a part of the rows, without landmarks."""
        raise InvalidParameter(
            "GaussianProcessClassifier: with an approximation the evidence has no gradient. Ask "
            "for its value, or for the machine without an approximation."
        )
