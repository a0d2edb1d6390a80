"""Training by online rules: rows are shown one after the other, and each mistake moves a weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg, sparse

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.gram.given import GivenGram
from mercer.linalg.nonnegative import nonnegative_least_squares
from mercer.linalg.pcg import Product
from mercer.problems.mistakes import SignedRows
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solver, Status

_FIRST_ROWS = 30
"""Rows of the smallest values from which the widest margin is sought; more join as needed."""
_ADDED = 30
"""Rows that join the working set in a round."""
_ROUNDS = 60
"""A limit of rounds: what is found by then is a bound in any case."""
_MOST_ROWS = 400
"""Rows of the working set whose least point non-negative least squares find in a moment."""
MOST_DOUBTFUL = 120
"""The same where there may be no separator: what that costs is less than the epochs before it."""
_NO_MARGIN = 1e-7
"""Margins, as a share of the longest row, that squares in float64 cannot tell from none."""
_SERVED = 1e-6
"""Rows whose margin is by no more than this share too small are served."""


@dataclass(eq=False)
class OnlineWeights:
    """A linear function w·x + b: its weights, the updates made, and the mean loss of each epoch.

    ``clean`` says that the last epoch had no update.
    """

    w: Array
    b: float
    updates: int = 0
    clean: bool = False
    losses: list[float] = field(default_factory=list)


@dataclass(eq=False)
class MistakeCounts:
    """A function Σ cᵢyᵢ k(xᵢ, ·) + b: ``counts`` are the cᵢ, ``f`` its values at all rows."""

    counts: Array
    f: Array
    b: float = 0.0
    updates: int = 0
    clean: bool = False


@dataclass(frozen=True)
class MistakeBound:
    """Novikoff's bound: a perceptron that starts at zero makes at most (R/γ)² mistakes.

    Attributes
    ----------
    radius : float
        R, the largest ‖x̃ᵢ‖; x̃ is x with a 1 for the bias.
    margin : float
        γ: a unit vector w with yᵢ w·x̃ᵢ ≥ γ for all rows was found.
    widest : float
        No separator has a wider margin than this.
    """

    radius: float
    margin: float
    widest: float

    @property
    def mistakes(self) -> float:
        """(R/γ)², inf where no separator was found."""
        return (self.radius / self.margin) ** 2 if self.margin > 0 else math.inf


@dataclass(eq=False)
class _Patience:
    """Ends training after some epochs in a row that lower the loss by less than ``tol``."""

    most: int
    best: float = math.inf
    waited: int = 0

    def status(self, loss: float, budget: Budget, epochs: int) -> Status | None:
        worse = budget.tol > -math.inf and loss > self.best - budget.tol
        self.waited = self.waited + 1 if worse else 0
        self.best = min(self.best, loss)
        return Status.STALLED if self.waited >= self.most else budget.stop(loss, epochs)


@dataclass(frozen=True, eq=False)
class OnlineRule(FeatureSolver[SignedRows, OnlineWeights]):
    """The rule of the perceptron, or that of Widrow and Hoff, on rows of features.

    It ends after an epoch without a mistake (without penalties nothing would ever change again),
    after ``patience`` epochs in a row that lower the mean loss by less than ``tol``, or at the end
    of the budget, whose ``max_iter`` counts epochs.

    Attributes
    ----------
    eta : float
        The step.
    shuffle : bool
        Whether each epoch has an order of its own, by ``seed``.
    patience : int
    score : function, optional
        Gives the score of w and b on rows set aside, which then decides instead of the loss.
    """

    eta: float = 1.0
    shuffle: bool = True
    seed: int = 0
    patience: int = 5
    score: Callable[[Array, float], float] | None = None

    certified = False

    def run(
        self, problem: SignedRows, gram: GramMatrix, budget: Budget, start: OnlineWeights | None
    ) -> Outcome[OnlineWeights]:
        X, at = gram.features(), problem
        n, columns = X.shape
        w = np.zeros(columns) if start is None else np.array(start.w, np.float64)
        b = np.array([0.0 if start is None else start.b], np.float64)
        found = OnlineWeights(w, 0.0)
        order = np.arange(n, dtype=np.int64)
        shown = np.ones(n, bool) if at.rows is None else np.zeros(n, bool)
        if at.rows is not None:
            shown[at.rows] = True
        count = int(shown.sum())
        pulled, pull = np.zeros(columns if at.l1 > 0 else 0), np.zeros(1)
        data = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        one_pass: Callable[..., tuple[float, int]] = (
            _fast.perceptron.sparse_pass if len(data) == 3 else _fast.perceptron.dense_pass
        )
        patience, epochs, status = _Patience(self.patience), 0, None
        while status is None:
            if self.shuffle:
                _fast.perceptron.shuffle(order, self.seed)
            mine = order if count == n else order[shown[order]]
            total, updates = one_pass(
                int(at.loss), *data, mine, at.y, at.rates, self.eta, w, b, at.intercept, at.l1,
                at.l2, pulled, pull,
            )  # fmt: skip
            epochs += 1
            found.updates += updates
            found.losses.append(total / count)
            if not math.isfinite(w.sum() + b[0]):
                raise InvalidInput(
                    f"Floating-point under-/overflow occurred at epoch #{epochs}. Scaling the "
                    "data with StandardScaler or MinMaxScaler, or a lower eta0, might help."
                )
            found.clean = updates == 0
            if found.clean and at.l1 == at.l2 == 0.0:
                status = Status.OPTIMAL
            else:
                loss = found.losses[-1] if self.score is None else -self.score(w, float(b[0]))
                status = patience.status(loss, budget, epochs)
        found.b = float(b[0])
        return Outcome(found, status, epochs)


@dataclass(frozen=True, eq=False)
class KernelPerceptronRule(Solver[SignedRows, MistakeCounts]):
    """The perceptron on a Gram matrix: every mistake on row i adds cᵢyᵢ k(xᵢ, ·) to the function.

    Where the matrix fits ``budget.cache_bytes``, an epoch is one compiled call; otherwise only the
    rows of mistakes are ever computed. ``patience`` and ``shuffle`` as in :class:`OnlineRule`.
    """

    shuffle: bool = True
    seed: int = 0
    patience: int = 5

    certified = False

    def run(
        self, problem: SignedRows, gram: GramMatrix, budget: Budget, start: MistakeCounts | None
    ) -> Outcome[MistakeCounts]:
        y, rates = problem.y, problem.rates
        n, offset = len(y), 1.0 if problem.intercept else 0.0
        found = MistakeCounts(np.zeros(n), np.zeros(n))
        if start is not None:
            found = MistakeCounts(start.counts.copy(), start.f.copy())
        K = _dense(gram, budget)
        order, patience = np.arange(n, dtype=np.int64), _Patience(self.patience)
        epochs, status = 0, None
        while status is None:
            if self.shuffle:
                _fast.perceptron.shuffle(order, self.seed)
            if K is not None:
                updates, loss = _fast.perceptron.kernel_pass(
                    K, order, y, rates, offset, found.f, found.counts
                )
            else:
                updates, loss = _row_by_row(gram, order, problem, found, budget)
            epochs += 1
            found.updates += updates
            found.clean = updates == 0
            status = Status.OPTIMAL if found.clean else patience.status(loss / n, budget, epochs)
        found.b = offset * float(y @ found.counts)
        return Outcome(found, status, epochs)


def _row_by_row(
    gram: GramMatrix, order: IntArray, problem: SignedRows, found: MistakeCounts, budget: Budget
) -> tuple[int, float]:
    """Show each row once, with the rows of mistakes computed as they come, until time is up."""
    y, rates, offset = problem.y, problem.rates, 1.0 if problem.intercept else 0.0
    updates, loss, at = 0, 0.0, 0
    while True:
        at = _fast.perceptron.next_mistake(order, at, y, rates, found.f)
        if at == len(order) or (updates and budget.seconds_left < 0):
            return updates, loss
        i = order[at]
        loss -= y[i] * found.f[i]
        found.counts[i] += rates[i]
        found.f += y[i] * rates[i] * (gram.rows([i])[0] + offset)
        updates, at = updates + 1, at + 1


def held(gram: GramMatrix, budget: Budget) -> GramMatrix:
    """Return the matrix in memory where the budget has room for it, else as it is."""
    K = _dense(gram, budget)
    return gram if K is None else GivenGram(K, gram.definite)


def _dense(gram: GramMatrix, budget: Budget) -> Array | None:
    if 8 * gram.shape[0] ** 2 > budget.cache_bytes:
        return None
    return np.ascontiguousarray(gram.dense(np.float64))


LeastPoint = Callable[[IntArray], tuple[Array, float]]
"""Takes numbers of rows; returns zⱼ·p for all rows and ‖p‖², p the least point of their hull."""


def bound_on_mistakes(
    least_point: LeastPoint,
    squares: Array,
    own: Array,
    norm: float,
    clean: bool = True,
    most: int = _MOST_ROWS,
) -> MistakeBound:
    """Return the bound on mistakes, by the widest margin or by that of a known separator.

    The separator through the origin with the widest margin is the point of least norm in the convex
    hull of the vectors zᵢ = yᵢx̃ᵢ (A. Novikoff, On convergence proofs on perceptrons, 1962). The
    hull of a few rows is solved, the rows that its separator serves worst are added, until there
    are none: the margin over all rows is a lower bound of γ, the norm for the few an upper one.

    Parameters
    ----------
    least_point : function
        Solves the hull of a few rows; these only ever become more.
    squares : array
        ‖zᵢ‖² of all rows.
    own : array
        The values yᵢf(xᵢ) of a function of this ``norm``: all above 0 where it is a separator.
    clean : bool
        Whether it is one. Otherwise there may be none, and less is done to find out.
    most : int
        Rows that there is room for.
    """
    radius = math.sqrt(max(float(squares.max()), 0.0))
    inside, taken = _smallest(own, _FIRST_ROWS), np.zeros(len(own), bool)
    taken[inside] = True
    margin, widest = max(float(own.min()) / norm, 0.0) if norm > 0 else 0.0, radius
    most = max(2, min(_MOST_ROWS if clean else MOST_DOUBTFUL, most))
    for _ in range(_ROUNDS):
        values, square = least_point(inside)
        least = math.sqrt(max(square, 0.0))
        if least <= _NO_MARGIN * radius:
            widest = 0.0
            break
        margin = max(margin, float(values.min()) / least)
        widest = min(widest, least)
        worst = _smallest(values, _ADDED)
        worst = worst[~taken[worst] & (values[worst] < least * least * (1 - _SERVED))]
        if not worst.size or len(inside) + len(worst) > most:
            break
        inside, taken[worst] = np.concatenate([inside, worst]), True
    return MistakeBound(radius, margin, max(widest, margin))


def _smallest(values: Array, count: int) -> IntArray:
    """Return the places of the smallest values, in order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, count - 1)[:count])


def least_point_of_rows(Z: Callable[[IntArray], Array], at_rows: Product) -> LeastPoint:
    """Return the solver of hulls for rows of features: Z gives zᵢ, and ``at_rows`` w ↦ zⱼ·w."""

    def solve(index: IntArray) -> tuple[Array, float]:
        inside = Z(index)
        p = _least_weights(inside.T) @ inside
        return at_rows(p), float(p @ p)

    return solve


def least_point_of_products(rows: Callable[[IntArray], Array]) -> LeastPoint:
    """Return the solver of hulls from zᵢ·zⱼ, which ``rows`` gives for some rows i and all j."""
    products: Array = np.empty((0, 0))

    def solve(index: IntArray) -> tuple[Array, float]:
        nonlocal products
        more = rows(index[len(products) :])
        products = np.concatenate([products, more]) if len(products) else more
        values, vectors = linalg.eigh(products[:, index])
        beta = _least_weights((vectors * np.sqrt(np.maximum(values, 0.0))).T)
        at_rows = np.asarray(beta @ products)
        return at_rows, float(beta @ at_rows[index])

    return solve


def _least_weights(F: Array) -> Array:
    """Return the weights β ≥ 0, of sum 1, with the least ‖Fβ‖.

    As a problem of least squares: min ‖Fβ‖² + (1 − Σβ)² over β ≥ 0 has the same direction
    (C. Lawson and R. Hanson, Solving Least Squares Problems, 1974, chapter 23).
    """
    count = F.shape[1]
    scale = float(np.abs(F).max(initial=0.0)) or 1.0
    E, target = np.ones((len(F) + 1, count)), np.zeros(len(F) + 1)
    np.divide(F, scale, out=E[:-1])
    target[-1] = 1.0
    beta = nonnegative_least_squares(E, target, 50 * count)
    total = float(beta.sum())
    return np.asarray(beta / total) if total > 0 else np.full(count, 1.0 / count)
