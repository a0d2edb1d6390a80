"""The evidence of Gaussian processes, its exact gradient, and its maximisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer import _memory, _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite, NumericalOverflow
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Block, Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.solvers.cholesky import Cholesky, factor_with_jitter, gaussian_log_density

_TILE = 256
_SMALL = 200
"""Rows up to which the threads of BLAS wait for each other longer than they work."""
_MANY = 800
"""Rows from which the first steps are taken on a part of them."""
_ROUGH = 1e-4
"""Gain of the evidence, as a share of it, below which a first ascent ends."""
_LEVEL = 1e-4
"""Slope below which an ascent has reached its top: a factor of e is worth less than that."""
FLAT = 0.01
"""A parameter is flat where a factor of e changes the evidence by less than this."""

Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best of several ascents: log parameters, the evidence there, and how they ended."""

    theta: Array
    value: float
    converged: bool
    evaluations: int
    messages: tuple[str, ...] = ()


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
        pairs, n = self._pairs(), len(M)
        sums = np.zeros(len(self.names))
        lock = Lock()
        cuts = [slice(s, min(s + _TILE, n)) for s in range(0, n, _TILE)]
        tiles = [(i, j) for at, i in enumerate(cuts) for j in cuts[at:]]
        for statistic in set(kernel.statistics()):
            pairs.sides(statistic)

        def task(tile: tuple[slice, slice]) -> None:
            i, j = tile
            _parallel.check_stopped()
            block = Block(pairs, i, j, {})
            part = M[i, j]
            twice = 1.0 if i == j else 2.0
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                found = kernel.contraction(block, part, self.names)
            with lock:
                sums[:] += [twice * found[name] for name in self.names]

        _parallel.run(task, tiles, self.threads if n > _TILE else 1)
        return sums

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

    def head_start(self, theta: Array, bounds: Array, scales: Array) -> Array:
        """Return a better place to start from, found on some of the rows, where rows are many.

        ``theta`` itself where that one is better for all rows.
        """
        n = len(self.Y)
        if n < _MANY or not len(theta):
            return theta
        some = np.arange(0, n, -(-n // (_MANY // 2)))
        family = KernelFamily(self.family.kernel, self.family.points.take(some), self.family.names)
        noise = self.noise[some] if isinstance(self.noise, np.ndarray) else self.noise
        part = RegressionEvidence(family, self.Y[some], noise)

        def objective(at: Array) -> tuple[float, Array]:
            value, slope = part.value_and_gradient(at * scales)
            return value, slope * scales

        found = maximise(objective, [theta], bounds, _ROUGH).theta
        better = self.value(found * scales) > self.value(theta * scales)
        return found if better else theta

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
        try:
            factor, _ = self.factor(theta)
        except (NotPositiveDefinite, NumericalOverflow):
            return -np.inf, np.zeros(len(theta))
        a = factor.solve(self.Y)
        value = gaussian_log_density(factor, self.Y, a)
        M = factor.inverse()
        M *= -0.5 * self.Y.shape[1]
        for start in range(0, len(M), _TILE):
            part = slice(start, start + _TILE)
            M[part] += 0.5 * (a[part] @ a.T)
        return value, self.family.contract(self.family.at(theta), M)


def few_threads(n: int) -> Any:
    """Hold BLAS to one thread for small matrices."""
    return _parallel.one_blas_thread() if n <= _SMALL else nullcontext()


def maximise(
    objective: Objective, starts: Sequence[Array], bounds: Array, gain: float = 2e-9
) -> Optimum:
    """Climb from several starts by L-BFGS within bounds; return the best top.

    An ascent ends where a step gains less than the share ``gain`` of the value.
    """
    best: Optimum | None = None
    evaluations = 0
    messages: list[str] = []

    for start in starts:
        begin = np.clip(start, bounds[:, 0], bounds[:, 1])
        first = objective(begin)
        # The first step is as long as the gradient; longer than 1 it would leave the good places.
        scale = 1 / max(1.0, float(np.abs(first[1]).max(initial=0.0)))
        if not np.isfinite(first[0]):
            scale = 1.0

        def downhill(
            theta: Array, begin: Array = begin, first: Any = first, c: float = scale
        ) -> Any:
            value, slope = first if np.array_equal(theta, begin) else objective(theta)
            return -c * value, -c * slope

        found = minimize(
            downhill,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": gain, "gtol": _LEVEL * scale},
        )
        evaluations += int(found.nfev)
        if not found.success:
            messages.append(str(found.message))
        if best is None or -found.fun / scale > best.value:
            best = Optimum(found.x, -float(found.fun) / scale, bool(found.success), 0)
    assert best is not None
    return Optimum(best.theta, best.value, best.converged, evaluations, tuple(messages))


def is_flat(value: Callable[[Array], float], theta: Array, at: int) -> bool:
    """Whether a factor of e, up or down, changes the evidence next to nothing."""
    here = value(theta)
    for step in (1.0, -1.0):
        moved = theta.copy()
        moved[at] += step
        if abs(value(moved) - here) < FLAT:
            return True
    return False
