"""Logistic regression in scikit-learn's grammar, with certificates."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._files.fields import LABELS, Numbers, State
from mercer._sklearn import (
    Hidden,
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
    Model,
    Objects,
    SampleWeights,
    Seed,
    Targets,
)
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnProbabilities
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.logistic_penalty import (
    SHORT_INDICES,
    LogisticModel,
    Price,
    check_liblinear,
    check_penalty,
    read_price,
)
from mercer.estimators.linear.quick_answers import QuickScores
from mercer.estimators.linear.reading import QuickReading
from mercer.estimators.progress import CallbackSupportMixin, watching, with_callbacks
from mercer.estimators.state import ONE_LINEAR, WEIGHTS, check_linear_classes
from mercer.estimators.svm.classes import numbered
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.solvers.base import Budget, Status

UNFINISHED = {
    "lbfgs": "lbfgs failed to converge after {0} iteration(s)",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge after {0}. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {0} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}
"""scikit-learn's solvers, and what each says when it stops early: filters of warnings know it."""
_LITTLE = 1 << 16
"""Numbers up to which sparse rows are made dense: that costs no more, and the answer is the same in
all its digits."""


@parameters
class LogisticRegression(
    CallbackSupportMixin,
    DrawnProbabilities,
    QuickReading,
    QuickScores,
    SparseCoefMixin,
    JudgedMachine,
):
    r"""Logistic regression for two or more classes, exact and certified.

    min ½(1 − ρ) Σ_c ‖w_c‖² + ρ Σ_c ‖w_c‖₁ + C Σ sᵢ (log Σ_c exp(w_c·xᵢ + b_c) − w_y·xᵢ − b_y)

    with y = yᵢ and ρ = l1_ratio. A drop-in for :class:`sklearn.linear_model.LogisticRegression`
    with its ℓ₂, ℓ₁ and elastic-net penalties, or none (``C=np.inf``). Without ℓ₁ Newton's method
    solves it, with a factorisation where there are few columns and with conjugate gradients where
    there are many; with ℓ₁ Newton's method on working sets of weights, each model minimised by
    coordinate descent. Two classes have one row of weights.

    Parameters
    ----------
    C : float
        The weight of the losses against the penalty; ``np.inf`` for no penalty.
    l1_ratio : float
        The share ρ of the ℓ₁ penalty, which sets weights to zero: 0 for none of it, 1 for nothing
        else. As in scikit-learn, above 0 it needs ``solver="saga"``, and 1 takes ``"liblinear"``
        too.
    tol : float
        The largest slope of the mean loss at the end. The relative gap is at most tol/10,000.
    fit_intercept : bool
        Whether there are biases b, which have no penalty.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    max_iter : int
        The most steps of Newton's method.
    warm_start : bool
        Whether a fit starts from the last one.
    solver : str
        scikit-learn's names are accepted, and the method is the same for all of them. As there,
        ``"liblinear"`` is for two classes and numbers up to 1e30, and penalises the weight of a
        constant column ``intercept_scaling`` instead of having a free bias; it, ``"sag"`` and
        ``"saga"`` refuse sparse matrices with 64-bit indices.
    intercept_scaling
        See ``solver``.
    penalty : {"l1", "l2", "elasticnet"} or None
        The old name of the penalty; ``l1_ratio`` and ``C`` say it without a warning.
    dual, random_state, n_jobs
        Accepted for scikit-learn.
    verbose : int
        Whether a bar shows how far it is. Callbacks (``set_callbacks``) hear of every step.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        How far the answer is from the best one, in the units of the objective above. Without a
        penalty ``dual_feasibility`` is the slope that is left.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C=0.1, l1_ratio=1, solver="saga").fit(scale(X), y)
    >>> int((model.coef_ != 0).sum()), bool(model.certificate_.relative_gap < 1e-8)
    (8, True)
    """

    STATE: ClassVar[State] = {
        **ONE_LINEAR,
        "classes_": LABELS,
        "coef_": WEIGHTS,
        "intercept_": Numbers("functions"),
        "n_iter_": Numbers(1, types="i", low=0),
    }
    check_state = check_linear_classes

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}), None, Hidden(StrOptions({"deprecated"})),
        ],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(UNFINISHED))],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
    }  # fmt: skip

    penalty: str | None = "deprecated"
    _: KW_ONLY
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: ClassWeights = None
    random_state: Seed = None
    solver: str = "lbfgs"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.solver == "liblinear":
            tags.classifier_tags.multi_class = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @with_callbacks
    def fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None
    ) -> LogisticRegression:
        """Fit the weights to the rows of X and their classes y."""
        check_penalty(self)
        price = read_price(self)
        X, y = self._read_rows(
            X,
            y,
            labels=True,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=self.solver not in SHORT_INDICES,
        )
        self.classes_, labels = read_classes(y)
        if self.solver == "liblinear":
            check_liblinear(X, len(self.classes_))
        weights = read_weights(X, y, sample_weight, self.class_weight, self.classes_, labels)
        kept = np.flatnonzero(weights > 0)
        gram, problem = pose(
            X.astype(np.float64) if X.dtype != np.float64 else X, labels, weights, price, self, kept
        )
        with watching(self, X, y, self.tol, bool(self.verbose)) as monitor:
            limits = Budget(tol=self.tol, max_iter=self.max_iter, gap=OPTIMAL_GAP, monitor=monitor)
            found = price.method().solve(problem, gram, limits, self._start(problem))
        self._await_judgement(
            Training(X, labels, weights, Training.runs_of([found]), OPTIMAL_GAP, self.tol)
        )
        liblinear = self.solver == "liblinear"
        self._publish(found.value, problem.constant, np.float64 if liblinear else X.dtype)
        self.n_iter_ = np.array([found.statistics.iterations], dtype=np.int32)
        warn_unfinished(self, found.status, found.certificate, self.tol)
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        X = training.points.astype(np.float64, copy=False)
        return [judge_weights(self, X, training.targets, training.weights)]

    def _start(self, problem: LinearLogisticProblem) -> LogisticAnswer | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        W = np.asarray(self.coef_, dtype=np.float64).T
        bias = np.asarray(self.intercept_, dtype=np.float64)
        if problem.constant:
            W, bias = np.concatenate([W, bias[None] / problem.constant]), np.zeros(1)
        return LogisticAnswer(W, bias)

    def _publish(self, found: LogisticAnswer, constant: float, dtype: DTypeLike) -> None:
        W, bias = found.coef.T, found.bias
        if constant:
            bias, W = constant * W[:, -1], W[:, :-1]
        self.coef_: Any = np.ascontiguousarray(W, dtype=dtype)
        self.intercept_ = np.asarray(bias, dtype=dtype)

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, copy=False))

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))


def read_classes(y: Targets) -> tuple[Any, IntArray]:
    """Return the classes and the place of each label among them."""
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"):
        check_classification_targets(y)
    classes, labels = numbered(np.asarray(y))
    if len(classes) < 2:
        raise InvalidInput(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    return classes, labels


def read_weights(
    X: Matrix,
    y: Targets,
    sample_weight: SampleWeights,
    class_weight: ClassWeights,
    classes: Targets,
    labels: IntArray,
) -> Array:
    """Return the weight of each row, that of its class included."""
    weights: Array = np.ones(X.shape[0])
    if sample_weight is not None:
        weights = np.array(check_sample_weight(sample_weight, X, dtype=np.float64))
    if class_weight is not None:
        factors = compute_class_weight(
            class_weight, classes=classes, y=y, sample_weight=sample_weight
        )
        weights *= factors[labels]
    if (weights < 0).any() or not (weights > 0).any():
        raise InvalidInput(
            "Weights of samples and classes have to be 0 or more, and some of them positive; row "
            f"{int(weights.argmin())} has {weights.min():g}."
        )
    return weights


def pose(
    X: Matrix, labels: IntArray, weights: Array, price: Price, model: LogisticModel, kept: IntArray
) -> tuple[FeatureGram, LinearLogisticProblem]:
    """Return the rows with weight and the problem that a model with these parameters solves."""
    free = np.isinf(price.C)
    liblinear = model.solver == "liblinear" and model.fit_intercept
    if len(kept) < len(weights):
        X, labels, weights = X[kept], labels[kept], weights[kept]
    if sparse.issparse(X) and X.shape[0] * X.shape[1] <= _LITTLE:
        X = X.toarray()
    costs = weights if free else price.C * weights
    intercept = model.fit_intercept and not liblinear
    constant = float(model.intercept_scaling) if liblinear else 0.0
    count = len(model.classes_)
    problem = LinearLogisticProblem(labels, costs, count, intercept, not free, constant)
    if price.l1 > 0:
        problem = SparseLogisticProblem(labels, costs, count, intercept, True, constant, price.l1)
    return FeatureGram.of_rows(X), problem


def judge_weights(model: LogisticModel, X: Matrix, labels: IntArray, weights: Array) -> Certificate:
    """Judge weights and biases of a model, mercer's or scikit-learn's; ``labels`` count from 0.

    ``weights`` are those of the rows, that of their classes included.
    """
    gram, problem = pose(X, labels, weights, read_price(model), model, np.flatnonzero(weights > 0))
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    W = np.asarray(coef, dtype=np.float64).T
    bias = np.ravel(np.asarray(model.intercept_, dtype=np.float64))
    if problem.constant:
        W, bias = np.concatenate([W, bias[None] / problem.constant]), np.zeros(1)
    return problem.prove(LogisticAnswer(W, bias), gram)


def warn_unfinished(model: Model, status: Status, certificate: Certificate, tol: float) -> None:
    """Warn where the solver stopped before its tolerance."""
    if status is Status.OPTIMAL:
        return
    name, steps = type(model).__name__, certificate.iterations
    said = f"{name} failed to converge"
    if hasattr(model, "solver"):
        said = f"{name}: {UNFINISHED[model.solver].format(steps)}"
    warnings.warn(
        f"{said}: after {steps} steps of Newton's method the relative gap is "
        f"{certificate.relative_gap:.2g} at tol={tol:g}. {status.advice}",
        ConvergenceWarning,
        stacklevel=caller_level(),
    )
