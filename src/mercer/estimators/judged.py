"""Machines whose certificate is made from what they publish, when it is first asked for.

A fit keeps what it was about: the points, the targets and weights, what the solver said. Whoever
reads ``certificate_`` has the machine judged by the code of ``certify``, on a Gram matrix of its
own: no product, matrix or cache of the solver is in it. Then the certificate is kept, and the rest
goes. Copies, pickles and files are made of machines that were judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer._typing import Array
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Statistics, Status


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit was about.

    Attributes
    ----------
    points : Points
        The training rows; not copied, so a certificate is about what they are when it is read.
    targets : array, optional
        Targets, or the numbers of classes, of each row.
    weights : array
        The weight of each row.
    runs : sequence of Statistics and Status
        What each problem cost, and how its solver ended.
    tol : float
        The relative gap that was asked for.
    """

    points: Points
    targets: Any
    weights: Array
    runs: Sequence[tuple[Statistics, Status]]
    tol: float

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
            result.append(priced.under(str(status), self.tol))
        return result


class JudgedMachine(BaseEstimator):
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

    def __getstate__(self) -> Any:
        self.settle()
        return super().__getstate__()
