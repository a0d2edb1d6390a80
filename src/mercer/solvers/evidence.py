"""The evidence of Gaussian processes, its exact gradient, and its maximisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite, NumericalOverflow
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Block, Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.solvers.ascent import Optimum, better, climb, maximise
from mercer.solvers.cholesky import (
    Cholesky,
    factor_with_jitter,
    gaussian_log_density,
    multiply_below,
)

_TILE, _LEAST_TILE = 256, 64
_SMALL = 200
"""Rows up to which the threads of BLAS wait for each other longer than they work."""
_FEW = 400
"""Rows up to which a second ascent is cheap."""
_MANY = 800
"""Rows from which the first steps are taken on a part of them."""
_ROUGH = 1e-4
"""Gain of the evidence, as a share of it, below which a first ascent ends."""
FLAT = 0.01
"""A parameter is flat where a factor of e changes the evidence by less than this."""

Weights = Callable[[slice, slice], Array]


class KernelFamily:
    """A kernel as a function of the logarithms θ of some of its parameters, on fixed points."""

    def __init__(
        self, kernel: Kernel, points: Points, names: Sequence[str], threads: int | None = None
    ) -> None:
        self.kernel, self.points, self.names = kernel, points, list(names)
        self.threads = _parallel.thread_count(threads)
        _memory.require(
            3 * 8 * len(points) ** 2,
            f"A Gaussian process of {len(points):,} rows",
            "Use fewer rows, or KernelRidge, which can do without the matrix.",
        )

    def at(self, theta: Array) -> Kernel:
        """Return the kernel with these log parameters."""
        values = {n: float(np.exp(t)) for n, t in zip(self.names, theta, strict=True)}
        return self.kernel.with_parameters(values) if values else self.kernel

    def matrix(self, kernel: Kernel) -> Array:
        """Return K in float64."""
        return Evaluator(kernel, self._pairs(), threads=self.threads).dense()

    def contract(self, kernel: Kernel, M: Array) -> Array:
        """Return Σᵢⱼ Mᵢⱼ ∂Kᵢⱼ/∂θ for every parameter and a symmetric M, tile by tile."""
        return self.sweep(kernel, lambda i, j: M[i, j])[0]

    def sweep(
        self, kernel: Kernel, weights: Weights, V: Array | None = None
    ) -> tuple[Array, Array]:
        """Return Σᵢⱼ Mᵢⱼ ∂Kᵢⱼ/∂θ and the products ∂K/∂θ V for every parameter.

        ``weights(i, j)`` gives tiles of a symmetric M on and below its diagonal. Everything is
        added up in an order that does not depend on the number of threads.
        """
        pairs, n = self._pairs(), len(self.points)
        side = max(_LEAST_TILE, min(_TILE, -(-n // 4)))
        cuts = [slice(s, min(s + side, n)) for s in range(0, n, side)]
        tiles = [(i, j) for at, i in enumerate(cuts) for j in cuts[: at + 1]]
        V = np.zeros((n, 0)) if V is None else V
        for statistic in set(kernel.statistics()):
            pairs.sides(statistic)
        found: dict[int, list[tuple[int, float, Array, Array]]] = {}

        def task(at: int) -> None:
            i, j = tiles[at]
            _parallel.check_stopped()
            M = weights(i, j)
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                found[at] = [
                    (self.names.index(name), float(np.vdot(M, slope)), slope @ V[j], slope.T @ V[i])
                    for name, slope in kernel.slopes(Block(pairs, i, j, {}), self.names)
                ]

        _parallel.run(task, range(len(tiles)), self.threads if n > _TILE else 1)
        sums = np.zeros(len(self.names))
        products = np.zeros((len(self.names), n, V.shape[1]))
        for at, (i, j) in enumerate(tiles):
            for name, total, below, above in found[at]:
                sums[name] += total if i == j else 2 * total
                products[name, i] += below
                if i != j:
                    products[name, j] += above
        return sums, products

    def slopes(self, kernel: Kernel) -> Any:
        """Yield ∂K/∂θ for every parameter, one matrix at a time."""
        for name in self.names:

            def formula(values: Any, name: str = name) -> Array:
                return kernel.gradient(values, name)

            yield Evaluator(kernel, self._pairs(), formula, self.threads).dense()

    def _pairs(self) -> Pairs:
        return Pairs(self.points, None, None, np.float64)


@dataclass(frozen=True, eq=False)
class RegressionEvidence:
    """log N(Y | 0, K(θ) + noise), summed over the columns of Y, and its gradient.

    ∂/∂θ = ½ tr((aaᵀ − A⁻¹) ∂K/∂θ) with A = K + noise, a = A⁻¹y
    """

    family: KernelFamily
    Y: Array
    noise: float | Array

    def factor(self, theta: Array) -> tuple[Cholesky, float]:
        """Return the factor of A, and the jitter that it took."""
        return factor_with_jitter(self.family.matrix(self.family.at(theta)), self.noise)

    def value(self, theta: Array) -> float:
        """Return the evidence; −∞ where A is not positive definite."""
        with few_threads(len(self.Y)):
            try:
                factor, _ = self.factor(theta)
            except (NotPositiveDefinite, NumericalOverflow):
                return -np.inf
            return gaussian_log_density(factor, self.Y, factor.solve(self.Y))

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the evidence and its gradient for the log parameters."""
        with few_threads(len(self.Y)):
            return self._value_and_gradient(theta)

    def _value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        place = EvidenceAt(self, theta)
        if place.value == -np.inf:
            return -np.inf, np.zeros(len(theta))
        return place.value, place.slope_and_curvature()[0]

    def climb(self, starts: Sequence[Array], bounds: Array, scales: Array, gain: float) -> Optimum:
        """Maximise the evidence of ``scales`` · θ over θ within bounds.

        Where rows are many, the first ascent takes its first steps on a part of them; should that
        lead astray, it begins again with all. Where they are few, the evidence has more tops than
        one, and L-BFGS gives a second opinion.
        """
        first = self._head_start(starts[0], bounds, scales)
        found = self.climb_by_curvature([first, *starts[1:]], bounds, scales, gain)
        if first is not starts[0] and found.value < self.value(starts[0] * scales):
            again = self.climb_by_curvature(starts[:1], bounds, scales, gain)
            found = better(found, again)
        if len(self.Y) <= _FEW:
            second = maximise(partial(self._scaled_gradient, scales=scales), starts, bounds)
            found = better(found, replace(second, messages=()))
        return found

    def climb_by_curvature(
        self, starts: Sequence[Array], bounds: Array, scales: Array, gain: float
    ) -> Optimum:
        """Do the same by Newton steps on all rows alone."""
        with few_threads(len(self.Y)):
            return climb(partial(EvidenceAt, self, scales=scales), starts, bounds, gain)

    def _scaled_gradient(self, theta: Array, scales: Array) -> tuple[float, Array]:
        value, slope = self.value_and_gradient(theta * scales)
        return value, slope * scales

    def _head_start(self, theta: Array, bounds: Array, scales: Array) -> Array:
        """Return where some of the rows lead, or θ itself where rows are few."""
        n = len(self.Y)
        if n < _MANY:
            return theta
        some = np.arange(0, n, -(-n // (_MANY // 2)))
        family = KernelFamily(self.family.kernel, self.family.points.take(some), self.family.names)
        noise = self.noise[some] if isinstance(self.noise, np.ndarray) else self.noise
        part = RegressionEvidence(family, self.Y[some], noise)
        found = part.climb_by_curvature([theta], bounds, scales, _ROUGH)
        return found.theta if np.isfinite(found.value) else theta


class EvidenceAt:
    """The evidence at one θ, with its slope and curvature where somebody asks.

    −∂²/∂θᵢ∂θⱼ ≈ ½ aᵀ ∂ᵢK A⁻¹ ∂ⱼK a, the average of the observed and the expected information
    """

    def __init__(
        self, evidence: RegressionEvidence, theta: Array, scales: Array | float = 1.0
    ) -> None:
        self._evidence, self._scales = evidence, scales * np.ones(len(theta))
        self._kernel = evidence.family.at(theta * self._scales)
        self.value = -np.inf
        with suppress(NotPositiveDefinite, NumericalOverflow):
            matrix = evidence.family.matrix(self._kernel)
            self._factor, _ = factor_with_jitter(matrix, evidence.noise)
            self._a = self._factor.solve(evidence.Y)
            self.value = gaussian_log_density(self._factor, evidence.Y, self._a)

    def slope_and_curvature(self) -> tuple[Array, Array]:
        """Return both; the factor is lost."""
        a, targets = self._a, self._a.shape[1]
        inverse = self._factor.inverse_below()

        def weights(i: slice, j: slice) -> Array:
            M = a[i] @ a[j].T
            part = inverse[i, j]
            M -= targets * (np.tril(part) + np.tril(part, -1).T if i == j else part)
            return M

        sums, Q = self._evidence.family.sweep(self._kernel, weights, a)
        flat = Q.transpose(1, 0, 2).reshape(len(a), -1)
        solved = multiply_below(inverse, flat).reshape(len(a), len(Q), targets)
        H = 0.5 * np.einsum("pnt,nqt->pq", Q, solved)
        return 0.5 * sums * self._scales, np.outer(self._scales, self._scales) * H


def few_threads(n: int) -> Any:
    """Hold BLAS to one thread for small matrices."""
    return _parallel.one_blas_thread() if n <= _SMALL else nullcontext()


def is_flat(value: Callable[[Array], float], theta: Array, here: float, at: int) -> bool:
    """Whether a factor of e, up or down, changes the evidence ``here`` next to nothing."""
    for step in (1.0, -1.0):
        moved = theta.copy()
        moved[at] += step
        if abs(value(moved) - here) < FLAT:
            return True
    return False
