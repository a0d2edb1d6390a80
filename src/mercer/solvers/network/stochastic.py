"""Training of networks: momentum and Adam on batches of rows, L-BFGS and descent on all."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import optimize, sparse
from sklearn.utils import gen_batches, shuffle

from mercer import _fast
from mercer._files.fields import COUNT, FLAG, TEXT, Number, Numbers, State
from mercer._typing import Array, IntArray, Matrix
from mercer.gram.base import GramMatrix
from mercer.problems.backpropagation import Backpropagation, NetworkLoss
from mercer.problems.functions import Function
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.descent import descend
from mercer.solvers.line_search import Search

_SMALLEST_RATE = 1e-6
"""An adaptive rate is not lowered any more from here on, as in scikit-learn."""


@dataclass(eq=False)
class Momentum:
    """Descent with momentum: u ← μu − ηg, w ← w + u; Nesterov looks a step ahead.

    Y. Nesterov, A method of solving a convex programming problem with convergence rate O(1/k²),
    Soviet Mathematics Doklady 27 (1983).
    """

    velocity: Array
    learning_rate_init: float
    schedule: str
    momentum: float
    nesterov: bool
    power_t: float
    learning_rate: float = 0.0

    STATE: ClassVar[State] = {
        "velocity": Numbers("weights"),
        **dict.fromkeys(("learning_rate_init", "learning_rate", "momentum", "power_t"), Number()),
        "schedule": TEXT,
        "nesterov": FLAG,
    }

    def fits(self, weights: int, dtype: np.dtype[Any]) -> bool:
        """Whether this is the state of a descent of so many weights of a type."""
        return len(self.velocity) == weights and self.velocity.dtype == dtype

    def __post_init__(self) -> None:
        self.learning_rate = self.learning_rate or self.learning_rate_init

    def step(self, w: Array, g: Array, decayed: int, shrink: float, rows: float) -> None:
        """Move the weights; ``g`` are sums of gradients over ``rows``, without penalties."""
        real = w.dtype.type
        _fast.network.momentum(
            w, g, self.velocity, decayed, real(shrink), real(1 / rows), real(self.learning_rate),
            real(self.momentum), self.nesterov,
        )  # fmt: skip

    def epoch_ends(self, t: int) -> None:
        """Lower the rate where the schedule says so; ``t`` rows were seen."""
        if self.schedule == "invscaling":
            self.learning_rate = self.learning_rate_init / (t + 1) ** self.power_t

    def stops(self) -> bool:
        """Whether to end when nothing improves; an adaptive rate is divided by 5 first."""
        if self.schedule != "adaptive" or self.learning_rate <= _SMALLEST_RATE:
            return True
        self.learning_rate /= 5.0
        return False


@dataclass(eq=False)
class Adam:
    """Adam: steps scaled by running means of gradients and of their squares.

    D. Kingma and J. Ba, Adam: a method for stochastic optimization, International Conference on
    Learning Representations (2015).
    """

    means: Array
    squares: Array
    learning_rate_init: float
    beta_1: float
    beta_2: float
    epsilon: float
    t: int = 0
    learning_rate: float = 0.0

    STATE: ClassVar[State] = {
        **dict.fromkeys(("means", "squares"), Numbers("weights")),
        **dict.fromkeys(
            ("learning_rate_init", "beta_1", "beta_2", "epsilon", "learning_rate"), Number()
        ),
        "t": COUNT,
    }

    def fits(self, weights: int, dtype: np.dtype[Any]) -> bool:
        """Whether this is the state of a descent of so many weights of a type."""
        return len(self.means) == weights and self.means.dtype == dtype

    def step(self, w: Array, g: Array, decayed: int, shrink: float, rows: float) -> None:
        """Move the weights; ``g`` are sums of gradients over ``rows``, without penalties."""
        self.t += 1
        real = w.dtype.type
        # Both means start at zero; this takes their bias away.
        correction = np.sqrt(1 - self.beta_2**self.t) / (1 - self.beta_1**self.t)
        self.learning_rate = float(self.learning_rate_init * correction)
        _fast.network.adam(
            w, g, self.means, self.squares, decayed, real(shrink), real(1 / rows),
            real(self.learning_rate), real(self.beta_1), real(self.beta_2), real(self.epsilon),
            real(1 - self.beta_1), real(1 - self.beta_2),
        )  # fmt: skip

    def epoch_ends(self, t: int) -> None:
        """Do nothing: the rate follows the steps."""

    def stops(self) -> bool:
        """Return True: there is no other rate to try."""
        return True


@dataclass(eq=False)
class TrainingCourse:
    """The course of a training, from which another one can go on; the weights are the network's.

    ``waited`` counts epochs in a row without improvement, ``seen`` all rows that were shown.
    """

    loss: float = math.inf
    best_loss: float = math.inf
    loss_curve: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best_score: float = -math.inf
    waited: int = 0
    seen: int = 0

    def improves(self, tol: float) -> None:
        """Count this epoch, by the loss of the training rows."""
        worse = self.loss > self.best_loss - tol
        self.best_loss = min(self.loss, self.best_loss)
        self.waited = self.waited + 1 if worse else 0

    def scores_best(self, score: float, tol: float) -> bool:
        """Count this epoch, by a score; return whether it is the best so far."""
        self.scores.append(score)
        worse, best = score < self.best_score + tol, score > self.best_score
        self.best_score = score if best else self.best_score
        self.waited = self.waited + 1 if worse else 0
        return best


@dataclass(frozen=True, eq=False)
class MiniBatchDescent(FeatureSolver[NetworkLoss, TrainingCourse]):
    """Descent with a step for each batch of rows; ``max_iter`` of the budget counts epochs.

    It ends after more than ``patience`` epochs in a row that do not improve by ``tol``, unless the
    optimiser has a lower rate to try.

    Attributes
    ----------
    optimiser : Momentum or Adam
        Takes the steps; it keeps its memory between runs.
    batch : int
        Rows in a batch.
    random : RandomState
    shuffle : bool
        Whether each epoch has an order of its own.
    patience : float
    score : function, optional
        Gives the score of the network on rows set aside: it then decides when to stop, and the
        weights of the best score stay.
    """

    optimiser: Momentum | Adam
    batch: int
    random: np.random.RandomState
    shuffle: bool = True
    patience: float = 10
    score: Callable[[], float] | None = None

    certified = False

    def run(
        self, problem: NetworkLoss, gram: GramMatrix, budget: Budget, start: TrainingCourse | None
    ) -> Outcome[TrainingCourse]:
        network, n = problem.network, len(problem.Y)
        batches = _Batches(gram.features(), problem.Y, problem.weights, self.batch)
        backpropagate = Backpropagation(network, self.batch)
        at = TrainingCourse() if start is None else start
        order, epochs, status = np.arange(n), 0, None
        best: Array | None = None
        while status is None:
            if self.shuffle:
                order = shuffle(order, random_state=self.random)
            try:
                at.loss = self._epoch(problem, backpropagate, batches, order)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
                break
            epochs, at.seen = epochs + 1, at.seen + n
            at.loss_curve.append(at.loss)
            if self.score is None:
                at.improves(budget.tol)
            elif at.scores_best(self.score(), budget.tol):
                best = network.theta.copy()
            self.optimiser.epoch_ends(at.seen)
            status = budget.stop(at.loss, epochs)
            if at.waited > self.patience:
                if self.optimiser.stops():
                    status = Status.STALLED
                else:
                    at.waited = 0
        if best is not None:
            network.theta[:] = best
        return Outcome(at, status, epochs)

    def _epoch(
        self,
        problem: NetworkLoss,
        backpropagate: Backpropagation,
        batches: _Batches,
        order: IntArray,
    ) -> float:
        """Show all rows once, a step for each batch; return the mean loss on the way."""
        network, alpha, total = problem.network, problem.alpha, 0.0
        for at in gen_batches(len(order), self.batch):
            X, Y, weights = batches.take(order[at]) if self.shuffle else batches.slice(at)
            rows = problem.rows(weights, len(Y))
            if rows == 0.0:
                continue
            loss = backpropagate(X, Y, weights)
            W = network.theta[: network.matrices]
            total += (loss + 0.5 * alpha * float(W @ W)) / rows * len(Y)
            gradient = backpropagate.gradient
            self.optimiser.step(network.theta, gradient, network.matrices, alpha, rows)
        return total / len(order)


class _Batches:
    """Rows of some data, gathered into buffers of their own."""

    def __init__(self, X: Matrix, Y: Array, weights: Array, size: int) -> None:
        self.dense = not sparse.issparse(X)
        self.X = X if self.dense else X.tocsr()
        self.Y, self.weights = Y, weights
        if self.dense:
            self.rows = np.empty((size, X.shape[1]), X.dtype)
        self.targets = np.empty((size, Y.shape[1]), Y.dtype)

    def slice(self, at: slice) -> tuple[Matrix, Array, Array]:
        """Return neighbouring rows."""
        return self.X[at], self.Y[at], self.weights[at]

    def take(self, index: IntArray) -> tuple[Matrix, Array, Array]:
        """Return the rows of an index."""
        weights = self.weights[index] if len(self.weights) else self.weights
        m = len(index)
        Y = np.take(self.Y, index, axis=0, out=self.targets[:m], mode="clip")
        if not self.dense:
            return self.X[index], Y, weights
        return np.take(self.X, index, axis=0, out=self.rows[:m], mode="clip"), Y, weights


LossAndGradient = Callable[[Array], tuple[float, Array]]
"""θ ↦ the loss and its gradient, in float64."""


class FullBatchSolver(FeatureSolver[NetworkLoss, TrainingCourse]):
    """A method that takes its steps in float64 and sees all rows in each."""

    certified = False

    def run(
        self, problem: NetworkLoss, gram: GramMatrix, budget: Budget, start: TrainingCourse | None
    ) -> Outcome[TrainingCourse]:
        del start  # the weights to start from are those of the network
        X, network = gram.features(), problem.network
        backpropagate = Backpropagation(network, len(problem.Y))
        rows = problem.rows(problem.weights, len(problem.Y))
        decayed, alpha = network.matrices, problem.alpha

        def loss_and_gradient(theta: Array) -> tuple[float, Array]:
            network.theta[:] = theta
            loss = backpropagate(X, problem.Y, problem.weights)
            slope = np.array(backpropagate.gradient, np.float64)
            W = theta[:decayed]
            slope[:decayed] += alpha * W
            return (loss + 0.5 * alpha * float(W @ W)) / rows, slope / rows

        return self.minimise(loss_and_gradient, network.theta, budget)

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[TrainingCourse]:
        """Minimise a function from ``theta`` and leave the answer there."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class LBFGS(FullBatchSolver):
    """L-BFGS of SciPy, with at most ``max_fun`` evaluations."""

    max_fun: int = 15000

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[TrainingCourse]:
        most = budget.max_iter if budget.max_iter >= 0 else sys.maxsize
        unlimited = budget.but(max_iter=-1)  # SciPy counts the steps
        stopped: Status | None = None

        def ask(intermediate_result: optimize.OptimizeResult) -> None:
            nonlocal stopped
            stopped = unlimited.stop(float(intermediate_result.fun))
            if stopped is not None:
                raise StopIteration

        found = optimize.minimize(
            f,
            np.array(theta, np.float64),
            jac=True,
            method="L-BFGS-B",
            callback=ask,
            options={"maxfun": self.max_fun, "maxiter": most, "gtol": budget.tol},
        )
        theta[:] = found.x
        status = {0: Status.OPTIMAL, 1: Status.MAX_ITER}.get(int(found.status), Status.STALLED)
        # The last step may overshoot the limit by one, as in scikit-learn.
        return Outcome(
            TrainingCourse(loss=float(found.fun)), stopped or status, min(int(found.nit), most)
        )


class LineSearchDescent(FullBatchSolver):
    """Gradient descent, each step found by backtracking."""

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[TrainingCourse]:
        function = Function(lambda t: f(t)[0], lambda t: f(t)[1])
        start = np.array(theta, np.float64)

        def downhill(x: Array, g: Array) -> tuple[Array, float]:
            return -g, float(np.linalg.norm(g))

        found = descend(function, start, downhill, Search(), budget, math.inf)
        theta[:] = found.x
        training = TrainingCourse(loss=found.value, loss_curve=found.trace.values.tolist())
        return Outcome(training, Status(found.status), max(found.iterations, 1))
