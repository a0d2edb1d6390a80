"""What linear machines with online rules share: classes, weights, epochs, rows set aside."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from mercer import _parallel
from mercer._files.fields import COUNT, LABELS, Number, Numbers, State
from mercer._sklearn import (
    Interval,
    SparseCoefMixin,
    StrOptions,
    check_partial_fit_first_call,
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
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.quick_answers import QuickScores
from mercer.estimators.linear.reading import QuickReading, are_plain, are_plain_labels
from mercer.estimators.state import VECTORS, WEIGHTS, check_linear_classes
from mercer.estimators.svm.classes import numbered
from mercer.exceptions import InvalidInput, NumericalOverflow
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.mistakes import OnlineLoss, SignedRows
from mercer.solvers.base import Budget, Solution
from mercer.solvers.network.online_rules import OnlineRule, OnlineWeights

_LARGEST_WEIGHT = 1e150
"""Products of two such numbers are floats, and sums of many such products too."""
_SMALL = 1 << 16
"""Numbers in X up to which functions are learnt sooner than handed over to another thread."""
_MOST_SEED = int(np.iinfo(np.int32).max)
"""Seeds are drawn below this, as scikit-learn draws them."""

Trained = list[Solution[OnlineWeights]]
"""One function for two classes, one for each of more."""


@parameters
class OnlineClassifier(QuickReading, QuickScores, SparseCoefMixin, BaseEstimator):
    """A linear classifier that learns row by row; several classes are one against the others."""

    _loss: ClassVar[OnlineLoss]

    STATE: ClassVar[State] = {
        **VECTORS,
        "classes_": LABELS,
        "coef_": WEIGHTS,
        "intercept_": Numbers("functions"),
        "n_iter_": COUNT,
        "t_": Number(low=0),
    }
    check_state = check_linear_classes

    _: KW_ONLY
    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    verbose: int = 0
    eta0: float | str = 1.0
    random_state: Seed = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: ClassWeights = None
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "verbose": ["verbose"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Objects,
        y: Targets,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: SampleWeights = None,
    ) -> Self:
        """Fit the machine to the rows of X and their classes y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, features)
        y : array of shape (n,)
        coef_init, intercept_init : arrays, optional
            Weights to start from; zeros by default, or those of the last fit with ``warm_start``.
        sample_weight : array of shape (n,), optional
            Factors of the step for each row.
        """
        X, y = self._read(X, y, reset=True)
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        before = getattr(self, "coef_", None), getattr(self, "intercept_", None)
        self.classes_, _ = numbered(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "The number of classes has to be greater than one; got 1 class. "
                f"All rows are of class {self.classes_[0]!r}."
            )
        if self.warm_start and before[0] is not None:
            coef_init = before[0] if coef_init is None else coef_init
            intercept_init = before[1] if intercept_init is None else intercept_init
        cold = coef_init is None and intercept_init is None
        self._allocate(X.shape[1], coef_init, intercept_init)
        self.t_ = 1.0
        results = self._train(X, y, sample_weight, self.max_iter)
        self._after(X, y, results, cold and sample_weight is None)
        self._warn_stopped(results)
        if self.tol is not None and self.n_iter_ == self.max_iter and not self._finished(results):
            warnings.warn(
                f"Maximum number of iteration reached before convergence ({self.max_iter} epochs): "
                "the rows may not be separable. Raise max_iter or tol, or scale the data.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Objects, y: Targets, classes: Targets = None, sample_weight: SampleWeights = None
    ) -> Self:
        """Show the rows once more, starting from the weights so far.

        ``classes`` lists all classes; it is needed in the first call.
        """
        if self.early_stopping:
            raise InvalidInput(
                "early_stopping should be False with partial_fit: one epoch has nothing to stop."
            )
        if isinstance(self.class_weight, str):
            raise InvalidInput(
                "class_weight 'balanced' is not supported for partial_fit. In order to use "
                "'balanced' weights, use compute_class_weight('balanced', classes=classes, y=y) on "
                "a large enough sample of the full training set target to properly estimate the "
                "class frequency distributions. Pass the resulting weights as the class_weight "
                "parameter."
            )
        first = not hasattr(self, "classes_")
        X, y = self._read(X, y, reset=first)
        check_partial_fit_first_call(self, classes)
        if len(self.classes_) < 2:
            raise InvalidInput("The number of classes has to be greater than one; got 1 class.")
        if not hasattr(self, "coef_"):
            self._allocate(X.shape[1], None, None)
            self.t_ = 1.0
        results = self._train(X, y, sample_weight, 1)
        self._after(X, y, results, False)
        return self

    # ---- inside ------------------------------------------------------------------------------

    def _after(self, X: Matrix, y: Targets, results: Trained, plain: bool) -> None:
        """Publish more than the weights; ``plain`` is a start from zero with all rows alike."""

    def _warn_stopped(self, results: Trained) -> None:
        """Warn of an end by ``tol`` that is none."""

    def _finished(self, results: Trained) -> bool:
        """Whether an end at ``max_iter`` is none before its time."""
        return all(result.value.clean for result in results)

    def _step_size(self, X: Matrix, most: float) -> float:
        """Return the step η; ``most`` is the largest factor that it gets."""
        del X, most
        return float(self.eta0)

    def _read(self, X: Objects, y: Targets, reset: bool) -> tuple[Matrix, Targets]:
        if reset and are_plain(X, "C") and are_plain_labels(y, len(X)):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        read: tuple[Matrix, Targets] = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=False,
            reset=reset,
        )
        return read

    def _allocate(self, columns: int, coef: ArrayLike | None, intercept: ArrayLike | None) -> None:
        """Set the weights to start from."""
        count = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.coef_ = np.zeros((count, columns))
        self.intercept_ = np.zeros(count)
        if coef is not None:
            W = check_array(coef, dtype=np.float64, ensure_2d=False)
            if W.size != self.coef_.size or (W.ndim == 2 and W.shape[1] != columns):
                raise InvalidInput(
                    "Provided ``coef_`` does not match dataset. coef_init has the shape "
                    f"{W.shape} and {self.coef_.shape} is needed."
                )
            self.coef_[:] = W.reshape(self.coef_.shape)
        if intercept is not None:
            b = np.asarray(intercept, np.float64).ravel()
            if b.shape != (count,):
                raise InvalidInput(
                    "Provided intercept_init does not match dataset. It has the shape "
                    f"{b.shape} and {(count,)} is needed."
                )
            self.intercept_[:] = b

    def _train(self, X: Matrix, y: Targets, sample_weight: SampleWeights, epochs: int) -> Trained:
        weights, factors = np.ones(X.shape[0]), np.ones(len(self.classes_))
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        if self.class_weight is not None:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        binary = len(self.classes_) == 2
        positives = [1] if binary else list(range(len(self.classes_)))
        # One split for all classes, and seeds in the order in which scikit-learn draws them.
        held: IntArray = np.zeros(0, np.intp)
        if self.early_stopping and epochs > 1:
            held = self._held_out(y, weights)
        random = check_random_state(self.random_state)
        sources = [None] if binary else random.randint(_MOST_SEED, size=len(positives))
        rows = np.setdiff1d(np.arange(len(y)), held) if held.size else None
        eta = self._step_size(X, float(weights.max()) * float(factors.max()))
        results: list[Any] = [None] * len(positives)
        seeds = []
        source = random if binary else np.random.RandomState(0)  # a new one for each takes longer
        for first in sources:
            if first is not None:
                source.seed(first)
            source.randint(1, _MOST_SEED)
            seeds.append(int(source.randint(_MOST_SEED)))
        gram = FeatureGram.of_rows(X)
        tol = -math.inf if self.tol is None else float(self.tol)
        budget = Budget(tol=tol, max_iter=epochs)

        def task(at: int) -> None:
            mine = y == self.classes_[positives[at]]
            signs = np.where(mine, 1.0, -1.0)
            rates = weights * np.where(mine, factors[positives[at]], factors[0] if binary else 1.0)
            score = None if not held.size else _Accuracy(X[held], signs[held], weights[held])
            rule = OnlineRule(eta, self.shuffle, seeds[at], self.n_iter_no_change, score)
            start = OnlineWeights(self.coef_[at], float(self.intercept_[at]))
            results[at] = rule.solve(self._problem(signs, rates, rows), gram, budget, start)

        small = X.shape[0] * X.shape[1] <= _SMALL
        _parallel.run(task, range(len(positives)), 1 if small else _parallel.thread_count())
        self.coef_ = np.stack([result.value.w for result in results])
        self.intercept_ = np.array([result.value.b for result in results])
        if not np.abs(self.coef_).max() < _LARGEST_WEIGHT:
            raise NumericalOverflow(
                f"{type(self).__name__}: the weights, sums of rows, have grown to "
                f"{np.abs(self.coef_).max():.2g}: their products with rows are too large for "
                "floats. Scale the columns."
            )
        self.n_iter_ = max(result.statistics.iterations for result in results)
        self.t_ += self.n_iter_ * X.shape[0]
        if self.verbose:
            for result in results:
                sys.stdout.write(
                    f"{type(self).__name__}: {result.statistics.iterations} epochs, loss "
                    f"{result.value.losses[-1]:g}\n"
                )
        return results

    def _problem(self, signs: Array, rates: Array, rows: IntArray | None) -> SignedRows:
        share = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": float(self.l1_ratio)}[self.penalty]
        alpha = 0.0 if self.penalty is None else float(self.alpha)
        l1, l2 = alpha * share, alpha * (1 - share)
        return SignedRows(signs, rates, self._loss, self.fit_intercept, l1, l2, rows)

    def _held_out(self, y: Targets, weights: Array) -> IntArray:
        """Return the rows that only decide when to stop."""
        split = StratifiedShuffleSplit(
            test_size=self.validation_fraction, random_state=self.random_state
        )
        _, held = next(split.split(np.zeros((len(y), 1)), y))
        if not (weights[held] > 0).any():
            raise InvalidInput(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        return np.asarray(held)


class _Accuracy:
    """The share of held-out rows that weights get right."""

    def __init__(self, X: Matrix, signs: Array, weights: Array) -> None:
        self.X, self.signs, self.weights = X, signs, weights

    def __call__(self, w: Array, b: float) -> float:
        right = (self.X @ w + b > 0) == (self.signs > 0)
        return float(np.average(right, weights=self.weights))
