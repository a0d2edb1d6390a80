"""Newton's method for small linear machines with squared losses, in one compiled call.

min ½‖w‖² + Σ φᵢ(pᵢ − w·x̃ᵢ), where φ′ = β as in ``_fast.piecewise``: the gradient is w − Σ βᵢx̃ᵢ. It
is linear while no row enters or leaves the loss, so that the last step ends at rounding.
"""

import numpy as np

from mercer._fast.active_set import solve_definite
from mercer._fast.dot_products import add_sparse, sparse_product
from mercer._fast.jit import jit
from mercer._fast.piecewise import line_search, respond
from mercer._typing import Array, Flags, IntArray

_ROUNDING = 1e-14
"""A gradient that small, beside the two vectors that it is the difference of, is rounding."""
_ROUGH = 0.25
"""The share of a gradient that conjugate gradients leave at first, when it is far from its end."""


@jit
def minimise(
    X: Array, p: Array, gain: Array, lo: Array, hi: Array, epsilon: float, w: Array, beta: Array,
    most: int,
) -> tuple[int, float, float]:  # fmt: skip
    """Improve w in place and fill β; returns the steps, ‖w − Σ βᵢx̃ᵢ‖², and ½‖w‖² + Σ losses.

    A step solves (I + BᵀB)s = g, B being the rows with a loss times the roots of their gains; by
    BBᵀ where these are fewer than columns.
    """
    n = X.shape[0]
    inside = np.zeros(n, np.bool_)
    steps, before, settled = 0, np.inf, False
    while True:
        x = p - np.dot(X, w)
        respond(x, gain, lo, hi, epsilon, beta)
        total = np.dot(beta, X)
        g = w - total
        square = np.dot(g, g)
        rounding = _ROUNDING**2 * (np.dot(w, w) + np.dot(total, total))
        # The last step was Newton's own, and what it left cannot be made smaller.
        done = settled and square >= 1e-4 * before
        if not square > rounding or done or steps >= most:
            break
        count, same = 0, True
        for i in range(n):
            here = lo[i] < beta[i] < hi[i] and (epsilon == 0.0 or beta[i] != 0.0)
            same = same and here == inside[i]
            inside[i] = here
            count += here
        s = -newton_step(X, inside, count, gain, g)
        u = np.dot(X, s)
        t = line_search(x, u, gain, lo, hi, epsilon, np.dot(w, s), np.dot(s, s))
        w += t * s
        before, settled = square, same and steps > 0
        steps += 1
    loss = 0.0
    for i in range(n):
        excess = max(abs(x[i]) - epsilon, 0.0)
        loss += abs(beta[i]) * excess - 0.5 * beta[i] * beta[i] / gain[i]
    return steps, square, 0.5 * np.dot(w, w) + loss


@jit
def newton_step(X: Array, inside: Flags, count: int, gain: Array, g: Array) -> Array:
    """Return (I + BᵀB)⁻¹g."""
    d = X.shape[1]
    B, at = np.empty((count, d)), 0
    for i in range(X.shape[0]):
        if inside[i]:
            root = np.sqrt(gain[i])
            for j in range(d):
                B[at, j] = root * X[i, j]
            at += 1
    right = np.empty((1, min(count, d)))
    if count >= d:
        A = np.dot(B.T, B)
        right[0] = g
    else:
        A = np.dot(B, B.T)
        right[0] = np.dot(B, g)
    for j in range(len(A)):
        A[j, j] += 1.0
    if not solve_definite(A, right):
        return g
    step: Array = right[0] if count >= d else g - np.dot(right[0], B)
    return step


@jit
def minimise_sparse(
    data: Array, indices: IntArray, starts: IntArray, constant: float, p: Array, gain: Array,
    lo: Array, hi: Array, epsilon: float, w: Array, beta: Array, share: float, most: int,
) -> tuple[int, float, float]:  # fmt: skip
    """Do the same for the rows of a CSR matrix, by conjugate gradients on scaled columns.

    The last weight is that of the constant, if there is one. It ends with ‖w − Σ βᵢx̃ᵢ‖ at a
    ``share`` of ‖w‖, or after ``most`` passes over the rows, which it returns for the steps.
    """
    n, d = len(starts) - 1, len(w)
    columns = d - 1 if constant != 0.0 else d
    x, u = np.empty(n), np.empty(n)
    inside = np.empty(n, np.bool_)
    passes, first = 0, -1.0
    while True:
        _products(data, indices, starts, constant, columns, w, x)
        x[:] = p - x
        respond(x, gain, lo, hi, epsilon, beta)
        g = w.copy()
        _take_off(data, indices, starts, constant, columns, beta, g)
        square, passes = np.dot(g, g), passes + 2
        if first < 0.0:
            first = square
        if not square > share * share * np.dot(w, w) or passes >= most:
            break
        for i in range(n):
            inside[i] = lo[i] < beta[i] < hi[i] and (epsilon == 0.0 or beta[i] != 0.0)
        enough = 0.3 * share * np.sqrt(np.dot(w, w) / square)  # of the last step
        rough = max(min(_ROUGH, np.sqrt(np.sqrt(square / first))), enough)
        inverse = 1.0 / _curvatures(data, indices, starts, constant, columns, inside, gain, d)
        s = np.zeros(d)
        r = -g
        direction = inverse * r
        size = np.dot(r, direction)
        goal = rough * rough * size
        while size > goal and passes < most:
            bent = direction.copy()
            _bend(data, indices, starts, constant, columns, inside, gain, direction, bent)
            step = size / np.dot(direction, bent)
            s += step * direction
            r -= step * bent
            scaled = inverse * r
            before, size = size, np.dot(r, scaled)
            direction *= size / before
            direction += scaled
            passes += 2
        _products(data, indices, starts, constant, columns, s, u)
        t = line_search(x, u, gain, lo, hi, epsilon, np.dot(w, s), np.dot(s, s))
        w += t * s
        passes += 2
    loss = 0.0
    for i in range(n):
        excess = max(abs(x[i]) - epsilon, 0.0)
        loss += abs(beta[i]) * excess - 0.5 * beta[i] * beta[i] / gain[i]
    return passes, square, 0.5 * np.dot(w, w) + loss


@jit
def _curvatures(
    data: Array, indices: IntArray, starts: IntArray, constant: float, columns: int,
    inside: Flags, gain: Array, size: int,
) -> Array:  # fmt: skip
    """Return the diagonal of I + Σ gainᵢ x̃ᵢx̃ᵢᵀ over the rows inside."""
    found, total = np.ones(size), 0.0
    for i in range(len(inside)):
        if inside[i]:
            total += gain[i]
            for at in range(starts[i], starts[i + 1]):
                found[indices[at]] += gain[i] * data[at] * data[at]
    if size > columns:
        found[-1] += constant * constant * total
    return found


@jit
def _products(
    data: Array, indices: IntArray, starts: IntArray, constant: float, columns: int, w: Array,
    out: Array,
) -> None:  # fmt: skip
    """Fill ``out`` with w·x̃ of all rows."""
    last = constant * w[-1] if len(w) > columns else 0.0
    for i in range(len(out)):
        out[i] = last + sparse_product(data, indices, starts[i], starts[i + 1], w)


@jit
def _take_off(
    data: Array, indices: IntArray, starts: IntArray, constant: float, columns: int, beta: Array,
    g: Array,
) -> None:  # fmt: skip
    """Take Σ βᵢx̃ᵢ off g."""
    total = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            total += beta[i]
            add_sparse(data, indices, starts[i], starts[i + 1], -beta[i], g)
    if len(g) > columns:
        g[-1] -= constant * total


@jit
def _bend(
    data: Array, indices: IntArray, starts: IntArray, constant: float, columns: int,
    inside: Flags, gain: Array, v: Array, out: Array,
) -> None:  # fmt: skip
    """Add Σ gainᵢ (x̃ᵢ·v) x̃ᵢ over the rows inside, each of which is read once."""
    last, total = constant * v[-1] if len(v) > columns else 0.0, 0.0
    for i in range(len(inside)):
        if inside[i]:
            value = last + sparse_product(data, indices, starts[i], starts[i + 1], v)
            value *= gain[i]
            total += value
            add_sparse(data, indices, starts[i], starts[i + 1], value, out)
    if len(out) > columns:
        out[-1] += constant * total
