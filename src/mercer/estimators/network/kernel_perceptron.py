"""The perceptron in feature space, for any kernel on any data."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer import _memory
from mercer._files.fields import (
    COUNT,
    LABELS,
    TEXT,
    A,
    Maybe,
    Number,
    Numbers,
    Plain,
    State,
    WrongState,
)
from mercer._sklearn import Interval, check_sample_weight, check_targets, num_samples
from mercer._typing import (
    Array,
    ClassWeights,
    IntArray,
    Objects,
    Parameter,
    SampleWeights,
    Seed,
    Targets,
)
from mercer.estimators.base import NamedKernelMachine, _check_rows, take_objects
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnClassifier
from mercer.estimators.kernel_argument import caller_level, check_definite
from mercer.estimators.network.perceptron import perceptron_criterion
from mercer.estimators.state import KERNEL, MISTAKES, check_classes, check_points
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.mistakes import SignedRows
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.network.online_rules import (
    KernelPerceptronRule,
    MistakeBound,
    MistakeCounts,
    bound_on_mistakes,
    held,
    least_point_of_products,
)

_MOST_CELLS = 20_000_000
"""Products of a working set with all rows that are kept: 160 megabytes."""


@parameters
class KernelPerceptron(DrawnClassifier, ClassifierMixin, NamedKernelMachine):
    r"""The perceptron with any kernel on any data.

    f = Σ cᵢyᵢ k(xᵢ, ·) + b;  cᵢ ← cᵢ + 1,  b ← b + yᵢ  whenever  yᵢ f(xᵢ) ≤ 0

    Only rows on which a mistake was made enter the function, and only their rows of the Gram matrix
    are needed. It ends when all rows are right; where feature space separates the classes, it makes
    at most (R/γ)² mistakes: R² is the largest k(xᵢ, xᵢ) + 1 and γ the widest margin. Several
    classes are learnt one against the others.

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    fit_intercept : bool
        Whether there is a bias b.
    max_iter : int
        The most epochs.
    tol : float or None
        It also ends when the mean loss has not fallen by ``tol`` for ``n_iter_no_change`` epochs.
    n_iter_no_change : int
    shuffle : bool
        Whether each epoch has an order of its own.
    random_state : int, RandomState or None
        The order of the rows.
    class_weight : dict or "balanced" or None
        Factors of the step for each class.
    strict : bool
        Whether a kernel that is not known to be positive semi-definite is an error.
    cache_size : float
        Megabytes for the Gram matrix, or for rows of it where it is larger.
    time_limit : float or None
        Seconds after which it ends with the machine so far, and a warning.
    approximation : None, int or Nystrom
        Take K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of K. ``residual_trace_`` is the
        trace of what that leaves out.

    Attributes
    ----------
    classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    kernel_ : Kernel
        The kernel, settled on the training data.
    support_ : array
        The rows on which a mistake was made.
    support_vectors_ : data
        The training objects there.
    dual_coef_ : array of shape (functions, support)
        cᵢyᵢ.
    intercept_ : array of shape (functions,)
    mistakes_ : array of shape (functions,)
        The number of updates of each function.
    mistake_bound_ : array of shape (functions,)
        (R/γ)²; inf where no separator was found, or rows or classes have weights.
    status_ : str
        ``optimal`` where all rows are right, else why it stopped: ``stalled`` (by ``tol``),
        ``max_iter`` or ``time_limit``.

    References
    ----------
    M. Aizerman, E. Braverman and L. Rozonoer, Theoretical foundations of the potential function
    method in pattern recognition learning, Automation and Remote Control 25 (1964).

    Examples
    --------
    >>> from mercer import KernelPerceptron, Polynomial
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> machine = KernelPerceptron(Polynomial(degree=2)).fit(X, y)
    >>> machine.predict(X), machine.status_
    (array([0, 1, 1, 0]), 'optimal')
    >>> bool(machine.mistakes_[0] <= machine.mistake_bound_[0])
    True
    """

    STATE: ClassVar[State] = {
        **KERNEL,
        **MISTAKES,
        "classes_": LABELS,
        "n_iter_": COUNT,
        "support_": Numbers("support", types="i", low=0),
        "_support_points": A(Points, size="support"),
        "support_vectors_": Plain(),
        "dual_coef_": Numbers("functions", "support", any_order=True),
        "intercept_": Numbers("functions"),
        "residual_trace_": Maybe(Number(low=0)),
        "status_": Maybe(TEXT),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where support vectors, functions and classes do not fit."""
        rows = self.shape_fit_[0] if self.shape_fit_ else 0
        check_points(self, self._support_points, rows)
        check_classes(self.classes_, len(self.dual_coef_))
        if self.support_.size and not int(self.support_.max()) < rows:
            raise WrongState("a support vector is none of its training rows")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    kernel: Parameter = "rbf"
    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool = True
    random_state: Seed = 0
    class_weight: ClassWeights = None
    strict: bool = False
    cache_size: float = 512

    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes.
        sample_weight : array of shape (n,), optional
            Factors of the step for each row.
        """
        self._check_parameters()
        X, codes = self._read(X, y)
        n, k = len(codes), len(self.classes_)
        weights = check_sample_weight(sample_weight, np.empty((n, 0)), dtype=np.float64)
        factors = compute_class_weight(self.class_weight, classes=np.arange(k), y=codes)
        rates = weights * factors[codes]
        budget = self._budget()
        self.kernel_, points = self._bind_approximated(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        kept = budget.cache_bytes
        gram = held(Gram(self.kernel_, points, dtype=np.float64, cache_bytes=kept), budget)
        random = check_random_state(self.random_state)
        results, bounds = [], []
        for positive in [1] if k == 2 else range(k):
            problem = SignedRows(
                np.where(codes == positive, 1.0, -1.0), rates, intercept=self.fit_intercept
            )
            seed = int(random.randint(np.iinfo(np.int32).max))
            rule = KernelPerceptronRule(self.shuffle, seed, self.n_iter_no_change)
            result = rule.solve(problem, gram, budget)
            results.append(result)
            plain = (rates == 1.0).all()
            bounds.append(_bound(gram, problem, result.value).mistakes if plain else math.inf)
        self.mistakes_ = np.array([result.value.updates for result in results])
        self.mistake_bound_: Array = np.array(bounds)
        self.n_iter_ = max(result.statistics.iterations for result in results)
        self._publish(X, points, codes, [result.value for result in results])
        unfinished = [str(result.status) for result in results if not result.value.clean]
        self.status_ = unfinished[0] if unfinished else str(Status.OPTIMAL)
        self._warn(results)
        return self

    def _budget(self) -> Budget:
        tol = -math.inf if self.tol is None else float(self.tol)
        kept, there = int(self.cache_size * (1 << 20)), _memory.available_bytes()
        if there is not None:
            kept = min(kept, there // 4)  # room for what the matrix is computed in, and for others
        return Budget.within(self.time_limit, tol=tol, max_iter=self.max_iter, cache_bytes=kept)

    def _warn(self, results: list[Solution[MistakeCounts]]) -> None:
        remedy = "take a kernel with more room (a larger gamma)"
        early = [result.status is Status.STALLED for result in results]
        if any(result.status is Status.TIME_LIMIT for result in results):
            what = f"time_limit={self.time_limit:g} seconds with rows still wrong: raise it"
        elif self.n_iter_ == self.max_iter and not all(result.value.clean for result in results):
            what = f"max_iter={self.max_iter} epochs with rows still wrong: raise max_iter"
        elif np.isfinite(self.mistake_bound_[early]).any():
            what = (
                f"{self.n_iter_} epochs, in which its loss no longer fell by tol={self.tol:g}, "
                "with rows still wrong that a separator sets right: take tol=None"
            )
        else:
            return
        warnings.warn(
            f"{type(self).__name__} stopped after {what}, or {remedy}.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        return Expansion(self.kernel_, self._support_points, self.dual_coef_.T), self.intercept_

    def decision_function(self, X: Objects) -> Array:
        """Return f of each object, one column a class where there are more than two."""
        X = self._read_new(X)
        values = self._expand(X, self._support_points, self.dual_coef_.T) + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def criterion(self, X: Objects, y: Targets) -> float:
        """Return the perceptron's criterion Σᵢ max(0, −yᵢf(xᵢ)), added up over functions.

        It is 0 where all objects are right.
        """
        return perceptron_criterion(self.decision_function(X), y, self.classes_)

    def predict(self, X: Objects) -> Any:
        """Return the class of each object."""
        check_is_fitted(self)
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    # ---- inside ------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _read(self, X: Objects, y: Targets) -> tuple[Any, IntArray]:
        self._require_targets(y)
        X = self._read_training(X, None)
        labels = check_targets(y, multi_output=False, estimator=self)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        _check_rows(X, type(self).__name__)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "The number of classes has to be greater than one; got 1 class. "
                f"All rows are of class {self.classes_[0]!r}."
            )
        return X, codes

    def _publish(
        self, X: Objects, points: Points, codes: IntArray, results: list[MistakeCounts]
    ) -> None:
        counts = np.stack([result.counts for result in results])
        support = np.flatnonzero(counts.any(axis=0))
        if not support.size:  # without weights there are no mistakes; an empty machine says zero
            support = np.arange(1)
        positives = [1] if len(results) == 1 else range(len(results))
        signs = np.stack([np.where(codes == positive, 1.0, -1.0) for positive in positives])
        self.support_ = support
        self.dual_coef_: Array = (counts * signs)[:, support]
        self.intercept_: Array = np.array([result.b for result in results])
        self._support_points = points.take(support)
        inside = not self.kernel_argument.precomputed and num_samples(X) > 0
        self.support_vectors_ = take_objects(X, support) if inside else np.empty((0, 0))


def _bound(gram: GramMatrix, problem: SignedRows, found: MistakeCounts) -> MistakeBound:
    signs, one = problem.y, 1.0 if problem.intercept else 0.0

    def rows(index: IntArray) -> Array:
        return np.asarray((gram.rows(index) + one) * np.outer(signs[index], signs))

    own = signs * found.f
    # The learnt function separates too: its norm is √(Σ cᵢyᵢ f(xᵢ)).
    norm = math.sqrt(max(float(found.counts @ own), 0.0))
    return bound_on_mistakes(
        least_point_of_products(rows),
        gram.diag() + one,
        own,
        norm,
        found.clean,
        _MOST_CELLS // len(own),
    )
