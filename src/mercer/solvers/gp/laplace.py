"""Gaussian process classification by Laplace's approximation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import expit

from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite, NumericalOverflow
from mercer.gram.base import GramMatrix
from mercer.gram.kernel_family import KernelFamily
from mercer.linalg.cholesky import Cholesky
from mercer.problems.certificate import Certificate
from mercer.problems.processes import ModeProblem
from mercer.solvers.base import Budget
from mercer.solvers.gp.evidence import few_threads
from mercer.solvers.gp.evidence_ascent import Optimum, better, maximise

_SLOPE = 1e-5
"""Slope below which an ascent has reached its top, as SciPy's own default: it fades on plateaus."""
_BARELY = 1e-3
"""Share by which an evidence is better than an even chance, and says nothing yet."""
_REACH = 3.0
"""Longest way of a parameter in a stage: of 1, 2, 3 and 5 on eight data sets all led to the same
tops, 3 and 5 with the fewest evaluations."""
_GAIN = 1e-10
"""Share of the log posterior below which a Newton step is the last: it leaves about the square."""
_ENOUGH = 1e-4
"""Share of the gain that the slope promises which a step has to bring (Armijo's condition)."""
_SHORTEST = 1e-10
"""A step this much shorter than Newton's brings nothing but rounding."""
_WIDEST = 8.5
"""Standard deviations beyond which a Gaussian has no weight in float64."""
_FEWEST_NODES, _MOST_NODES, _NODES = 25, 401, 34.0
"""Nodes of the rule: with steps of 0.7 a Gaussian alone is exact to rounding, and with steps of
0.5/s so is σ(m + sz), whose poles are π/s away from the line; 401 do for s up to 11.8."""
_ROWS = 4096
"""Averages that are taken at a time, which bounds the memory by some megabytes."""


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode f of the posterior and the Gaussian around it.

    π = σ(f), W = π(1 − π), B = I + √W K √W = LLᵀ, and a = K⁻¹f.
    """

    f: Array
    a: Array
    pi: Array
    root: Array
    factor: Cholesky
    value: float


@dataclass(frozen=True, eq=False)
class LaplacePosterior:
    """A process with log parameters θ, and the mode of its posterior; ``coef`` is y − π."""

    theta: Array
    value: float
    mode: Mode
    coef: Array


@dataclass(frozen=True, eq=False)
class LaplaceEvidence:
    """The approximate evidence log q(y | θ) of labels 0 and 1 under the logistic likelihood.

    log q = −½aᵀf − Σ log(1 + exp(−(2y−1)f)) − ½ log det B, at the mode f of the posterior

    References
    ----------
    Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), chapters 3 and 5.
    """

    family: KernelFamily
    y: Array
    max_iter: int = 100
    last: list[Array] = field(default_factory=list, repr=False)
    """K⁻¹f at the mode for the last θ: that of the next θ is not far from it, as a rule."""

    name: ClassVar[str] = ModeProblem.name

    def certify(
        self, value: LaplacePosterior, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge the mode, for θ as it is: the matrix is that of the kernel with θ."""
        return ModeProblem(self.y).certify(value.coef, gram, product)

    def condition(self, optimum: Optimum) -> tuple[LaplacePosterior, Array]:
        """Return the process for θ, and K times its coefficients."""
        K = self.family.matrix(optimum.theta)
        mode = self.mode(K)
        coef: Array = self.y - mode.pi
        return LaplacePosterior(optimum.theta, optimum.value, mode, coef), K @ coef

    def climb(self, starts: Sequence[Array], bounds: Array, budget: Budget) -> Optimum:
        """Maximise the approximate evidence over θ within bounds.

        Where that is no better than n·log ½, an even chance for each label, a long step has led
        to parameters that know nothing of the labels; then it climbs once more in short stages.
        """
        best = maximise(self.value_and_gradient, starts, bounds, budget=budget, slope=_SLOPE)
        if best.converged and best.value < (1 - _BARELY) * len(self.y) * np.log(0.5):
            again = maximise(
                self.value_and_gradient, starts, bounds, budget=budget, slope=_SLOPE, reach=_REACH
            )
            return better(best, again)
        return best

    def _mode_nearby(self, K: Array) -> Mode:
        """Find the mode from that of the last θ, and keep it for the next."""
        found = self.mode(K, *self.last)
        self.last[:] = [found.a]
        return found

    def mode(self, K: Array, first: Array | None = None) -> Mode:
        """Find the mode by Newton's method, with steps halved where they go too far.

        It starts with f = K·``first`` where that is better than f = 0.

        With large kernel values a whole step can leave the place where the log posterior is like
        its second-order expansion, and never come back.
        """
        zero: Array = np.zeros(len(self.y))
        here: Mode | None = None
        if first is not None:
            near: Array = K @ first
            if self._posterior(near, first) > self._posterior(zero, zero):
                here = self._around(K, near, first)
        if here is None:
            here = self._around(K, zero, zero)
        for _ in range(self.max_iter):
            f, a, pi, root = here.f, here.a, here.pi, here.root
            b = root * root * f + (self.y - pi)
            step_a = b - root * here.factor.solve(root * (K @ b)) - a
            step_f = K @ step_a
            promised = float((self.y - pi - a) @ step_f)
            start = self._posterior(f, a)
            if not promised > 0:
                break
            share, last = 1.0, promised < _GAIN * max(1.0, abs(start))
            while not last and self._posterior(f + share * step_f, a + share * step_a) < (
                start + _ENOUGH * share * promised
            ):
                share /= 2
                if share < _SHORTEST:
                    return here
            here = self._around(K, f + share * step_f, a + share * step_a)
            if last:
                break
        return here

    def _posterior(self, f: Array, a: Array) -> float:
        """Return the log posterior of f = Ka, up to a constant."""
        signs = 2 * self.y - 1
        return -0.5 * float(a @ f) - float(np.logaddexp(0, -signs * f).sum())

    def _around(self, K: Array, f: Array, a: Array) -> Mode:
        """Return the Gaussian around f."""
        pi = expit(f)
        root = np.sqrt(pi * (1 - pi))
        B = root[:, None] * K
        B *= root
        factor = Cholesky(B, 1.0)
        value = self._posterior(f, a) - 0.5 * factor.log_determinant()
        return Mode(f, a, pi, root, factor, value)

    def value(self, theta: Array) -> float:
        """Return the approximate evidence."""
        with few_threads(len(self.y)):
            try:
                return self._mode_nearby(self.family.matrix(theta)).value
            except (NotPositiveDefinite, NumericalOverflow):
                return -np.inf

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the approximate evidence and its gradient for the log parameters."""
        with few_threads(len(self.y)):
            return self._value_and_gradient(theta)

    def _value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        try:
            K = self.family.matrix(theta)
            mode = self._mode_nearby(K)
        except (NotPositiveDefinite, NumericalOverflow):
            return -np.inf, np.zeros(len(theta))
        half = mode.factor.half_solve(mode.root[:, None] * K)
        third = mode.pi * (1 - mode.pi) * (1 - 2 * mode.pi)
        s = -0.5 * (np.diagonal(K) - np.einsum("ij,ij->j", half, half)) * third
        del half
        R = mode.factor.inverse()
        R *= mode.root[:, None]
        R *= mode.root
        # The mode moves with θ too: uᵀ ∂K v is what that adds.
        u = s - R @ (K @ s)
        v = self.y - mode.pi
        R *= -0.5
        R += 0.5 * np.outer(mode.a, mode.a)
        R += 0.5 * (np.outer(u, v) + np.outer(v, u))
        return mode.value, self.family.contract(theta, lambda i, j: R[i, j])[0]


def logistic_mean(mean: Array, variance: Array) -> Array:
    """Return E σ(f) for f ~ N(mean, variance), by the trapezoid rule."""
    result = np.empty(len(mean))
    for start in range(0, len(mean), _ROWS):
        part = slice(start, start + _ROWS)
        deviation = np.sqrt(np.maximum(variance[part], 0.0))
        count = math.ceil(np.clip(_NODES * deviation.max(), _FEWEST_NODES, _MOST_NODES))
        z = np.linspace(-_WIDEST, _WIDEST, count)
        weights = np.exp(-0.5 * z**2)
        weights /= weights.sum()
        values: Array = expit(mean[part, None] + deviation[:, None] * z)
        result[part] = values @ weights
    return result
