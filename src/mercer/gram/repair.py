"""Repairs of a Gram matrix that is not positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter

Method = Literal["clip", "flip", "shift"]


@dataclass(frozen=True, eq=False)
class Repair:
    """A positive semi-definite matrix near a symmetric one, and the way to treat new rows.

    Attributes
    ----------
    matrix : array
        The repaired matrix.
    method : str
        ``clip`` sets negative eigenvalues to 0 (the nearest such matrix in the Frobenius norm),
        ``flip`` takes their absolute values, ``shift`` adds a multiple of the identity.
    smallest : float
        The smallest eigenvalue before the repair.
    change : float
        The Frobenius norm of the change, as a share of the norm of the matrix.

    Examples
    --------
    >>> from mercer import repair
    >>> fixed = repair([[0.0, 1.0], [1.0, 0.0]])  # eigenvalues 1 and −1
    >>> round(fixed.smallest, 6), round(fixed.change, 4)
    (-1.0, 0.7071)
    >>> fixed.matrix.round(6)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    matrix: Array
    method: Method
    smallest: float
    change: float
    _transform: Array | None

    def apply(self, rows: ArrayLike) -> Array:
        """Return the rows k(x, xᵢ) of new points as the repaired matrix would have them."""
        K = np.asarray(rows)
        if K.ndim != 2 or K.shape[1] != len(self.matrix):
            raise InvalidInput(
                f"Repair: rows of shape {K.shape} for a matrix of {len(self.matrix)} points; each "
                "row has to hold the values with all training points."
            )
        return K if self._transform is None else np.asarray(K @ self._transform)

    def __repr__(self) -> str:
        return (
            f"Repair by {self.method}: smallest eigenvalue was {self.smallest:.3g}, "
            f"the matrix changed by {self.change:.2%}"
        )


def repair(matrix: ArrayLike, method: Method = "clip") -> Repair:
    """Make a symmetric matrix positive semi-definite by changing its spectrum.

    With K = U diag(λ) Uᵀ: ``clip`` max(λ, 0), ``flip`` ∣λ∣, ``shift`` λ + max(0, −λ_min).

    Parameters
    ----------
    matrix : array of shape (n, n)
        A symmetric matrix, as ``kernel(X)`` or ``Gram(kernel, X).dense()`` give it.
    method : {"clip", "flip", "shift"}
        What happens to negative eigenvalues.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi and Cazzanti, Similarity-based classification, JMLR 2009.

    Examples
    --------
    >>> from mercer import repair
    >>> K = [[0.0, 2.0], [2.0, 0.0]]  # eigenvalues 2 and −2
    >>> repair(K, "flip").matrix.diagonal().round(6)  # eigenvalues 2 and 2: twice the identity
    array([2., 2.])
    >>> repair(K, "shift").matrix.round(6)  # eigenvalues 4 and 0
    array([[2., 2.],
           [2., 2.]])
    """
    if method not in ("clip", "flip", "shift"):
        raise InvalidParameter(f"repair: method={method!r} has to be 'clip', 'flip' or 'shift'.")
    K = np.asarray(matrix, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size or not np.isfinite(K).all():
        raise InvalidInput(f"repair: a finite square matrix is needed, got shape {K.shape}.")
    scale = float(np.abs(K).max(initial=0.0))
    if np.abs(K - K.T).max(initial=0.0) > 1e-8 * scale:
        raise InvalidInput(
            "repair: the matrix is not symmetric. Take (K + K.T) / 2 if you mean it."
        )
    eigenvalues, U = np.linalg.eigh((K + K.T) / 2)
    smallest = float(eigenvalues[0])
    transform: Array | None = None
    if method == "shift":
        repaired = K + max(0.0, -smallest) * np.eye(len(K))
    else:
        signs = np.sign(eigenvalues) if method == "flip" else (eigenvalues > 0).astype(float)
        transform = (U * signs) @ U.T
        repaired = (U * (eigenvalues * signs)) @ U.T
    norm = float(np.linalg.norm(K))
    change = float(np.linalg.norm(repaired - K)) / norm if norm else 0.0
    return Repair((repaired + repaired.T) / 2, method, smallest, change, transform)
