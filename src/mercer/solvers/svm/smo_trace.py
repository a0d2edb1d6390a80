"""Sequential minimal optimisation step by step, to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.solvers.base import Status


@dataclass(frozen=True, eq=False)
class SMOTrace:
    """The way of sequential minimal optimisation, one row for each step.

    Attributes
    ----------
    pairs : array of shape (steps, 2)
        The multipliers αᵢ and αⱼ that moved; without a bias one alone, twice the same number.
    intervals : array of shape (steps, 2)
        L and H, between which αⱼ had to stay so that both keep their bounds.
    unclipped : array of shape (steps,)
        Where αⱼ would have gone without L and H.
    steps : array of shape (steps,)
        How far αⱼ went.
    violations : array of shape (steps + 1,)
        By how much the optimality conditions were violated, before each step and at the end.
    objectives : array of shape (steps + 1,)
        W(α) = Σα − ½ Σ αᵢαⱼyᵢyⱼKᵢⱼ, before each step and at the end.
    alphas : array of shape (steps + 1, n)
        All multipliers, before each step and at the end.
    intercept : float
        b at the end.
    status : str
        ``optimal``, or ``max_iter`` where it took more steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import optimize
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> trace = optimize.smo(np.outer(x, x), np.sign(x), C=1.0)
    >>> trace.objectives.tolist(), trace.status  # Σα − ½‖w‖² before and after the only step
    ([0.0, 0.5], 'optimal')
    """

    pairs: IntArray
    intervals: Array
    unclipped: Array
    steps: Array
    violations: Array
    objectives: Array
    alphas: Array
    intercept: float
    status: str

    @property
    def alpha(self) -> Array:
        """The multipliers at the end."""
        last: Array = self.alphas[-1]
        return last

    def __len__(self) -> int:
        return len(self.steps)

    def plot(self, axes: Any = None) -> Any:
        """Draw the objective, and αⱼ with its interval [L, H], step by step, on two axes."""
        from mercer._plot.pair_steps import draw_pair_steps

        return draw_pair_steps(self, axes)

    def __repr__(self) -> str:
        return (
            f"SMOTrace({self.status}: {len(self)} steps, objective {self.objectives[-1]:.6g}, "
            f"violation {self.violations[-1]:.2g})"
        )


def smo(
    K: ArrayLike,
    y: ArrayLike,
    C: float = 1.0,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> SMOTrace:
    """Train a support vector machine by sequential minimal optimisation, and keep every step.

    max Σα − ½ Σ αᵢαⱼyᵢyⱼKᵢⱼ  subject to  0 ≤ α ≤ C, Σ yᵢαᵢ = 0

    Each step picks the αᵢ that violates the optimality conditions most and the αⱼ with which it
    gains most, and solves for both: αⱼ moves by yⱼ(Eᵢ − Eⱼ)/η, η = Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ, clipped to
    [L, H]. This is the plain form of what :class:`SVC` does in compiled code, for small data and
    for pictures.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel values.
    y : array of shape (n,)
        +1 and −1.
    C : float
        The upper bound of the multipliers.
    fit_intercept : bool
        Without a bias there is no sum to keep, and each step moves one multiplier: coordinate
        ascent, with L = 0 and H = C.
    tol : float
        The violation at which it ends.
    max_iter : int
        The most steps.

    References
    ----------
    J. Platt, Fast training of support vector machines using sequential minimal optimization, 1999.
    R.-E. Fan, P.-H. Chen and C.-J. Lin, Working set selection using second order information, JMLR
    2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import optimize
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> trace = optimize.smo(np.outer(x, x), np.sign(x), C=1.0)
    >>> trace.pairs.tolist(), trace.intervals.tolist(), trace.alpha.tolist()
    ([[2, 1]], [[0.0, 1.0]], [0.0, 0.5, 0.5, 0.0])
    """
    matrix, signs = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(signs)
    if signs.ndim != 1 or not n or not np.isin(signs, (-1.0, 1.0)).all():
        raise InvalidInput("smo: y has to be a list of +1 and −1.")
    if matrix.shape != (n, n) or not np.isfinite(matrix).all():
        raise InvalidInput(
            f"smo: K has shape {matrix.shape}; it has to be {n} × {n} finite kernel values."
        )
    if not (np.isfinite(C) and C > 0 and tol > 0 and max_iter >= 0):
        raise InvalidParameter(
            f"smo: C={C!r}, tol={tol!r} and max_iter={max_iter!r} have to be a finite number > 0, "
            "a number > 0 and a whole number ≥ 0."
        )
    run = _PairSteps(matrix, signs, float(C), fit_intercept)
    status = Status.MAX_ITER
    while True:
        pair = run.choose(tol)
        if pair is None:
            status = Status.OPTIMAL
            break
        if len(run.pairs) == max_iter:
            break
        run.step(*pair)
    return run.end(str(status))


class _PairSteps:
    """The multipliers, the errors E = f − y, and what is kept of each step."""

    def __init__(self, K: Array, y: Array, C: float, bias: bool) -> None:
        self.K, self.y, self.C, self.bias = K, y, C, bias
        self.alpha: Array = np.zeros(len(y))
        self.E = -y
        self.pairs: list[tuple[int, int]] = []
        self.intervals: list[tuple[float, float]] = []
        self.unclipped: list[float] = []
        self.steps: list[float] = []
        self.violations: list[float] = []
        self.alphas: list[Array] = [self.alpha.copy()]
        self.objectives = [0.0]

    def choose(self, tol: float) -> tuple[int, int] | None:
        """Return the next pair, None where no pair violates the conditions by more than tol."""
        y, alpha, E, K = self.y, self.alpha, self.E, self.K
        diagonal = np.diagonal(K)
        # yα can grow in "up" and fall in "down".
        up = np.where(y > 0, alpha < self.C, alpha > 0)
        down = np.where(y > 0, alpha > 0, alpha < self.C)
        if not self.bias:
            slopes = np.abs(np.where(np.where(E < 0, up, down), E, 0.0))
            self.violations.append(float(slopes.max()))
            if self.violations[-1] <= tol:
                return None
            worst = int(np.argmax(slopes**2 / np.maximum(diagonal, _LEAST)))
            return worst, worst
        if not up.any() or not down.any():
            self.violations.append(0.0)
            return None
        i = int(np.argmin(np.where(up, E, np.inf)))
        gaps = np.where(down, E - E[i], -np.inf)
        self.violations.append(max(0.0, float(gaps.max())))
        if self.violations[-1] <= tol:
            return None
        eta = np.maximum(diagonal[i] + diagonal - 2 * K[i], _LEAST)
        return i, int(np.argmax(np.where(gaps > 0, gaps**2 / eta, -np.inf)))

    def step(self, i: int, j: int) -> None:
        y, alpha, K = self.y, self.alpha, self.K
        if i == j:
            low, high = 0.0, self.C
            wanted = alpha[j] - y[j] * self.E[j] / max(K[j, j], _LEAST)
        else:
            if y[i] != y[j]:
                low, high = max(0.0, alpha[j] - alpha[i]), self.C + min(0.0, alpha[j] - alpha[i])
            else:
                total = alpha[i] + alpha[j]
                low, high = max(0.0, total - self.C), min(self.C, total)
            eta = max(K[i, i] + K[j, j] - 2 * K[i, j], _LEAST)
            wanted = alpha[j] + y[j] * (self.E[i] - self.E[j]) / eta
        change = float(np.clip(wanted, low, high)) - alpha[j]
        if i != j:
            # Rounding must not leave αᵢ a hair outside of its bounds.
            other = float(np.clip(alpha[i] - y[i] * y[j] * change, 0.0, self.C))
            self.E = self.E + y[i] * (other - alpha[i]) * K[i]
            alpha[i] = other
        self.E = self.E + y[j] * change * K[j]
        alpha[j] += change
        self.pairs.append((i, j))
        self.intervals.append((low, high))
        self.unclipped.append(float(wanted))
        self.steps.append(change)
        self.alphas.append(alpha.copy())
        # Σα − ½ Σ αy f, f = E + y
        self.objectives.append(float(alpha.sum() - 0.5 * (alpha * y) @ (self.E + y)))

    def end(self, status: str) -> SMOTrace:
        return SMOTrace(
            np.array(self.pairs, dtype=np.intp).reshape(-1, 2),
            np.array(self.intervals, dtype=np.float64).reshape(-1, 2),
            np.array(self.unclipped),
            np.array(self.steps),
            np.array(self.violations),
            np.array(self.objectives),
            np.array(self.alphas),
            self._intercept(),
            status,
        )

    def _intercept(self) -> float:
        """Return b: the mean of −E over free multipliers, else the middle of its range."""
        if not self.bias:
            return 0.0
        y, alpha = self.y, self.alpha
        free = (alpha > 0) & (alpha < self.C)
        if free.any():
            return -float(self.E[free].mean())
        up = np.where(y > 0, alpha < self.C, alpha > 0)
        ends = [self.E[up].min(initial=np.inf), self.E[~up].max(initial=-np.inf)]
        known = [end for end in ends if np.isfinite(end)]
        return -float(np.mean(known)) if known else 0.0


_LEAST = 1e-12
"""Stands for a curvature of zero, so that a step there goes to the end of its interval."""
