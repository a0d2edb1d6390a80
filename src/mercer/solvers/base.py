"""What a solver is: one way to call it, one way to stop it, one thing that comes back."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput, NoFeatureMap, NotPositiveDefinite
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.base import Problem
from mercer.problems.certificate import OPTIMAL_GAP, WITHIN, Certificate

Value = TypeVar("Value")
Stated = TypeVar("Stated", bound=Problem[Any])

Monitor = Callable[[float], bool]
"""Is shown how far the answer still is, and says whether to stop."""


class Status(StrEnum):
    """Why a solver stopped; each reason knows what to do about it."""

    OPTIMAL = "optimal"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    NONCONVEX = "nonconvex"
    UNBOUNDED = "unbounded"
    DIVERGED = "diverged"

    @property
    def advice(self) -> str:
        """What a user can do about it, in one sentence; empty where nothing is wrong."""
        return _ADVICE[self]


_ADVICE = {
    Status.OPTIMAL: "",
    Status.MAX_ITER: "It stopped at the limit of steps: scale the data, regularise more, loosen "
    "tol, or set max_iter higher.",
    Status.TIME_LIMIT: "It stopped at the time limit: raise it, scale the data, or loosen tol.",
    Status.INTERRUPTED: "It was interrupted; the answer is the best one until then.",
    Status.STALLED: "No step improves it any more within rounding: scale the data, regularise "
    "more, or loosen tol.",
    Status.NONCONVEX: "The problem has negative curvature: the answer is a stationary point, "
    "perhaps not the best one.",
    Status.DIVERGED: "The steps are too long, and values grow without end: take shorter ones, or a "
    "line search.",
    Status.UNBOUNDED: "The value falls for ever along a direction: there is no optimum.",
}


@dataclass(frozen=True)
class Budget:
    """When to stop, and what may be used until then.

    Attributes
    ----------
    tol : float
        The violation of the optimality conditions at which an answer is good enough.
    max_iter : int
        Most steps; negative for as many as it takes.
    deadline : float
        When to stop, on the clock ``time.perf_counter``.
    cache_bytes : int
        Memory for kernel values that are kept.
    threads : int, optional
        Number of threads; all cores by default.
    monitor : function, optional
        Called now and then with the violation; it returns True to stop.
    gap : float
        The relative duality gap that an answer has to have besides; any by default.
    """

    tol: float = 1e-3
    max_iter: int = -1
    deadline: float = math.inf
    cache_bytes: int = 200 << 20
    threads: int | None = None
    monitor: Monitor | None = None
    gap: float = math.inf

    @classmethod
    def within(cls, time_limit: float | None, **limits: Any) -> Budget:
        """Return a budget of so many seconds from now; None is for ever."""
        ends = math.inf if time_limit is None else time.perf_counter() + time_limit
        return cls(deadline=ends, **limits)

    @property
    def seconds_left(self) -> float:
        """The time until the deadline."""
        return self.deadline - time.perf_counter()

    def stop(self, violation: float, steps: int = 0) -> Status | None:
        """Return the reason to stop now, None where there is none."""
        if self.monitor is not None and self.monitor(violation):
            return Status.INTERRUPTED
        if 0 <= self.max_iter <= steps:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.perf_counter() > self.deadline else None

    def sharper(self, violation: float, gap: float, floor: float = 0.0) -> float:
        """Return the violation to go on to where the relative gap is too large still, else 0.

        Below ``floor`` rounding rules, and there is nothing to go on to.
        """
        if gap <= self.gap or violation <= floor:
            return 0.0
        return violation * min(0.3, max(0.03, self.gap / gap))

    def met(self, violation: float, gap: float) -> bool:
        """Tell whether an answer is good enough, where it cannot be made any better."""
        return violation <= self.tol and gap <= max(self.gap, OPTIMAL_GAP)

    def but(self, **changed: Any) -> Budget:
        """Return this budget with some limits changed."""
        return replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Value]):
    """What the steps of a solver come to, before it is judged.

    ``product`` is K times the coefficients of the value, in float64 and by ``gram.multiply``, for
    solvers that end with it. ``gap_seen`` says that the gap is as small as the budget asks for, by
    the solver's own sums: whoever publishes the answer makes its certificate.
    """

    value: Value
    status: Status
    iterations: int = 0
    product: Array | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    gap_seen: bool = False


@dataclass(frozen=True, eq=False)
class Statistics:
    """What an answer cost: steps, seconds, kernel values; ``details`` are the solver's own."""

    iterations: int = 0
    seconds: float = 0.0
    evaluations: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Solution(Generic[Value]):
    """What every solver returns.

    Attributes
    ----------
    value
        The answer, in the form that the problem states.
    status : Status
        Why the solver stopped; ``status.advice`` says what to do about it. Negative curvature on
        the way is in the certificate's status and in ``statistics.details["nonconvex"]``.
    certificate : Certificate
        How far the answer is from the best one by the solver's own products, which steers it and
        its warnings; None from a solver that is not ``certified`` or has seen the gap itself.
    statistics : Statistics
        What it cost.
    product : array, optional
        K times the coefficients of the value, where the solver ended with it.
    """

    value: Value
    status: Status
    certificate: Certificate
    statistics: Statistics
    product: Array | None = None

    @property
    def f(self) -> Array:
        """The product, from solvers that always end with it: the functions at the points."""
        assert self.product is not None
        return self.product


class Solver(ABC, Generic[Stated, Value]):
    """A method for problems of one kind. Its parameters are those of the method alone.

    A subclass states what it ``requires`` of the matrix and has ``run``.
    """

    needs_features: ClassVar[bool] = False
    """Whether the matrix has to have written-out features."""
    needs_landmarks: ClassVar[bool] = False
    """Whether the matrix has to be one on landmarks, whose rows come in passes."""
    needs: ClassVar[Definite] = Definite.INDEFINITE
    """The least that has to be known of the definiteness of the matrix."""
    certified: ClassVar[bool] = True
    """Whether its problems have a dual to judge answers by; see ``problems.base.WithoutDual``."""

    def solve(
        self, problem: Stated, gram: GramMatrix, budget: Budget, start: Value | None = None
    ) -> Solution[Value]:
        """Solve a problem on a matrix within a budget, from an earlier answer where there is one.

        The certificate is made here, once for all solvers, by the problem itself.
        """
        self.check(problem, gram)
        began, before = time.perf_counter(), gram.evaluations
        found = self.run(problem, gram, budget, start)
        seconds, evaluations = time.perf_counter() - began, gram.evaluations - before
        return self.judged(problem, gram, found, seconds, evaluations)

    def judged(
        self,
        problem: Stated,
        gram: GramMatrix,
        found: Outcome[Value],
        seconds: float,
        evaluations: int,
    ) -> Solution[Value]:
        """Return what was found with its certificate, by the problem itself."""
        if not self.certified or (found.gap_seen and found.status is Status.OPTIMAL):
            return self.unjudged(found, seconds, evaluations)
        statistics = Statistics(found.iterations, seconds, evaluations, found.details)
        exact = gram if gram.dtype == np.float64 else gram.in_precision(np.float64)
        judged = problem.certify(found.value, exact, found.product)
        status = found.status
        # Without a penalty a dual point is feasible in the limit only, and says so.
        feasible = judged.dual_feasibility == 0.0 or not math.isfinite(judged.relative_gap)
        if status is Status.OPTIMAL and feasible and not judged.bounds:
            status = Status.STALLED  # whatever the steps say: nothing shows that it is the optimum
        word = str(Status.NONCONVEX if found.details.get("nonconvex") else status)
        if word == "optimal" and judged.bounds and not judged.optimal:
            word = WITHIN
        certificate = replace(
            judged,
            iterations=statistics.iterations,
            seconds=statistics.seconds,
            kernel_evaluations=statistics.evaluations,
            status=word,
        )
        return Solution(found.value, status, certificate, statistics, found.product)

    def unjudged(self, found: Outcome[Value], seconds: float, evaluations: int) -> Solution[Value]:
        """Return what was found without a certificate, for those who publish none."""
        statistics = Statistics(found.iterations, seconds, evaluations, found.details)
        nothing = cast(Certificate, None)  # typed for the many that have one
        return Solution(found.value, found.status, nothing, statistics, found.product)

    def check(self, problem: Stated, gram: GramMatrix) -> None:
        """Refuse a matrix that this method cannot work on."""
        name = type(self).__name__
        if not gram.symmetric:
            raise InvalidInput(
                f"{name}: {problem.name} is solved on the Gram matrix of points with themselves; "
                f"this one has {gram.shape[0]:,} rows and other columns."
            )
        if self.needs_features and gram.features() is None:
            raise NoFeatureMap(
                f"{name}: {problem.name} is solved on written-out features, which this matrix "
                "does not have. Take a kernel with a finite feature map, or another method."
            )
        if self.needs_landmarks and gram.landmarks() is None:
            raise InvalidInput(
                f"{name}: {problem.name} is solved by passes over rows and landmarks, and this "
                "matrix has none. Take approximation=."
            )
        if gram.definite < self.needs:
            raise NotPositiveDefinite(
                f"{name}: {problem.name} needs a matrix that is known to be {self.needs.words}; "
                f"this one is {gram.definite.words}. Take another kernel, or repair(...) it."
            )

    @abstractmethod
    def run(
        self, problem: Stated, gram: GramMatrix, budget: Budget, start: Value | None
    ) -> Outcome[Value]:
        """Find an answer."""


class FeatureSolver(Solver[Stated, Value]):
    """A method that works on features Φ, such as the columns of a design matrix."""

    needs_features: ClassVar[bool] = True
