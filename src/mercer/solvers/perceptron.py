"""Training by online rules: rows are shown one after the other, and each mistake moves a weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mercer import _fast, _memory
from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidInput
from mercer.gram.operator import GramMatrix

_MOST_CELLS = 1 << 26


@dataclass(frozen=True)
class OnlineSettings:
    """How an online rule runs and when it ends.

    It ends after an epoch without a mistake (without penalties nothing would ever change again),
    after ``patience`` epochs in a row that lower the mean loss by less than ``tol``, or after
    ``max_iter`` epochs.
    """

    rule: int
    eta: float
    l1: float
    l2: float
    intercept: bool
    shuffle: bool
    seed: int
    max_iter: int
    tol: float
    patience: int
    judge: Callable[[Array, float], float] | None = None
    """Gives the score on rows set aside, which then decides instead of the loss."""


@dataclass
class OnlineResult:
    """Weights, epochs, updates of weights, and whether the last epoch had none."""

    w: Array
    b: float
    epochs: int = 0
    updates: int = 0
    clean: bool = False
    losses: list[float] = field(default_factory=list)


def train(
    X: Any, y: Array, rates: Array, rows: IntArray, start: OnlineResult, settings: OnlineSettings
) -> OnlineResult:
    """Show the chosen rows of X, dense or sparse, again and again; ``y`` are ±1.

    ``rates`` are factors of the step for each row.
    """
    at = settings
    w, b = np.array(start.w, np.float64), np.array([start.b], np.float64)
    result = OnlineResult(w, start.b)
    order = np.arange(len(y), dtype=np.int64)
    among = np.zeros(len(y), bool)
    among[rows] = True
    pulled, pull = np.zeros(len(w) if at.l1 > 0 else 0), np.zeros(1)
    shown = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    one_pass: Any = _fast.perceptron.sparse_pass if len(shown) == 3 else _fast.perceptron.dense_pass
    best, waiting = math.inf, 0
    for _ in range(at.max_iter):
        if at.shuffle:
            _fast.perceptron.shuffle(order, at.seed)
        mine = order if len(rows) == len(y) else order[among[order]]
        total, updates = one_pass(
            at.rule, *shown, mine, y, rates, at.eta, w, b, at.intercept, at.l1, at.l2, pulled, pull
        )
        result.epochs += 1
        result.updates += updates
        result.losses.append(total / len(rows))
        if not (np.isfinite(w).all() and np.isfinite(b[0])):
            raise InvalidInput(
                f"Floating-point under-/overflow occurred at epoch #{result.epochs}. Scaling the "
                "data with StandardScaler or MinMaxScaler, or a lower eta0, might help."
            )
        result.clean = updates == 0
        if result.clean and at.l1 == at.l2 == 0.0:
            break
        loss = result.losses[-1] if at.judge is None else -at.judge(w, float(b[0]))
        waiting = waiting + 1 if at.tol > -math.inf and loss > best - at.tol else 0
        best = min(best, loss)
        if waiting >= at.patience:
            break
    result.b = float(b[0])
    return result


@dataclass
class KernelResult:
    """Coefficients without signs, values at all rows with the bias, the bias, and the course."""

    counts: Array
    f: Array
    b: float
    epochs: int = 0
    updates: int = 0
    clean: bool = False


def train_kernel(
    gram: GramMatrix, K: Array | None, y: Array, rates: Array, settings: OnlineSettings
) -> KernelResult:
    """Train a kernel perceptron: every mistake on row i adds yᵢ k(xᵢ, ·) to the function.

    With the matrix K in memory an epoch is one compiled call; without, only the rows of mistakes
    are ever computed.
    """
    n, offset = len(y), 1.0 if settings.intercept else 0.0
    result = KernelResult(np.zeros(n), np.zeros(n), 0.0)
    order, best, waiting = np.arange(n, dtype=np.int64), math.inf, 0
    for _ in range(settings.max_iter):
        if settings.shuffle:
            _fast.perceptron.shuffle(order, settings.seed)
        if K is not None:
            updates, loss = _fast.perceptron.kernel_pass(
                K, order, y, rates, offset, result.f, result.counts
            )
        else:
            updates, loss = _row_by_row(gram, order, y, rates, offset, result)
        result.epochs += 1
        result.updates += updates
        result.clean = updates == 0
        if result.clean:
            break
        waiting = waiting + 1 if loss / n > best - settings.tol else 0
        best = min(best, loss / n)
        if waiting >= settings.patience:
            break
    result.b = offset * float(y @ result.counts)
    return result


def _row_by_row(
    gram: GramMatrix, order: IntArray, y: Array, rates: Array, offset: float, result: KernelResult
) -> tuple[int, float]:
    updates, loss, at = 0, 0.0, 0
    while True:
        at = _fast.perceptron.next_mistake(order, at, y, rates, result.f)
        if at == len(order):
            return updates, loss
        i = order[at]
        loss -= y[i] * result.f[i]
        result.counts[i] += rates[i]
        result.f += y[i] * rates[i] * (gram.rows([i])[0] + offset)
        updates, at = updates + 1, at + 1


def whole_matrix(gram: GramMatrix) -> Array | None:
    """Return a Gram matrix that is small enough to be kept, else None."""
    cells = gram.shape[0] ** 2
    there = _memory.available_bytes()
    if cells > _MOST_CELLS or (there is not None and 32 * cells > there):
        return None
    return np.ascontiguousarray(gram.dense(np.float64))
