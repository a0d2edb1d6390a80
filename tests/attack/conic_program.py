"""Conic programs put together from pieces, and nasty data for machines that are posed as such."""

from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

L = np.longdouble
SPARE = 1e-5
"""What a dual value of Clarabel's may be too large by, as a share, and a hundredth of it in any
case: residuals of 1e-8, times the size of an answer."""


class Posed(NamedTuple):
    """A machine, what it is fitted on, and bounds of the optimum; the lower one may be −∞."""

    model: object
    data: tuple
    lower: float
    upper: float


class Program:
    """min ½xᵀPx + q·x under constraints, put together from pieces."""

    def __init__(self, count):
        self.P, self.q, self.count = np.zeros((count, count)), np.zeros(count), count
        self.rows, self.right, self.cones = [], [], []

    def most(self, A, b):
        """Ask for Ax ≤ b."""
        self._add(A, b, clarabel.NonnegativeConeT(len(b)))

    def positive(self, where):
        self.most(-np.eye(self.count)[where], np.zeros(len(np.arange(self.count)[where])))

    def ball(self, length, vector):
        """Ask for ‖Vx‖ ≤ l·x, given l and V."""
        self._add(
            -np.vstack([length, vector]),
            np.zeros(1 + len(vector)),
            clarabel.SecondOrderConeT(1 + len(vector)),
        )

    def exponential(self, exponent, top):
        """Ask for exp(e·x) ≤ t·x, given e and t."""
        self._add(
            -np.vstack([exponent, np.zeros(self.count), top]),
            np.array([0.0, 1.0, 0.0]),
            clarabel.ExponentialConeT(),
        )

    def _add(self, A, b, cone):
        self.rows.append(A)
        self.right.append(b)
        self.cones.append(cone)

    def solve(self):
        """Return a point, and a lower bound of the optimum."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 100
        P = sparse.triu(sparse.csc_array(self.P), format="csc")
        A = sparse.csc_array(np.vstack(self.rows))
        solver = clarabel.DefaultSolver(
            P, self.q, A, np.concatenate(self.right), self.cones, settings
        )
        answer = solver.solve()
        lower = -np.inf
        if str(answer.status) == "Solved":
            lower = answer.obj_val_dual - SPARE * max(abs(answer.obj_val_dual), 0.01)
        return np.nan_to_num(np.asarray(answer.x)), lower


# ---- data --------------------------------------------------------------------------------------


def rows(rng, classes=2):
    """Return rows, classes that all occur, numbers and weights."""
    n, p = int(rng.integers(2 * classes, 14)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2, 2, p)
    if rng.random() < 0.3:
        X += 10.0 ** rng.uniform(0, 3)
    if rng.random() < 0.3:
        X = X[rng.integers(0, max(2, n // 2), n)]
    labels = rng.integers(0, classes, n)
    labels[:classes] = np.arange(classes)
    numbers = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)
    weights = np.ones(n) if rng.random() < 0.5 else rng.uniform(0.1, 3, n)
    return X, labels, numbers, weights


def wide(X):
    return np.column_stack([X, np.ones(len(X))])


def price(rng):
    return float(10.0 ** rng.uniform(-3, 3))
