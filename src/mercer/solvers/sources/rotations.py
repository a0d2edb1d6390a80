"""Independent component analysis by rotations of pairs that lower the sum of entropies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.entropy import SumOfEntropies, spacing_entropy
from mercer.solvers.base import Budget, Outcome, Status
from mercer.solvers.sources.fixed_point import (
    SourceSolver,
    Unmixing,
    decorrelate,
    start_of,
    white_columns,
)

_ANGLES = 60
"""Angles of the grid in a quarter turn: 1.5 degrees apart, closer than minima of the entropy."""
_SAMPLE = 2500
"""Columns of the first, coarse search of all angles."""
_SMALLEST = 1e-4
"""Entropies by spacings are rough below this angle."""
_GOLDEN = (np.sqrt(5) - 1) / 2
"""The golden ratio, by which golden-section search shrinks its bracket."""


@dataclass(frozen=True, eq=False)
class PairRotations(SourceSolver[SumOfEntropies]):
    """The rotation of white data with the least Σ H(yᵢ), hence the least dependence.

    The mutual information of the sources is Σ H(yᵢ) − H(y), and H(y) does not change in rotations.
    Each pair of sources is turned to its best angle in a quarter turn: on a grid for a sample,
    which ``random`` draws, then by golden sections on all columns; sweeps over all pairs go on
    until no pair turns by more than ten times the smallest angle, whatever ``tol`` is.

    References
    ----------
    E. Learned-Miller, J. Fisher, ICA using spacings estimates of entropy, JMLR 2003.
    """

    random: np.random.RandomState

    def run(
        self, problem: SumOfEntropies, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        W = decorrelate(start_of(start, X))
        Y = W @ X
        d, n = Y.shape
        grid = np.arange(_ANGLES) / _ANGLES * (np.pi / 2) - np.pi / 4
        status, sweeps = None, 0
        while status is None:
            largest, sweeps = 0.0, sweeps + 1
            chosen = self.random.choice(n, _SAMPLE, replace=False) if n > _SAMPLE else slice(None)
            for i in range(d):
                for j in range(i + 1, d):
                    angle = _best_angle(Y[[i, j]], Y[[i, j]][:, chosen], grid)
                    if abs(angle) > _SMALLEST:
                        c, s = np.cos(angle), np.sin(angle)
                        rotation = np.array([[c, s], [-s, c]])
                        Y[[i, j]] = rotation @ Y[[i, j]]
                        W[[i, j]] = rotation @ W[[i, j]]
                        largest = max(largest, abs(angle))
            done = largest <= 10 * _SMALLEST
            status = Status.OPTIMAL if done else budget.stop(largest, sweeps)
        return Outcome(Unmixing(decorrelate(W), largest), status, sweeps)


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
