"""Data as problems of least squares take them: without means, with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.problems.lasso import Design


class Centred:
    """Data as the problems take them: a design without copies, and centred, weighted targets."""

    def __init__(self, X: Any, Y: Array, weights: Array | None, intercept: bool) -> None:
        X = X.astype(np.float64) if X.dtype != np.float64 else X
        Y = Y.astype(np.float64)
        self.x_mean: Array = np.zeros(X.shape[1])
        self.y_mean: Array = np.zeros(Y.shape[1])
        if intercept:
            s = np.ones(X.shape[0]) if weights is None else weights
            self.x_mean = np.asarray(X.T @ s).ravel() / s.sum()
            self.y_mean = (Y.T @ s) / s.sum()
        self.design = Design(X, self.x_mean if intercept else None, weights)
        centred = Y - self.y_mean
        roots = self.design.roots
        self.Y: Array = centred if roots is None else centred * roots[:, None]

    def intercepts(self, coef: Array) -> Array:
        """Return the intercept of each row of weights."""
        return np.asarray(self.y_mean - coef @ self.x_mean)
