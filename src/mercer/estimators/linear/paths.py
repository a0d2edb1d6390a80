"""Paths of the lasso and the elastic net: many penalties, each fit from the one before."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from mercer._typing import Array, Objects, Parameter, Targets
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.magnitudes import check_range, check_squares
from mercer.estimators.linear.ridge_weights import WeightPath
from mercer.estimators.linear.sparse import SHARPNESS, warn_unfinished
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.certificate import Certificate
from mercer.problems.elastic_net import in_units
from mercer.problems.multi_task import MultiTaskProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.block_descent import BlockDescent
from mercer.solvers.linear.lasso import WorkingSets


def enet_path(
    X: Objects,
    y: Targets,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int | str = "deprecated",
    alphas: int | ArrayLike | None = 100,
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
        The data. Several targets, one a column of y, share which columns of X they use: as in
        scikit-learn the ℓ₁ penalty is then on the lengths of the rows of weights, Σⱼ ‖Wⱼ‖.
    l1_ratio : float
        The share of the ℓ₁ penalty.
    eps : float
        The smallest α over the largest, where ``alphas`` is a number.
    alphas : int or array
        How many α there are, from the smallest that gives zeros only; or the α themselves.
    n_alphas : int
        The old name of a number of ``alphas``, with a warning as in scikit-learn.
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
        A :class:`WeightPath`, which draws itself: ``lasso_path(X, y).plot()``. The gaps are those
        of the objective of :class:`ElasticNet`. Several targets come first in the shape of the
        weights, (targets, columns, α).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import enet_path
    >>> alphas, coefs, gaps = enet_path(np.eye(2), [2.0, 1.0], l1_ratio=0.5, alphas=3)
    >>> coefs.shape, bool((abs(coefs[:, 0]) <= abs(coefs[:, 2])).all())
    ((2, 3), True)
    """
    alphas = _count_or_values(alphas, n_alphas)
    unknown = set(params) - {"random_state", "selection", "do_screening"}
    if unknown:
        raise InvalidParameter(f"Unexpected parameters in params: {sorted(unknown)}; remove them.")
    if not 0 <= l1_ratio <= 1:
        raise InvalidParameter(f"l1_ratio={l1_ratio!r} is a share; give a number from 0 to 1.")
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32])
    y = check_array(y, dtype=np.float64, ensure_2d=False)
    check_squares(X, "X")
    check_squares(y, "y")
    if len(y) != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows and y has {len(y)} numbers; they must match.")
    if y.ndim != 1 and positive:
        raise InvalidParameter("positive=True is not allowed for multi-output (y.ndim != 1)")
    n = len(y)
    data = Centred(X, y.reshape(n, -1), None, False)
    if isinstance(alphas, Integral):
        slopes = data.design.correlate(data.Y) / n
        alphas = _grid(slopes, l1_ratio, eps, int(alphas), positive)
    else:
        alphas = np.sort(check_array(alphas, ensure_2d=False, dtype=np.float64))[::-1]
    if not alphas.size or alphas.min() < 0:
        raise InvalidParameter(f"alphas={alphas!r} have to be numbers of 0 or more.")
    penalties = [(a * l1_ratio * n, a * (1 - l1_ratio) * n) for a in alphas]
    budget = Budget(tol=tol * SHARPNESS, max_iter=max_iter)
    first = None if coef_init is None else np.asarray(coef_init, np.float64)
    if y.ndim == 1:
        found = list(_one_target(data, penalties, budget, first, positive))
    else:
        found = list(_several_targets(data, penalties, budget, first))
    coefs = np.asfortranarray(np.stack([weights for weights, _ in found], axis=-1), dtype=X.dtype)
    certificates = [in_units(certificate, 1 / n) for _, certificate in found]
    check_range(certificates)
    warn_unfinished(certificates, tol)
    gaps = np.array([max(certificate.gap, 0.0) for certificate in certificates])
    rounds = [certificate.iterations for certificate in certificates]
    return (alphas, coefs, gaps, rounds) if return_n_iter else WeightPath(alphas, coefs, gaps)


def lasso_path(X: Objects, y: Targets, **options: Any) -> Any:
    """Return the weights of the lasso for many α, each fit from the one before.

    A drop-in for :func:`sklearn.linear_model.lasso_path`; :func:`enet_path` with ``l1_ratio=1``,
    where the options are explained.

    Parameters
    ----------
    X, y : array or sparse matrix, array
        The data.
    **options
        As in :func:`enet_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import lasso_path
    >>> X, y = np.eye(2), [2.0, 1.0]
    >>> alphas, coefs, gaps = lasso_path(X, y, alphas=[0.75, 0.25])
    >>> coefs  # yⱼ − 2α, or 0
    array([[0.5, 1.5],
           [0. , 0.5]])
    """
    if "l1_ratio" in options:
        raise InvalidParameter("lasso_path has l1_ratio=1; use enet_path for other values.")
    return enet_path(X, y, l1_ratio=1.0, **options)


def _one_target(
    data: Centred,
    penalties: list[tuple[float, float]],
    budget: Budget,
    first: Array | None,
    positive: bool,
) -> Iterator[tuple[Array, Certificate]]:
    problem = data.problem(0, 0.0, 0.0, positive)
    start = None if first is None else problem.evaluate(data.design, first)
    for solution in WorkingSets().path(problem, data.gram, penalties, budget, start):
        yield solution.value.w, solution.certificate


def _several_targets(
    data: Centred, penalties: list[tuple[float, float]], budget: Budget, first: Array | None
) -> Iterator[tuple[Array, Certificate]]:
    W = None if first is None else np.ascontiguousarray(first.T)
    problem = MultiTaskProblem(data.Y, 0.0, 0.0)
    for l1, l2 in penalties:
        solution = BlockDescent().solve(problem.with_penalty(l1, l2), data.gram, budget, W)
        W = solution.value
        yield W.T, solution.certificate


def _count_or_values(alphas: int | ArrayLike | None, n_alphas: int | str) -> int | ArrayLike:
    """Return ``alphas``, with warnings for what scikit-learn has deprecated."""
    if not isinstance(n_alphas, str):
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an "
            "integer value which removes the need to pass 'n_alphas'.",
            FutureWarning,
            stacklevel=caller_level(),
        )
        alphas = n_alphas if alphas is None or isinstance(alphas, Integral) else alphas
    elif alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11. Pass a number or values.",
            FutureWarning,
            stacklevel=caller_level(),
        )
    return 100 if alphas is None else alphas


def _grid(slopes: Array, l1_ratio: float, eps: float, count: int, positive: bool) -> Array:
    """Return α from the smallest that gives zeros only down to ``eps`` of it."""
    if l1_ratio == 0:
        raise InvalidParameter(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a "
            "grid by providing your estimator with the appropriate `alphas=` argument."
        )
    pull = slopes[:, 0] if positive else np.linalg.norm(slopes, axis=1)
    most = max(float(pull.max()), 0.0) / l1_ratio
    smallest = float(np.finfo(np.float64).resolution)
    if most <= smallest:
        return np.full(count, smallest)
    return np.geomspace(most, most * eps, count)
