"""Multi-layer perceptrons in scikit-learn's grammar."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import validate_data

from mercer._atomic_fit import atomic
from mercer._files.fields import LABELS, TEXT, State, WrongState
from mercer._sklearn import StrOptions, check_partial_fit_first_call, fit_context
from mercer._typing import Array, Matrix, Objects, SampleWeights, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnProbabilities, DrawnRegressor
from mercer.estimators.network.base import MultilayerPerceptron, takes_parts
from mercer.estimators.network.drawn_course import DrawnCourse
from mercer.exceptions import InvalidInput, InvalidParameter, InvalidType

_READ: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "multi_output": True,
    "dtype": (np.float64, np.float32),
}


@parameters
class MLPClassifier(DrawnCourse, DrawnProbabilities, ClassifierMixin, MultilayerPerceptron):
    r"""A network of neurons for classes.

    min (1/n) Σ ℓ(yᵢ, f(xᵢ)) + α/2n Σ‖Wˡ‖²,  f = Wᴸφ(… φ(W¹x + b¹) …) + bᴸ

    ℓ is the cross-entropy of the softmax of f, for two classes or several labels of the logistic
    function. A drop-in for :class:`sklearn.neural_network.MLPClassifier`: the same first weights
    and batches for the same ``random_state``, so the same answers up to rounding. It is faster,
    since every batch goes through the same buffers.

    Parameters
    ----------
    hidden_layer_sizes : int or list of int
        The number of neurons in each hidden layer.
    activation : {"identity", "logistic", "tanh", "relu"}
        φ.
    solver : {"adam", "sgd", "lbfgs", "descent"}
        Adam, descent with momentum, or all rows at once: L-BFGS, or gradient descent with a line
        search at each step.
    alpha : float
        The weight α of the penalty.
    batch_size : int or "auto"
        Rows for each step of "adam" and "sgd", 200 by default.
    learning_rate, learning_rate_init, power_t
        The rate of "sgd": constant, falling as 1/tᵖ, or divided by 5 when nothing improves; and the
        first rate, of "adam" too.
    max_iter : int
        The most epochs, or steps with all rows.
    shuffle : bool
        Whether each epoch has an order of its own.
    random_state : int, RandomState or None
        The first weights, the order of rows, and the rows set aside.
    tol : float
        It ends when the loss has not fallen by ``tol`` for ``n_iter_no_change`` epochs; with all
        rows at once, when no slope exceeds it (the norm of the slopes, with "descent").
    verbose : bool
        Whether the loss of each epoch is printed.
    warm_start : bool
        Whether a fit starts from the last one.
    momentum, nesterovs_momentum
        Momentum of "sgd", and whether it looks ahead.
    early_stopping, validation_fraction
        Whether rows are set aside, a share of all, whose score decides when to stop; the best
        weights are kept.
    beta_1, beta_2, epsilon : float
        Parameters of Adam.
    n_iter_no_change : int
    max_fun : int
        The most evaluations of "lbfgs".

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays
        Wˡ (one column a neuron) and bˡ.
    classes_, loss_, best_loss_, loss_curve_, validation_scores_, best_validation_score_, t_
        As in scikit-learn.
    n_iter_, n_layers_, n_outputs_, out_activation_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    D. Rumelhart, G. Hinton and R. Williams, Learning representations by back-propagating errors,
    Nature 323 (1986).

    Examples
    --------
    >>> from mercer import MLPClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = MLPClassifier((8,), "tanh", solver="lbfgs", random_state=0).fit(X, y)
    >>> model.predict(X)
    array([0, 1, 1, 0])
    """

    STATE: ClassVar[State] = {
        **MultilayerPerceptron.STATE,
        "classes_": LABELS,
        "_target_type": TEXT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where layers, outputs and classes do not fit."""
        super().check_state()
        classes, kind = self.classes_, self._target_type
        kinds = ("binary", "multiclass", "multilabel-indicator")
        if classes.ndim != 1 or not len(classes) or kind not in kinds:
            raise WrongState("it has classes that it cannot have")
        wanted = len(classes) if kind != "binary" else 1
        if self.n_outputs_ != wanted or (kind == "binary" and len(classes) > 2):
            raise WrongState("its outputs do not fit its classes")

    _stratified = True

    hidden_layer_sizes: ArrayLike = (100,)
    activation: str = "relu"

    @takes_parts  # type: ignore[untyped-decorator]
    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @atomic
    def partial_fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None, classes: Targets = None
    ) -> MLPClassifier:
        """Show the rows once, starting from the weights so far.

        ``classes`` lists all classes; it is needed in the first call.
        """
        if check_partial_fit_first_call(self, classes):
            several = type_of_target(y).startswith("multilabel")
            self._binarizer(np.asarray(y) if several else self.classes_)
        self._partial_fit(X, y, sample_weight)
        return self

    def predict(self, X: Objects) -> Any:
        """Return the class of each row, or its labels."""
        return self._decide(self._values(X))

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, or of each label."""
        values = self._values(X)
        if values.shape[1] == 1:
            return np.column_stack([1 - values[:, 0], values[:, 0]])
        return values

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithm of the probabilities."""
        values = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(values, out=values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # ---- inside ------------------------------------------------------------------------------

    def _binarizer(self, y: Targets) -> LabelBinarizer:
        """Fit the code of classes; what it is stays as plain data."""
        try:
            made = LabelBinarizer().fit(y)
        except TypeError:
            raise InvalidType(
                "MLPClassifier: the classes in y are of types that have no common order, such as "
                "texts beside numbers or None. Give texts only, or numbers only."
            ) from None
        self.classes_, self._target_type = made.classes_, str(made.y_type_)
        if len(self.classes_) == 2 and self._target_type == "multiclass":
            self._target_type = "binary"
        return made

    def _read_targets(
        self, X: Objects, y: Targets, part: bool, first: bool
    ) -> tuple[Matrix, Array]:
        X, y = validate_data(self, X, y, reset=first, **_READ)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if first and not part:
            self._binarizer(y)
        else:
            self._check_classes(unique_labels(y), part)
        several = self._target_type.startswith("multilabel")
        coder = LabelBinarizer().fit(y if several else self.classes_)
        Y = np.asarray(coder.transform(y))
        return X, Y.reshape(len(Y), -1)

    def _check_classes(self, seen: Targets, part: bool) -> None:
        if part and len(np.setdiff1d(seen, self.classes_, assume_unique=True)):
            raise InvalidInput(
                f"`y` has classes not in `self.classes_`. `self.classes_` has {self.classes_}. "
                f"'y' has {seen}."
            )
        if not part and set(self.classes_) != set(seen):
            raise InvalidInput(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {self.classes_}, `y` has {seen}"
            )

    def _output(self) -> str:
        return "softmax" if self._target_type == "multiclass" else "logistic"

    def _decide(self, values: Array) -> Any:
        if self._target_type.startswith("multilabel"):
            return (values > 0.5).astype(int)
        if values.shape[1] == 1:
            # Data of one class know no other.
            second = (values[:, 0] > 0.5) & (len(self.classes_) > 1)
            return self.classes_[second.astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def _score_values(self, values: Array, Y: Array, weights: Array | None) -> float:
        right = self._decide(Y)
        return float(accuracy_score(right, self._decide(values), sample_weight=weights))


@parameters
class MLPRegressor(DrawnCourse, DrawnRegressor, RegressorMixin, MultilayerPerceptron):
    r"""A network of neurons for numbers.

    min (1/n) Σ ½‖yᵢ − f(xᵢ)‖² + α/2n Σ‖Wˡ‖²,  f = ψ(Wᴸφ(… φ(W¹x + b¹) …) + bᴸ)

    A drop-in for :class:`sklearn.neural_network.MLPRegressor`. With several outputs ``loss_`` is
    the sum over them, whose slopes are used; scikit-learn reports the mean.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}
        The squares above, or the deviance of counts with mean exp f.
    output_activation : {"identity", "logistic", "tanh", "relu"}
        ψ, the activation of the outputs, for squared errors: "logistic" for targets between 0 and
        1, "tanh" between −1 and 1.
    hidden_layer_sizes, activation, solver, alpha, batch_size, learning_rate, learning_rate_init
        As in :class:`MLPClassifier`.
    power_t, max_iter, shuffle, random_state, tol, verbose, warm_start, momentum
        As in :class:`MLPClassifier`.
    nesterovs_momentum, early_stopping, validation_fraction, beta_1, beta_2, epsilon
        As in :class:`MLPClassifier`.
    n_iter_no_change, max_fun
        As in :class:`MLPClassifier`.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays
        Wˡ (one column a neuron) and bˡ.
    loss_, best_loss_, loss_curve_, validation_scores_, best_validation_score_, t_, n_iter_
        As in :class:`MLPClassifier`; scores are R².
    n_layers_, n_outputs_, out_activation_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MLPRegressor
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> model = MLPRegressor("squared_error", 10, solver="lbfgs", max_iter=999, random_state=0)
    >>> round(model.fit(x, abs(x).ravel()).score(x, abs(x).ravel()), 2)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MultilayerPerceptron._parameter_constraints,
        "loss": [StrOptions({"squared_error", "poisson"})],
        "output_activation": [StrOptions({"identity", "logistic", "tanh", "relu"})],
    }

    loss: str = "squared_error"
    hidden_layer_sizes: ArrayLike = (100,)
    activation: str = "relu"
    _: KW_ONLY
    output_activation: str = "identity"

    @takes_parts  # type: ignore[untyped-decorator]
    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @atomic
    def partial_fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None
    ) -> MLPRegressor:
        """Show the rows once, starting from the weights so far."""
        self._partial_fit(X, y, sample_weight)
        return self

    def predict(self, X: Objects) -> Array:
        """Return the value of each row, or its values."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def _read_targets(
        self, X: Objects, y: Targets, part: bool, first: bool
    ) -> tuple[Matrix, Array]:
        del part
        X, y = validate_data(self, X, y, reset=first, y_numeric=True, **_READ)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if self.loss == "poisson" and np.min(y) < 0:
            raise InvalidInput("loss='poisson' is for counts: y holds a number below 0.")
        return X, np.asarray(y, X.dtype).reshape(len(y), -1)

    def _output(self) -> str:
        if self.loss == "squared_error":
            return self.output_activation
        if self.output_activation != "identity":
            raise InvalidParameter(
                f"MLPRegressor: output_activation={self.output_activation!r} is for squared "
                "errors; loss='poisson' has exp at its outputs."
            )
        return "exp"

    def _bent_squares(self) -> bool:
        return self.loss == "squared_error" and self.out_activation_ != "identity"

    def _score_values(self, values: Array, Y: Array, weights: Array | None) -> float:
        return float(r2_score(Y, values, sample_weight=weights))
