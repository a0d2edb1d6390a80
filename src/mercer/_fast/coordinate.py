"""Compiled coordinate descent for linear machines: one pass over rows or columns a call.

A matrix comes as ``data, indices, starts, columns``: row i of a dense one is
``data[i·columns : (i+1)·columns]``, and ``starts`` is empty; row i of a sparse one has the entries
``starts[i]`` to ``starts[i+1]``. ``constant`` is one more feature of every row, whose weight is the
last one; 0 stands for none.

Passes shrink: a variable at a bound whose slope says by more than ``threshold`` that it should
stay there leaves ``order[:active]`` until the caller puts all back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._fast.dot_products import add_dense, add_sparse, dense_product, sparse_product
from mercer._fast.jit import jit
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

Pass = tuple[int, float]
"""How many variables are left, and the worst violation that the pass met."""
Passes = tuple[int, int, float]
"""How many passes were made, and of the last one what a pass gives. A violation of ``tol`` at most
says that it is over."""

_LEAST_CURVATURE = 1e-12
"""What keeps the quotient of a coordinate's slope finite, as in LIBLINEAR."""
_ROUNDING = 1e-13
"""A multiplier as near to its bound as this, relative to it, is at it: rounding of float64."""
_MOST_HALVINGS = 20
"""Of a step of one weight: a millionth of it is left then. As in LIBLINEAR."""
_SUFFICIENT_DECREASE = 0.01
"""The share of the promised fall that a step has to bring (Armijo), as in LIBLINEAR."""


@jit
def _shuffle(order: IntArray, active: int, state: NDArray[np.uint64]) -> None:
    """Shuffle the first ``active`` places; ``state[0]`` is the generator's, a 64-bit xorshift."""
    s = state[0]
    for i in range(active - 1, 0, -1):
        s ^= s << np.uint64(13)
        s ^= s >> np.uint64(7)
        s ^= s << np.uint64(17)
        j = np.int64(((s >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    state[0] = s


@jit
def inverse_curvatures(
    data: Array, starts: IntArray, columns: int, constant: float, D: Array
) -> Array:
    """Return 1/(‖x̃ᵢ‖² + Dᵢ), how far a multiplier moves for a slope."""
    steps = np.empty(D.size)
    for i in range(D.size):
        begin, end = i * columns, (i + 1) * columns
        if starts.size:
            begin, end = starts[i], starts[i + 1]
        total = constant * constant + D[i]
        for at in range(begin, end):
            total += data[at] * data[at]
        steps[i] = 1 / max(total, _LEAST_CURVATURE)
    return steps


@jit
def descend(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    columns: int,
    constant: float,
    steps: Array,
    p: Array,
    lo: Array,
    hi: Array,
    D: Array,
    epsilon: float,
    w: Array,
    beta: Array,
    order: IntArray,
    active: int,
    threshold: float,
    state: NDArray[np.uint64],
) -> Pass:
    """Minimise ½‖w‖² + ½ Σ Dβ² − pᵀβ + ε‖β‖₁, lo ≤ β ≤ hi, in each βᵢ once; w = Σ βᵢxᵢ.

    C.-J. Hsieh and others, A dual coordinate descent method for large-scale linear SVM, ICML 2008.
    """
    _shuffle(order, active, state)
    worst = 0.0
    at = 0
    sparse = starts.size > 0
    while at < active:
        i = order[at]
        b, step = beta[i], steps[i]
        slope = p[i] - D[i] * b
        if constant != 0:
            slope -= constant * w[-1]
        begin, end = (starts[i], starts[i + 1]) if sparse else (i * columns, (i + 1) * columns)
        if sparse:
            slope -= sparse_product(data, indices, begin, end, w)
        else:
            slope -= dense_product(data[begin:end], w)
        # Without branches: signs are at random, and a wrong guess of one costs as much as ten sums.
        new = b + slope * step
        new -= min(max(new, -epsilon * step), epsilon * step)
        new = min(max(new, lo[i]), hi[i])
        if new == b:
            violation = -np.inf
            if b < hi[i]:
                violation = slope - (epsilon if b >= 0 else -epsilon)
            if b > lo[i]:
                violation = max(violation, -slope + (epsilon if b > 0 else -epsilon))
            if violation < -threshold:
                active -= 1
                order[at], order[active] = order[active], order[at]
            else:
                worst = max(worst, violation)  # of a step that rounding swallows
                at += 1
            continue
        at += 1
        rises = b > 0 or (b == 0 and new > b)
        worst = max(worst, abs(slope - (epsilon if rises else -epsilon)))
        beta[i] = new
        if constant != 0:
            w[-1] += (new - b) * constant
        if sparse:
            add_sparse(data, indices, begin, end, new - b, w)
        else:
            add_dense(data[begin:end], new - b, w)
    return active, worst


@jit
def descend_in_passes(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    columns: int,
    constant: float,
    steps: Array,
    p: Array,
    lo: Array,
    hi: Array,
    D: Array,
    epsilon: float,
    w: Array,
    beta: Array,
    order: IntArray,
    active: int,
    worst: float,
    state: NDArray[np.uint64],
    tol: float,
    most: int,
) -> Passes:
    """Make passes of :func:`descend` until one over all rows meets no violation above ``tol``.

    ``active`` and ``worst`` are all rows and infinity at first, and then what the last call gave.
    """
    passes = 0
    while passes < most:
        whole = active == order.size
        active, worst = descend(
            data, indices, starts, columns, constant, steps, p, lo, hi, D, epsilon, w, beta, order,
            active, worst, state,
        )  # fmt: skip
        passes += 1
        if worst <= tol:
            if whole:
                break
            active, worst = order.size, np.inf
    return passes, active, worst


@jit
def _scores(
    data: Array, indices: IntArray, starts: IntArray, constant: float, i: int, W: Array, out: Array
) -> None:
    """Fill ``out`` with w·x of every class; W is weights × classes."""
    columns, classes = W.shape
    for k in range(classes):
        out[k] = constant * W[-1, k] if constant != 0 else 0.0
    if starts.size == 0:
        columns -= constant != 0
        for j in range(columns):
            x = data[i * columns + j]
            for k in range(classes):
                out[k] += x * W[j, k]
    else:
        for at in range(starts[i], starts[i + 1]):
            x, row = data[at], W[indices[at]]
            for k in range(classes):
                out[k] += x * row[k]


@jit
def _add_all(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    constant: float,
    i: int,
    steps: Array,
    W: Array,
) -> None:
    columns, classes = W.shape
    if constant != 0:
        columns -= 1
        for k in range(classes):
            W[-1, k] += constant * steps[k]
    if starts.size == 0:
        for j in range(columns):
            x = data[i * columns + j]
            for k in range(classes):
                W[j, k] += x * steps[k]
    else:
        for at in range(starts[i], starts[i + 1]):
            x, row = data[at], W[indices[at]]
            for k in range(classes):
                row[k] += x * steps[k]


@jit
def descend_classes(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    constant: float,
    norms: Array,
    labels: IntArray,
    C: Array,
    W: Array,
    alpha: Array,
    order: IntArray,
    active: int,
    threshold: float,
    state: NDArray[np.uint64],
) -> Pass:
    """Solve Crammer and Singer's dual in all multipliers of each row once; W is weights × classes.

    S. Keerthi and others, A sequential dual method for large scale multi-class linear SVMs, KDD
    2008.
    """
    _shuffle(order, active, state)
    classes = W.shape[1]
    scores, sorted_scores, steps = np.empty(classes), np.empty(classes), np.empty(classes)
    worst = 0.0
    at = 0
    while at < active:
        i = order[at]
        y = labels[i]
        _scores(data, indices, starts, constant, i, W, scores)
        runner_up, bottom = -np.inf, scores[y] if alpha[i, y] < C[i] else np.inf
        for k in range(classes):
            if k != y:
                scores[k] += 1
                runner_up = max(runner_up, scores[k])
                if alpha[i, k] < 0:
                    bottom = min(bottom, scores[k])
        # A row without multipliers is at rest while its own class wins by more than 1.
        if alpha[i, y] == 0 and runner_up - scores[y] < -threshold:
            active -= 1
            order[at], order[active] = order[active], order[at]
            continue
        at += 1
        violation = max(runner_up, scores[y]) - bottom
        if violation <= 0:
            continue
        worst = max(worst, violation)
        norm = max(norms[i], _LEAST_CURVATURE)
        for k in range(classes):
            scores[k] -= norm * alpha[i, k]
            sorted_scores[k] = scores[k] + (norm * C[i] if k == y else 0.0)
        _sort(sorted_scores)
        level = sorted_scores[0] - norm * C[i]
        count = 1
        while count < classes and level < count * sorted_scores[count]:
            level += sorted_scores[count]
            count += 1
        level /= count
        # The multiplier of the own class makes up for the others, and is exactly 0 or C at an end.
        own = 0.0
        for k in range(classes):
            if k != y:
                new = min(0.0, (level - scores[k]) / norm)
                own -= new
                steps[k] = new - alpha[i, k]
                alpha[i, k] = new
        if own > C[i] * (1 - _ROUNDING):
            own = C[i]
        steps[y] = own - alpha[i, y]
        alpha[i, y] = own
        _add_all(data, indices, starts, constant, i, steps, W)
    return active, worst


@jit
def _sort(values: Array) -> None:
    """Sort a short vector, the largest first."""
    for i in range(1, values.size):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@jit
def descend_columns(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    C: Array,
    w: Array,
    margins: Array,
    order: IntArray,
    active: int,
    threshold: float,
    state: NDArray[np.uint64],
) -> Pass:
    """Minimise ‖w‖₁ + Σ C max(0, bᵢ)² in each weight once; margins b = 1 − y w·x are kept.

    The matrix holds the columns of yᵢxᵢⱼ. G.-X. Yuan and others, A comparison of optimization
    methods and software for large-scale ℓ₁-regularized linear classification, JMLR 11 (2010).
    """
    _shuffle(order, active, state)
    worst = 0.0
    at = 0
    while at < active:
        j = order[at]
        slope, curvature = 0.0, 0.0
        for q in range(starts[j], starts[j + 1]):
            i = indices[q]
            if margins[i] > 0:
                weighted = 2 * C[i] * data[q]
                slope -= weighted * margins[i]
                curvature += weighted * data[q]
        curvature = max(curvature, _LEAST_CURVATURE)
        here = w[j]
        if here == 0 and abs(slope) - 1 < -threshold:
            active -= 1
            order[at], order[active] = order[active], order[at]
            continue
        at += 1
        violation = abs(slope) - 1 if here == 0 else abs(slope + np.sign(here))
        if violation <= 0:
            continue
        worst = max(worst, violation)
        step = soft(here - slope / curvature, 1 / curvature) - here
        expected = slope * step + abs(here + step) - abs(here)
        for _ in range(_MOST_HALVINGS):
            change = abs(here + step) - abs(here) - _SUFFICIENT_DECREASE * expected
            for q in range(starts[j], starts[j + 1]):
                i = indices[q]
                old = max(margins[i], 0.0)
                new = max(margins[i] - step * data[q], 0.0)
                change += C[i] * (new - old) * (new + old)
            if change <= 0:
                w[j] = here + step
                for q in range(starts[j], starts[j + 1]):
                    margins[indices[q]] -= step * data[q]
                break
            step /= 2
            expected /= 2
    return active, worst
