"""What networks of neurons share: parameters, training, early stopping."""

from __future__ import annotations

import logging
import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import optimize, sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, gen_batches, shuffle
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer._typing import Array
from mercer.estimators.choice import caller_level
from mercer.exceptions import InvalidInput
from mercer.problems.functions import Function
from mercer.solvers.descent import gradient_descent
from mercer.solvers.network import Network, Slopes
from mercer.solvers.stochastic import Adam, Momentum

_log = logging.getLogger(__name__)
_STOCHASTIC = ("sgd", "adam")
_USUAL_BATCH = 200
_NONE: Array = np.zeros(0)


def _takes_parts(machine: Any) -> bool:
    if machine.solver not in _STOCHASTIC:
        raise AttributeError(
            "partial_fit is only available for stochastic optimizers. "
            f"{machine.solver} is not stochastic."
        )
    return True


class MultilayerPerceptron(BaseEstimator):
    """A network of layers, trained by stochastic or by full-batch descent."""

    hidden_layer_sizes: Any
    activation: str
    solver: str
    alpha: float
    batch_size: Any
    learning_rate: str
    learning_rate_init: float
    power_t: float
    max_iter: int
    shuffle: bool
    random_state: Any
    tol: float
    verbose: Any
    warm_start: bool
    momentum: float
    nesterovs_momentum: bool
    early_stopping: bool
    validation_fraction: float
    beta_1: float
    beta_2: float
    epsilon: float
    n_iter_no_change: float
    max_fun: int
    out_activation_: str
    coefs_: list[Array]
    intercepts_: list[Array]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions({"identity", "logistic", "tanh", "relu"})],
        "solver": [StrOptions({"lbfgs", "sgd", "adam", "descent"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "power_t": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "momentum": [Interval(Real, 0, 1, closed="both")],
        "nesterovs_momentum": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "n_iter_no_change": [
            Interval(Integral, 1, None, closed="left"),
            Options(Real, {np.inf}),
        ],
        "max_fun": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to the rows of X and their targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, features)
            Numbers of type float32 are computed in float32.
        y : array of shape (n,) or (n, outputs)
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        return self._fit(X, y, sample_weight, part=False)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        return self._fit(X, y, sample_weight, part=True)

    # ---- what the two kinds answer ---------------------------------------------------------------

    def _read_targets(self, X: Any, y: Any, part: bool, first: bool) -> tuple[Any, Array]:
        """Return checked data, and targets as a matrix with a column for each output."""
        raise NotImplementedError

    def _output(self) -> str:
        """Return the activation of the last layer."""
        raise NotImplementedError

    def _judge(self, values: Array, Y: Array, weights: Array | None) -> float:
        """Return the score of values of the last layer."""
        raise NotImplementedError

    _stratified = False

    # ---- training ------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, part: bool) -> Self:
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes)).tolist()
        if any(size <= 0 for size in hidden):
            raise InvalidInput(f"hidden_layer_sizes must be > 0, got {hidden}.")
        first = not hasattr(self, "coefs_") or (not self.warm_start and not part)
        X, Y = self._read_targets(X, y, part, first)
        Y = np.ascontiguousarray(Y, X.dtype)
        weights = _NONE.astype(X.dtype)
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=X.dtype)
        self.n_outputs_ = Y.shape[1]
        random = check_random_state(self.random_state)
        sizes = [X.shape[1], *hidden, self.n_outputs_]
        if first:
            self.out_activation_ = self._output()
        network = Network(sizes, self.activation, self.out_activation_, X.dtype)
        if first:
            self._begin(network, random)
        else:
            network.load(self.coefs_, self.intercepts_)
        self.n_layers_ = len(sizes)
        self.coefs_, self.intercepts_ = network.coefs, network.intercepts
        if self.solver in _STOCHASTIC:
            self._descend_in_batches(network, X, Y, weights, random, part)
        else:
            self._descend_at_once(network, X, Y, weights)
        if not np.isfinite(network.theta).all():
            raise InvalidInput(
                "Solver produced non-finite parameter weights. The input data may contain large "
                "values and need to be preprocessed."
            )
        return self

    def _begin(self, network: Network, random: np.random.RandomState) -> None:
        """Draw the first weights and forget earlier fits."""
        network.start(random)
        self.n_iter_ = self.t_ = 0
        self.loss_: float = math.inf
        self.best_loss_: float | None = None if self._stops_early() else math.inf
        self.loss_curve_: list[float] = []
        self.validation_scores_: list[float] | None = [] if self._stops_early() else None
        self.best_validation_score_: float | None = -math.inf if self._stops_early() else None
        self._no_improvement_count = 0
        if hasattr(self, "_optimizer"):
            del self._optimizer

    def _stops_early(self) -> bool:
        return self.early_stopping and self.solver in _STOCHASTIC

    def _make_optimizer(self, network: Network) -> Momentum | Adam:
        zeros = np.zeros_like(network.theta)
        if self.solver == "adam":
            rates = self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon
            return Adam(zeros, zeros.copy(), *rates)
        return Momentum(
            zeros, self.learning_rate_init, self.learning_rate, self.momentum,
            self.nesterovs_momentum, self.power_t,
        )  # fmt: skip

    def _descend_in_batches(
        self, network: Network, X: Any, Y: Array, weights: Array, random: Any, part: bool
    ) -> None:
        if not part or not hasattr(self, "_optimizer"):
            self._optimizer: Momentum | Adam = self._make_optimizer(network)
        if self.early_stopping and part:
            raise InvalidInput("partial_fit does not support early_stopping=True")
        held: tuple[Any, ...] = ()
        best: Array | None = None
        if self.early_stopping:
            X, Y, weights, held = self._set_aside(X, Y, weights, random)
        batches = _Batches(X, Y, weights, self._batch(len(Y)))
        slopes = Slopes(network, batches.size)
        order = np.arange(len(Y))
        self.n_iter_ = 0
        for _ in range(self.max_iter):
            if self.shuffle:
                order = shuffle(order, random_state=random)
            try:
                self.loss_ = self._epoch(network, slopes, batches, order)
            except KeyboardInterrupt:
                warnings.warn("Training interrupted by user.", stacklevel=caller_level())
                break
            self.n_iter_ += 1
            self.t_ += len(Y)
            self.loss_curve_.append(self.loss_)
            if self.verbose:
                _log.info("Iteration %d, loss = %.8f", self.n_iter_, self.loss_)
            if self._watch(network, held):
                best = network.theta.copy()
            self._optimizer.epoch_ends(self.t_)
            if self._no_improvement_count > self.n_iter_no_change:
                if self._optimizer.stops():
                    break
                self._no_improvement_count = 0
            if part:
                break
            if self.n_iter_ == self.max_iter:
                warnings.warn(
                    f"Stochastic Optimizer: Maximum iterations ({self.max_iter}) reached and the "
                    "optimization hasn't converged yet. Raise max_iter or tol.",
                    ConvergenceWarning,
                    stacklevel=caller_level(),
                )
        if best is not None:
            network.theta[:] = best

    def _epoch(self, network: Network, slopes: Slopes, batches: _Batches, order: Any) -> float:
        """Show all rows once, a step for each batch; return the mean loss on the way."""
        total, alpha = 0.0, float(self.alpha)
        for at in gen_batches(len(order), batches.size):
            X, Y, weights = batches.take(order[at] if self.shuffle else at)
            rows = float(weights.sum()) if len(weights) else float(len(Y))
            if rows == 0.0:
                continue
            loss = slopes(X, Y, weights)
            W = network.theta[: network.matrices]
            total += (loss + 0.5 * alpha * float(W @ W)) / rows * len(Y)
            self._optimizer.step(network.theta, slopes.gradient, network.matrices, alpha, rows)
        return total / len(order)

    def _watch(self, network: Network, held: tuple[Any, ...]) -> bool:
        """Count epochs without improvement; return whether these weights are the best so far."""
        if not held:
            assert self.best_loss_ is not None
            worse = self.loss_ > self.best_loss_ - self.tol
            self.best_loss_ = min(self.loss_, self.best_loss_)
            better = False
        else:
            assert self.validation_scores_ is not None
            assert self.best_validation_score_ is not None
            X, Y, weights = held
            with np.errstate(over="ignore", invalid="ignore"):
                values = network.forward(X)
            finite = bool(np.isfinite(values).all())
            score = self._judge(values, Y, weights) if finite else math.nan
            self.validation_scores_.append(score)
            worse = score < self.best_validation_score_ + self.tol
            better = score > self.best_validation_score_
            self.best_validation_score_ = score if better else self.best_validation_score_
        self._no_improvement_count = self._no_improvement_count + 1 if worse else 0
        return better

    def _set_aside(self, X: Any, Y: Array, weights: Array, random: Any) -> tuple[Any, ...]:
        """Split off the rows that decide when to stop."""
        classes = Y.astype(bool) if self._stratified and self.n_outputs_ == 1 else None
        given = (X, Y, weights) if len(weights) else (X, Y)
        parts = train_test_split(
            *given, random_state=random, test_size=self.validation_fraction, stratify=classes
        )
        train, held = parts[::2], parts[1::2]
        if held[0].shape[0] < 2:
            raise InvalidInput(
                "The validation set is too small. Increase 'validation_fraction' or the size of "
                "your dataset."
            )
        if not len(weights):
            train, held = [*train, weights], [*held, None]
        return (*train, tuple(held))

    def _batch(self, rows: int) -> int:
        if isinstance(self.batch_size, str):
            return min(_USUAL_BATCH, rows)
        if self.batch_size > rows:
            warnings.warn(
                "Got `batch_size` less than 1 or larger than sample size. It is going to be "
                "clipped",
                stacklevel=caller_level(),
            )
        return int(min(self.batch_size, rows))

    def _descend_at_once(self, network: Network, X: Any, Y: Array, weights: Array) -> None:
        """Minimise the mean loss of all rows with its penalty, in float64 steps."""
        slopes = Slopes(network, len(Y))
        rows = float(weights.sum()) if len(weights) else float(len(Y))
        decayed, alpha = network.matrices, float(self.alpha)

        def loss_and_slope(theta: Array) -> tuple[float, Array]:
            network.theta[:] = theta
            loss = slopes(X, Y, weights)
            slope = np.array(slopes.gradient, np.float64)
            W = theta[:decayed]
            slope[:decayed] += alpha * W
            return (loss + 0.5 * alpha * float(W @ W)) / rows, slope / rows

        start = np.array(network.theta, np.float64)
        if self.solver == "descent":
            self._search_lines(network, loss_and_slope, start)
            return
        found = optimize.minimize(
            loss_and_slope,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxfun": self.max_fun, "maxiter": self.max_iter, "gtol": self.tol},
        )
        # The last step may overshoot the limit by one, as in scikit-learn.
        self.n_iter_, self.loss_ = min(int(found.nit), self.max_iter), float(found.fun)
        network.theta[:] = found.x
        if found.status == 1:
            self._warn_unfinished(f"lbfgs failed to converge after {self.n_iter_} iteration(s)")

    def _search_lines(self, network: Network, loss_and_slope: Any, start: Array) -> None:
        """Full-batch gradient descent, each step found by backtracking."""
        function = Function(lambda t: loss_and_slope(t)[0], lambda t: loss_and_slope(t)[1])
        found = gradient_descent(function, start, tol=self.tol, max_iter=self.max_iter)
        network.theta[:] = found.x
        self.n_iter_, self.loss_ = max(found.iterations, 1), found.value
        self.loss_curve_ = found.trace.values.tolist()
        if found.status == "max_iter":
            self._warn_unfinished(f"descent did not converge in {self.n_iter_} iteration(s)")

    def _warn_unfinished(self, what: str) -> None:
        warnings.warn(
            f"{what}. Increase max_iter or max_fun, raise tol, or scale the data.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

    # ---- prediction ----------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        """Return the values of the last layer for new data."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse=["csr", "csc"], dtype=(np.float64, np.float32), reset=False
        )
        sizes = [self.coefs_[0].shape[0], *(W.shape[1] for W in self.coefs_)]
        network = Network(sizes, self.activation, self.out_activation_, self.coefs_[0].dtype)
        network.load(self.coefs_, self.intercepts_)
        return network.forward(X)


class _Batches:
    """Rows of some data, gathered into buffers of their own."""

    def __init__(self, X: Any, Y: Array, weights: Array, size: int) -> None:
        self.dense = not sparse.issparse(X)
        self.X = X if self.dense else X.tocsr()
        self.Y, self.weights, self.size = Y, weights, size
        if self.dense:
            self.rows = np.empty((size, X.shape[1]), X.dtype)
        self.targets = np.empty((size, Y.shape[1]), Y.dtype)

    def take(self, index: Any) -> tuple[Any, Array, Array]:
        """Return the rows of an index, or of a slice."""
        weights = self.weights[index] if len(self.weights) else self.weights
        if isinstance(index, slice):
            return self.X[index], self.Y[index], weights
        m = len(index)
        Y = np.take(self.Y, index, axis=0, out=self.targets[:m], mode="clip")
        if not self.dense:
            return self.X[index], Y, weights
        return np.take(self.X, index, axis=0, out=self.rows[:m], mode="clip"), Y, weights


takes_parts = available_if(_takes_parts)
