"""A vote taken apart: the sum of its members' expansions, seen through the kernel of the best."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray, Model, Objects
from mercer.estimators.base import take_objects
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.report.anatomy import Anatomy


def anatomy_of(model: Model, X_train: Objects) -> Anatomy:
    """Take a fitted model apart."""
    plain = Anatomy(model, X_train)
    return VoteAnatomy(model, X_train) if hasattr(plain.machine, "voter_functions") else plain


class VoteAnatomy(Anatomy):
    """The parts of a vote: f(x) + b = Σₘ Σᵢ aᵢₘ kₘ(xᵢ, x) + b.

    Similarities, and the pictures that need one kernel, are those of the best member; what a
    training row adds to a decision is the sum over all members.
    """

    @cached_property
    def _functions(self) -> Any:
        return self.machine.voter_functions()

    @property
    def _best(self) -> Any:
        return self._functions[0][0]

    @property
    def name(self) -> str:
        """The name of the machine, and how many vote."""
        count = len(self.machine.members_)
        return f"{super().name}, a vote of {count}" if count > 1 else super().name

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel of the best member."""
        kernel: Kernel = self._best.expansion.kernel
        return kernel

    def _coordinates(self, rows: IntArray) -> Array:
        return np.asarray(self._best.coordinates(take_objects(self.train, rows)))

    def gram(self, rows: IntArray) -> Array:
        """Return the best member's kernel matrix of some training rows."""
        assert self.kernel is not None
        return np.asarray(Gram(self.kernel, self._coordinates(rows)).dense(), dtype=float)

    def diag(self, X: Objects) -> Array:
        """Return k(x, x) of new objects."""
        assert self.kernel is not None
        return np.asarray(self.kernel.diag(self._best.coordinates(X)), dtype=float)

    def train_diag(self, rows: IntArray) -> Array:
        """Return k(x, x) of training rows."""
        assert self.kernel is not None
        return np.asarray(self.kernel.diag(self._coordinates(rows)), dtype=float)

    def cross(self, X: Objects, rows: IntArray, kernel: Kernel | None = None) -> Array:
        """Return the best member's kernel values of new objects with some training rows."""
        kernel = kernel or self.kernel
        assert kernel is not None
        new, known = self._best.coordinates(X), self._coordinates(rows)
        return np.asarray(Gram(kernel, new, known).dense(), dtype=float)

    @property
    def uses_all(self) -> bool:
        """Whether the members use every row by their nature."""
        return True

    @cached_property
    def support(self) -> IntArray:
        """All training rows; none where the members learnt on landmarks."""
        exact = all(len(part.expansion) == self.rows for part in self._functions[0])
        return np.arange(self.rows if exact else 0)

    @cached_property
    def coefficients(self) -> Array:
        """aᵢⱼ of the best member."""
        coefficients = np.asarray(self._best.expansion.coefficients)
        return coefficients.reshape(len(coefficients), -1)[self.support]

    def contributions(self, X: Objects, K: Array, mixes: Array) -> Array:
        """Return what each training row adds to the decisions on new objects, by all members."""
        total = np.zeros_like(K)
        for part in self._functions[0]:
            own = part.expansion
            values = Gram(own.kernel, part.coordinates(X), own.points).dense()
            total += values * (mixes @ own.coefficients.reshape(len(own), -1).T)
        return total

    @property
    def biases(self) -> Array:
        """b_j of each function."""
        return np.asarray(self._functions[1], dtype=float)
