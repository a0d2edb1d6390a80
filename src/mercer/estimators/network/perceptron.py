"""The perceptron and Adaline in scikit-learn's grammar, with the bound on mistakes."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_consistent_length, column_or_1d

from mercer._files.fields import TEXT, ListOf, Maybe, Number, State
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, IntArray, Labels, Matrix, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnClassifier
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.network.drawn_course import DrawnCourse
from mercer.estimators.network.online import OnlineClassifier, Trained
from mercer.estimators.state import MISTAKES
from mercer.exceptions import InvalidInput
from mercer.problems.mistakes import OnlineLoss
from mercer.solvers.base import Status
from mercer.solvers.network.online_rules import (
    MOST_DOUBTFUL,
    MistakeBound,
    OnlineWeights,
    bound_on_mistakes,
    least_point_of_rows,
)

_AUTO = 0.1
"""The share of the longest stable step that ``eta0="auto"`` takes."""
_KEPT: State = {"status_": Maybe(TEXT), "loss_curve_": Maybe(ListOf(Number(finite=False)))}

_SAMPLE = 2_000
"""Rows of which it is first asked whether there is a separator."""
_FEW_COLUMNS = 30
"""Columns up to which the few rows of a doubtful function decide whether there is a separator: the
hull of that many more rows than columns most often holds the origin, where there is none."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What a fit saw and found: the bounds on its mistakes are made of this when they are read.

    The rows are not copied, so a bound is about what they are by then.
    """

    X: Matrix
    y: Targets
    classes: Labels
    functions: list[OnlineWeights]
    intercept: bool
    known: dict[int, float] = field(default_factory=dict)

    def bound(self, at: int) -> float:
        """Return (R/γ)² of a function, inf where no separator was found."""
        if at not in self.known:
            positive = self.classes[1 if len(self.functions) == 1 else at]
            signs, found = np.where(self.y == positive, 1.0, -1.0), self.functions[at]
            widest = separation(self.X, signs, found.w, found.b, self.intercept, found.clean)
            self.known[at] = widest.mistakes
        return self.known[at]


@parameters
class Perceptron(DrawnCourse, DrawnClassifier, OnlineClassifier):
    r"""The perceptron: a mistake on row i moves the weights by η yᵢ xᵢ.

    w ← w + η yᵢ xᵢ,  b ← b + η yᵢ  whenever  yᵢ(w·xᵢ + b) ≤ 0

    Each step is one against the slope of a term of the perceptron's criterion
    E(w, b) = Σᵢ max(0, −yᵢ(w·xᵢ + b)), which is 0 where all rows are right.

    A drop-in for :class:`sklearn.linear_model.Perceptron`: the same weights for the same
    ``random_state``. It ends when all rows are right, or by ``tol``; a warning then says so where
    the classes could be separated. In that case it makes at most (R/γ)² mistakes: R² is the largest
    ‖xᵢ‖² + 1 and γ the widest margin of a separator (w, b) of norm 1. On sparse data scikit-learn
    learns the bias a hundred times slower; here sparse and dense data give the same machine.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None
        A penalty of the weights, of size ``alpha`` and with the share ``l1_ratio`` of L1.
    alpha, l1_ratio : float
    fit_intercept : bool
        Whether there is a bias b.
    max_iter : int
        The most epochs.
    tol : float or None
        It ends when the mean loss has not fallen by ``tol`` for ``n_iter_no_change`` epochs, as in
        scikit-learn, though rows may still be wrong that more epochs would set right. None goes on
        until all are right, or to ``max_iter``.
    shuffle : bool
        Whether each epoch has an order of its own.
    verbose : int
        Whether the epochs and the loss at the end are printed.
    eta0 : float
        The step η.
    n_jobs : int, optional
        Accepted for scikit-learn; classes are learnt on all threads.
    random_state : int, RandomState or None
        The order of the rows.
    early_stopping, validation_fraction
        Whether rows are set aside, a share of all, whose score decides when to stop.
    n_iter_no_change : int
    class_weight : dict or "balanced" or None
        Factors of the step for each class.
    warm_start : bool
        Whether a fit starts from the last one.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.
    mistakes_ : array of shape (functions,)
        The updates of each function; several classes have one for each class.
    mistake_bound_ : array of shape (functions,)
        (R/γ)²; inf where no separator was found, or the rule was another one (penalties, weights,
        rows set aside, a start other than zero). It takes the separator of the widest margin, which
        is sought when the bound is first read; the training rows are kept until then.
    loss_curve_ : list of float
        The mean of max(0, −yᵢf(xᵢ)) seen in each epoch, averaged over the functions.
    status_ : str
        ``optimal`` where all rows are right; ``stalled`` where ``tol`` ended it before,
        ``max_iter`` where the number of epochs did.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 0, 1]
    >>> machine = Perceptron(tol=None).fit(X, y)
    >>> machine.status_, machine.criterion(X, y)
    ('optimal', 0.0)

    References
    ----------
    A. Novikoff, On convergence proofs on perceptrons, Symposium on the Mathematical Theory of
    Automata 12 (1962).
    """

    _loss = OnlineLoss.PERCEPTRON
    STATE: ClassVar[State] = {**OnlineClassifier.STATE, **MISTAKES, **_KEPT}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineClassifier._parameter_constraints,
        "n_jobs": [None, int],
    }

    _: KW_ONLY
    eta0: float = 1.0
    n_jobs: int | None = None

    def _after(self, X: Matrix, y: Targets, results: Trained, plain: bool) -> None:
        made = np.array([result.value.updates for result in results])
        # After partial_fit the mistakes are those of all calls; a fit starts to count again.
        again = not plain and self.t_ > 1 + self.n_iter_ * X.shape[0] and hasattr(self, "mistakes_")
        self.mistakes_: IntArray = made + self.mistakes_ if again else made
        for name in ("mistake_bound_", "_training"):
            self.__dict__.pop(name, None)
        if plain and self.penalty is None and self.class_weight is None and not self.early_stopping:
            functions = [result.value for result in results]
            self._training = Shown(X, y, self.classes_, functions, bool(self.fit_intercept))
        else:
            self.mistake_bound_ = np.full(len(results), np.inf)
        self.loss_curve_: list[float] = _mean_losses(results, self.n_iter_)
        unfinished = [str(result.status) for result in results if not result.value.clean]
        self.status_ = unfinished[0] if unfinished else str(Status.OPTIMAL)

    @cached_property
    def mistake_bound_(self) -> Array:
        """The most mistakes that a perceptron makes on these rows, for each function."""
        shown: Shown | None = vars(self).get("_training")
        if shown is None:
            raise NotFittedError("Perceptron is not fitted, and has no mistake_bound_.")
        bounds = np.array([shown.bound(at) for at in range(len(shown.functions))])
        self.__dict__.pop("_training", None)
        return bounds

    def settle(self) -> None:
        """Have the bound made, where the machine is fitted and it was not yet."""
        if "_training" in vars(self):
            _ = self.mistake_bound_

    def __getstate__(self) -> Any:
        self.settle()
        return super().__getstate__()

    def _warn_stopped(self, results: Trained) -> None:
        shown: Shown | None = vars(self).get("_training")
        early = (
            at
            for at, result in enumerate(results)
            if result.status is Status.STALLED and not result.value.clean
        )
        if shown is not None and any(math.isfinite(shown.bound(at)) for at in early):
            warnings.warn(
                f"Perceptron stopped after {self.n_iter_} epochs, in which its loss no longer fell "
                f"by tol={self.tol:g}, with rows still wrong that a separator sets right. "
                "tol=None goes on until all are right.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def criterion(self, X: Objects, y: Targets) -> float:
        """Return the perceptron's criterion Σᵢ max(0, −yᵢ(w·xᵢ + b)), added up over functions.

        It is 0 where all rows are right.
        """
        return perceptron_criterion(self.decision_function(X), y, self.classes_)


@parameters
class Adaline(DrawnCourse, DrawnClassifier, OnlineClassifier):
    r"""Adaline: the adaptive linear neuron of Widrow and Hoff.

    w ← w + η (yᵢ − w·xᵢ − b) xᵢ,  b ← b + η (yᵢ − w·xᵢ − b),  yᵢ = ±1

    Each row moves the weights against the slope of its squared error, whether its class is right or
    not: the weights hover around those of least squares, the closer the smaller η is.

    Parameters
    ----------
    eta0 : float or "auto"
        The step η; ``"auto"`` is a tenth of 1/max(‖xᵢ‖² + 1), by the largest weight of a row or
        class: no step can overshoot.
    penalty, alpha, l1_ratio, fit_intercept, max_iter, tol, shuffle, verbose, random_state
        As in :class:`Perceptron`.
    early_stopping, validation_fraction, n_iter_no_change, class_weight, warm_start
        As in :class:`Perceptron`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, t_, n_features_in_, feature_names_in_
        As in :class:`Perceptron`.
    eta_ : float
        The step that was used.
    loss_curve_ : list of float
        Half the mean squared error seen in each epoch, averaged over the functions.

    References
    ----------
    B. Widrow and M. Hoff, Adaptive switching circuits, IRE WESCON Convention Record 4 (1960).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Adaline
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = Adaline().fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(1)  # least squares: Σ xy/Σ x² = 6/10
    array([[0.6]])
    """

    _loss = OnlineLoss.WIDROW_HOFF
    STATE: ClassVar[State] = {
        **OnlineClassifier.STATE,
        "eta_": Number(low=0),
        "loss_curve_": ListOf(Number(finite=False)),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineClassifier._parameter_constraints,
        "eta0": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    _: KW_ONLY
    eta0: float | str = "auto"
    tol: float | None = 1e-4

    def _step_size(self, X: Matrix, most: float) -> float:
        largest = (float(_squares(X).max()) + 1.0) * max(most, 1.0)
        self.eta_ = _AUTO / largest if isinstance(self.eta0, str) else float(self.eta0)
        return self.eta_

    def _after(self, X: Matrix, y: Targets, results: Trained, plain: bool) -> None:
        self.loss_curve_: list[float] = _mean_losses(results, self.n_iter_)


def _mean_losses(results: Trained, epochs: int) -> list[float]:
    """Return the loss of each epoch, averaged over functions; one that ended keeps its last."""
    curves = [result.value.losses for result in results]
    return [
        float(np.mean([curve[min(epoch, len(curve) - 1)] for curve in curves]))
        for epoch in range(epochs)
    ]


def perceptron_criterion(values: Array, y: Targets, classes: Labels) -> float:
    """Return Σ max(0, −yf) over rows and functions, y being ±1 for the class of the function."""
    labels = column_or_1d(y)
    check_consistent_length(values, labels)
    new = np.setdiff1d(labels, classes)
    if len(new):
        raise InvalidInput(f"criterion: y has the class {new[0]!r}, which the machine never saw.")
    mine = labels[:, None] == (classes[1:] if values.ndim == 1 else classes)
    signed = np.where(mine, 1.0, -1.0) * values.reshape(len(labels), -1)
    return float(np.maximum(0.0, -signed).sum())


def separation(
    X: Matrix, signs: Array, w: Array, b: float, intercept: bool, clean: bool = True
) -> MistakeBound:
    """Return the widest margin of rows that (w, b) separates, and the bound on mistakes.

    Parameters
    ----------
    X : array or sparse matrix
    signs : array
        ±1 for each row.
    w, b
        A separator to start from, or a function that separates most rows.
    intercept : bool
        Whether separators have a bias, which then counts in their norm and in that of the rows.
    clean : bool
        Whether (w, b) is a separator.
    """
    n, columns = X.shape
    step = n // _SAMPLE
    if not clean and columns > _FEW_COLUMNS and n > MOST_DOUBTFUL:
        radius = float(np.sqrt(_squares(X).max() + intercept))
        return MistakeBound(radius, 0.0, radius)
    if not clean and step > 1:
        # Where no separator of some rows is there, none of all is.
        some = slice(None, None, step)
        found = separation(X[some], signs[some], w, b, intercept, clean)
        if found.widest == 0:
            return found
    one = 1.0 if intercept else 0.0
    own = signs * (X @ w + b)

    def signed(index: IntArray) -> Array:
        some = X[index].toarray() if sparse.issparse(X) else X[index]
        Z = np.column_stack([some, np.full(len(index), one)]).astype(np.float64, copy=False)
        return Z * signs[index, None]

    def at_rows(p: Array) -> Array:
        return np.asarray(signs * (X @ p[:-1] + one * p[-1]))

    norm = float(np.sqrt(w @ w + one * b * b))
    hulls = least_point_of_rows(signed, at_rows)
    return bound_on_mistakes(hulls, _squares(X) + one, own, norm, clean)


def _squares(X: Matrix) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
