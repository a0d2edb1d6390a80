"""The door: what users give as ``kernel`` (one of ours, a name, a function, a matrix) becomes one.

Behind it there is one path: a kernel, and points that it has encoded.
"""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_array

from mercer._sklearn import num_samples
from mercer._typing import Array, Model, Objects
from mercer.exceptions import (
    IndefiniteKernelWarning,
    InvalidInput,
    InvalidParameter,
    NotPositiveDefinite,
)
from mercer.kernels import registry
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.points import Points, Vectors, is_points
from mercer.kernels.vectors.constant import Constant
from mercer.kernels.vectors.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.vectors.radial import RBF
from mercer.kernels.wrappers import Precomputed

Width: TypeAlias = float | str | None
"""``gamma``: a number, a rule such as ``"scale"``, or None for a kernel's own default."""
BatchFunction: TypeAlias = Callable[[Any, Any], Any]
"""A function of two batches that returns the matrix of all pairs."""


class KernelArgument(ABC):
    """What was given as ``kernel``, and how data reach it. Equal ones give equal kernels."""

    @property
    @abstractmethod
    def takes_vectors(self) -> bool:
        """Whether the data are plain vectors, which scikit-learn's validation knows."""

    compares_objects: ClassVar[bool] = True
    """Whether the kernel compares any two objects, so that some can stand for others."""
    precomputed: ClassVar[bool] = False
    """Whether the data are kernel values already."""
    divisible: ClassVar[bool] = True
    """Whether a value depends on two objects alone, so that a part of a matrix is one of a part."""

    @abstractmethod
    def kernel_for(self, X: Objects) -> Kernel:
        """Return the kernel for training data, not yet settled on them."""

    def encode(self, X: Objects) -> tuple[Kernel, Points]:
        """Return the kernel, not yet settled on any data, and training data as points."""
        kernel = self.kernel_for(X)
        return kernel, self.points_of(kernel, X)

    def points_of(self, kernel: Kernel, X: Objects) -> Points:
        """Return training data as points of the kernel that was made for them."""
        if self.takes_vectors:
            _check_size(X)
            X = _compact(X, kernel)
        return kernel.encode(X)

    def check_training(self, X: Objects) -> None:  # noqa: B027 - few have anything to refuse
        """Refuse training data that have the wrong shape."""

    def check_new(self, X: Objects, count: int) -> None:  # noqa: B027
        """Refuse new data that do not fit ``count`` training rows."""


@dataclass(frozen=True)
class GivenKernel(KernelArgument):
    """A kernel of ours."""

    kernel: Kernel

    @cached_property
    def takes_vectors(self) -> bool:
        return self.kernel.takes_vectors

    def kernel_for(self, X: Objects) -> Kernel:
        return self.kernel


@dataclass(frozen=True)
class NamedKernel(KernelArgument):
    """The name of a kernel of vectors, with the parameters of scikit-learn's machines."""

    name: str
    gamma: Width
    degree: float
    coef0: float
    takes_vectors = True

    def kernel_for(self, X: Objects) -> Kernel:
        return kernel_named(self.name, self.gamma, self.degree, self.coef0, X.shape[1])

    def points_of(self, kernel: Kernel, X: Objects) -> Points:
        plain = not sparse.issparse(X) and getattr(kernel, "encoder", None) == _ROWS
        if not plain or not math.isfinite(_check_size(X)):
            return super().points_of(kernel, X)
        return Points.of({_ROWS: Vectors(X)}, len(X), X.dtype)


@dataclass(frozen=True)
class GivenMatrix(KernelArgument):
    """``"precomputed"``: data are rows of kernel values against the training rows."""

    takes_vectors = True
    compares_objects: ClassVar[bool] = False
    precomputed: ClassVar[bool] = True

    def kernel_for(self, X: Objects) -> Precomputed:
        return Precomputed(X)

    def points_of(self, kernel: Kernel, X: Objects) -> Points:
        return cast(Precomputed, kernel).all_rows()

    def check_training(self, X: Objects) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )

    def check_new(self, X: Objects, count: int) -> None:
        _check_columns(X, count)


@dataclass(frozen=True)
class GivenFunction(KernelArgument):
    """A function of two batches; it may look at the whole training set, as in scikit-learn."""

    function: BatchFunction
    owner: str
    takes_vectors: bool = False
    compares_objects: ClassVar[bool] = False
    divisible: ClassVar[bool] = False

    def kernel_for(self, X: Objects) -> Precomputed:
        matrix = function_values(self.function, X, X)
        n = num_samples(X)
        if matrix.shape != (n, n):
            raise ValueError(
                f"{self.owner}: the kernel function returned a matrix of shape "
                f"{matrix.shape} for {n} × {n} objects."
            )
        return FunctionOnTraining(matrix, self.function, X)

    def points_of(self, kernel: Kernel, X: Objects) -> Points:
        return cast(Precomputed, kernel).all_rows()


class FunctionOnTraining(Precomputed):
    """A function of two batches whose second one is always the whole training set.

    k(i, j) = f(X, X)[i, j] for training rows i, j; new objects z are rows of values f(z, X).
    """

    def __init__(self, matrix: Array, function: BatchFunction, objects: Objects) -> None:
        self.function, self.objects = function, objects
        super().__init__(matrix)

    def encode(self, X: Objects) -> Points:
        if is_points(X):
            return X
        values = function_values(self.function, X, self.objects)
        _check_columns(values, len(self.matrix))
        return super().encode(values)


def kernel_argument(
    kernel: object, gamma: Width, degree: float, coef0: float, owner: str
) -> KernelArgument:
    """Return what a user's ``kernel`` is; ``owner`` is the machine, for messages."""
    if isinstance(kernel, str):
        if kernel == "precomputed":
            return GivenMatrix()
        return NamedKernel(kernel, gamma, degree, coef0)
    if is_kernel(kernel):
        return GivenKernel(kernel)
    return GivenFunction(kernel, owner)  # type: ignore[arg-type]


def ridge_argument(machine: Model) -> KernelArgument:
    """Return what a kernel ridge regression, whoever wrote it, was given as ``kernel``.

    Names have the defaults of scikit-learn's pairwise kernels; functions are of two rows.
    """
    kernel, gamma = machine.kernel, machine.gamma
    if callable(kernel) and not is_kernel(kernel):
        params = machine.kernel_params or {}
        rows = partial(pairwise_kernels, metric=kernel, filter_params=True, **params)
        return GivenFunction(rows, "KernelRidge", takes_vectors=True)
    if gamma is None and isinstance(kernel, str) and kernel not in ("linear", "precomputed"):
        by_columns = kernel == "rbf" or registry.find(kernel).name in _BY_COLUMNS
        gamma = "auto" if by_columns else None
    return kernel_argument(kernel, gamma, machine.degree, machine.coef0, "KernelRidge")


def check_name(kernel: object) -> None:
    """Raise where ``kernel`` is neither a kernel, nor a name of one, nor a function."""
    if isinstance(kernel, str):
        if kernel not in _SKLEARN_NAMES:
            registry.find(kernel)
    elif not callable(kernel):
        raise InvalidParameter(
            f"kernel={kernel!r} has to be a mercer kernel, the name of one, 'precomputed' or a "
            "function of two batches that returns their matrix."
        )


def kernel_named(name: str, gamma: Width, degree: float, coef0: float, columns: int) -> Kernel:
    """Return the kernel of a name, with the parameters of scikit-learn's machines.

    ``gamma="scale"`` is settled later on the training points; ``"auto"`` is 1/columns, as there;
    None leaves a kernel its own default.
    """
    width: Any = 1.0 / columns if isinstance(gamma, str) and gamma == "auto" else gamma
    if name == "linear":
        return Linear()
    if name in ("poly", "polynomial"):
        return Polynomial(degree, width, coef0)
    if name == "sigmoid":
        return Sigmoid(width, coef0)
    if name == "rbf":
        return Constant(1.0) if width == 0 else RBF(gamma=width)
    kernel: Any = registry.find(name).kernel
    asked = inspect.signature(kernel).parameters.get("gamma")
    # A rule such as "scale" is for kernels that have one; others keep a width of their own.
    takes = asked is not None and (asked.default is None or not isinstance(width, str))
    made: Kernel = kernel(gamma=width) if takes and width is not None else kernel()
    return made


def function_values(function: BatchFunction, X: Objects, Z: Objects) -> Array:
    """Return the matrix that a function of two batches gives, checked."""
    matrix = function(X, Z)
    if sparse.issparse(matrix):
        matrix = matrix.toarray()
    return np.asarray(check_array(np.atleast_2d(matrix), dtype=np.float64, order="C"))


def check_definite(kernel: Kernel, needed: Definite, strict: bool, machine: str) -> None:
    """Warn (or raise, if ``strict``) where a kernel is known not to be what a machine needs."""
    if kernel.definite is Definite.INDEFINITE or (strict and kernel.definite < needed):
        message = (
            f"{machine}: the kernel {kernel} is {kernel.definite.words}. The problem may then not "
            "be convex and the certificate holds for a local optimum only; check_kernel(kernel, X) "
            "shows how far it is off, repair(...) mends a matrix."
        )
        if strict:
            raise NotPositiveDefinite(message)
        warnings.warn(message, IndefiniteKernelWarning, stacklevel=caller_level())


def caller_level() -> int:
    """Return the ``stacklevel`` at which a warning shows the line that called mercer."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_OWN):
        level, frame = level + 1, frame.f_back
    return level


_BY_COLUMNS = frozenset({"rbf", "laplacian", "polynomial", "sigmoid"})
"""Kernels whose width is 1/columns by default where scikit-learn's function is meant."""
_ROWS = VectorEncoder()
_SKLEARN_NAMES = frozenset({"rbf", "linear", "poly", "sigmoid", "precomputed"})
"""The names that scikit-learn's machines take."""
_OWN = ("mercer.", "sklearn.")
_DENSE_CELLS = 1 << 21
"""Sparse training data of at most this size become dense: 16 MB buy the speed of BLAS."""
_SPARSE_SHARE = 0.1
"""Share of numbers up to which products of sparse rows cost less than those of dense ones: at it
they took a third of the time, at twice the share more than twice as long."""
_FEW_SPARSE_ROWS = 100
"""Rows up to which dense ones are compared in one compiled call."""
_LARGEST = 1e150
"""The squares of larger numbers overflow."""


def _compact(X: Objects, kernel: Kernel) -> Objects:
    """Return sparse data as dense ones where that is faster."""
    if not sparse.issparse(X) or X.shape[0] * X.shape[1] > _DENSE_CELLS:
        return X
    few = X.nnz <= _SPARSE_SHARE * X.shape[0] * X.shape[1] and X.shape[0] > _FEW_SPARSE_ROWS
    by_products = all(getattr(s, "pace", 0.0) == 1.0 for s in kernel.statistics())
    return X if few and by_products else X.toarray()


def _check_size(X: Objects) -> float:
    """Refuse numbers whose squares overflow, before anything is computed; return the largest."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise InvalidInput(
            "The dual coefficients or intercepts are not finite: the data hold numbers as large as "
            f"{largest:.2g}, whose squares overflow. Scale the data."
        )
    return largest


def _check_columns(values: Objects, count: int) -> None:
    if values.shape[1] != count:
        raise ValueError(
            f"X.shape[1] = {values.shape[1]} should be equal to {count}, "
            "the number of samples at training time"
        )
