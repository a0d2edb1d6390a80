"""Linear support vector machines in scikit-learn's grammar, with a certificate for each fit."""

from __future__ import annotations

import sys
import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer import _parallel
from mercer._files.fields import (
    COUNT,
    LABELS,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    State,
    WrongState,
)
from mercer._sklearn import (
    Interval,
    SparseCoefMixin,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from mercer._typing import (
    Array,
    ClassWeights,
    IntArray,
    Matrix,
    Objects,
    SampleWeights,
    Seed,
    Targets,
)
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import MARGINS, DrawnClassifier, DrawnRegressor
from mercer.estimators.judged import JudgedFunctions, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.linear_judge import judge_margins
from mercer.estimators.linear.quick_answers import QuickScores, QuickValues
from mercer.estimators.linear.reading import QuickReading
from mercer.estimators.state import VECTORS, WEIGHTS, check_linear_classes, check_weights
from mercer.estimators.svm.classes import numbered
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.linear import (
    LinearAnswer,
    LinearCrammerSinger,
    SparseClassifier,
    classifier,
    regressor,
)
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.linear.coordinate import ClassDescent, ColumnDescent, linear_solver

_SEEDS = 1 << 31
"""Seeds of machines are smaller than this."""
_LARGEST_SEED = 1 << 32
"""NumPy refuses seeds from here on."""
_SMALL = 1 << 14
"""Numbers in X up to which machines are fitted sooner than handed over to another thread."""


class _Weighted(NamedTuple):
    """The weights of all rows; those whose weight is positive, their places, and C times it."""

    weights: Array
    gram: FeatureGram
    kept: IntArray
    C: Array


@parameters
class _LinearParameters:
    """The parameters that the two machines share."""

    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = 1e-4
    C: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1
    verbose: int = 0
    random_state: Seed = None
    max_iter: int = 1000

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }


class _LinearMachine(QuickReading, _LinearParameters, JudgedFunctions):
    """What the two machines share: reading data, warnings, publishing weights."""

    STATE: ClassVar[State] = {
        **VECTORS,
        "coef_": OneOf(WEIGHTS, Numbers("features")),
        "intercept_": OneOf(Number(), Numbers("functions")),
        "dual_coef_": Numbers("machines", "rows", any_order=True),
        "certificates_": ListOf(A(Certificate)),
        "certificate_": Maybe(A(Certificate)),
        "n_iter_": COUNT,
    }

    loss: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Objects, y: Targets, labels: bool) -> tuple[Any, Any]:
        return self._read_rows(
            X,
            y,
            labels=labels,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            accept_large_sparse=False,
        )

    @property
    def _constant(self) -> float:
        """The value of the column that carries the intercept, 0 for none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    @property
    def _budget(self) -> Budget:
        return Budget(tol=self.tol, max_iter=self.max_iter, gap=OPTIMAL_GAP)

    def _seeds(self, count: int) -> list[int]:
        """Return a seed for each of so many machines."""
        given = self.random_state
        if isinstance(given, Integral) and 0 <= given < _LARGEST_SEED:
            # Any numbers will do for the order of rows, and a generator takes long to make.
            return [(int(given) + at) % _SEEDS for at in range(count)]
        random = check_random_state(given)
        return [int(seed) for seed in random.randint(_SEEDS - 1, size=count)]

    def _read_weights(self, X: Matrix, sample_weight: SampleWeights) -> _Weighted:
        """Return the rows whose weight is positive, their places and C times their weights."""
        if sample_weight is None:
            weights = np.ones(X.shape[0])
        else:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        kept = np.flatnonzero(weights > 0)
        if not kept.size:
            raise InvalidInput(
                "No sample has a positive weight, so there is nothing to learn from; check "
                "sample_weight."
            )
        inside = X if kept.size == len(weights) else X[kept]
        return _Weighted(weights, FeatureGram.of_rows(inside), kept, self.C * weights[kept])

    def _check_combination(self, penalty: str, smooth: bool) -> None:
        """Raise for what LIBLINEAR has no solver for, in scikit-learn's words."""
        given = f"Parameters: penalty={penalty!r}, loss={self.loss!r}, dual={self.dual!r}"
        if penalty == "l1" and not smooth:
            problem = f"penalty={penalty!r} and loss={self.loss!r} is not supported"
        elif (penalty == "l1" and self.dual is True) or (not smooth and self.dual is False):
            problem = (
                f"penalty={penalty!r} and loss={self.loss!r} are not supported when "
                f"dual={self.dual!r}"
            )
        else:
            return
        raise InvalidParameter(
            f"Unsupported set of arguments: The combination of {problem}, {given}"
        )

    def _judge_training(self, training: Training) -> list[Certificate]:
        return judge_margins(self, training.points, training.targets, training.weights)

    def _publish(self, solutions: list[Solution[LinearAnswer]], rows: int, kept: IntArray) -> None:
        """Set the fitted attributes; solutions come one a machine, or one for all classes."""
        W = np.column_stack([solution.value.w for solution in solutions]).T
        self.coef_ = W[:, :-1] if self.fit_intercept else W
        self.intercept_: Any = self.intercept_scaling * W[:, -1] if self.fit_intercept else 0.0
        self.dual_coef_ = np.zeros((len(W), rows))
        self.dual_coef_[:, kept] = np.column_stack([s.value.multipliers for s in solutions]).T
        self.n_iter_ = max(solution.statistics.iterations for solution in solutions)
        if self.verbose:
            sys.stdout.write(f"{type(self).__name__}: {self.certificate_!r}\n")
        unfinished = [s for s in solutions if s.status is not Status.OPTIMAL]
        if unfinished:
            worst = max(solution.certificate.relative_gap for solution in unfinished)
            slope = max(solution.certificate.stationarity for solution in unfinished)
            warnings.warn(
                f"{type(self).__name__} failed to converge, increase the number of iterations: "
                f"after {self.n_iter_} the relative gap is {worst:.2g} "
                f"and a slope of {slope:.2g} is left. "
                f"{unfinished[0].status.advice}",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )


@parameters
class LinearSVC(DrawnClassifier, _LinearMachine, QuickScores, SparseCoefMixin, BaseEstimator):
    r"""Linear support vector classification, exact and certified, for many rows or features.

    min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ w·x̃ᵢ)  or the squares of the maxima, x̃ = (x, intercept_scaling)

    A drop-in for :class:`sklearn.svm.LinearSVC`. Newton's method solves data of few rows or few
    columns, dual coordinate descent those of many of both. Either stops when no slope of the dual
    exceeds ``tol``, the meaning it has in LIBLINEAR.

    Parameters
    ----------
    penalty : {"l1", "l2"}
        The norm of w that is penalised; ``"l1"`` sets weights to zero.
    loss : {"hinge", "squared_hinge"}
        The loss; only the squared one goes with ``penalty="l1"``.
    dual : bool or "auto"
        Accepted for scikit-learn; the solver is chosen by the data.
    tol : float
        The largest violation of the optimality conditions at the end.
    C : float
        The weight of the losses against the penalty.
    multi_class : {"ovr", "crammer_singer"}
        One machine for each class against the others, or one problem for all.
    fit_intercept, intercept_scaling
        Whether x gets one more feature, of this value. Its weight is penalised like all others.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    verbose : int
        Whether the certificate is printed.
    random_state : int, RandomState or None
        The order in which coordinates are visited.
    max_iter : int
        The most passes over the data, or Newton steps.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    dual_coef_ : array of shape (machines, n_samples)
        The signed multipliers; with the ℓ₂ penalty ``coef_`` is ``dual_coef_ @ X``.
    certificates_ : list of Certificate
        One for each machine; two classes, and all with ``multi_class="crammer_singer"``, are one.
    certificate_ : Certificate
        How far the answer is from the best one: of all machines together.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from mercer import LinearSVC, load_data
    >>> heart = load_data("heart")
    >>> machine = LinearSVC(penalty="l1", C=0.01).fit(scale(heart.X), heart.y)
    >>> [name for name, w in zip(heart.columns, machine.coef_[0]) if w]
    ['chest_pain', 'max_heart_rate', 'angina', 'st_depression', 'vessels', 'thal']
    >>> machine.certificate_.optimal
    True
    """

    STATE: ClassVar[State] = {**_LinearMachine.STATE, "classes_": LABELS}
    check_state = check_linear_classes
    _drawn_levels = MARGINS

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LinearParameters._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
    }

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: ClassWeights = None

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> LinearSVC:
        """Fit the machine to the rows of X and their classes y."""
        X, y = self._read(X, y, labels=True)
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        self.classes_, labels = numbered(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        factors = np.ones(len(self.classes_))
        if self.class_weight is not None:
            factors = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=sample_weight
            )
        read = self._read_weights(X, sample_weight)
        labels = labels[read.kept]
        if self.multi_class == "crammer_singer":
            solutions = [self._solve_jointly(read, labels, factors)]
        else:
            self._check_combination(self.penalty, self.loss == "squared_hinge")
            solutions = self._solve_each(read, labels, factors)
        runs = Training.runs_of(solutions)
        self._await_judgement(Training(X, y, read.weights, runs, OPTIMAL_GAP, self.tol))
        self._publish(solutions, X.shape[0], read.kept)
        if self.multi_class == "crammer_singer" and len(self.classes_) == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            if self.fit_intercept:
                self.intercept_ = self.intercept_[1:] - self.intercept_[:1]
        return self

    def _solve_jointly(
        self, read: _Weighted, labels: IntArray, factors: Array
    ) -> Solution[LinearAnswer]:
        problem = LinearCrammerSinger(
            labels, read.C * factors[labels], len(self.classes_), constant=self._constant
        )
        return ClassDescent(self._seeds(1)[0]).solve(problem, read.gram, self._budget)

    def _solve_each(
        self, read: _Weighted, labels: IntArray, factors: Array
    ) -> list[Solution[LinearAnswer]]:
        """Solve one class against the others, each class in turn; two classes are one machine."""
        binary = len(self.classes_) == 2
        positives = [1] if binary else list(range(len(self.classes_)))
        seeds = self._seeds(len(positives))
        solutions: list[Any] = [None] * len(positives)

        def task(at: int) -> None:
            mine = labels == positives[at]
            # As in LIBLINEAR, the others of several classes have no factor of their own.
            others = factors[0] if binary else 1.0
            weights = read.C * np.where(mine, factors[positives[at]], others)
            signs = np.where(mine, 1.0, -1.0)
            if self.penalty == "l1":
                thin = SparseClassifier(signs, weights, constant=self._constant)
                solutions[at] = ColumnDescent(seeds[at]).solve(thin, read.gram, self._budget)
            else:
                squared = self.loss == "squared_hinge"
                problem = classifier(signs, weights, squared, self._constant)
                method = linear_solver(problem, read.gram, seeds[at])
                solutions[at] = method.solve(problem, read.gram, self._budget)

        if binary:
            task(0)
        else:
            small = read.gram.shape[0] * self.n_features_in_ <= _SMALL
            _parallel.run(task, range(len(positives)), 1 if small else _parallel.thread_count())
        return solutions


@parameters
class LinearSVR(DrawnRegressor, _LinearMachine, RegressorMixin, QuickValues):
    r"""Linear support vector regression, exact and certified.

    min ½‖w‖² + Σ Cᵢ max(0, ∣yᵢ − w·x̃ᵢ∣ − ε)  or the squares of the maxima,
    x̃ = (x, intercept_scaling)

    A drop-in for :class:`sklearn.svm.LinearSVR`; see :class:`LinearSVC` for the method, for the
    parameters that are not listed here and for ``dual_coef_``.

    Parameters
    ----------
    dual, tol, C, fit_intercept, intercept_scaling, verbose, random_state, max_iter
        As in :class:`LinearSVC`.
    epsilon : float
        Errors up to this size cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        The loss.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    certificate_ : Certificate
        How far the answer is from the best one.

    Examples
    --------
    >>> from mercer import LinearSVR
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> machine = LinearSVR(C=100.0).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> machine.predict([[10.0]]).round(2), machine.certificate_.optimal
    (array([21.]), True)
    """

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there is one function of the columns."""
        check_weights(self)
        if self.coef_.ndim != 1:
            raise WrongState("its weights do not fit its columns")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LinearParameters._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    _: KW_ONLY
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"
    intercept_scaling: float = 1.0

    def _tube_width(self) -> float | None:
        return float(self.epsilon)

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> LinearSVR:
        """Fit the machine to the rows of X and their targets y."""
        X, y = self._read(X, y, labels=False)
        squared = self.loss == "squared_epsilon_insensitive"
        self._check_combination("l2", squared)
        weights, gram, kept, C = self._read_weights(X, sample_weight)
        targets = np.asarray(y, dtype=np.float64).ravel()[kept]
        problem = regressor(targets, C, float(self.epsilon), squared, self._constant)
        method = linear_solver(problem, gram, self._seeds(1)[0])
        solutions = [method.solve(problem, gram, self._budget)]
        runs = Training.runs_of(solutions)
        self._await_judgement(Training(X, y, weights, runs, OPTIMAL_GAP, self.tol))
        self._publish(solutions, X.shape[0], kept)
        self.coef_ = self.coef_.ravel()
        return self
