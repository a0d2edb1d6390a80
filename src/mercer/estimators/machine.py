"""What all kernel machines share: reading data, binding a kernel, evaluating expansions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _num_samples,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer._typing import Array, IntArray
from mercer.estimators.choice import kernel_named
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.expansion import Expansion
from mercer.gram.landmarks import Nystrom
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import VectorEncoder, as_narwhals, is_frame
from mercer.kernels.points import Points
from mercer.kernels.wrappers import Precomputed


@dataclass(frozen=True, eq=False)
class Functions:
    """What a fit on a shared matrix has found: Σ aᵢ k(xᵢ, x) + b, one column for each function."""

    coefficients: Array
    intercepts: Array
    status: str
    seconds: float


class KernelMachine(BaseEstimator):
    """A machine whose answer is f(x) = Σ aᵢ k(xᵢ, x) + b.

    ``kernel`` is a kernel, the name of one, ``"precomputed"`` or a function of two batches.
    """

    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    strict: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    @property
    def _mode(self) -> str:
        """How data reach the kernel: ``kernel``, ``matrix`` (precomputed) or ``function``."""
        if isinstance(self.kernel, Kernel):
            return "kernel"
        if isinstance(self.kernel, str):
            return "matrix" if self.kernel == "precomputed" else "kernel"
        return "function"

    def _read_training(self, X: Any, y: Any) -> Any:
        """Check the training data and return them in the form the kernel takes."""
        self._sparse = sparse.issparse(X) and self._mode == "kernel"
        if sparse.issparse(X) and self._mode == "matrix":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if self._takes_vectors():
            wanted = {} if y is None else {"y": y}
            read = validate_data(self, X, **wanted, **_VECTORS)
            X = read if y is None else read[0]
        elif y is not None:
            check_consistent_length(X, y)
            _check_rows(X, type(self).__name__)
        if self._mode == "matrix" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        return X

    def _bind(self, X: Any) -> tuple[Kernel, Points]:
        """Return the kernel, settled on the training data, and the training data as points."""
        if self._mode == "kernel":
            kernel, points = self._encode(X)
            settled = kernel.resolve(points)
            self._gamma = getattr(settled, "gamma", 0.0)
            return settled, points
        matrix = X
        if self._mode == "function":
            self._training_objects = X
            matrix = self._function_values(X, X)
            n = _num_samples(X)
            if matrix.shape != (n, n):
                raise ValueError(
                    f"{type(self).__name__}: the kernel function returned a matrix of shape "
                    f"{matrix.shape} for {n} × {n} objects."
                )
        kernel = Precomputed(matrix)
        return kernel, kernel.encode(np.arange(len(matrix)))

    def _approximated(self, kernel: Kernel, points: Points) -> Kernel:
        """Return the kernel on landmarks, where an approximation is asked for, else the kernel."""
        spec = Nystrom.of(self.approximation, type(self).__name__)
        if spec is None:
            return kernel
        if self._mode != "kernel":
            raise InvalidParameter(
                f"{type(self).__name__}: approximation={self.approximation!r} chooses landmarks "
                "among objects, and there is a matrix or a function in place of a kernel. Pass a "
                "kernel (FunctionKernel makes one of a function of two objects)."
            )
        return NystromKernel.of(kernel, points, spec)

    approximation: Any = None

    def _encode(self, X: Any) -> tuple[Kernel, Points]:
        """Return the kernel, not yet settled on any data, and the read data as points."""
        kernel = self.kernel
        if isinstance(kernel, str):
            gamma = self._gamma_for(X.shape[1])
            kernel = kernel_named(kernel, gamma, self.degree, self.coef0, X.shape[1])
        if self._takes_vectors():
            _check_size(X)
            X = _compact(X)
        return kernel, kernel.encode(X)

    def _gamma_for(self, columns: int) -> Any:
        """Return the width of a kernel given by its name, for data with so many columns."""
        del columns
        return self.gamma

    _told: Array | None = None

    def _untold(self) -> Self:
        """Return a copy to work on; a search needs thousands, and ``copy`` takes its time."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def _kernel_parameters(self) -> tuple[Any, ...]:
        """Return what the kernel depends on; machines that agree here share a matrix."""
        if self._mode != "kernel":
            return (self._mode, id(self.kernel))
        named = isinstance(self.kernel, str)
        parameters = (self.gamma, self.degree, self.coef0) if named else ()
        return (self.kernel, *parameters, self.strict)

    def _telling(self, values: Array) -> Self:
        """Return a copy that gives these values of its functions, whatever data it is shown.

        A search computes them from a matrix that many fits share; scorers ask the copy.
        """
        twin = self._untold()
        twin._told = values
        return twin

    def _read_new(self, X: Any) -> Any:
        """Check new data against the training data and return them in the form needed."""
        if self._told is not None:
            return X
        check_is_fitted(self)
        if self._takes_vectors():
            X = validate_data(self, X, reset=False, **_VECTORS)
            if sparse.issparse(X) and not self._sparse:
                raise ValueError(
                    f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
                )
        if self._mode == "matrix" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        return X

    def _expand(self, X: Any, support: IntArray, points: Points, coefficients: Array) -> Array:
        """Return Σ aᵢ k(x, xᵢ) for read data; ``coefficients`` has one column for each function."""
        if self._mode == "kernel":
            return Expansion(self.kernel_, points, coefficients)(X)
        if self._mode == "matrix":
            return np.asarray(X[:, support] @ coefficients)
        # A plain function may look at the whole training set, as scikit-learn hands it over.
        values = self._function_values(X, self._training_objects)
        if values.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {values.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        return np.asarray(values[:, support] @ coefficients)

    def _function_values(self, X: Any, Z: Any) -> Array:
        matrix = self.kernel(X, Z)
        if sparse.issparse(matrix):
            matrix = matrix.toarray()
        return np.asarray(check_array(np.atleast_2d(matrix), dtype=np.float64, order="C"))

    def _takes_vectors(self) -> bool:
        """Whether the data are plain vectors, which scikit-learn's validation knows."""
        if self._mode != "kernel":
            return self._mode == "matrix"
        if isinstance(self.kernel, str):
            return True
        encoders = self.kernel.encoders()
        return all(isinstance(encoder, VectorEncoder) for encoder in encoders)


_VECTORS: dict[str, Any] = {
    "dtype": np.float64,
    "order": "C",
    "accept_sparse": "csr",
    "accept_large_sparse": False,
}


_DENSE_CELLS = 1 << 21
"""Sparse training data of at most this size become dense: 16 MB buy the speed of BLAS."""


def _compact(X: Any) -> Any:
    cells = X.shape[0] * X.shape[1]
    return X.toarray() if sparse.issparse(X) and cells <= _DENSE_CELLS else X


def _check_size(X: Any) -> None:
    """Refuse numbers whose squares overflow, before anything is computed of them."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise InvalidInput(
            "The dual coefficients or intercepts are not finite: the data hold numbers as large as "
            f"{largest:.2g}, whose squares overflow. Scale the data."
        )


_LARGEST = 1e150


def _check_rows(X: Any, machine: str) -> None:
    if _num_samples(X) == 0:
        raise ValueError(f"{machine}: X has no rows; at least one object is needed.")


def take_objects(objects: Any, index: IntArray) -> Any:
    """Return some objects of a batch, in the form that it has."""
    if is_frame(objects):
        return as_narwhals(objects)[index].to_native()
    if hasattr(objects, "iloc"):
        return objects.iloc[index]
    if hasattr(objects, "shape"):
        return objects[index]
    return [objects[i] for i in index]
