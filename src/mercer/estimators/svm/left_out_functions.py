"""Support vector machines that never saw some of their rows: their problems, what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _memory
from mercer._typing import Array, IntArray
from mercer.estimators.base import DecisionRule
from mercer.estimators.svm.box_plan import BoxPlan
from mercer.exceptions import InvalidParameter
from mercer.gram.computed import Gram
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.solvers.svm.changed_rows import harmless_changes
from mercer.solvers.svm.decremental import (
    LeftOutValues,
    can_leave_out,
    is_semidefinite,
    leave_out_each,
)

TOL = 1e-8
"""Violation at which a problem without a row counts as solved. Active-set steps end far below it,
so that the bounds of the values are narrow and a coarser one saves nothing."""


@dataclass(frozen=True, eq=False)
class LeftOutFunctions:
    """What each function of a machine says of each row when it never saw it.

    Attributes
    ----------
    functions : list of LeftOutValues
        One for each function: the values, their bounds, the gaps.
    rule : DecisionRule
        What turns values into answers.
    definite : bool
        Whether the matrix is positive semi-definite; otherwise the bounds prove nothing.
    """

    functions: list[LeftOutValues]
    rule: DecisionRule
    definite: bool


@dataclass(frozen=True, eq=False)
class RestatedFit:
    """The problems of a fit, stated again from its data, and its answers to them.

    Attributes
    ----------
    plan : BoxPlan
        The problems, with the parameters that were found.
    gram : Gram
        The matrix of the training rows in float64, which no solver has touched.
    coefficients : array of shape (n, functions)
        One row for each row of the matrix, one column for each function.
    """

    plan: BoxPlan[DecisionRule]
    gram: Gram
    coefficients: Array


def leave_out(
    fit: RestatedFit,
    certificate: Certificate,
    name: str,
    threads: int | None,
) -> LeftOutFunctions:
    """Solve the problems of a fit without each row, from the coefficients of the machine."""
    plan, gram = fit.plan, fit.gram
    if not all(can_leave_out(problem) for _, problem in plan.problems):
        raise InvalidParameter(
            f"leave_one_out: without a row, the problem of {name} is another one: its sums of "
            "multipliers depend on the number of rows, or they have no bound. SVC with "
            "multi_class='ovo' or 'ovr' and SVR, with a finite C, are refitted in a fraction of "
            "the time of n fits; refit=True fits any machine n times."
        )
    if plan.problems[0][1].name not in certificate.problem:
        raise InvalidParameter(
            f"leave_one_out: {name} with one joint problem of all classes has no way to leave out "
            "a row but a new fit: refit=True does that n times."
        )
    n = gram.shape[0]
    _memory.require(
        32 * n * n, f"leave_one_out: kernel matrices of {n:,} rows", "Leave out fewer rows."
    )
    K = gram.dense()
    definite = gram.definite is Definite.POSITIVE or is_semidefinite(K)
    functions = []
    for (rows, problem), column in zip(plan.problems, fit.coefficients.T, strict=True):
        held = column[rows]
        if len(problem) == len(rows):
            start = held
        else:  # one variable for targets above the tube, one for those below
            start = np.concatenate([np.maximum(held, 0.0), np.minimum(held, 0.0)])
        functions.append(leave_out_each(problem, K, rows, start, TOL, threads))
    return LeftOutFunctions(functions, plan.rule, definite)


def unchanged_answers(
    fit: RestatedFit, new: Points, decisions: Array, removed_only: bool
) -> IntArray:
    """Return how many rows may change before the sign of a decision does; −1 where none."""
    if not all(can_leave_out(problem) for _, problem in fit.plan.problems):
        raise InvalidParameter(
            "wrong_rows: multipliers without a bound can change without one: give SVC a finite C."
        )
    ((rows, problem),) = fit.plan.problems
    n = len(rows)
    _memory.require(64 * n * n, f"wrong_rows: kernel matrices of {n:,} rows", "Fit fewer rows.")
    gram = fit.gram if n == fit.gram.shape[0] else fit.gram.take(rows)
    K = gram.dense()
    if gram.definite is not Definite.POSITIVE and not is_semidefinite(K):
        return np.full(len(new), -1, dtype=np.intp)
    kernel, points = fit.gram.kernel, fit.gram.points
    cross = Gram(kernel, new, points.take(rows), dtype=np.float64).dense()
    own = kernel.diag(new)
    start = fit.coefficients[rows, 0]
    return harmless_changes(problem, K, cross, own, start, decisions, removed_only)
