"""What support vector classifiers share: their plan, their machines, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._files.fields import LABELS, A, ListOf, Maybe, Number, Numbers, State, WrongState
from mercer._sklearn import StrOptions, num_samples
from mercer._typing import (
    Array,
    ClassWeights,
    IntArray,
    Labels,
    Model,
    Objects,
    Parameter,
    SampleWeights,
    Seed,
    Targets,
)
from mercer.estimators.base import FitData, open_parameters, tuner
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import Training
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.progress import with_callbacks
from mercer.estimators.state import check_points
from mercer.estimators.svm.binary import BinaryAnswers, BinaryMachine
from mercer.estimators.svm.box_plan import BoxPlan, Problems
from mercer.estimators.svm.calibration import (
    PlattParameters,
    cross_fitted_scores,
    fit_slope,
    probabilities,
)
from mercer.estimators.svm.classes import (
    BinaryPart,
    ClassLabels,
    ClassRule,
    binary_parts,
    packed_by_class,
    unpacked_by_pair,
)
from mercer.estimators.svm.drawn_margins import DrawnMargins
from mercer.estimators.svm.support import SupportVectorMachine
from mercer.estimators.svm.svm_judge import judge_classes
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Solution


class _Stated(NamedTuple):
    """What plans make of targets and weights: classes, factors of C, binary problems."""

    labels: ClassLabels
    costs: Array
    parts: Sequence[BinaryPart]


@parameters
class Classifier(PlattParameters, DrawnMargins, ClassifierMixin, SupportVectorMachine):
    """A classifier made of binary machines, one for each pair of classes or for each class.

    Parameters
    ----------
    multi_class : {"ovo", "ovr"}
        One machine for each pair of classes, or for each class against the rest.
    probability : bool
        Calibrate probabilities after the fit, by five more fits on parts of the data.
    class_weight : dict or "balanced", optional
        A factor of C for each class; ``"balanced"`` makes it inverse to the number of its rows.
    decision_function_shape : {"ovr", "ovo"}
        Whether ``decision_function`` has a column for each class or for each pair of classes.
    break_ties : bool
        Whether equal votes of pairs are decided by the sums of their decision values.
    random_state : int, RandomState or None
        Cuts the rows into the parts that probabilities are calibrated on.

    Attributes
    ----------
    classes_, class_weight_
        As in scikit-learn.
    machines_ : list of BinaryMachine
        One for each binary problem; for two classes its attributes (``alpha_``, ``slack_``,
        ``margin_``, ``expansion_`` …) are those of the classifier too.
    """

    STATE: ClassVar[State] = {
        **SupportVectorMachine.STATE,
        "classes_": LABELS,
        "class_weight_": Numbers("classes"),
        "_support_codes": Numbers("support", types="i", low=0, below="classes"),
        "_n_support": Numbers("classes", types="i", low=0),
        "_machines": ListOf(A(BinaryMachine)),
        "certificate_": A(Certificate),
        "_joint": Maybe(Numbers("used", "classes", any_order=True)),
        "_slope": Maybe(Number()),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where classes, support vectors and functions do not fit."""
        super().check_state()
        classes, codes, k = self.classes_, self._support_codes, len(self.classes_)
        if k < 2 or classes.ndim != 1 or not (classes[:-1] < classes[1:]).all():
            raise WrongState("its classes are not two or more in order")
        counted = np.array_equal(np.bincount(codes, minlength=k), self._n_support)
        if not counted or (np.diff(codes) < 0).any():
            raise WrongState("its support vectors are not counted or sorted by class")
        pairs = k * (k - 1) // 2 if self.multi_class == "ovo" else k
        functions = len(self._intercept_)
        if functions != pairs and not (k == 2 and functions in (1, 2)):
            raise WrongState(f"it has {functions} functions for {k} classes")
        rows = k - 1 if k > 2 and self.multi_class == "ovo" else functions
        if self._dual_coef_.shape[0] != rows:
            raise WrongState(
                f"it has coefficients of {self._dual_coef_.shape[0]} functions, not {rows}"
            )
        for machine in self._machines:
            if machine.kernel is not self.kernel_ or machine.points is not self._machines[0].points:
                raise WrongState("its machines differ in kernel or points")
        if self._machines:
            check_points(self, self._machines[0].points)
        if self.probability is True and not hasattr(self, "_slope"):
            raise WrongState("it has no calibration for its probabilities")

    _answers: BinaryAnswers = field(init=False)
    """What the machines are made of, from a fit until somebody asks for them."""

    _: KW_ONLY
    probability: Parameter = False
    class_weight: ClassWeights = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Seed = None
    multi_class: str = "ovo"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "multi_class": [StrOptions({"ovo", "ovr"})],
    }

    @with_callbacks
    def fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None, start: Model = None
    ) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes.
        sample_weight : array of shape (n,), optional
            Factors of C; rows with a weight ≤ 0 are left out.
        start : fitted machine, optional
            A machine of the same kind, fitted on the same rows: the solver starts at its answer.
        """
        self._check_parameters()
        self._warn_of_parameters()
        if open_parameters(self):
            tuner().fit_tuned(self, X, y, sample_weight)
            return self
        X = self._read_training(X, y)
        data = FitData(y, sample_weight, num_samples(X))
        labels = self._labels(data)
        self.classes_, self.class_weight_ = labels.classes, self._class_weights(labels)
        C = self._costs(data)
        self.kernel_, self._points = self._bind(X)
        given = self.kernel_
        self._bind_landmarks()
        check_definite(given, self.needed_definite, self.strict, type(self).__name__)
        self._train(X, data, start)
        if self._gives_probabilities():
            scores, rows = cross_fitted_scores(
                self, self._scores, X, np.asarray(y), labels.codes, sample_weight
            )
            self._slope = fit_slope(scores, labels.codes[rows], np.maximum(C[rows], 0.0))
        return self

    def _warn_of_parameters(self) -> None:
        """Say which parameters of a fit have values that are about to go."""

    def decision_function(self, X: Objects) -> Array:
        """Return how far each object lies on which side.

        For two classes one number for each object, positive for ``classes_[1]``. Otherwise, with
        ``decision_function_shape="ovr"``, one for each class, with ``"ovo"`` one for each pair.
        """
        values = self._functions(self._read_new(X))
        return self._rule(self.classes_).decision_function(values)

    def predict(self, X: Objects) -> Labels:
        """Return the class of each object."""
        if self.break_ties:  # which may be refused before data are looked at, as in scikit-learn
            check_is_fitted(self)
            self._rule(self.classes_).check_ties()
        X = self._read_new(X)
        self._check_untouched()
        return self._rule(self.classes_).predict(self._functions(X))

    def _gives_probabilities(self) -> bool:
        """Whether probabilities were asked for; the error is the one hasattr wants."""
        return self.probability is True

    def _check_probabilities(self) -> bool:
        if not self._gives_probabilities():
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, calibrated on objects not used in the fit.

        One factor turns decisions into probabilities, σ(a·f) or softmax(a·f). It has no offset, so
        that ½ lies on the decision boundary and the most probable class is always ``predict``'s.
        """
        check_is_fitted(self)
        if not hasattr(self, "_slope"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        winners: IntArray = np.searchsorted(self.classes_, np.asarray(self.predict(X)))
        return probabilities(self._scores(X), winners, self._slope)

    @available_if(_check_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of ``predict_proba``."""
        # The least number that has a logarithm stands for probabilities that underflow.
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny)))

    def _scores(self, X: Objects) -> Array:
        """Return one score for two classes, else one for each class."""
        return self._rule(self.classes_).scores(self._functions(self._read_new(X)))

    def _rule(self, classes: Labels) -> ClassRule:
        return ClassRule(
            classes, self.multi_class, self.decision_function_shape, bool(self.break_ties)
        )

    @property
    def machines_(self) -> list[BinaryMachine]:
        """The binary machines: margins, slacks, multipliers and certificate of each."""
        check_is_fitted(self)
        self.settle()
        return self._machines

    @cached_property
    def _machines(self) -> list[BinaryMachine]:  # type: ignore[override]  # it can be set as well
        """The machines, without certificates until the fit is judged; none of a joint problem."""
        answers: BinaryAnswers | None = vars(self).get("_answers")
        if answers is None:
            raise NotFittedError(f"{type(self).__name__} is not fitted, and has no machines_.")
        machines = answers.machines()
        del self._answers
        return machines

    def _judged_parts(self) -> list[Certificate]:
        parts = super()._judged_parts()
        if machines := self._machines:
            pairs = zip(machines, parts, strict=True)
            self._machines = [replace(machine, certificate_=part) for machine, part in pairs]
        return parts

    def _judge_training(self, training: Training) -> Sequence[Certificate]:
        # The weights of the classes are among those of the rows.
        points, codes = training.points, training.targets
        return judge_classes(self, self.kernel_, points, codes, training.weights)

    def __getattr__(self, name: str) -> Any:
        # What the theory promises of one hyperplane: alpha_, slack_, margin_, expansion_ …
        if name in _PROMISED:
            machines = getattr(self, "_machines", None)
            if machines is not None and len(machines) == 1:
                return getattr(machines[0], name)
            several = "" if machines is None else f" Each of the {len(machines)} machines_ has one."
            raise AttributeError(f"{type(self).__name__} has no {name!r}.{several}")
        # Python asks here too when a property or a conditional method refuses: let it say why.
        for base in type(self).__mro__:
            if name in vars(base):
                return vars(base)[name].__get__(self, type(self))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- the plan ------------------------------------------------------------------------------

    @property
    def fits_by_plan(self) -> bool:
        return super().fits_by_plan and not self._gives_probabilities()

    def plan(self, data: FitData) -> BoxPlan[ClassRule]:
        labels, C, parts = self._stated(data)
        problems = self._problems(parts, C)
        return self._box_plan(self._rule(labels.classes), problems, self._hyperplane)

    def _labels(self, data: FitData) -> ClassLabels:
        return data.once("classes", lambda: ClassLabels.of(data.y))

    def _class_weights(self, labels: ClassLabels) -> Array:
        if self.class_weight is None:
            return np.ones(len(labels.classes))
        weights: Array = compute_class_weight(
            self.class_weight, classes=labels.classes, y=labels.given
        )
        return weights

    def _costs(self, data: FitData) -> Array:
        """Return the factors of C for each row: of its weight and of its class."""
        weights = data.once("weights", lambda: self._weights(data.sample_weight, data.count))
        if self.class_weight is None:
            return weights
        labels = self._labels(data)
        return weights * self._class_weights(labels)[labels.codes]

    def _stated(self, data: FitData) -> _Stated:
        """Return classes, factors of C and the binary problems; rows without weight are out."""

        def make() -> _Stated:
            labels, C = self._labels(data), self._costs(data)
            used = np.flatnonzero(C > 0)
            if np.count_nonzero(np.bincount(labels.codes[used])) < 2:
                self._refuse_one_class()
            parts = binary_parts(labels.codes, used, len(labels.classes), self.multi_class)
            return _Stated(labels, C, parts)

        # Machines without weights of classes state the same, whatever their other parameters.
        return make() if self.class_weight is not None else data.once(self.multi_class, make)

    def _problems(self, parts: Sequence[BinaryPart], C: Array) -> Problems:
        """Return the binary problems, given the factors of C of all rows."""
        return [(part.rows, self._problem(part.signs, C[part.rows])) for part in parts]

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        raise NotImplementedError

    @property
    def _hard(self) -> bool:
        """Whether no slack is allowed, at any price."""
        return False

    def _hyperplane(self, problem: BoxQP, f: Array, biases: Array) -> tuple[float, float]:
        """Return the bias and the factor that turns β into the coefficients of the machine."""
        raise NotImplementedError

    def _refuse_one_class(self) -> None:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class."
        )

    # ---- from answers to attributes ------------------------------------------------------------

    def _train(self, X: Objects, data: FitData, start: Model) -> None:
        """Fit the binary machines."""
        plan, (labels, _, parts) = self.plan(data), self._stated(data)
        with self._watching(X, data.y) as self._monitor:
            solutions = self._solve_problems(plan.problems, self._start_of(start, plan.problems))
        del self._monitor
        columns: Array = np.zeros((data.count, len(parts)))
        planes = []
        for j, ((rows, problem), solution) in enumerate(zip(plan.problems, solutions, strict=True)):
            beta, f = solution.value, solution.f
            bias, factor = self._hyperplane(problem, f, problem.biases(beta, f))
            columns[rows, j] = beta if factor == 1.0 else factor * beta
            planes.append((bias, factor))
        answers = (parts, plan.problems, solutions, planes, self.classes_)
        self._keep(BinaryAnswers(*answers, self.kernel_, self._points, self._hard))
        self._remember(labels.codes, self._costs(data), solutions)
        self._publish_functions(X, labels.codes, columns, np.array([bias for bias, _ in planes]))
        self._count_steps(solutions)
        self.n_iter_ = self._num_iter
        self._warn(solutions)

    def _solve_problems(
        self, problems: Problems, start: Sequence[Array] | None
    ) -> Sequence[Solution[Array]]:
        return self._solve(problems, start)

    def _keep(self, found: BinaryAnswers | None) -> None:
        """Keep what machines are made of, in place of those of an earlier fit; None for none."""
        for name in ("_machines", "_answers"):
            self.__dict__.pop(name, None)
        if found is None:
            self._machines = []
        else:
            self._answers = found

    def _publish_functions(
        self, X: Objects, codes: IntArray, columns: Array, intercept: Array
    ) -> None:
        """Publish coefficients (rows × functions), with the support vectors sorted by class."""
        chosen = np.flatnonzero(columns.any(axis=1))
        support = chosen[np.argsort(codes[chosen], kind="stable")]
        count = len(self.classes_)
        self._n_support = np.bincount(codes[support], minlength=count).astype(np.int32)
        self._support_codes = codes[support]
        used: Array = columns[support].T
        if count > 2 and self.multi_class == "ovo":
            used = packed_by_class(used, self._support_codes, count)
        self._publish(X, support, used, intercept)

    def expansion_coefficients(self) -> Array:
        count = len(self.classes_)
        rows = super().expansion_coefficients()
        if count == 2 or self.multi_class != "ovo":
            return rows
        return unpacked_by_pair(rows.T, self._support_codes, count)

    def _primal_coefficients(self) -> Any:
        coef = self.expansion_coefficients().T
        return (sparse.csr_matrix(coef) if self._sparse else coef) @ self.support_vectors_

    def _start_of(self, start: Model, problems: Problems) -> list[Array] | None:
        if start is None:
            return None
        check_is_fitted(start)
        machines = getattr(start, "_machines", [])
        if [len(machine.rows) for machine in machines] != [len(rows) for rows, _ in problems]:
            raise InvalidInput(
                f"{type(self).__name__}: start has to be a machine of the same kind, fitted on the "
                "same rows and classes."
            )
        return [
            problem.feasible(
                machine.signs * machine.alpha_ * self._start_scale(start, machine, problem)
            )
            for machine, (_, problem) in zip(machines, problems, strict=True)
        ]

    def _start_scale(self, start: Model, machine: BinaryMachine, problem: BoxQP) -> float:
        """Return the factor that turns the multipliers of an answer into a start."""
        raise NotImplementedError


_PROMISED = frozenset({
    "alpha_", "beta_", "slack_", "margin_", "norm_", "functional_margins_", "geometric_margins_",
    "free_", "bound_", "misclassified_", "expansion_",
})  # fmt: skip
