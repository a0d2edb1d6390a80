"""Machines whose certificate is made from what they publish, when it is first asked for.

A fit keeps what it was about: the points, the targets and weights, what the solver said. Whoever
reads ``certificate_`` has the machine judged by the code of ``certify``, on a Gram matrix of its
own: no product, matrix or cache of the solver is in it. Then the certificate is kept, and the rest
goes. Copies, pickles and files are made of machines that were judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer._typing import Array
from mercer.estimators.shown import ShownMachine
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Solution, Statistics, Status


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit was about.

    Attributes
    ----------
    points : Points or matrix
        The training rows, a matrix where the machine is linear; not copied, so a certificate is
        about what they are when it is read.
    targets : array, optional
        Targets, or the numbers of classes, of each row.
    weights : array
        The weight of each row.
    runs : sequence of Statistics and Status
        What each problem cost, and how its solver ended.
    tol : float
        The relative gap that was asked for.
    violation : float
        The violation of the optimality conditions that was asked for, and will do as well.
    """

    points: Any
    targets: Any
    weights: Array
    runs: Sequence[tuple[Statistics, Status]]
    tol: float
    violation: float = 0.0

    @staticmethod
    def runs_of(solutions: Sequence[Solution[Any]]) -> list[tuple[Statistics, Status]]:
        """Return what problems cost and how their solvers ended."""
        return [(solution.statistics, solution.status) for solution in solutions]

    def told(self, parts: Sequence[Certificate]) -> list[Certificate]:
        """Return certificates of the problems with what they cost and how they ended."""
        result = []
        for part, (cost, status) in zip(parts, self.runs, strict=True):
            priced = replace(
                part,
                iterations=cost.iterations,
                seconds=cost.seconds,
                kernel_evaluations=cost.evaluations,
            )
            tol = math.inf if 0 <= part.stationarity <= self.violation else self.tol
            result.append(priced.under(str(status), tol))
        return result


class JudgedMachine(ShownMachine, BaseEstimator):
    """A machine that says how to judge itself, and is judged when somebody asks.

    A fit sets ``_training`` and drops the ``certificate_`` of an earlier one.
    """

    _training: Training

    def _judge_training(self, training: Training) -> Sequence[Certificate]:
        """Return a certificate for each problem, from fitted attributes and training data."""
        raise NotImplementedError

    @cached_property
    def certificate_(self) -> Certificate:
        """How far the answer is from the best one, over all problems."""
        return Certificate.total(self._judged_parts())

    def _judged_parts(self) -> list[Certificate]:
        training: Training | None = vars(self).get("_training")
        if training is None:
            raise NotFittedError(f"{type(self).__name__} is not fitted, and has no certificate_.")
        parts = training.told(self._judge_training(training))
        self.__dict__.pop("_training", None)
        return parts

    def settle(self) -> None:
        """Have the machine judged, where it is fitted and was not yet."""
        if "_training" in vars(self):
            _ = self.certificate_

    def _await_judgement(self, training: Training) -> None:
        """Keep what certificates are to be made of, and drop those of an earlier fit."""
        for name in ("certificate_", "certificates_"):
            self.__dict__.pop(name, None)
        self._training = training

    def __getstate__(self) -> Any:
        self.settle()
        return super().__getstate__()


class JudgedFunctions(JudgedMachine):
    """A machine of one or several functions, each with a certificate of its own."""

    @cached_property
    def certificates_(self) -> list[Certificate]:
        """How far each function is from the best one."""
        parts = self._judged_parts()
        self.__dict__["certificate_"] = Certificate.total(parts)
        return parts

    @cached_property
    def certificate_(self) -> Certificate:
        """How far the answer is from the best one, over all functions."""
        return Certificate.total(self.certificates_)
