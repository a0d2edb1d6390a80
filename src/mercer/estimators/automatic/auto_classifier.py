"""Classes of a table without a choice to make: a contest of kernel machines, and their vote."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_consistent_length

from mercer._files.fields import LABELS, Number, Numbers, State, WrongState
from mercer._sklearn import StrOptions, check_targets
from mercer._typing import Array, ClassWeights, IntArray, Objects, RowGroups, SampleWeights, Targets
from mercer.estimators.automatic.auto_machine import AutoMachine
from mercer.estimators.automatic.measures import CLASS_MEASURES
from mercer.estimators.constructor import parameters
from mercer.estimators.linear.logistic_regression import read_classes
from mercer.estimators.ridge.changed_labels import harmless_labels
from mercer.estimators.ridge.kernel_ridge_classifier import signs_of, winners
from mercer.exceptions import InvalidInput, InvalidParameter


@parameters
class AutoClassifier(ClassifierMixin, AutoMachine):
    """Classes of a table: the mean of the best few kernel ridge classifiers, with probabilities.

    F = mean of f₁ … f_m, P(class | x) = softmax(a F(x) + b)

    Numbers are standardised, categories one-hot, in one joint distance whose columns have weights
    aⱼᵖ by their centred alignment with the classes. Laplacian kernels of the L1 and L2 distance,
    RBF and linear kernels contend over p, width and penalty, all by exact leave-one-out from one
    eigendecomposition each (through landmarks beyond 600 rows). Where values of a number are far
    from all others, ranks contend too. Then the weights of columns are learnt from the errors of
    rows that were left out; each third of the rows judges weights that were learnt from the others.
    The vote is the mean of the best one and of those with the least squared errors that are behind
    it by no more than two standard errors of the difference, each kernel once with equal weights of
    the columns and once with others; a and b are the most likely ones for values of rows that were
    left out.

    Parameters
    ----------
    scoring : {"auc", "log_loss", "brier"}
        What decides the contest: the area under the ROC curve (of several classes the mean by
        their shares), the logarithmic loss of calibrated probabilities, or the squared error.
    class_weight : dict or "balanced", optional
        What it costs to miss a row of each class. The answer is the class of the greatest
        w_c P(c | x), which costs least on average; probabilities do not depend on it. With
        ``"balanced"``, w_c = n/(c n_c): rare classes are answered more often.
    max_members : int
        The most machines in the vote.
    time_limit : float, optional
        Seconds after which nothing more is tried; Ctrl-C does the same.
    random_state : int
        Of the rows that take part, where there are more than 3,000.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    members_ : list of Member
        The machines of the vote (``machine``), each with the factors of its coordinates
        (``weights``) and its ``coding``.
    certificates_ : list of Certificate
        How far each fit is from its best one. The choice is estimated, not proven.
    leaderboard_ : list of dict
        All that was tried, the best first: kernel, power of the alignments, whether the weights
        were learnt from there, penalty, score, how far it is behind the best and the noise of
        that, whether it is in the vote, seconds.
    alignments_ : dict
        The centred alignment of each column with the classes, the greatest first.
    stopped_ : str
        Why the contest ended early: ``"time limit"``, ``"interrupted"``, or nothing.
    score_ : float
        The score of the best machine, of which it was chosen: a little too good.
    loo_values_ : array of shape (n, functions)
        F of the training rows by machines that were fitted without them; NaN for rows that took
        no part.
    calibration_, biases_ : float, array of shape (c,)
        a and b.
    class_weight_ : array of shape (c,)
        The w_c.

    Examples
    --------
    >>> from mercer import AutoClassifier, load_data
    >>> data = load_data("heart")
    >>> model = AutoClassifier().fit(data.X, data.y)
    >>> model.predict_proba(data.X[:2]).shape
    (2, 2)
    """

    STATE: ClassVar[State] = {
        **AutoMachine.STATE,
        "classes_": LABELS,
        "calibration_": Number(low=0),
        "biases_": Numbers("classes"),
        "class_weight_": Numbers("classes", low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AutoMachine._parameter_constraints,
        "scoring": [StrOptions(set(CLASS_MEASURES))],
    }

    unseen_weights: ClassVar[bool] = True
    tries_ranks: ClassVar[bool] = True

    _: KW_ONLY
    scoring: str = "auc"
    class_weight: ClassWeights = None
    classes_: Any = field(init=False)
    calibration_: float = field(init=False)
    biases_: Array = field(init=False)
    class_weight_: Array = field(init=False)

    def check_state(self) -> None:
        """Raise :class:`WrongState` where members and classes do not fit."""
        super().check_state()
        count = len(self.classes_)
        for member in self.members_:
            functions = member.machine.dual_coef_.shape[1:]
            if functions != ((1,) if count == 2 else (count,)):
                raise WrongState("a member has not one function for each class")

    def fit(self, X: Objects, y: Targets, *, groups: RowGroups = None) -> Self:
        """Find the machines for the classes ``y``.

        Parameters
        ----------
        X : frame or array of shape (n, columns)
            Columns of a frame may hold numbers, truth values, dates, texts and categories. Missing
            values may be there.
        y : array of shape (n,)
            The classes.
        groups : array of shape (n,), optional
            Rows of one group (a person, a batch) are left out together, as new rows will be of
            other groups; the choice and the calibration then rest on unseen groups.
        """
        self._validate_params()
        if y is None:
            raise ValueError("AutoClassifier requires y to be passed, but the target y is None.")
        X = self._read(X, reset=True)
        y = check_targets(y, multi_output=False, estimator=self)
        check_consistent_length(X, y)
        self.classes_, labels = read_classes(y)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (self.class_weight_ > 0).all():
            raise InvalidParameter(
                f"AutoClassifier: class_weight={self.class_weight!r} has a weight that is not "
                "positive. Give numbers > 0."
            )
        Y = signs_of(labels, len(self.classes_))
        self.loo_values_ = self._contend(X, Y, CLASS_MEASURES[self.scoring], groups)
        seen = np.flatnonzero(~np.isnan(self.loo_values_[:, 0]))
        self.calibration_, self.biases_ = fit_logits(
            _all_classes(self.loo_values_[seen]), labels[seen], len(self.classes_)
        )
        return self

    def decision_function(self, X: Objects) -> Array:
        """Return a·F + b + log w: of shape (m, classes), for two classes (m,), the difference.

        Without class weights these are logarithms of probabilities, up to a constant for each row,
        and of two classes the logarithm of the odds.
        """
        scores = self._logits(X) + np.log(self.class_weight_)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Objects) -> Any:
        """Return the class of each row that costs least on average: the most probable one."""
        places = winners(self.decision_function(X))
        return self.classes_[places]

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities."""
        return np.asarray(log_softmax(self._logits(X), axis=1))

    # ---- inside --------------------------------------------------------------------------------

    def _logits(self, X: Objects) -> Array:
        values = self._mean_values(X)
        return self.calibration_ * _all_classes(values) + self.biases_

    def _targets(self, y: Targets) -> Array:
        labels = np.asarray(y).ravel()
        if not np.isin(labels, self.classes_).all():
            raise InvalidInput("certify: y has to hold the classes that the model was fitted on.")
        return signs_of(np.searchsorted(self.classes_, labels), len(self.classes_))

    def _units(self) -> tuple[float, Array]:
        shift = self.biases_ + np.log(self.class_weight_)
        if len(self.classes_) == 2:
            return 2 * self.calibration_, shift[1:] - shift[:1]
        return self.calibration_, shift

    def harmless_changes(
        self,
        X: Objects,
        y: Targets,
        new: Objects,
        sample_weight: SampleWeights,
        change: str,
    ) -> IntArray:
        """Return how many training rows may change before the class of each new row does.

        The members, their weights of columns and the calibration stay as they are.
        """
        if sample_weight is not None:
            raise InvalidParameter("wrong_rows: AutoClassifier takes no sample_weight.")
        labels = np.asarray(y).ravel()
        if len(labels) != len(self.loo_values_) or set(labels) != set(self.classes_):
            raise InvalidInput(
                "wrong_rows: X and y have to be the rows and classes that AutoClassifier was "
                "fitted on."
            )
        smoothers = [member.smoother(table) for member, table in self._seen_by_members(new)]
        Y = signs_of(np.searchsorted(self.classes_, labels), len(self.classes_))
        scores = self.decision_function(new) / self.calibration_
        return harmless_labels(smoothers, Y, scores / 2 if scores.ndim == 1 else scores, change)


def fit_logits(F: Array, labels: IntArray, classes: int) -> tuple[float, Array]:
    """Return a > 0 and b for which softmax(aF + b) is most likely.

    Labels count as (n_c + 1)/(n_c + 2) of their class, with n_c rows of it, so that classes that
    are told apart without a mistake do not end in certainty.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, in Advances in Large Margin
    Classifiers (1999).
    """
    counts = np.bincount(labels, minlength=classes)
    own = (counts[labels] + 1) / (counts[labels] + 2)
    T = np.repeat(((1 - own) / (classes - 1))[:, None], classes, axis=1)
    T[np.arange(len(labels)), labels] = own

    def loss(theta: Array) -> tuple[float, Array]:
        a = np.exp(theta[0])
        logs = log_softmax(a * F + theta[1:], axis=1)
        pull = (np.exp(logs) - T) / len(labels)
        slope = np.concatenate([[a * float((pull * F).sum())], pull.sum(axis=0)])
        return -float((T * logs).sum()) / len(labels), slope

    start = np.zeros(classes + 1)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(-7, 7)] + [(-30, 30)] * classes
    )
    return float(np.exp(found.x[0])), np.asarray(found.x[1:])


def _all_classes(values: Array) -> Array:
    """Return a column for each class; two classes share one function, from −1 to 1."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values
