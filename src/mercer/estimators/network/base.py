"""What networks of neurons share: parameters, training, early stopping."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, replace
from itertools import count, pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import (
    COUNT,
    NONE,
    TEXT,
    A,
    ListOf,
    Maybe,
    Number,
    OneOf,
    State,
    WrongState,
)
from mercer._sklearn import Interval, Options, StrOptions, check_sample_weight, fit_context
from mercer._typing import Array, Matrix, Objects, SampleWeights, Seed, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.state import VECTORS
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.problems.backpropagation import Backpropagation, Network, NetworkLoss
from mercer.solvers.base import Budget, Status
from mercer.solvers.network.stochastic import (
    LBFGS,
    Adam,
    LineSearchDescent,
    MiniBatchDescent,
    Momentum,
    TrainingCourse,
)

_STOCHASTIC = ("sgd", "adam")
_USUAL_BATCH = 200
"""Rows of a batch for ``batch_size="auto"``, as in scikit-learn."""
_NONE: Array = np.zeros(0)


def _takes_parts(machine: MultilayerPerceptron) -> bool:
    if machine.solver not in _STOCHASTIC:
        raise AttributeError(
            "partial_fit is only available for stochastic optimizers. "
            f"{machine.solver} is not stochastic."
        )
    return True


@parameters
class TrainingParameters(AtomicFit, BaseEstimator):
    """How a network is trained."""

    _: KW_ONLY
    solver: str = "adam"
    alpha: float = 0.0001
    batch_size: int | str = "auto"
    learning_rate: str = "constant"
    learning_rate_init: float = 0.001
    power_t: float = 0.5
    max_iter: int = 200
    shuffle: bool = True
    random_state: Seed = None
    tol: float = 1e-4
    verbose: bool | int = False
    warm_start: bool = False
    momentum: float = 0.9
    nesterovs_momentum: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    n_iter_no_change: float = 10
    max_fun: int = 15000


class MultilayerPerceptron(TrainingParameters):
    """A network of layers, trained by stochastic or by full-batch descent."""

    STATE: ClassVar[State] = {
        **VECTORS,
        **dict.fromkeys(("coefs_", "intercepts_"), ListOf(A(np.ndarray))),
        **dict.fromkeys(
            ("n_layers_", "n_outputs_", "n_iter_", "t_", "_no_improvement_count"), COUNT
        ),
        "out_activation_": TEXT,
        "loss_": Number(finite=False),
        "loss_curve_": ListOf(Number(finite=False)),
        **dict.fromkeys(
            ("best_loss_", "best_validation_score_"), OneOf(NONE, Number(finite=False))
        ),
        "validation_scores_": OneOf(NONE, ListOf(Number(finite=False))),
        "_optimizer": Maybe(A((Momentum, Adam))),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where the layers do not follow one another."""
        coefs, intercepts = self.coefs_, self.intercepts_
        if not coefs or len(coefs) != len(intercepts) or len(coefs) != self.n_layers_ - 1:
            raise WrongState("it has not as many layers as it says")
        kind = coefs[0].dtype
        if kind.kind != "f" or any(part.dtype != kind for part in (*coefs, *intercepts)):
            raise WrongState("its weights are not all of one type of real numbers")
        if any(W.ndim != 2 for W in coefs) or any(
            b.shape != W.shape[1:] for W, b in zip(coefs, intercepts, strict=True)
        ):
            raise WrongState("its weights have shapes that they cannot have")
        if any(a.shape[1] != b.shape[0] for a, b in pairwise(coefs)):
            raise WrongState("its layers do not follow one another")
        if (coefs[0].shape[0], coefs[-1].shape[1]) != (self.n_features_in_, self.n_outputs_):
            raise WrongState("its layers do not fit its columns and outputs")
        if not all(np.isfinite(part).all() for part in (*coefs, *intercepts)):
            raise WrongState("its weights hold NaN or infinity")
        if self.out_activation_ not in ("identity", "logistic", "softmax", "exp", "tanh", "relu"):
            raise WrongState("it has an activation that there is not")
        optimizer = getattr(self, "_optimizer", None)
        weights = sum(part.size for part in (*coefs, *intercepts))
        if optimizer is not None and not optimizer.fits(weights, kind):
            raise WrongState("its optimiser does not fit its weights")

    hidden_layer_sizes: ArrayLike
    activation: str
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

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Self:
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

    def _partial_fit(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Self:
        return self._fit(X, y, sample_weight, part=True)

    # ---- what the two kinds answer ---------------------------------------------------------------

    def _read_targets(
        self, X: Objects, y: Targets, part: bool, first: bool
    ) -> tuple[Matrix, Array]:
        """Return checked data, and targets as a matrix with a column for each output."""
        raise NotImplementedError

    def _output(self) -> str:
        """Return the activation of the last layer."""
        raise NotImplementedError

    def _score_values(self, values: Array, Y: Array, weights: Array | None) -> float:
        """Return the score of values of the last layer."""
        raise NotImplementedError

    _stratified = False

    # ---- training ------------------------------------------------------------------------------

    def _fit(self, X: Objects, y: Targets, sample_weight: SampleWeights, part: bool) -> Self:
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes)).tolist()
        if any(size <= 0 for size in hidden):
            raise InvalidInput(f"hidden_layer_sizes must be > 0, got {hidden}.")
        first = not hasattr(self, "coefs_") or (not self.warm_start and not part)
        X, Y = self._read_targets(X, y, part, first)
        Y = np.ascontiguousarray(Y, X.dtype)
        weights = _NONE.astype(X.dtype)
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=X.dtype)
        self.n_outputs_ = Y.shape[1]
        random = check_random_state(self.random_state)
        sizes = [X.shape[1], *hidden, self.n_outputs_]
        if first:
            self.out_activation_ = self._output()
        kinds = self.activation, self.out_activation_
        network = Network(sizes, *kinds, X.dtype, self._bent_squares())
        if first:
            self._begin(network, random)
        else:
            network.load(self.coefs_, self.intercepts_)
        self.n_layers_ = len(sizes)
        self.coefs_, self.intercepts_ = network.coefs, network.intercepts
        problem = NetworkLoss(network, Y, weights, float(self.alpha))
        if self.solver in _STOCHASTIC:
            self._fit_batches(problem, X, random, part)
        else:
            self._fit_at_once(problem, X)
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

    def _fit_batches(
        self, problem: NetworkLoss, X: Matrix, random: np.random.RandomState, part: bool
    ) -> None:
        """Train on batches; a part of the data is shown once."""
        # Steps change the optimizer; should they fail, the one before is as it was.
        known = getattr(self, "_optimizer", None) if part else None
        self._optimizer: Momentum | Adam = deepcopy(known) or self._make_optimizer(problem.network)
        if self.early_stopping and part:
            raise InvalidInput("partial_fit does not support early_stopping=True")
        score: Callable[[], float] | None = None
        if self.early_stopping:
            X, problem, score = self._set_aside(X, problem, random)
        method = MiniBatchDescent(
            self._optimizer, self._batch(len(problem.Y)), random, self.shuffle,
            self.n_iter_no_change, score,
        )  # fmt: skip
        budget = Budget(
            tol=self.tol, max_iter=1 if part else self.max_iter, monitor=self._printer()
        )
        found = method.solve(problem, FeatureGram(Features.numbered(X)), budget, self._course())
        self.n_iter_ = found.statistics.iterations
        self._record(found.value)
        if found.status is Status.INTERRUPTED:
            warnings.warn("Training interrupted by user.", stacklevel=caller_level())
        elif found.status is Status.MAX_ITER and not part:
            warnings.warn(
                f"Stochastic Optimizer: Maximum iterations ({self.max_iter}) reached and the "
                "optimization hasn't converged yet. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _course(self) -> TrainingCourse:
        """Return the course so far, from which training goes on."""
        # Weights that were set by hand have none of this.
        best = getattr(self, "best_validation_score_", None)
        return TrainingCourse(
            getattr(self, "loss_", math.inf),
            math.inf if self.best_loss_ is None else self.best_loss_,
            list(self.loss_curve_),
            list(getattr(self, "validation_scores_", None) or []),
            -math.inf if best is None else best,
            self._no_improvement_count,
            self.t_,
        )

    def _record(self, course: TrainingCourse) -> None:
        self.loss_, self.loss_curve_, self.t_ = course.loss, course.loss_curve, course.seen
        self._no_improvement_count = course.waited
        if self._stops_early():
            self.validation_scores_ = course.scores
            self.best_validation_score_ = course.best_score
        else:
            self.best_loss_ = course.best_loss

    def _printer(self) -> Callable[[float], bool] | None:
        if not self.verbose:
            return None
        epochs = count(1)

        def write(loss: float) -> bool:
            sys.stdout.write(f"Iteration {next(epochs)}, loss = {loss:.8f}\n")
            return False

        return write

    def _set_aside(
        self, X: Matrix, problem: NetworkLoss, random: np.random.RandomState
    ) -> tuple[Matrix, NetworkLoss, Callable[[], float]]:
        """Split off the rows that decide when to stop, and return how they do so."""
        Y, weights, network = problem.Y, problem.weights, problem.network
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

        def score() -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                values = network.forward(held[0])
            if not np.isfinite(values).all():
                return math.nan
            return self._score_values(values, held[1], held[2] if len(weights) else None)

        rest = train[2] if len(weights) else weights
        return train[0], replace(problem, Y=train[1], weights=rest), score

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

    def _fit_at_once(self, problem: NetworkLoss, X: Matrix) -> None:
        """Train on all rows in each step."""
        descent = self.solver == "descent"
        method = LineSearchDescent() if descent else LBFGS(self.max_fun)
        budget = Budget(tol=self.tol, max_iter=self.max_iter)
        found = method.solve(problem, FeatureGram(Features.numbered(X)), budget)
        self.n_iter_, self.loss_ = found.statistics.iterations, found.value.loss
        if descent:
            self.loss_curve_ = found.value.loss_curve
        if found.status is Status.MAX_ITER:
            what = "descent did not converge in" if descent else "lbfgs failed to converge after"
            warnings.warn(
                f"{what} {self.n_iter_} iteration(s). Increase max_iter or max_fun, raise tol, or "
                "scale the data.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    # ---- prediction ----------------------------------------------------------------------------

    def _values(self, X: Objects) -> Array:
        """Return the values of the last layer for new data."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse=["csr", "csc"], dtype=(np.float64, np.float32), reset=False
        )
        return self._network().forward(X)

    def _network(self) -> Network:
        """Return the fitted network."""
        sizes = [self.coefs_[0].shape[0], *(W.shape[1] for W in self.coefs_)]
        kinds = self.activation, self.out_activation_
        network = Network(sizes, *kinds, self.coefs_[0].dtype, self._bent_squares())
        network.load(self.coefs_, self.intercepts_)
        return network

    def sensitivities(self, X: Objects, y: Targets) -> list[Array]:
        """Return the sensitivities δˡ = −∂ℓ/∂zˡ of each layer that backpropagation finds.

        δᴸ = (y − f)φ′(zᴸ) at the output for squared errors, y − p for cross-entropies, and
        δˡ = (δˡ⁺¹Wˡ⁺¹ᵀ)φ′(zˡ) before; the gradient of the losses with respect to Wˡ is −Aˡ⁻¹ᵀδˡ.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, features)
        y : array of shape (n,) or (n, outputs)

        Returns
        -------
        list of arrays of shape (n, neurons)
            One for each layer after the first, the outputs last; without the penalty.
        """
        check_is_fitted(self)
        X, Y = self._read_targets(X, y, part=True, first=False)
        network = self._network()
        pass_back = Backpropagation(network, X.shape[0])
        rows = np.ascontiguousarray(Y, network.dtype)
        pass_back(X.astype(network.dtype, copy=False), rows, _NONE.astype(network.dtype))
        return [-slopes for slopes in pass_back.slopes(X.shape[0])]

    def _bent_squares(self) -> bool:
        """Whether squared errors are taken after an activation of the last layer."""
        return False


takes_parts = available_if(_takes_parts)
