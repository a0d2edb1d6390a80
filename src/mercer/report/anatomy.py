"""A fitted model taken apart: what stands before its machine, its kernel, its expansion."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Array, IntArray, Matrix, Model, Objects
from mercer.estimators.base import take_objects
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import row_count
from mercer.kernels.vectors.dot import Linear


class Anatomy:
    """The parts of a fitted model, seen from its training data.

    The decision functions are f_j(x) + b_j = Σᵢ aᵢⱼ k(xᵢ, x) + b_j over the support vectors xᵢ.
    """

    def __init__(self, model: Model, X_train: Objects) -> None:
        self.model: Model = getattr(model, "best_estimator_", model)
        steps = [step for _, step in getattr(self.model, "steps", [("", self.model)])]
        self.machine = steps[-1]
        self._before = [step for step in steps[:-1] if hasattr(step, "transform")]
        self.train = self.transform(X_train)
        self.rows = row_count(self.train)

    def transform(self, X: Objects) -> Any:
        """Return the data as the machine itself sees them."""
        for step in self._before:
            X = step.transform(X)
        return X

    @property
    def name(self) -> str:
        """The name of the machine."""
        return type(self.machine).__name__

    @property
    def classes(self) -> Any:
        """The classes, or None where the machine has none."""
        return getattr(self.machine, "classes_", None)

    @property
    def one_class(self) -> bool:
        """Whether the machine only tells its own from outliers."""
        return self.classes is None and hasattr(self.machine, "offset_")

    @property
    def costs(self) -> list[str]:
        """What the machine calls that which keeps its function small, where it is not C."""
        return list(getattr(self.machine, "usual_values", ()))

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter, the one that was found where it was left open."""
        return getattr(self.machine, f"{name}_", getattr(self.machine, name, None))

    # ---- kernel values -------------------------------------------------------------------------

    @property
    def _given(self) -> Any:
        return getattr(self.machine, "kernel", None)

    @property
    def precomputed(self) -> bool:
        """Whether the data are rows of a kernel matrix."""
        return isinstance(self._given, str) and self._given == "precomputed"

    @property
    def _function(self) -> bool:
        return callable(self._given) and not hasattr(self._given, "encode")

    @property
    def objects_are_seen(self) -> bool:
        """Whether the kernel compares the objects themselves, here and now."""
        return not (self.precomputed or self._function)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel with its parameters settled; None where the model has none."""
        if hasattr(self.machine, "kernel_"):
            kernel: Kernel = self.machine.kernel_
            return kernel
        return Linear() if hasattr(self.machine, "coef_") else None

    def _training(self, rows: IntArray) -> Objects:
        """Return training rows as their kernel takes them."""
        if self.objects_are_seen or self.kernel is None:
            return take_objects(self.train, rows)
        return self.kernel.training_points(self.train).take(rows)

    def gram(self, rows: IntArray) -> Array:
        """Return the kernel matrix of some training rows."""
        assert self.kernel is not None
        return np.asarray(Gram(self.kernel, self._training(rows)).dense(), dtype=float)

    def diag(self, X: Objects) -> Array:
        """Return k(x, x) of new objects, NaN where nothing tells it."""
        if not self.objects_are_seen:
            return np.full(row_count(X), np.nan)
        assert self.kernel is not None
        return np.asarray(self.kernel.diag(X), dtype=float)

    def train_diag(self, rows: IntArray) -> Array:
        """Return k(x, x) of training rows."""
        assert self.kernel is not None
        return np.asarray(self.kernel.diag(self._training(rows)), dtype=float)

    def cross(self, X: Objects, rows: IntArray, kernel: Kernel | None = None) -> Array:
        """Return the kernel values of new objects (transformed) with some training rows."""
        if self.precomputed:
            return np.asarray(X, dtype=float)[:, rows]
        if self._function:
            return np.asarray(self._given(X, self.train), dtype=float)[:, rows]
        kernel = kernel or self.kernel
        assert kernel is not None
        return np.asarray(Gram(kernel, X, take_objects(self.train, rows)).dense(), dtype=float)

    # ---- the expansion -------------------------------------------------------------------------

    @property
    def uses_all(self) -> bool:
        """Whether the machine uses every row by its nature, and does not pick support vectors."""
        return hasattr(self.machine, "expansion_of_rows")

    @cached_property
    def support(self) -> IntArray:
        """The training rows of the support vectors; empty where there is no expansion."""
        if self.uses_all:
            return np.flatnonzero(self.machine.expansion_of_rows()[0].any(axis=1))
        if hasattr(self.machine, "support_"):
            return np.asarray(self.machine.support_, dtype=np.intp)
        return np.flatnonzero(self._columns_of_all.any(axis=1))

    @cached_property
    def coefficients(self) -> Array:
        """aᵢⱼ, one row for each support vector, one column for each function."""
        if self.uses_all:
            return np.asarray(self.machine.expansion_of_rows()[0][self.support])
        if hasattr(self.machine, "support_"):
            return np.asarray(self.machine.expansion_coefficients(), dtype=float)
        return self._columns_of_all[self.support]

    @cached_property
    def _columns_of_all(self) -> Array:
        """Multipliers of all rows; of a linear machine only if its weights are their sum."""
        none = np.zeros((self.rows, 1))
        multipliers = getattr(self.machine, "dual_coef_", None)
        if multipliers is None or np.shape(multipliers)[1] != self.rows:
            return none
        if not hasattr(self.machine, "coef_"):
            return np.asarray(multipliers).T
        weights = np.atleast_2d(_dense(self.machine.coef_))
        X = self.train if sparse.issparse(self.train) else np.asarray(self.train, dtype=float)
        made = np.asarray(multipliers @ X)
        # With an l1 penalty the weights are no combination of rows.
        close = np.abs(made - weights).max() <= 1e-3 * max(1e-12, float(np.abs(weights).max()))
        return np.asarray(multipliers).T if close else none

    def contributions(self, X: Objects, K: Array, mixes: Array) -> Array:
        """Return what each support vector adds to combinations of functions, one for each object.

        ``K`` are the kernel values of the objects (transformed) with the support vectors.
        """
        return np.asarray(K * (mixes @ self.coefficients.T))

    @property
    def biases(self) -> Array:
        """b_j of each function."""
        own = self.machine.expansion_of_rows()[1] if self.uses_all else self.machine.intercept_
        values = np.atleast_1d(np.asarray(own, dtype=float))
        return np.broadcast_to(values, (self.coefficients.shape[1],))

    @property
    def weights(self) -> Array | None:
        """The weights of the columns (functions × columns) where the machine is linear."""
        weights = getattr(self.machine, "coef_", None)
        return None if weights is None else np.atleast_2d(_dense(weights)).astype(float)

    def combination(self, winner: int, second: int) -> Array:
        """Return the combination of functions that decides for one class against another."""
        count = self.coefficients.shape[1]
        chosen = np.zeros(count)
        if self.classes is None:
            chosen[0] = 1.0
        elif count == 1:
            chosen[0] = 1.0 if winner == 1 else -1.0
        elif getattr(self.machine, "multi_class", "") == "ovo" and len(self.classes) > 2:
            pairs = list(combinations(range(len(self.classes)), 2))
            chosen[pairs.index((min(winner, second), max(winner, second)))] = (
                1.0 if winner < second else -1.0
            )
        else:
            chosen[winner], chosen[second] = 1.0, -1.0
        return chosen


def _dense(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
