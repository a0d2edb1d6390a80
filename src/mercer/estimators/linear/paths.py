"""Paths of the lasso and the elastic net: many penalties, each fit from the one before."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from mercer._typing import Array, Objects, Parameter, Targets
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.magnitudes import check_range, check_squares
from mercer.estimators.linear.sparse import SHARPNESS, warn_unfinished
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.elastic_net import in_units
from mercer.solvers.base import Budget
from mercer.solvers.linear.lasso import WorkingSets


def enet_path(
    X: Objects,
    y: Targets,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: int | ArrayLike = 100,
    precompute: str | bool | ArrayLike = "auto",
    Xy: ArrayLike | None = None,
    copy_X: bool = True,
    coef_init: ArrayLike | None = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
    **params: Parameter,
) -> Any:
    """Return the weights of the elastic net for many α, each fit from the one before.

    A drop-in for :func:`sklearn.linear_model.enet_path`, without an intercept as there.

    Parameters
    ----------
    X, y : array or sparse matrix, array
        The data, one target.
    l1_ratio : float
        The share of the ℓ₁ penalty.
    eps : float
        The smallest α over the largest, where ``alphas`` is a number.
    alphas : int or array
        How many α there are, from the smallest that gives zeros only; or the α themselves.
    precompute, Xy, copy_X, verbose, check_input
        Accepted for scikit-learn, and not needed.
    coef_init : array or None
        Where the first fit starts.
    return_n_iter : bool
        Whether the numbers of rounds come as a fourth result.
    positive : bool
        Whether weights have to be 0 or more.
    tol, max_iter
        As in :class:`ElasticNet`.
    **params
        ``random_state``, ``selection`` and ``do_screening`` are accepted for scikit-learn.

    Returns
    -------
    alphas, coefs, dual_gaps : arrays of shape (α,), (columns, α) and (α,)
        The gaps are those of the objective of :class:`ElasticNet`.
    """
    unknown = set(params) - {"random_state", "selection", "do_screening"}
    if unknown:
        raise InvalidParameter(f"Unexpected parameters in params: {sorted(unknown)}; remove them.")
    if not 0 <= l1_ratio <= 1:
        raise InvalidParameter(f"l1_ratio={l1_ratio!r} is a share; give a number from 0 to 1.")
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32])
    y = check_array(y, dtype=np.float64, ensure_2d=False)
    check_squares(X, "X")
    check_squares(y, "y")
    if y.ndim != 1:
        raise InvalidInput(
            f"y has the shape {y.shape}; a path is for one target: call it for each column."
        )
    if len(y) != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows and y has {len(y)} numbers; they must match.")
    n = len(y)
    data = Centred(X, y[:, None], None, False)
    problem = data.problem(0, 0.0, 0.0, positive)
    if isinstance(alphas, Integral):
        alphas = _grid(data.design.correlate(problem.y) / n, l1_ratio, eps, int(alphas), positive)
    else:
        alphas = np.sort(check_array(alphas, ensure_2d=False, dtype=np.float64))[::-1]
    if not alphas.size or alphas.min() < 0:
        raise InvalidParameter(f"alphas={alphas!r} have to be numbers of 0 or more.")
    penalties = [(a * l1_ratio * n, a * (1 - l1_ratio) * n) for a in alphas]
    start = None
    if coef_init is not None:
        start = problem.evaluate(data.design, np.asarray(coef_init, np.float64))
    budget = Budget(tol=tol * SHARPNESS, max_iter=max_iter)
    path = WorkingSets().path(problem, data.gram, penalties, budget, start)
    coefs = np.empty((X.shape[1], len(alphas)), dtype=X.dtype, order="F")
    certificates = []
    for at, solution in enumerate(path):
        coefs[:, at] = solution.value.w
        certificates.append(in_units(solution.certificate, 1 / n))
    check_range(certificates)
    warn_unfinished(certificates, tol)
    gaps = np.array([max(certificate.gap, 0.0) for certificate in certificates])
    rounds = [certificate.iterations for certificate in certificates]
    return (alphas, coefs, gaps, rounds) if return_n_iter else (alphas, coefs, gaps)


def lasso_path(X: Objects, y: Targets, **options: Any) -> Any:
    """Return the weights of the lasso for many α, each fit from the one before.

    A drop-in for :func:`sklearn.linear_model.lasso_path`; :func:`enet_path` with ``l1_ratio=1``,
    where the options are explained.
    """
    if "l1_ratio" in options:
        raise InvalidParameter("lasso_path has l1_ratio=1; use enet_path for other values.")
    return enet_path(X, y, l1_ratio=1.0, **options)


def _grid(slopes: Array, l1_ratio: float, eps: float, count: int, positive: bool) -> Array:
    """Return α from the smallest that gives zeros only down to ``eps`` of it."""
    if l1_ratio == 0:
        raise InvalidParameter(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a "
            "grid by providing your estimator with the appropriate `alphas=` argument."
        )
    most = max(float((slopes if positive else np.abs(slopes)).max()), 0.0) / l1_ratio
    smallest = float(np.finfo(np.float64).resolution)
    if most <= smallest:
        return np.full(count, smallest)
    return np.geomspace(most, most * eps, count)
