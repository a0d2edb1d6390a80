"""The evidence of Gaussian processes, its exact gradient, and its maximisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from mercer import _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite, NumericalOverflow
from mercer.gram.base import GramMatrix
from mercer.gram.kernel_family import KernelFamily
from mercer.linalg.cholesky import (
    Cholesky,
    factor_with_jitter,
    gaussian_log_density,
    multiply_below,
)
from mercer.problems.base import Problem
from mercer.problems.certificate import Certificate
from mercer.problems.processes import MeanProblem
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.gp.evidence_ascent import Optimizer, Optimum, ascend_by, better, climb, maximise

_SMALL = 512
"""Rows up to which a second thread of BLAS gains little, and loses much where cores are busy."""
_FEW = 400
"""Rows up to which a second ascent is cheap."""
_FINE = 1e-11
"""Gain of the evidence, as a share of it, at which an ascent on few rows ends: its slope is then
below 10⁻⁴, as after an ascent by L-BFGS."""
_MANY = 800
"""Rows from which the first steps are taken on a part of them."""
_ROUGH = 1e-4
"""Gain of the evidence, as a share of it, below which a first ascent ends."""
FLAT = 0.01
"""A parameter is flat where a factor of e changes the evidence by less than this."""

Fitted = TypeVar("Fitted")
"""What a process has learnt: θ, and what predictions need."""


class Evidence(Protocol):
    """An evidence as a function of θ."""

    def value(self, theta: Array) -> float:
        """Return the evidence; −∞ where there is none."""
        ...

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the evidence and its gradient."""
        ...

    def climb(self, starts: Sequence[Array], bounds: Array, budget: Budget) -> Optimum:
        """Maximise the evidence within bounds from several starts."""
        ...


class EvidenceProblem(Evidence, Problem[Fitted], Protocol[Fitted]):
    """An evidence, and what a process is for given θ."""

    def condition(self, optimum: Optimum) -> tuple[Fitted, Array]:
        """Return the process for the best θ, and K times its coefficients."""
        ...


@dataclass(frozen=True, eq=False)
class EvidenceSolver(Solver[EvidenceProblem[Fitted], Fitted]):
    """Learns θ by maximising the evidence, and conditions the process on the data.

    The evidence has more tops than one: θ is the best that was found. For this θ the rest is a
    convex problem, which the certificate is of. The matrix given to ``solve`` is that of the start.

    Parameters
    ----------
    starts : sequence of arrays
        θ to start from.
    bounds : array of shape (parameters, 2)
    optimizer : function, optional
        A user's own, in the place of the ascent that suits the problem.
    learns : bool
        Whether θ is learnt at all; else it is the first start.
    """

    starts: Sequence[Array]
    bounds: Array
    optimizer: Optimizer | None = None
    learns: bool = True

    def run(
        self,
        problem: EvidenceProblem[Fitted],
        gram: GramMatrix,
        budget: Budget,
        start: Fitted | None,
    ) -> Outcome[Fitted]:
        """Climb, then condition."""
        optimum = self.ascend(problem, budget)
        fitted, product = problem.condition(optimum)
        details = {"optimum": optimum}
        return Outcome(fitted, optimum.status, optimum.evaluations, product, details)

    def ascend(self, problem: Evidence, budget: Budget) -> Optimum:
        """Return the best θ."""
        first = self.starts[0]
        if not self.learns or not len(first):
            return Optimum(first, problem.value(first), Status.OPTIMAL, 1)
        if self.optimizer is None:
            return problem.climb(self.starts, self.bounds, budget)

        def objective(theta: Array, eval_gradient: bool = True) -> object:
            at = np.asarray(theta, dtype=float)
            if not eval_gradient:
                return -problem.value(at)
            value, slope = problem.value_and_gradient(at)
            return -value, -slope

        return ascend_by(self.optimizer, objective, self.starts, self.bounds)


@dataclass(frozen=True, eq=False)
class ProcessPosterior:
    """A Gaussian process with log parameters θ, conditioned on targets.

    A = K(θ) + noise = LLᵀ; ``coef`` is A⁻¹Y, ``jitter`` what rounding forced to add to the noise.
    """

    theta: Array
    value: float
    coef: Array
    factor: Array
    jitter: float


@dataclass(frozen=True, eq=False)
class RegressionEvidence:
    """log N(Y | 0, K(θ) + noise), summed over the columns of Y, and its gradient.

    ∂/∂θ = ½ tr((aaᵀ − A⁻¹) ∂K/∂θ) with A = K + noise, a = A⁻¹y
    """

    family: KernelFamily
    Y: Array
    noise: float | Array

    name: ClassVar[str] = MeanProblem.name

    def certify(
        self, value: ProcessPosterior, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge the mean, for θ as it is: the matrix is that of the kernel with θ."""
        noise = np.broadcast_to(self.noise + value.jitter, len(self.Y))
        return MeanProblem(self.Y, noise).certify(value.coef, gram, product)

    def condition(self, optimum: Optimum) -> tuple[ProcessPosterior, Array]:
        """Return the process for θ, and K times its coefficients."""
        factor, jitter = factor_with_jitter(self.family.matrix(optimum.theta), self.noise)
        coef = factor.solve(self.Y)
        posterior = ProcessPosterior(optimum.theta, optimum.value, coef, factor.lower(), jitter)
        return posterior, factor.multiply(coef)

    def value(self, theta: Array) -> float:
        """Return the evidence; −∞ where A is not positive definite."""
        with few_threads(len(self.Y)):
            return EvidenceAt(self, theta).value

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the evidence and its gradient for the log parameters."""
        with few_threads(len(self.Y)):
            local = EvidenceAt(self, theta)
            if local.value == -np.inf:
                return -np.inf, np.zeros(len(theta))
            return local.value, local.slope_and_curvature()[0]

    def climb(self, starts: Sequence[Array], bounds: Array, budget: Budget) -> Optimum:
        """Maximise the evidence over θ within bounds.

        Where rows are many, the first ascent takes its first steps on a part of them; should that
        lead astray, it begins again with all. Where they are few, the evidence has more tops than
        one, and L-BFGS gives a second opinion.
        """
        if len(self.Y) <= _FEW:
            budget = budget.but(tol=min(budget.tol, _FINE))
        with few_threads(len(self.Y)):
            first = self._head_start(starts[0], bounds, budget)
            found = self.climb_by_curvature([first, *starts[1:]], bounds, budget)
            if first is not starts[0] and found.value < self.value(starts[0]):
                again = self.climb_by_curvature(starts[:1], bounds, budget)
                found = better(found, again)
            if len(self.Y) <= _FEW and found.status is not Status.TIME_LIMIT:
                second = maximise(
                    self.value_and_gradient, starts, bounds, budget=budget, known=found
                )
                found = better(found, replace(second, messages=()))
        return found

    def climb_by_curvature(self, starts: Sequence[Array], bounds: Array, budget: Budget) -> Optimum:
        """Do the same by Newton steps on all rows alone."""
        with few_threads(len(self.Y)):
            return climb(partial(EvidenceAt, self), starts, bounds, budget)

    def _head_start(self, theta: Array, bounds: Array, budget: Budget) -> Array:
        """Return where some of the rows lead, or θ itself where rows are few."""
        n = len(self.Y)
        if n < _MANY:
            return theta
        some = np.arange(0, n, -(-n // (_MANY // 2)))
        noise = np.broadcast_to(self.noise, n)[some]
        part = RegressionEvidence(self.family.take(some), self.Y[some], noise)
        found = part.climb_by_curvature([theta], bounds, budget.but(tol=_ROUGH))
        return found.theta if np.isfinite(found.value) else theta


class EvidenceAt:
    """The evidence at one θ, with its slope and curvature where somebody asks.

    −∂²/∂θᵢ∂θⱼ ≈ ½ aᵀ ∂ᵢK A⁻¹ ∂ⱼK a, the average of the observed and the expected information
    """

    def __init__(self, evidence: RegressionEvidence, theta: Array) -> None:
        self._evidence, self._theta = evidence, theta
        self.value = -np.inf
        with suppress(NotPositiveDefinite, NumericalOverflow):
            matrix = evidence.family.matrix(theta)
            self._factor: Cholesky = factor_with_jitter(matrix, evidence.noise)[0]
            self._a = self._factor.solve(evidence.Y)
            self.value = gaussian_log_density(self._factor, evidence.Y, self._a)

    def slope_and_curvature(self) -> tuple[Array, Array]:
        """Return both; the factor is lost."""
        a, targets = self._a, self._a.shape[1]
        inverse = self._factor.inverse_below()

        def weights(i: slice, j: slice) -> Array:
            M: Array = a[i] @ a[j].T
            M -= inverse[i, j] if targets == 1 else targets * inverse[i, j]
            return M

        sums, Q = self._evidence.family.contract(self._theta, weights, a)
        flat = Q.transpose(1, 0, 2).reshape(len(a), -1)
        solved = multiply_below(inverse, flat).reshape(len(a), len(Q), targets)
        return 0.5 * sums, 0.5 * np.einsum("pnt,nqt->pq", Q, solved)


def few_threads(n: int) -> AbstractContextManager[None]:
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
