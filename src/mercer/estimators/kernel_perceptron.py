"""The perceptron in feature space, for any kernel on any data."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
)

from mercer._typing import Array, IntArray
from mercer.estimators.choice import caller_level, check_definite, check_name
from mercer.estimators.machine import KernelMachine, _check_rows, take_objects
from mercer.exceptions import InvalidInput
from mercer.gram.operator import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.solvers.margin import MistakeBound, mistake_bound
from mercer.solvers.perceptron import (
    KernelResult,
    OnlineSettings,
    train_kernel,
    whole_matrix,
)

_FIRST_ROWS = 30
_CACHE = 256 << 20


class KernelPerceptron(ClassifierMixin, KernelMachine):
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
        (R/γ)²; inf where rows are wrong in the end, or rows or classes have weights.

    References
    ----------
    M. Aizerman, E. Braverman and L. Rozonoer, Theoretical foundations of the potential function
    method in pattern recognition learning, Automation and Remote Control 25 (1964).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, callable, Kernel],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "strict": ["boolean"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: Any = 0,
        class_weight: Any = None,
        strict: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.strict = strict

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        weights = _check_sample_weight(sample_weight, np.empty((n, 0)), dtype=np.float64)
        factors = compute_class_weight(self.class_weight, classes=np.arange(k), y=codes)
        rates = weights * factors[codes]
        self.kernel_, points = self._bind(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        gram = Gram(self.kernel_, points, dtype=np.float64, cache_bytes=_CACHE)
        K = whole_matrix(gram)
        random = check_random_state(self.random_state)
        results, bounds = [], []
        for positive in [1] if k == 2 else range(k):
            signs = np.where(codes == positive, 1.0, -1.0)
            settings = self._settings(int(random.randint(np.iinfo(np.int32).max)))
            result = train_kernel(gram, K, signs, rates, settings)
            results.append(result)
            plain = result.clean and (rates == 1.0).all()
            bounds.append(self._bound(gram, K, signs, result).mistakes if plain else math.inf)
        self.mistakes_ = np.array([result.updates for result in results])
        self.mistake_bound_: Array = np.array(bounds)
        self.n_iter_ = max(result.epochs for result in results)
        self._publish(X, points, codes, results)
        if self.n_iter_ == self.max_iter and not all(result.clean for result in results):
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} epochs with rows "
                "still wrong: raise max_iter, or take a kernel with more room (a larger gamma).",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f of each object, one column a class where there are more than two."""
        X = self._read_new(X)
        values = self._told
        if values is None:
            values = self._expand(X, self.support_, self._support_points, self.dual_coef_.T)
            values = values + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Any:
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

    def _check_parameters(self) -> None:
        self._validate_params()
        check_name(self.kernel)

    def _read(self, X: Any, y: Any) -> tuple[Any, IntArray]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        labels = _check_y(y, multi_output=False, estimator=self)
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

    def _settings(self, seed: int) -> OnlineSettings:
        return OnlineSettings(
            rule=0,
            eta=1.0,
            l1=0.0,
            l2=0.0,
            intercept=self.fit_intercept,
            shuffle=self.shuffle,
            seed=seed,
            max_iter=self.max_iter,
            tol=-math.inf if self.tol is None else float(self.tol),
            patience=self.n_iter_no_change,
        )

    def _bound(
        self, gram: Gram, K: Array | None, signs: Array, result: KernelResult
    ) -> MistakeBound:
        one = 1.0 if self.fit_intercept else 0.0

        def rows(index: IntArray) -> Array:
            values = gram.rows(index) if K is None else K[index]
            return np.asarray((values + one) * np.outer(signs[index], signs))

        own = signs * result.f
        start = np.argsort(own, kind="stable")[:_FIRST_ROWS]
        found = mistake_bound(rows, gram.diag() + one, start)
        # The learnt function separates too: its norm is Σ cᵢyᵢ f(xᵢ).
        norm = math.sqrt(max(float(result.counts @ own), 0.0))
        best = max(found.margin, float(own.min()) / norm if norm > 0 else 0.0)
        return MistakeBound(found.radius, best, max(found.widest, best))

    def _publish(self, X: Any, points: Any, codes: IntArray, results: list[KernelResult]) -> None:
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
        inside = self._mode != "matrix" and _num_samples(X) > 0
        self.support_vectors_ = take_objects(X, support) if inside else np.empty((0, 0))
