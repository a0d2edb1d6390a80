"""The plan of a support vector machine: box QPs, each about some training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer._typing import Array, IntArray, Labels
from mercer.estimators.base import FitPlan, Functions, RuleKind
from mercer.gram.given import GivenGram
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.svm.box_qp import BoxQPSolver, Scratch

Problems: TypeAlias = Sequence[tuple[IntArray, BoxQP]]
"""Problems, each with the rows that it is about."""


Hyperplane: TypeAlias = Callable[[BoxQP, Array, Array], tuple[float, float]]
"""From f = Kβ and the biases of an answer to the bias and the factor of β of a machine."""


@dataclass(frozen=True, eq=False)
class BoxPlan(FitPlan[RuleKind]):
    """Box QPs and how each answer becomes a function Σ aᵢ k(xᵢ, ·) + b."""

    rule: RuleKind
    problems: Problems
    hyperplane: Hyperplane
    tol: float
    position: tuple[float, ...]

    def continues(self, other: BoxPlan[RuleKind]) -> bool:
        if len(self.problems) != len(other.problems) or self.tol != other.tol:
            return False
        for (mine, _), (theirs, _) in zip(self.problems, other.problems, strict=True):
            if mine is not theirs and not np.array_equal(mine, theirs):
                return False
        return True

    @classmethod
    def solve_path(
        cls,
        plans: Sequence[BoxPlan[RuleKind]],
        K: Array,
        train: IntArray,
        memory: Scratch,
        deadline: float,
    ) -> list[Functions | None]:
        first, solver = plans[0], BoxQPSolver()
        budget = Budget(first.tol, deadline=deadline, threads=1)
        paths = [
            solver.solve_path(
                [plan.problems[j][1] for plan in plans],
                GivenGram(K).take(train[rows]),
                budget,
                memory,
            )
            for j, (rows, _) in enumerate(first.problems)
        ]
        found: list[Functions | None] = []
        for plan, *answers in zip(plans, *paths, strict=False):
            status, seconds = Status.OPTIMAL, 0.0
            for answer in answers:
                status = answer.status if status is Status.OPTIMAL else status
                seconds += answer.statistics.seconds
            columns, intercepts = plan.compose(answers, len(train))
            found.append(Functions(columns, intercepts, str(status), seconds))
        return found

    def compose(self, answers: Sequence[Solution[Array]], count: int) -> tuple[Array, Array]:
        """Return the coefficients (rows × functions) and the biases of the functions."""
        columns, intercepts = np.zeros((count, len(answers))), np.empty(len(answers))
        for j, ((rows, problem), answer) in enumerate(zip(self.problems, answers, strict=True)):
            f = answer.f
            intercepts[j], factor = self.hyperplane(problem, f, problem.biases(answer.value, f))
            columns[rows, j] = factor * problem.coefficients(answer.value, len(rows))
        return columns, intercepts


@dataclass(frozen=True, eq=False)
class ValueRule:
    """One function whose values are the answers."""

    def predict(self, values: Array) -> Array:
        """Return the values as they are."""
        return values[:, 0]


@dataclass(frozen=True, eq=False)
class OutlierRule:
    """One function that is negative at outliers.

    Points on the boundary are inliers, and so are those within ``rounding`` of it: free support
    vectors lie there, and the last digit of their values depends on the rows beside them.
    """

    rounding: float = 0.0

    def decision_function(self, values: Array) -> Array:
        """Return the values as they are."""
        return values[:, 0]

    def predict(self, values: Array) -> Labels:
        """Return +1 for inliers, −1 for outliers."""
        return np.where(values[:, 0] >= -self.rounding, 1, -1)


def mean_bias(problem: BoxQP, f: Array, biases: Array) -> tuple[float, float]:
    """Return the bias in the middle, and the multipliers as they are."""
    return float(biases.mean()), 1.0
