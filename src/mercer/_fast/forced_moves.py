"""Where the multipliers of a box QP go when those of one row are forced to 0."""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

_CHOICES = 25
"""Choices of the multipliers that are free after a forced move; those that have not ended by then
seldom do."""
_INWARDS = 1e-9
"""Slopes below this are rounding: a multiplier at its bound stays there."""


@jit
def forced(
    at: IntArray,
    lo: Array,
    hi: Array,
    beta: Array,
    F: Array,
    free: IntArray,
    inverse: Array,
    answers: Array,
    slopes: Array,
    forces: Array,
    row: int,
    base: float,
    aim: Array,
) -> bool:
    """Set ``aim`` to the multipliers when those of a row are forced to 0; tell whether it ended.

    The arrays are those of ``ForcedMoves``. Multipliers that leave the box are held at its bound,
    those at a bound that pull inwards become free, until nobody moves: a primal-dual active set.
    """
    size, k, n = beta.size, free.size, slopes.shape[1]
    place = np.full(size, -1, np.int64)
    is_free = np.zeros(size, np.bool_)
    for s in range(k):
        place[free[s]] = s
        is_free[free[s]] = True
    for t in range(size):
        aim[t] = min(max(beta[t], lo[t]), hi[t])
        if at[t] == row:
            aim[t], is_free[t] = 0.0, False
    shift, taken, moved = np.empty(k + 1), np.empty(n), np.empty(size)
    fewest, idle = size, 0
    for _ in range(_CHOICES):
        shift[:] = 0.0
        taken[:] = 0.0
        held, entered = 0, 0
        for t in range(size):
            if is_free[t]:
                entered += place[t] < 0
            elif place[t] >= 0:
                held += 1
            elif aim[t] != beta[t]:
                _axpy(beta[t] - aim[t], answers[at[t]], shift)
                _axpy(aim[t] - beta[t], slopes[at[t]], taken)
        chosen = np.empty(held + entered, np.int64)
        held, entered = 0, chosen.size - entered
        for t in range(size):
            if is_free[t] and place[t] < 0:
                chosen[entered] = t
                entered += 1
            elif not is_free[t] and place[t] >= 0:
                chosen[held] = t
                held += 1
        # Forces on those that are held, moves of those that entered: a small system for both.
        system = np.empty((chosen.size, chosen.size + 1))
        for i in range(chosen.size):
            t = chosen[i]
            for j in range(chosen.size):
                u = chosen[j]
                if i < held and j < held:
                    system[i, j] = inverse[place[t], place[u]]
                elif i < held:
                    system[i, j] = -answers[at[u], place[t]]
                elif j < held:
                    system[i, j] = answers[at[t], place[u]]
                else:
                    system[i, j] = slopes[at[u], at[t]] - answers[at[u], k]
            if i < held:
                system[i, chosen.size] = aim[t] - beta[t] - shift[place[t]]
            else:
                system[i, chosen.size] = F[t] - taken[at[t]] - base - shift[k]
        if not _solve(system):
            return False
        for i in range(chosen.size):
            t, x = chosen[i], system[i, chosen.size]
            if i < held:
                _axpy(x, inverse[place[t]], shift)
                _axpy(x, forces[place[t]], taken)
            else:
                _axpy(-x, answers[at[t]], shift)
                _axpy(x, slopes[at[t]], taken)
                moved[t] = beta[t] + x
        changes = 0
        for t in range(size):
            if not is_free[t]:
                pull = F[t] - taken[at[t]] - base - shift[k]
                inwards = -pull if aim[t] >= hi[t] else pull
                if inwards > _INWARDS and lo[t] < hi[t] and at[t] != row:
                    is_free[t] = True
                    changes += 1
            else:
                value = beta[t] + shift[place[t]] if place[t] >= 0 else moved[t]
                if value < lo[t] or value > hi[t]:
                    is_free[t] = False
                    changes += 1
                aim[t] = min(max(value, lo[t]), hi[t])
        if changes == 0:
            return True
        idle = 0 if changes < fewest else idle + 1
        fewest = min(fewest, changes)
        if idle > 2:
            return False
    return False


@jit
def _axpy(factor: float, x: Array, y: Array) -> None:
    """Add a multiple of x to y."""
    for s in range(y.size):
        y[s] += factor * x[s]


@jit
def _solve(system: Array) -> bool:
    """Solve a small system by elimination, its last column becomes the answer; False: singular."""
    m = system.shape[0]
    for i in range(m):
        best = i
        for r in range(i + 1, m):
            if abs(system[r, i]) > abs(system[best, i]):
                best = r
        if not abs(system[best, i]) > 0.0:
            return False
        for c in range(i, m + 1):
            system[i, c], system[best, c] = system[best, c], system[i, c]
        for r in range(i + 1, m):
            factor = system[r, i] / system[i, i]
            for c in range(i, m + 1):
                system[r, c] -= factor * system[i, c]
    for i in range(m - 1, -1, -1):
        for c in range(i + 1, m):
            system[i, m] -= system[i, c] * system[c, m]
        system[i, m] /= system[i, i]
    return True
