"""Newton's method for logistic regression: weights of columns, or functions of a kernel."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from mercer import _memory, _parallel
from mercer.gram.base import GramMatrix
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer, LogisticProblem, View
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear.logistic_spaces import Element, FunctionSpace, Space, WeightSpace

SHARPNESS = 1e-4
"""The relative gap at the end, as a share of ``tol``: 1e-8 with the default of 1e-4."""
_BIAS_SHARPNESS, _ROUNDING = 1e-6, 1e-15
"""The slope of a bias at the end, as a share of ``tol`` times Σ C, and the least that float64 has:
1e-10 of Σ C with the default of 1e-4. Certificates have the best bias that there is."""
_ROUGHEST_BIAS, _ROUGH_BIAS = 1e-4, 1e-3
"""The same on the way, where a share of the largest slope of the weights is enough: steps are as
many with a sharper one."""
_ROUGHEST_BY_SECANTS, _ROUGH_BY_SECANTS = 1e-3, 2e-2
"""The same for steps by secants: a sixth of all looks at the rows less, and hardly more steps."""
_SECANT_STEPS, _NEWTON_STEPS = 60, 40
"""Steps by secants, of two passes over the data each, before Newton's method takes over, and what
is left for it at least: together the steps that there are by default. Well-conditioned systems need
20 to 40 by secants."""
_FIRST_SECANTS = 24
"""Steps by secants after which their speed is known, and a factor stays good until the end."""
_ARRAYS_KEPT = 8
"""Numbers for each row and function that a step makes anew, with some to spare."""
_HIDDEN = 1e-14
"""Rises of the objective, as a share of it, that rounding of float64 may have made."""
_SHORTEST_STEP = 1e-10
"""Newton steps cut down to this share promise nothing any more."""


Stated = TypeVar("Stated", bound=LogisticProblem)


@dataclass(frozen=True)
class LogisticNewton(Solver[Stated, LogisticAnswer]):
    """Newton's method until no slope exceeds ``tol`` and the relative gap is SHARPNESS · tol.

    Slopes are those of the mean loss, the meaning that ``tol`` has in scikit-learn.
    """

    @abstractmethod
    def space(self, problem: Stated, gram: GramMatrix) -> Space:
        """Return where the functions live."""

    def run(
        self, problem: Stated, gram: GramMatrix, budget: Budget, start: LogisticAnswer | None
    ) -> Outcome[LogisticAnswer]:
        space = self.space(problem, gram)
        coef = np.zeros((space.length, problem.functions)) if start is None else start.coef
        _memory.keep_freed(_ARRAYS_KEPT * 8 * len(problem.labels) * problem.functions)
        with _parallel.one_blas_thread() if space.small else nullcontext():
            found = _descend(problem, space, Element(space, coef), budget)
        # Fresh values: those that went along with the steps have gathered rounding.
        return replace(found, product=problem.products(found.value, space.values))


@dataclass(frozen=True)
class LinearLogisticNewton(LogisticNewton[LinearLogisticProblem]):
    """Weights of the columns of a design matrix.

    Up to ``largest_system`` weights the Newton system is formed.
    """

    largest_system: int = 1_000

    needs_features: ClassVar[bool] = True

    def space(self, problem: LinearLogisticProblem, gram: GramMatrix) -> Space:
        return WeightSpace(problem.rows(gram), self.largest_system)

    def run(
        self,
        problem: LinearLogisticProblem,
        gram: GramMatrix,
        budget: Budget,
        start: LogisticAnswer | None,
    ) -> Outcome[LogisticAnswer]:
        if budget.max_iter == 0:  # the start itself, its biases too
            return Outcome(problem.zeros(gram) if start is None else start, Status.MAX_ITER)
        with _parallel.one_scipy_thread():  # its factors are small, and products are NumPy's
            return super().run(problem, gram, budget, start)


@dataclass(frozen=True)
class KernelLogisticNewton(LogisticNewton[LogisticProblem]):
    """Functions of a kernel, with its matrix in memory where that fits.

    Up to ``most_factored`` rows the kernel matrix of two classes is factored in each step.
    """

    most_factored: int = 5_000

    def space(self, problem: LogisticProblem, gram: GramMatrix) -> Space:
        return FunctionSpace(gram, self.most_factored)


def _descend(
    problem: LogisticProblem, space: Space, w: Element, budget: Budget
) -> Outcome[LogisticAnswer]:
    accuracy = max(_BIAS_SHARPNESS * budget.tol, _ROUNDING)
    view = problem.with_best_bias(w.values, accuracy=accuracy)
    total = float(problem.C.sum())
    steps, best, status = 0, math.inf, None
    settled = True  # whether the bias is as good as it has to be at the end
    patient = _affords_secants(budget)
    memory = space.memory(problem, view) if patient else None
    worth = space.secants_worth_newton(problem)
    first = 0.0
    while status is None:
        V = Element(space, space.adjoint(view.beta))
        g = w.plus(-1.0, V) if problem.penalised else V.opposite()
        norm, slope = g.dot(g), space.size(g) / total
        if norm < 0:
            norm = problem.cleared_norm(norm, g.coef, g.values)
        value = view.loss + (w.dot(w) / 2 if problem.penalised else 0.0)
        near = not problem.penalised or norm / 2 <= SHARPNESS * budget.tol * value
        # A step of Newton's that gains nothing any more has met rounding.
        still = steps > 0 and norm > 0.25 * best and norm <= 1e-20 * total * value
        done = (near and slope <= budget.tol) or still
        status = Status.OPTIMAL if done else budget.stop(slope, steps)
        if status is not None:
            if settled:
                break
            view, settled = problem.with_best_bias(w.values, view.bias, accuracy), True
            status = None
            continue
        best, steps = min(best, norm), steps + 1
        first = first or norm
        goal = SHARPNESS * budget.tol * value
        if memory is not None and _take_long(first, norm, goal, steps, worth):
            memory = None
        if memory is not None:
            memory.see(w.coef, g.coef)
            d = Element(space, memory.direction())
        else:
            d = _direction(problem, space, view, g, norm)
        if problem.functions > 1:
            # Only differences of functions matter to the loss; the penalty wants their sum zero.
            d = Element(space, d.coef - d.coef.mean(axis=1, keepdims=True))
        # Whoever counts steps gets whole ones: two at once are two single ones.
        rough = _rough_bias(slope, memory is not None) if patient else 0.0
        moved = _search(problem, w, view, d, g.dot(d), value, max(rough, accuracy))
        if moved is None:
            status = Status.STALLED
        else:
            w, view = moved
            settled = max(map(abs, view.slopes.tolist())) <= accuracy * total
    if status is Status.OPTIMAL:
        budget.stop(slope, steps)  # so that whoever watches sees the last point too
    seen = problem.penalised and near and settled and budget.gap < math.inf
    return Outcome(LogisticAnswer(w.coef, view.bias), status, steps, gap_seen=seen)


def _rough_bias(slope: float, by_secants: bool) -> float:
    """Return how sharp a bias has to be on the way, where the largest slope is the given one."""
    if by_secants:
        return min(_ROUGH_BY_SECANTS * slope, _ROUGHEST_BY_SECANTS)
    return min(_ROUGH_BIAS * slope, _ROUGHEST_BIAS)


def _affords_secants(budget: Budget) -> bool:
    """Tell whether enough steps are left for Newton's method where secants do not get there."""
    return budget.max_iter < 0 or budget.max_iter >= _SECANT_STEPS + _NEWTON_STEPS


def _take_long(first: float, norm: float, goal: float, steps: int, worth: float) -> bool:
    """Tell whether secants need more steps to the goal, as fast as until now, than are worth it."""
    if steps <= _FIRST_SECANTS or norm <= goal:
        return steps > _SECANT_STEPS
    rate = math.log(first / norm) / steps
    return steps > _SECANT_STEPS or math.log(norm / goal) > worth * rate


def _direction(
    problem: LogisticProblem, space: Space, view: View, g: Element, norm: float
) -> Element:
    """Return the Newton step −H⁻¹g, by a factorisation or by conjugate gradients."""
    right = g.opposite()
    found = space.solve(problem, view, right)
    if found is None:
        share = min(0.1, norm**0.25 / (1 + norm**0.25))
        found = space.iterate(problem, view, right, share)
        if not found.any():
            return right
    return Element(space, found)


def _search(
    problem: LogisticProblem,
    w: Element,
    view: View,
    d: Element,
    slope: float,
    value: float,
    accuracy: float,
) -> tuple[Element, View] | None:
    """Halve the step until the objective falls enough."""
    trial, after = w, view
    turn = problem.bias_along(view, d.values)

    def along(share: float) -> float:
        nonlocal trial, after
        trial = w.plus(share, d)
        after = problem.with_best_bias(trial.values, view.bias + share * turn, accuracy)
        return after.loss + (trial.dot(trial) / 2 if problem.penalised else 0.0)

    step = backtrack(along, value, slope, hidden=_HIDDEN, smallest=_SHORTEST_STEP)
    return (trial, after) if step.size > 0 else None
