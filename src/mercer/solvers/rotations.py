"""Independent component analysis by rotations of pairs that lower the sum of entropies."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.problems.entropy import spacing_entropy
from mercer.solvers.fixed_point import Unmixing, decorrelate

_ANGLES = 60
_SAMPLE = 2500
"""Columns of the first, coarse look at all angles."""
_SMALLEST = 1e-4
"""Entropies by spacings are rough below this angle."""
_GOLDEN = (np.sqrt(5) - 1) / 2


def solve(X: Array, W: Array, max_iter: int, random: np.random.RandomState) -> Unmixing:
    """Return the rotation of white data with the least Σ H(yᵢ), hence the least dependence.

    The mutual information of the sources is Σ H(yᵢ) − H(y), and H(y) does not change in rotations.
    Each pair of sources is turned to its best angle in a quarter turn: on a grid for a sample, then
    by golden sections on all columns; sweeps go on until no pair turns.

    References
    ----------
    E. Learned-Miller, J. Fisher, ICA using spacings estimates of entropy, JMLR 2003.
    """
    W = decorrelate(W)
    Y = W @ X
    d, n = Y.shape
    grid = np.arange(_ANGLES) / _ANGLES * (np.pi / 2) - np.pi / 4
    largest, sweeps = np.inf, 0
    while largest > 10 * _SMALLEST and sweeps < max_iter:
        largest, sweeps = 0.0, sweeps + 1
        chosen = random.choice(n, _SAMPLE, replace=False) if n > _SAMPLE else slice(None)
        for i in range(d):
            for j in range(i + 1, d):
                angle = _best_angle(Y[[i, j]], Y[[i, j]][:, chosen], grid)
                if abs(angle) > _SMALLEST:
                    turn = np.array(
                        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
                    )
                    Y[[i, j]] = turn @ Y[[i, j]]
                    W[[i, j]] = turn @ W[[i, j]]
                    largest = max(largest, abs(angle))
    return Unmixing(decorrelate(W), sweeps, largest, largest <= 10 * _SMALLEST)


def _best_angle(pair: Array, sample: Array, grid: Array) -> float:
    coarse = _entropies(sample, grid)
    centre, step = float(grid[np.argmin(coarse)]), float(grid[1] - grid[0])
    low, high = centre - step, centre + step
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [float(_entropies(pair, np.array([t]))[0]) for t in inner]
    while high - low > _SMALLEST:
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = float(_entropies(pair, np.array([inner[0]]))[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = float(_entropies(pair, np.array([inner[1]]))[0])
    best = (low + high) / 2
    # Where nothing is gained the pair stays as it is, so that the sweeps end.
    there, here = _entropies(pair, np.array([best, 0.0]))
    return best if there < here - 1e-6 else 0.0


def _entropies(pair: Array, angles: Array) -> Array:
    """Return H(cos·a + sin·b) + H(−sin·a + cos·b) for each angle."""
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = pair
    return spacing_entropy(c * first + s * second) + spacing_entropy(c * second - s * first)
