"""What the jobs on linear regressions share: data sets and comparisons."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from benchmarks.job import OURS, Disagreement


@cache
def regression(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy target of 100 columns at most, with data in the order that all libraries like."""
    from sklearn.datasets import make_regression

    informative = min(100, max(columns // 5, 1))
    X, y = make_regression(rows, columns, n_informative=informative, noise=10.0, random_state=0)
    return np.asfortranarray(X), y


@cache
def largest_alpha(rows: int, columns: int) -> float:
    """The smallest penalty that gives zeros only."""
    X, y = regression(rows, columns)
    return float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / rows


def lasso_value(X: np.ndarray, y: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """The objective with the best intercept for these weights."""
    r = y - X @ w
    r = r - r.mean()
    return float(r @ r) / (2 * len(y)) + alpha * float(np.abs(w).sum())


def compare(values: Mapping[str, float], slack: float, gap: float) -> str:
    """Ours must be the best objective, or equal to it within ``slack``."""
    best = min(values.values())
    if values[OURS] > best * (1 + slack):
        raise Disagreement(f"{OURS} reaches {values[OURS]:.10g}, the best is {best:.10g}")
    worse = ", ".join(f"{name} {value / best - 1:.1e}" for name, value in values.items())
    return f"Objectives above the best one: {worse}; our relative gap is {gap:.1e}."
