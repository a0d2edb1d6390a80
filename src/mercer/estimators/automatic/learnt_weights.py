"""Weights of columns by steps along the gradient of the errors of rows that were left out."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from mercer._typing import Array
from mercer.kernels.vectors.radial import Radial

MOST_COLUMNS = 100
"""Coordinates whose weights are learnt: more are too many for a few hundred rows."""
_ROWS = 400
"""Rows that the weights are learnt from: a step takes some ten milliseconds."""
_STEPS = 40
"""Steps of L-BFGS; most searches end before."""
_TIE = 1.0
"""ρ: a weight that moves by a factor e costs as much as ½ of a row's share in n/2 log of the sum
of squares. Chosen on half of the tables of the benchmark on regression."""
_REACH = (9.0, 6.0)
"""How far a logarithm of a weight may go down and up: from next to nothing to 400 times."""
_PENALTIES = (1e-5, 1e2)
"""The least and the greatest λ on the way."""


def learnt_weights(kernel: Radial, Z: Array, Y: Array, weights: Array, alpha: float) -> Array:
    r"""Return weights w of the columns near given ones whose leave-one-out errors are smaller.

    min over log w and log λ of n/2 · log Σᵢ ‖rᵢ‖² + ρ/2 Σⱼ log²(wⱼ/w⁰ⱼ), with K of the profile of
    s = Σⱼ wⱼ|xⱼ − zⱼ|ᵖ, A = K + 11ᵀ + λI, and r = A⁻¹Y/diag A⁻¹, the errors of rows that were left
    out. Y is centred. With ∂/∂K of Σᵢ‖rᵢ‖²/2 the gradients of all weights are products of matrices.

    Parameters
    ----------
    kernel : Radial
        Its profile and its power p of differences count; its width does not.
    Z, Y : arrays of shape (n, columns) and (n, functions)
    weights, alpha : array of shape (columns,) and float
        Where the search starts.

    References
    ----------
    S. Sundararajan and S. Keerthi, Predictive approaches for choosing hyperparameters in Gaussian
    processes, Neural Computation 13 (2001).
    """
    Z, Y = Z[:_ROWS], Y[:_ROWS] - Y[:_ROWS].mean(axis=0)
    if not Y.any():  # none of these rows is of a rare class
        return weights
    start = np.log(np.append(weights, np.clip(alpha, *_PENALTIES)))

    def loss(theta: Array) -> tuple[float, Array]:
        value, slope = left_out_loss(kernel, Z, Y, np.exp(theta[:-1]), float(np.exp(theta[-1])))
        moved = np.append(theta[:-1] - start[:-1], 0.0)
        return value + _TIE / 2 * float(moved @ moved), slope + _TIE * moved

    bounds = [(at - _REACH[0], at + _REACH[1]) for at in start[:-1]]
    bounds.append((np.log(_PENALTIES[0]), np.log(_PENALTIES[1])))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS}
    )
    return np.asarray(np.exp(found.x[:-1]))


def left_out_loss(
    kernel: Radial, Z: Array, Y: Array, weights: Array, alpha: float
) -> tuple[float, Array]:
    """Return n/2 · log Σᵢ‖rᵢ‖²/n and its slopes in log w and log λ."""
    n = len(Z)
    factors = weights if kernel.power == 1 else np.sqrt(weights)
    metric = "cityblock" if kernel.power == 1 else "sqeuclidean"
    s = cdist(Z * factors, Z * factors, metric)
    slopes = kernel.derivative(s.copy())
    A = kernel.profile(s) + 1.0
    A.flat[:: n + 1] += alpha
    try:
        root = cholesky(A, lower=True, check_finite=False)
    except LinAlgError:
        # No better than the mean of all rows: the search turns back.
        return n / 2 * float(np.log((Y**2).sum() / n + 1.0)), np.zeros(len(weights) + 1)
    half = dpotri(root, lower=True)[0]  # a third of the time of solving with all unit vectors
    inverse = half + np.tril(half, -1).T
    solved, diagonal = inverse @ Y, inverse.diagonal()
    errors = solved / diagonal[:, None]
    total = float((errors**2).sum())
    # ∂(Σ‖rᵢ‖²/2)/∂A, symmetric.
    pull = inverse @ (errors / diagonal[:, None])
    M = (inverse * ((errors**2).sum(axis=1) / diagonal)) @ inverse
    M -= (pull @ solved.T + solved @ pull.T) / 2
    M *= n / total
    toward_alpha = alpha * float(np.trace(M))
    M *= slopes
    return n / 2 * float(np.log(total / n)), np.append(
        weights * _sums(M, Z, kernel.power), toward_alpha
    )


def _sums(M: Array, Z: Array, power: int) -> Array:
    """Return Σᵢₖ Mᵢₖ |zᵢⱼ − zₖⱼ|ᵖ for each column j, with M symmetric."""
    if power == 2:
        return np.asarray(2 * (M.sum(axis=1) @ Z**2 - (Z * (M @ Z)).sum(axis=0)))
    return np.array([float((M * np.abs(z[:, None] - z)).sum()) for z in Z.T])
