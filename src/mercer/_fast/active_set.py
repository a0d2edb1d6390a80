"""Compiled active-set steps: all free multipliers at once, and many exchanges at a time.

Where C is large and the kernel smooth, hundreds of multipliers are free and depend on each other,
and steps of pairs would take a hundred times as long. Here each step solves for all free ones in
float64; those that then lie outside the box stop at its bound, those held at a bound that pull
inwards become free, and so on until nobody moves (a primal–dual active set, or semismooth Newton,
method).

Plain loops stand where NumPy has a function: Numba compiles ``np.partition``, ``np.flatnonzero``,
masks, differences and assignments of whole arrays with checks and messages that take seconds on a
first run.
"""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, Flags, Groups, IntArray

__all__ = ["advance", "exchange", "follow", "indices"]

_MOST_FREE = 2400  # a step on more free multipliers costs more than it gains
_MOST_STEPS = 40  # exchanges that have not ended by then seldom do
_PATIENCE = 3  # steps without fewer exchanges than ever before
_REPEATS = 6  # bounds that may stop a move towards the optimum of the free ones
_RIDGE = 1e-11  # times the diagonal: equal rows must not make the system singular
_SHARE = 0.1  # of the tolerance that a larger ridge may cost


@jit
def exchange(
    K: Array,
    idx: IntArray,
    block: Array,
    there: Flags,
    p: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    beta: Array,
    f: Array,
    tol: float,
) -> tuple[bool, float, float]:
    """Look for the optimum with free multipliers near those of β; β and f = Kβ change in place.

    Returns whether it was found (else nothing has changed), the work as pair steps times
    variables, and about how far float32 has taken f from Kβ.
    """
    x, fx = beta.copy(), f.copy()
    before, pull = np.empty_like(x), np.empty_like(x)
    free, widest = _free(beta, lo, hi)
    sums = _sums(beta, group)
    ridge = _SHARE * tol / widest
    work, drift = 0.0, 0.0
    fewest, idle = idx.size + 1, 0
    for _ in range(_MOST_STEPS):
        at = indices(free)
        if at.size < 2 or at.size > _MOST_FREE:
            break
        work += _work(at.size, idx.size)
        _copy(x, before)
        solved, bias = _solve(K, idx, p, group, groups, x, fx, at, sums, ridge)
        if not solved:
            break
        drift += follow(K, idx, block, there, before, x, fx, tol)
        _copy(x, before)
        changes = 0
        for t in range(idx.size):
            pull[t] = 0.0
            if not free[t] and lo[t] < hi[t]:
                inwards = p[t] - fx[t] - bias[group[t]]
                if x[t] > lo[t]:
                    inwards = -inwards
                if inwards > 0.5 * tol:
                    pull[t] = inwards
                    changes += 1
        least = 0.0
        most = at.size // 2 + 16  # or many would come that have to go again at once
        if changes > most:
            least = _largest(pull, most)
        for t in range(idx.size):
            if free[t]:
                if not lo[t] <= x[t] <= hi[t]:
                    x[t] = lo[t] if x[t] < lo[t] else hi[t]
                    free[t] = False
                    changes += 1
            elif pull[t] > 0.0 and pull[t] >= least:
                free[t] = True
        if changes == 0:
            _copy(x, beta)
            _copy(fx, f)
            return True, work, drift
        idle = 0 if changes < fewest else idle + 1
        fewest = min(fewest, changes)
        if idle > _PATIENCE:
            break
        drift += follow(K, idx, block, there, before, x, fx, tol)
    return False, work, 0.0


@jit
def advance(
    K: Array,
    idx: IntArray,
    block: Array,
    there: Flags,
    p: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    beta: Array,
    f: Array,
    tol: float,
) -> tuple[float, float]:
    """Move the free multipliers towards their common optimum, as far as their bounds allow.

    Where a bound stops the step, those near theirs are held too and the rest go on. β stays
    feasible and never gets worse. Returns the work and about how far f is from Kβ, as above.
    """
    free, widest = _free(beta, lo, hi)
    sums = _sums(beta, group)
    ridge = _SHARE * tol / widest
    work, drift = 0.0, 0.0
    room = np.empty_like(beta)
    for _ in range(_REPEATS):
        at = indices(free)
        if at.size < 2 or at.size > _MOST_FREE:
            break
        work += _work(at.size, idx.size)
        aim, before = beta.copy(), beta.copy()
        solved, _ = _solve(K, idx, p, group, groups, aim, f, at, sums, ridge)
        if not solved:
            break
        share = 1.0
        for t in at:
            step = aim[t] - beta[t]
            end = hi[t] if step > 0.0 else lo[t]
            room[t] = (end - beta[t]) / step if step != 0.0 else np.inf
            share = min(share, room[t])
        for t in at:
            if room[t] <= share:
                beta[t] = hi[t] if aim[t] > beta[t] else lo[t]
            else:
                beta[t] = min(max(beta[t] + share * (aim[t] - beta[t]), lo[t]), hi[t])
            free[t] = room[t] > max(10.0 * share, 0.02)
        drift += follow(K, idx, block, there, before, beta, f, tol)
        if share >= 1.0:
            break
    return work, drift


@jit
def _copy(values: Array, out: Array) -> None:
    for t in range(out.size):
        out[t] = values[t]


@jit
def _free(beta: Array, lo: Array, hi: Array) -> tuple[Flags, float]:
    """Return which multipliers are between their bounds, and the largest distance of bounds."""
    free, widest = np.empty(beta.size, np.bool_), -np.inf
    for t in range(beta.size):
        free[t] = lo[t] < beta[t] < hi[t]
        widest = max(widest, hi[t] - lo[t])
    return free, widest


@jit
def indices(mask: Flags) -> IntArray:
    """Return where ``mask`` is true."""
    count = 0
    for t in range(mask.size):
        count += mask[t]
    out = np.empty(count, np.intp)
    count = 0
    for t in range(mask.size):
        if mask[t]:
            out[count] = t
            count += 1
    return out


@jit
def _largest(values: Array, rank: int) -> float:
    """Return the number that would be at place ``rank`` from the end if they were sorted.

    Hoare's selection: the part that holds it is split again and again.
    """
    rest = values.copy()
    wanted, first, last = rest.size - rank, 0, rest.size - 1
    while first < last:
        pivot, a, b = rest[(first + last) // 2], first, last
        while a <= b:
            while rest[a] < pivot:
                a += 1
            while rest[b] > pivot:
                b -= 1
            if a <= b:
                rest[a], rest[b] = rest[b], rest[a]
                a += 1
                b -= 1
        if wanted <= b:
            last = b
        elif wanted >= a:
            first = a
        else:
            break
    return float(rest[wanted])


@jit
def _sums(x: Array, group: Groups) -> Array:
    sums = np.zeros(2)
    for t in range(x.size):
        sums[group[t]] += x[t]
    return sums


@jit
def _excess(x: Array, group: Groups, sums: Array) -> Array:
    """Return by how much the sums of the groups are too large."""
    excess = _sums(x, group)
    for g in range(excess.size):
        excess[g] -= sums[g]
    return excess


@jit
def _work(free: int, variables: int) -> float:
    """Return how long a step takes: factorise, then follow (measured)."""
    return 0.04 * float(free) ** 3 + 3.0 * free * variables


@jit
def _solve(
    K: Array,
    idx: IntArray,
    p: Array,
    group: Groups,
    groups: int,
    x: Array,
    f: Array,
    at: IntArray,
    sums: Array,
    ridge: float,
) -> tuple[bool, Array]:
    """Set the free multipliers so that they agree and each group has its sum again.

    Returns whether that was possible, and the value on which those of each group agree.
    """
    k = at.size
    bias = np.zeros(2)
    A = np.empty((k, k))
    right = np.zeros((1 + groups, k))
    where = np.empty(k, np.intp)
    for a in range(k):
        where[a] = idx[at[a]]
    for a in range(k):
        row = K[where[a]]
        for b in range(a, k):
            A[a, b] = row[where[b]]
        A[a, a] += max(ridge, _RIDGE * abs(A[a, a])) + 1e-300
        right[0, a] = p[at[a]] - f[at[a]]
        right[1 + group[at[a]], a] = 1.0
    if not solve_definite(A, right):
        return False, bias
    S, s = np.zeros((2, 2)), _excess(x, group, sums)
    if groups == 1:
        S[1, 1] = 1.0
    for a in range(k):
        g = group[at[a]]
        s[g] += right[0, a]
        for c in range(groups):
            S[g, c] += right[1 + c, a]
    det = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
    if not (S[0, 0] > 0.0 and S[1, 1] > 0.0 and det > 0.0):  # a group without free multipliers
        return False, bias
    # Where A is nearly singular the parts of a step are large and cancel; what rounding leaves of
    # the sums is small, and the second time it is gone.
    for _ in range(2):
        first = (s[0] * S[1, 1] - s[1] * S[0, 1]) / det
        second = (s[1] * S[0, 0] - s[0] * S[1, 0]) / det
        bias[0] += first
        bias[1] += second
        for a in range(k):
            step = right[0, a] - first * right[1, a]
            if groups == 2:
                step -= second * right[2, a]
            x[at[a]] += step
            right[0, a] = 0.0
        s = _excess(x, group, sums)
    for a in range(k):
        if not abs(x[at[a]]) < np.inf:
            return False, bias
    return True, bias


@jit
def solve_definite(A: Array, right: Array) -> bool:
    """Solve A x = row in place for each row of ``right``; tell whether A is positive definite.

    Only the upper triangle of A is read.
    """
    k = A.shape[0]
    try:
        # LAPACK goes down columns: so nothing needs to be turned.
        U = np.linalg.cholesky(A.T).T
    except Exception:  # Numba knows no finer one; only LinAlgError can occur
        return False
    for r in range(len(right)):
        x = right[r]
        for a in range(k):
            x[a] /= U[a, a]
            value = x[a]
            for b in range(a + 1, k):
                x[b] -= U[a, b] * value
        for a in range(k - 1, -1, -1):
            value = x[a]
            for b in range(a + 1, k):
                value -= U[a, b] * x[b]
            x[a] = value / U[a, a]
    return True


@jit
def follow(
    K: Array,
    idx: IntArray,
    block: Array,
    there: Flags,
    before: Array,
    beta: Array,
    f: Array,
    tol: float,
) -> float:
    """Bring f = Kβ up to date after β changed; in float32 where that is exact enough."""
    m = idx.size
    moved = np.empty(m, np.intp)
    count, square = 0, 0.0
    for a in range(m):
        change = beta[a] - before[a]
        if change != 0.0:
            moved[count] = a
            count += 1
            square += change * change
    largest = 0.0
    for a in range(m):
        largest = max(largest, K[idx[a], idx[a]])
    error = 2.0**-22 * np.sqrt(square) * largest
    single = error < 0.02 * tol
    for s in range(count):
        a = moved[s]
        change = beta[a] - before[a]
        if single and there[a]:
            c = np.float32(change)
            row = block[a]
            for t in range(m):
                f[t] += c * row[t]
        else:
            whole = K[idx[a]]
            for t in range(m):
                f[t] += change * whole[idx[t]]
    return error if single else 0.0
