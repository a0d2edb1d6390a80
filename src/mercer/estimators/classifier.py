"""What support vector classifiers share: classes, pairs, votes, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, IntArray
from mercer.estimators.approximated import LandmarkView
from mercer.estimators.auto import fit_tuned, is_tuned
from mercer.estimators.binary import BinaryMachine
from mercer.estimators.calibration import cross_fitted_scores, fit_slope, probabilities
from mercer.estimators.choice import check_definite
from mercer.estimators.progress import watching, with_callbacks
from mercer.estimators.support import SupportVectorMachine
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP
from mercer.solvers.solution import Solution


class Classifier(ClassifierMixin, SupportVectorMachine):
    """A classifier made of binary machines, one for each pair of classes or for each class."""

    decision_function_shape: str
    multi_class: str
    probability: Any
    class_weight: Any
    break_ties: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "random_state": ["random_state"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
    }

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, start: Any = None) -> Self:
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
        if is_tuned(self):
            fit_tuned(self, X, y, sample_weight)
            return self
        X = self._read_training(X, y)
        codes = self._read_classes(y)
        weights = self._weights(sample_weight, len(codes))
        self.kernel_, self._points = self._bind(X)
        given = self.kernel_
        self._bind_landmarks()
        check_definite(given, self._needs, self.strict, type(self).__name__)
        C = weights * self.class_weight_[codes]
        self._train(X, y, codes, C, start)
        if self._gives_probabilities():
            self._calibrate(X, y, codes, C, sample_weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return how far each object lies on which side.

        For two classes one number for each object, positive for ``classes_[1]``. Otherwise, with
        ``decision_function_shape="ovr"``, one for each class, with ``"ovo"`` one for each pair.
        """
        if self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            return self._functions(self._read_new(X))
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        """Return the class of each object."""
        check_is_fitted(self)
        self._check_untouched()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        count = len(self.classes_)
        if count == 2:
            return self.classes_[(self._scores(X) > 0).astype(int)]
        if self.break_ties or self.multi_class != "ovo":
            return self.classes_[np.argmax(self._scores(X), axis=1)]
        return self.classes_[_vote(self._functions(self._read_new(X)), count)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of objects whose class is right, weighted if asked."""
        if self._told is None:
            return float(super().score(X, y, sample_weight))
        # Told by a search that has read y already.
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def _gives_probabilities(self) -> bool:
        """Whether probabilities were asked for; the error is the one hasattr wants."""
        return self.probability is True

    def _check_probabilities(self) -> bool:
        if not self._gives_probabilities():
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, calibrated on objects not used in the fit.

        One factor turns decisions into probabilities, σ(a·f) or softmax(a·f). It has no offset, so
        that ½ lies on the decision boundary and the most probable class is always ``predict``'s.
        """
        check_is_fitted(self)
        if not hasattr(self, "_slope"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        winners = np.searchsorted(self.classes_, self.predict(X))
        return probabilities(self._scores(X), winners, self._slope)

    @available_if(_check_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of ``predict_proba``."""
        # The least number that has a logarithm stands for probabilities that underflow.
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny)))

    def _calibrate(self, X: Any, y: Any, codes: IntArray, C: Array, sample_weight: Any) -> None:
        shape = self.decision_function_shape
        try:
            self.decision_function_shape = "ovr"
            scores, rows = cross_fitted_scores(self, X, np.asarray(y), codes, sample_weight)
        finally:
            self.decision_function_shape = shape
        self._slope = fit_slope(scores, codes[rows], np.maximum(C[rows], 0.0))

    def _scores(self, X: Any) -> Array:
        """Return one score for two classes, else one for each class."""
        values = self._functions(self._read_new(X))
        if len(self.classes_) == 2:
            return np.asarray(values[:, 0] if values.shape[1] == 1 else values[:, 1] - values[:, 0])
        if self.multi_class == "ovo":
            return np.asarray(_ovr_decision_function(values < 0, -values, len(self.classes_)))
        return values

    @property
    def machines_(self) -> list[BinaryMachine]:
        """The binary machines: margins, slacks, multipliers and certificate of each."""
        check_is_fitted(self)
        return self._machines

    @property
    def certificate_(self) -> Certificate:
        """How far the answer is from the best one, over all binary problems."""
        check_is_fitted(self)
        return self._certificate

    def __getattr__(self, name: str) -> Any:
        # What the theory promises of one hyperplane: alpha_, slack_, margin_, expansion_ …
        if name in _PROMISED:
            machines = self.__dict__.get("_machines")
            if machines is not None and len(machines) == 1:
                return getattr(machines[0], name)
            several = "" if machines is None else f" Each of the {len(machines)} machines_ has one."
            raise AttributeError(f"{type(self).__name__} has no {name!r}.{several}")
        # Python asks here too when a property or a conditional method refuses: let it say why.
        for base in type(self).__mro__:
            if name in vars(base):
                return vars(base)[name].__get__(self, type(self))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _train(self, X: Any, y: Any, codes: IntArray, C: Array, start: Any) -> None:
        """Fit the binary machines."""
        plan = self._plan(codes, C)
        problems = [(rows, self._problem(signs, C[rows])) for rows, signs, _ in plan]
        with watching(self, X, y, self.tol, bool(self.verbose)) as self._monitor:
            solutions = self._solve_plan(problems, self._start_of(start, problems))
        del self._monitor
        machines = [
            self._machine(pair, rows, signs, problem, solution)
            for (rows, signs, pair), (_, problem), solution in zip(
                plan, problems, solutions, strict=True
            )
        ]
        if self._view is not None:
            machines = [self._declared(machine, self._view) for machine in machines]
        self._machines = machines
        self._certificate = Certificate.total([machine.certificate_ for machine in machines])
        columns: Array = np.zeros((len(codes), len(machines)))
        for j, machine in enumerate(machines):
            columns[machine.rows, j] = machine.signs * machine.alpha_
        self._publish_functions(X, codes, columns, np.array([m.intercept_ for m in machines]))
        self.n_iter_ = np.array([solution.iterations for solution in solutions], dtype=np.int32)
        self.fit_status_ = int(any(solution.status != "optimal" for solution in solutions))
        self._warn(solutions, [machine.certificate_ for machine in machines])

    def _declared(self, machine: BinaryMachine, view: LandmarkView) -> BinaryMachine:
        """Say in the certificate which problem was solved, and what the landmarks may cost."""
        multipliers = np.zeros(len(view.unseen))
        multipliers[machine.rows] = machine.signs * machine.alpha_
        return replace(machine, certificate_=view.declare(machine.certificate_, multipliers))

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        raise NotImplementedError

    @property
    def _shares_matrix(self) -> bool:
        return super()._shares_matrix and not self._gives_probabilities()

    def _pose(
        self, y: Any, sample_weight: Any, count: int, like: Any = None
    ) -> list[tuple[IntArray, BoxQP]]:
        if like is not None and like.class_weight is self.class_weight is None:
            self.classes_, self.class_weight_ = like.classes_, like.class_weight_
            C, plan = like._posed
        else:
            codes = self._read_classes(y)
            C = self._weights(sample_weight, count) * self.class_weight_[codes]
            plan = self._plan(codes, C)
        self._posed = C, plan
        return [(rows, self._problem(signs, C[rows])) for rows, signs, _ in plan]

    def _compose(
        self, problems: Sequence[tuple[IntArray, BoxQP]], answers: Sequence[Any], count: int
    ) -> tuple[Array, Array]:
        columns, intercept = np.zeros((count, len(problems))), np.empty(len(problems))
        for j, ((rows, problem), answer) in enumerate(zip(problems, answers, strict=True)):
            biases = problem.biases(answer.beta, answer.f)
            intercept[j], factor = self._hyperplane(problem, answer, biases)
            columns[rows, j] = answer.beta * factor
        return columns, intercept

    def _solve_plan(
        self, problems: list[tuple[IntArray, BoxQP]], start: list[Array] | None
    ) -> list[Solution]:
        return self._solve(problems, start)

    def _hyperplane(self, problem: BoxQP, solution: Solution, biases: Array) -> tuple[float, float]:
        """Return the bias and the factor that turns β into the coefficients of the machine."""
        raise NotImplementedError

    def _read_classes(self, y: Any) -> IntArray:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        self.class_weight_ = (
            np.ones(len(self.classes_))
            if self.class_weight is None
            else compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        )
        return np.asarray(codes, dtype=np.intp)

    def _plan(self, codes: IntArray, C: Array) -> list[tuple[IntArray, Array, tuple[int, int]]]:
        """Return rows, signs and classes of each binary problem; rows without weight are out.

        The sign is +1 for the first class of a pair, except where there are two classes only:
        then a positive decision means ``classes_[1]``, as in scikit-learn.
        """
        used = np.flatnonzero(C > 0)
        present = np.unique(codes[used])
        if len(present) < 2:
            self._refuse_one_class()
        count = len(self.classes_)
        if count == 2:
            return [(used, np.where(codes[used] == 1, 1.0, -1.0), (0, 1))]
        if self.multi_class == "ovr":
            return [(used, np.where(codes[used] == c, 1.0, -1.0), (-1, c)) for c in range(count)]
        members = [used[codes[used] == c] for c in range(count)]
        plan = []
        for first, second in combinations(range(count), 2):
            rows = np.concatenate([members[first], members[second]])
            signs = np.repeat([1.0, -1.0], [len(members[first]), len(members[second])])
            plan.append((rows, signs, (second, first)))
        return plan

    def _refuse_one_class(self) -> None:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class."
        )

    def _machine(
        self,
        pair: tuple[int, int],
        rows: IntArray,
        signs: Array,
        problem: BoxQP,
        solution: Solution,
    ) -> BinaryMachine:
        biases = problem.biases(solution.beta, solution.f)
        bias, factor = self._hyperplane(problem, solution, biases)
        names = self.classes_.tolist()
        label = [names[c] if c >= 0 else "rest" for c in pair]
        return BinaryMachine(
            classes=(label[0], label[1]),
            rows=rows,
            signs=signs,
            alpha_=np.abs(solution.beta) * factor,
            bound=np.maximum(problem.hi, -problem.lo) * factor,
            values=solution.f * factor,
            intercept_=bias,
            certificate_=self._certify(problem, solution, biases),
            kernel=self.kernel_,
            points=self._points,
        )

    def _publish_functions(self, X: Any, codes: IntArray, columns: Array, intercept: Array) -> None:
        """Publish coefficients (rows × functions), with the support vectors sorted by class."""
        chosen = np.flatnonzero(columns.any(axis=1))
        support = chosen[np.argsort(codes[chosen], kind="stable")]
        count = len(self.classes_)
        self._n_support = np.bincount(codes[support], minlength=count).astype(np.int32)
        self._support_codes = codes[support]
        used: Array = columns[support].T
        if count > 2 and self.multi_class == "ovo":
            used = _libsvm_layout(used, self._support_codes, count)
        self._publish(X, support, used, intercept)

    def _coefficients(self) -> Array:
        count = len(self.classes_)
        rows = super()._coefficients()
        if count == 2 or self.multi_class != "ovo":
            return rows
        return _from_libsvm_layout(rows.T, self._support_codes, count)

    def _primal_coefficients(self) -> Any:
        coef = sparse.csr_matrix(self._coefficients().T) if self._sparse else self._coefficients().T
        return coef @ self.support_vectors_

    def _start_of(self, start: Any, problems: list[tuple[IntArray, BoxQP]]) -> list[Array] | None:
        if start is None:
            return None
        check_is_fitted(start)
        machines = getattr(start, "machines_", [])
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

    def _start_scale(self, start: Any, machine: BinaryMachine, problem: BoxQP) -> float:
        """Return the factor that turns the multipliers of an answer into a start."""
        raise NotImplementedError


_PROMISED = frozenset({
    "alpha_", "slack_", "margin_", "norm_", "functional_margins_", "geometric_margins_", "free_",
    "bound_", "misclassified_", "expansion_",
})  # fmt: skip


def _vote(values: Array, count: int) -> IntArray:
    """Return the class with most votes of the pairs; the first one where several have them."""
    votes = np.zeros((len(values), count), dtype=np.intp)
    for j, (first, second) in enumerate(combinations(range(count), 2)):
        wins = values[:, j] > 0
        votes[:, first] += wins
        votes[:, second] += ~wins
    return np.asarray(votes.argmax(axis=1))


def _pair_rows(count: int) -> list[tuple[int, int, int]]:
    """Return (first, second, j) for the j-th pair of classes."""
    return [(a, b, j) for j, (a, b) in enumerate(combinations(range(count), 2))]


def _libsvm_layout(used: Array, codes: IntArray, count: int) -> Array:
    """Pack coefficients (pairs × support) into count − 1 rows: row b − 1 of class a, row a of b."""
    packed = np.zeros((count - 1, used.shape[1]))
    of = _class_slices(codes, count)
    for a, b, j in _pair_rows(count):
        packed[b - 1, of[a]] = used[j, of[a]]
        packed[a, of[b]] = used[j, of[b]]
    return packed


def _from_libsvm_layout(packed: Array, codes: IntArray, count: int) -> Array:
    """Return the coefficients (support × pairs) of the packed layout."""
    pairs = _pair_rows(count)
    columns = np.zeros((packed.shape[1], len(pairs)))
    of = _class_slices(codes, count)
    for a, b, j in pairs:
        columns[of[a], j] = packed[b - 1, of[a]]
        columns[of[b], j] = packed[a, of[b]]
    return columns


def _class_slices(codes: IntArray, count: int) -> list[slice]:
    """Return where each class stands among support vectors, which are sorted by class."""
    edges = np.searchsorted(codes, np.arange(count + 1))
    return [slice(edges[c], edges[c + 1]) for c in range(count)]
