"""One binary machine of a fitted model, with everything that the theory promises of it.

A fit keeps the answers of its binary problems; the machines are made when somebody asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer._files.fields import A, ListOf, Number, Numbers, Plain, State, WrongState
from mercer._typing import Array, IntArray, Labels
from mercer.estimators.svm.box_plan import Problems
from mercer.estimators.svm.classes import BinaryPart
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Solution

Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class BinaryMachine:
    """A hyperplane f(x) + b = 0 in feature space between two classes.

    Attributes
    ----------
    classes : tuple
        The class with f(x) + b < 0 and the class with f(x) + b > 0.
    rows : array
        The training rows that took part; all other arrays are in this order.
    signs : array
        +1 for the second class, −1 for the first.
    alpha_ : array
        The multipliers, 0 ≤ αᵢ ≤ Cᵢ.
    intercept_ : float
        The bias b.
    bound : array
        The upper bounds Cᵢ.
    certificate_ : Certificate
        How far the answer is from the best one; None inside of a machine not judged yet.
    values : array
        f at the training rows, without the bias.
    kernel : Kernel
        The kernel, settled.
    points : Points
        The training objects, encoded.

    Examples
    --------
    >>> from mercer import SVC, Linear
    >>> machine = SVC(Linear(), C=10.0).fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    >>> between = machine.machines_[0]
    >>> between.alpha_.round(3), round(between.intercept_, 3)  # f(x) = x − 2
    (array([0. , 0.5, 0.5]), -2.0)
    """

    classes: tuple[Any, Any]
    rows: IntArray
    signs: Array
    alpha_: Array
    bound: Array
    values: Array
    intercept_: float
    kernel: Kernel
    points: Points
    certificate_: Certificate | None = None

    STATE: ClassVar[State] = {
        "points": A(Points, size="n"),
        "kernel": A(Kernel),
        "classes": ListOf(Plain(), tuple),
        "rows": Numbers("rows", types="i", low=0, below="n"),
        "signs": Numbers("rows"),
        "alpha_": Numbers("rows"),
        "bound": Numbers("rows", finite=False),
        "values": Numbers("rows"),
        "intercept_": Number(),
        "certificate_": A(Certificate),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless two classes and some rows are there."""
        if len([*self.classes]) != 2 or not len(self.rows):
            raise WrongState("it has not two classes, or no rows")

    @cached_property
    def functional_margins_(self) -> Array:
        """yᵢ(f(xᵢ) + b): at least 1 where the slack is 0, negative where misclassified."""
        margins: Array = self.signs * (self.values + self.intercept_)
        return margins

    @cached_property
    def slack_(self) -> Array:
        """ξᵢ = max(0, 1 − yᵢ(f(xᵢ) + b))."""
        return np.asarray(np.maximum(0.0, 1.0 - self.functional_margins_))

    @cached_property
    def norm_(self) -> float:
        """‖w‖, the norm of the separating function."""
        square = float((self.alpha_ * self.signs) @ self.values)
        return math.sqrt(max(square, 0.0))

    @property
    def margin_(self) -> float:
        """2/‖w‖, the width of the margin."""
        return 2.0 / self.norm_ if self.norm_ > 0 else float("inf")

    @property
    def geometric_margins_(self) -> Array:
        """The signed distances of the points from the hyperplane."""
        norm = self.norm_
        return self.functional_margins_ / norm if norm > 0 else self.functional_margins_ * np.inf

    @property
    def beta_(self) -> Array:
        """βᵢ = Cᵢ − αᵢ, the multipliers of ξᵢ ≥ 0: where βᵢ > 0 there is no slack.

        Infinite for the hard margin, which allows none.
        """
        return np.asarray(self.bound - self.alpha_)

    @property
    def free_(self) -> Mask:
        """Points with 0 < αᵢ < Cᵢ, which lie on the margin."""
        return (self.alpha_ > 0) & (self.alpha_ < self.bound)

    @property
    def bound_(self) -> Mask:
        """Points with αᵢ = Cᵢ, on the wrong side of their margin."""
        return (self.alpha_ > 0) & (self.alpha_ >= self.bound)

    @property
    def misclassified_(self) -> Mask:
        """Points with ξᵢ > 1, on the wrong side of the hyperplane."""
        return self.slack_ > 1

    @cached_property
    def expansion_(self) -> Expansion:
        """The function f = Σ yᵢαᵢ k(xᵢ, ·) of the RKHS, without the bias."""
        support = np.flatnonzero(self.alpha_)
        support = support if support.size else np.arange(1)
        coefficients = (self.signs * self.alpha_)[support]
        return Expansion(self.kernel, self.points.take(self.rows[support]), coefficients)

    @property
    def _relative_gap(self) -> float:
        return math.inf if self.certificate_ is None else self.certificate_.relative_gap

    def __repr__(self) -> str:
        first, second = self.classes
        return (
            f"BinaryMachine({first!r} against {second!r}: {np.count_nonzero(self.alpha_)} support "
            f"vectors, margin {self.margin_:.4g}, {self.misclassified_.sum()} misclassified, "
            f"relative gap {self._relative_gap:.2g})"
        )


@dataclass(frozen=True, eq=False)
class BinaryAnswers:
    """The answers of all binary problems of a fit, of which its machines are made.

    Attributes
    ----------
    parts, problems, solutions : sequences
        The rows and signs of each problem, the problem, and its answer β.
    planes : sequence of two numbers
        The bias of each machine, and the factor that turns ∣β∣ into its multipliers.
    classes : array
        All classes, in order.
    kernel, points
        As in :class:`BinaryMachine`.
    hard : bool
        Whether no slack is allowed, at any price.
    """

    parts: Sequence[BinaryPart]
    problems: Problems
    solutions: Sequence[Solution[Array]]
    planes: Sequence[tuple[float, float]]
    classes: Labels
    kernel: Kernel
    points: Points
    hard: bool

    def machines(self) -> list[BinaryMachine]:
        """Return a machine for each answer, not judged yet."""
        names = [*self.classes.tolist(), "rest"]
        made = []
        for part, (_, problem), solution, (bias, factor) in zip(
            self.parts, self.problems, self.solutions, self.planes, strict=True
        ):
            below, above = part.pair
            bound = np.maximum(problem.hi, -problem.lo) * factor
            made.append(
                BinaryMachine(
                    classes=(names[below], names[above]),
                    rows=part.rows,
                    signs=part.signs,
                    alpha_=np.abs(solution.value) * factor,
                    # It is what it is: a classifier without slack, not a pair of nearest points.
                    bound=np.full(len(bound), np.inf) if self.hard else bound,
                    values=solution.f * factor,
                    intercept_=bias,
                    kernel=self.kernel,
                    points=self.points,
                )
            )
        return made
