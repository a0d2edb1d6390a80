"""Training of networks on all rows at once: L-BFGS, and descent with a line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.backpropagation import Backpropagation, NetworkLoss
from mercer.problems.functions import Function
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.descent import gradient_descent
from mercer.solvers.stochastic import Training

LossAndGradient = Callable[[Array], tuple[float, Array]]
"""θ ↦ the loss and its gradient, in float64."""


class FullBatchSolver(FeatureSolver[NetworkLoss, Training]):
    """A method that takes its steps in float64 and sees all rows in each."""

    certified = False

    def run(
        self, problem: NetworkLoss, gram: GramMatrix, budget: Budget, start: Training | None
    ) -> Outcome[Training]:
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

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[Training]:
        """Minimise a function from ``theta`` and leave the answer there."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class LBFGS(FullBatchSolver):
    """L-BFGS of SciPy, with at most ``max_fun`` evaluations."""

    max_fun: int = 15000

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[Training]:
        found = optimize.minimize(
            f,
            np.array(theta, np.float64),
            jac=True,
            method="L-BFGS-B",
            options={"maxfun": self.max_fun, "maxiter": budget.max_iter, "gtol": budget.tol},
        )
        theta[:] = found.x
        status = {0: Status.OPTIMAL, 1: Status.MAX_ITER}.get(int(found.status), Status.STALLED)
        # The last step may overshoot the limit by one, as in scikit-learn.
        return Outcome(
            Training(loss=float(found.fun)), status, min(int(found.nit), budget.max_iter)
        )


class LineSearchDescent(FullBatchSolver):
    """Gradient descent, each step found by backtracking."""

    def minimise(self, f: LossAndGradient, theta: Array, budget: Budget) -> Outcome[Training]:
        function = Function(lambda t: f(t)[0], lambda t: f(t)[1])
        start = np.array(theta, np.float64)
        found = gradient_descent(function, start, tol=budget.tol, max_iter=budget.max_iter)
        theta[:] = found.x
        curve = found.trace.values.tolist()
        status = {"optimal": Status.OPTIMAL, "max_iter": Status.MAX_ITER}.get(
            str(found.status), Status.STALLED
        )
        training = Training(loss=found.value, loss_curve=curve)
        return Outcome(training, status, max(found.iterations, 1))
