"""What machines share that learn the weights of their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from mercer._files.fields import A, ListOf, Numbers, State, WrongState
from mercer._sklearn import Interval, StrOptions, num_samples
from mercer._typing import Array, IntArray, Objects, Parameter, SampleWeights, Targets
from mercer.estimators.base import FitData
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import Training
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.multiple_kernel.base_kernels import (
    BaseKernels,
    HeldKernels,
    encoded_for,
    summed,
    terms_of,
)
from mercer.estimators.multiple_kernel.weight_rules import (
    RuleWeights,
    alignment_weights,
    easy_weights,
    indicators,
)
from mercer.estimators.svm.box_plan import Problems
from mercer.estimators.svm.support import SupportVectorMachine
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.given import GivenGram
from mercer.gram.sums import weighted_features, weighted_terms
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.problems.multiple_kernels import (
    Judgement,
    MultipleKernelProblem,
    WeightedMultipliers,
)
from mercer.solvers.base import Budget, Solution
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.growing_rows import GrowingRows
from mercer.solvers.svm.weight_newton import WeightNewton

JOINT = ("l1", "lp")
"""Methods that find weights and machine in one convex problem."""
METHODS = ("alignment", "easymkl", *JOINT)
"""The ways to learn weights."""


class Wanted(NamedTuple):
    """What kernels are aligned with: numbers, or the codes of classes."""

    Y: Array
    codes: IntArray | None = None

    @classmethod
    def of_classes(cls, codes: IntArray, count: int) -> Wanted:
        """Return the targets of some classes."""
        return cls(indicators(codes, count), codes)


class StatedKernels(NamedTuple):
    """Points, kernels on one scale, the joint problem on them, and the published answer."""

    points: Points
    kernels: list[Kernel]
    problem: MultipleKernelProblem
    value: WeightedMultipliers
    biases: list[Array]


class PublishedAnswer(NamedTuple):
    """Problems with the rows that they are about, and multipliers and biases of each."""

    parts: Problems
    multipliers: list[Array]
    biases: list[Array]


def rule_weights(method: str, held: HeldKernels, wanted: Wanted, balance: float) -> RuleWeights:
    """Return the weights of a rule that needs no machine."""
    if method == "alignment":
        return alignment_weights(held.gram, wanted.Y)
    assert wanted.codes is not None
    return easy_weights(held, wanted.codes, wanted.Y.shape[1], balance)


@parameters
class WeightedMachine(SupportVectorMachine):
    """A support vector machine on a sum of kernels whose weights it learns."""

    kernel: Parameter = "rbf"
    _: KW_ONLY
    method: str = "l1"
    p: float = 2.0
    balance: float = 0.1
    normalise: bool = True
    kernels_: Any = field(init=False)
    weights_: Any = field(init=False)
    shares_: Any = field(init=False)
    _scales: Any = field(init=False)
    _points: Points = field(init=False)
    _wanted: Wanted | None = field(init=False, default=None)
    """The targets, during a fit."""
    _whole_points: Points | None = field(init=False, default=None)
    """The training rows as all kernels see them, during a fit."""

    STATE: ClassVar[State] = {
        **SupportVectorMachine.STATE,
        "kernels_": ListOf(A(Kernel)),
        "weights_": Numbers("kernels", low=0),
        "shares_": Numbers("kernels", low=0),
        "_scales": Numbers("kernels", low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "method": [StrOptions(set(METHODS))],
        "p": [Interval(Real, 1, None, closed="left")],
        "balance": [Interval(Real, 0, 1, closed="left")],
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where kernels and weights do not fit."""
        super().check_state()
        if not len(self.kernels_) == len(self.weights_) > 0 or not (self._scales > 0).all():
            raise WrongState("it has not one weight for each kernel")

    @property
    def kernel_argument(self) -> KernelArgument:
        kernel, name = self.kernel, type(self).__name__
        if isinstance(kernel, list | tuple):
            kernel = summed(kernel, name)
        return kernel_argument(kernel, self.gamma, self.degree, self.coef0, name)

    @property
    def fits_by_plan(self) -> bool:
        return False

    @property
    def learns_jointly(self) -> bool:
        """Whether weights and machine come from one convex problem."""
        return self.method in JOINT

    def _check_parameters(self) -> None:
        name = type(self).__name__
        if isinstance(self.kernel, list | tuple):
            self._validate_params()
            summed(self.kernel, name)
        else:
            super()._check_parameters()
        if self.approximation is not None:
            raise InvalidParameter(
                f"{name}: approximation={self.approximation!r} has to be None, since weights are "
                "learnt on whole matrices. Learn them from fewer rows by learn_weights, and give "
                "its kernel to a machine with landmarks."
            )

    # ---- the fit -------------------------------------------------------------------------------

    def _solve(
        self, problems: Problems, start: Sequence[Array] | None, budget: Budget | None = None
    ) -> list[Solution[Array]]:
        if not self.kernel_.bounded:
            self._refuse_large_values()
        budget = budget or self._budget()
        kernels = terms_of(self.kernel_)
        name, points = type(self).__name__, self._points
        held = HeldKernels.of(kernels, points, self.normalise, self.tol, name)
        if self.learns_jointly:
            d, solutions = self._solve_jointly(problems, held, budget, start)
        else:
            assert self._wanted is not None
            d = rule_weights(self.method, held, self._wanted, self.balance).weights
            solutions = self._solve_with(d, problems, held, budget, start)
        self.kernels_, self._scales = list(kernels), held.base.scales
        self.weights_, self.shares_ = held.base.weights(d), held.shares(d)
        self.kernel_, self._whole_points = held.base.weighted(d), self._points
        self._points = encoded_for(self._points, self.kernel_)
        return solutions

    def _solve_with(
        self,
        d: Array,
        problems: Problems,
        held: HeldKernels,
        budget: Budget,
        start: Sequence[Array] | None,
    ) -> list[Solution[Array]]:
        """Solve the machines with weights that were found before."""
        features = weighted_features(held.gram, d)
        if features is None:
            gram = GivenGram(weighted_terms(held.gram.terms(), d), held.gram.definite)
            return BoxQPSolver(self.shrinking).solve_all(problems, gram, budget, start)
        n = features.shape[0]
        begins = [None] * len(problems) if start is None else start
        solver = GrowingRows(self.shrinking)
        return [
            solver.solve(
                problem, features if len(rows) == n else features.take(rows), budget, begin
            )
            for (rows, problem), begin in zip(problems, begins, strict=True)
        ]

    def _solve_jointly(
        self,
        problems: Problems,
        held: HeldKernels,
        budget: Budget,
        start: Sequence[Array] | None,
    ) -> tuple[Array, list[Solution[Array]]]:
        problem = self._joint_problem(problems)
        begin = None
        if start is not None:
            begin = WeightedMultipliers(problem.equal_weights(len(held.spreads)), start)
        found = WeightNewton(self.shrinking).solve(problem, held.gram, budget, begin)
        share = 1 / len(problems)  # the machines were found together
        statistics = replace(
            found.statistics,
            seconds=share * found.statistics.seconds,
            evaluations=round(share * held.evaluations),
        )
        solutions = [
            Solution(beta, found.status, found.certificate, statistics, found.f[rows, j])
            for j, ((rows, _), beta) in enumerate(
                zip(problems, found.value.multipliers, strict=True)
            )
        ]
        return found.value.weights, solutions

    def _joint_problem(self, problems: Problems) -> MultipleKernelProblem:
        return MultipleKernelProblem(problems, 1.0 if self.method == "l1" else float(self.p))

    def _remember(self, targets: Any, weights: Array, solutions: Sequence[Solution[Any]]) -> None:
        super()._remember(targets, weights, solutions)
        assert self._whole_points is not None
        self._training = replace(self._training, points=self._whole_points)
        del self._whole_points

    # ---- the judge -----------------------------------------------------------------------------

    @cached_property
    def certificate_(self) -> Certificate:
        """How far weights and machine together are from the best ones.

        With ``method="alignment"`` and ``"easymkl"``, how far the machine is with its weights.
        """
        total = Certificate.total(self._judged_parts())
        joint: Certificate | None = self.__dict__.pop("_judged_jointly", None)
        if joint is None:
            return total
        costs = ("iterations", "seconds", "kernel_evaluations", "status")
        told = replace(joint, **{name: getattr(total, name) for name in costs})
        return told.under(told.status, self.tol)

    def _judge_training(self, training: Training) -> list[Certificate]:
        if not self.learns_jointly:
            return list(super()._judge_training(training))
        judged = self._judge_jointly(training)
        self._judged_jointly = judged.joint
        return list(judged.parts)

    def _judge_jointly(self, training: Training) -> Judgement:
        parts, multipliers, biases = self._published(training)
        value = WeightedMultipliers(self.weights_ * self._scales, multipliers)
        gram = BaseKernels(self.kernels_, self._scales).fresh(training.points)
        return self._joint_problem(parts).prove(value, gram, biases)

    def state_jointly(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> StatedKernels:
        """State the problem of weights and machine together, and the published answer."""
        training = self._training_of(X, y, sample_weight)
        parts, multipliers, biases = self._published(training)
        value = WeightedMultipliers(self.weights_ * self._scales, multipliers)
        pairs = zip(self.kernels_, self._scales, strict=True)
        kernels = [(1 / scale) * kernel for kernel, scale in pairs]
        return StatedKernels(
            training.points, kernels, self._joint_problem(parts), value, list(biases)
        )

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Certificate:
        """Judge the fitted machine on its training data, as :func:`mercer.certify` does."""
        parts = self._judge_training(self._training_of(X, y, sample_weight))
        joint: Certificate | None = self.__dict__.pop("_judged_jointly", None)
        return (joint or Certificate.total(parts)).under("")

    def _training_of(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Training:
        """Return the training data as the fit saw them."""
        count = num_samples(X)
        if count != self.shape_fit_[0]:
            raise InvalidInput(
                f"certify: the model was fitted on {self.shape_fit_[0]} rows, and X has {count}. "
                "Pass the training data."
            )
        targets, weights = self._stated_targets(FitData(y, sample_weight, count))
        points = self._encode(self._read_new(X))[1]
        return Training(points, targets, weights, [], self.tol)

    def _published(self, training: Training) -> PublishedAnswer:
        """Return the problems, and what the fitted attributes say of them."""
        raise NotImplementedError

    def _stated_targets(self, data: FitData) -> tuple[Any, Array]:
        """Return targets or codes of classes, and the weight of each row."""
        raise NotImplementedError
