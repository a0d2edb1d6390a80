"""Data as problems of least squares take them: without means, with weights."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer._typing import Array, Matrix
from mercer.estimators.linear.magnitudes import check_squares
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.elastic_net import Design, LassoProblem

_FAR = 1e3
"""Means over spreads from which products would lose three digits: a centred copy keeps them."""
_SAMPLE = 64
"""Rows that show how far a column spreads: enough for an order of magnitude."""


class Centred:
    """Data as the problems take them: a design without copies, and centred, weighted targets."""

    def __init__(self, X: Matrix, Y: Array, weights: Array | None, intercept: bool) -> None:
        given, X = X, X.astype(np.float64, copy=False)
        short = given if given.dtype == np.float32 and not sparse.issparse(given) else None
        Y = Y.astype(np.float64)
        if weights is not None:
            check_squares(X, "X", weights)
            check_squares(Y, "y", weights)
        self.x_mean: Array = np.zeros(X.shape[1])
        self.y_mean: Array = np.zeros(Y.shape[1])
        if intercept:
            s = np.ones(X.shape[0]) if weights is None else weights
            self.x_mean = np.asarray(X.T @ s).ravel() / s.sum()
            self.y_mean = (Y.T @ s) / s.sum()
        means = self.x_mean if intercept else None
        if intercept and not sparse.issparse(X) and _far_from_zero(X, self.x_mean):
            X, means, short = X - self.x_mean, None, None
        self.gram = FeatureGram.of_rows(X)
        self.design = Design(X, means, weights, short)
        centred = Y - self.y_mean
        roots = self.design.roots
        self.Y: Array = centred if roots is None else centred * roots[:, None]

    def problem(self, target: int, l1: float, l2: float, positive: bool) -> LassoProblem:
        """Return the problem of one of the targets."""
        y = np.ascontiguousarray(self.Y[:, target])
        design = self.design
        return LassoProblem(y, l1, l2, positive, means=design.means, weights=design.weights)

    def intercepts(self, coef: Array) -> Array:
        """Return the intercept of each row of weights."""
        return np.asarray(self.y_mean - coef @ self.x_mean)


def _far_from_zero(X: Array, means: Array) -> bool:
    """Tell whether products with X lose digits that products with X less its means keep."""
    spread = np.abs(X[:_SAMPLE] - means).max(axis=0)
    return bool(((np.abs(means) > _FAR * spread) & (spread > 0)).any())
