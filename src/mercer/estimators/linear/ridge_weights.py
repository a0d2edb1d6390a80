"""The path of ridge regression: all penalties from one singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils.validation import check_array

from mercer import _memory
from mercer._plot.weight_paths import draw_weight_path
from mercer._typing import Array, Axes, Objects, Targets
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.magnitudes import check_range, check_squares
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.elastic_net import in_units

_LARGE = 1 << 26
"""From 64 MiB on the memory of dense data is compared with what there is."""
_MOST = 10.0
"""The largest α of a grid, over the largest squared singular value: weights are a tenth there."""


class WeightPath(NamedTuple):
    """The weights of a linear model for many α, from :func:`ridge_path` or :func:`lasso_path`.

    Attributes
    ----------
    alphas : array of shape (α,)
        Largest first.
    coefs : array of shape (columns, α), or (targets, columns, α)
        The weights.
    dual_gaps : array of shape (α,)
        How far each objective is from the best one at most, summed over targets.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ridge_path
    >>> path = ridge_path(np.eye(2), [1.0, 3.0], alphas=[1.0])
    >>> path.alphas, path.coefs.ravel()  # y/(1 + α)
    (array([1.]), array([0.5, 1.5]))
    """

    alphas: Array
    coefs: Array
    dual_gaps: Array

    def plot(self, ax: Axes = None, *, names: Sequence[str] | None = None) -> Any:
        """Draw each weight against α, which falls to the right, the largest ones named.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        names : sequence of str, optional
            What the columns are called.
        """
        if self.coefs.ndim != 2:
            raise InvalidInput(
                f"WeightPath.plot draws one target, and there are {len(self.coefs)}. Draw them one "
                "by one: path._replace(coefs=path.coefs[0]).plot()."
            )
        if names is not None and len(names) != len(self.coefs):
            raise InvalidInput(
                f"WeightPath.plot: {len(names)} names for {len(self.coefs)} columns; one each."
            )
        return draw_weight_path(self.alphas, self.coefs, names, ax)


def ridge_path(
    X: Objects, y: Targets, *, alphas: int | ArrayLike = 100, eps: float = 1e-6
) -> WeightPath:
    """Return the weights of ridge regression for many α, all from one decomposition.

    w(α) = argmin ‖y − Xw‖² + α‖w‖² = Σⱼ vⱼ sⱼ/(sⱼ² + α) uⱼᵀy,  X = Σⱼ sⱼuⱼvⱼᵀ

    The counterpart of :func:`lasso_path`, and without an intercept as there: centre X and y for
    one. α is that of :class:`Ridge`, λ in textbooks.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, columns)
        The rows; sparse ones are made dense.
    y : array of shape (n,) or (n, targets)
        The targets.
    alphas : int or array
        How many α there are, from ten times the largest squared singular value of X down to
        ``eps`` of that; or the α themselves, all above 0.
    eps : float
        The smallest α over the largest, where ``alphas`` is a number.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, 2009, section
    3.4.1.

    Examples
    --------
    Weights shrink, and none becomes zero:

    >>> import numpy as np
    >>> from mercer import ridge_path
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> path = ridge_path(X, [1.0, 2.0], alphas=[4.0, 1.0])
    >>> path.coefs
    array([[0.2, 0.5],
           [0.5, 0.8]])
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    Y = check_array(y, dtype=np.float64, ensure_2d=False)
    check_squares(X, "X")
    check_squares(Y, "y")
    if len(Y) != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows and y has {len(Y)} numbers; they must match.")
    if not 0 < eps < 1:
        raise InvalidParameter(f"ridge_path: eps={eps!r} is a share; give a number from 0 to 1.")
    size = 24 * X.shape[0] * X.shape[1]
    if size > _LARGE:
        _memory.require(
            size, f"ridge_path of {X.shape[0]:,} × {X.shape[1]:,} numbers", "Use Ridge for each α."
        )
    dense: Array = X.toarray() if hasattr(X, "toarray") else X
    U, s, Vt = linalg.svd(dense, full_matrices=False, check_finite=False)
    grid = _alphas(alphas, eps, float(s.max(initial=0.0)) ** 2)
    targets = Y.reshape(len(Y), -1)
    shares = s[:, None] / (s[:, None] ** 2 + grid)
    # (columns, targets, α), by the directions of the data.
    coefs = np.einsum("jc,ja,jt->cta", Vt, shares, U.T @ targets, optimize=True)
    data = Centred(X, targets, None, False)
    gaps, certificates = np.zeros(len(grid)), []
    for a, alpha in enumerate(grid):
        for t in range(targets.shape[1]):
            problem = data.problem(t, 0.0, float(alpha), False)
            answer = problem.evaluate(data.design, np.ascontiguousarray(coefs[:, t, a]))
            certificates.append(in_units(problem.certify(answer, data.gram), 2.0))
            gaps[a] += max(certificates[-1].gap, 0.0)
    check_range(certificates)
    found = coefs[:, 0] if Y.ndim == 1 else coefs.transpose(1, 0, 2)
    return WeightPath(grid, np.asfortranarray(found), gaps)


def _alphas(given: Any, eps: float, largest: float) -> Array:
    if isinstance(given, Integral) and not isinstance(given, bool):
        if given < 1:
            raise InvalidParameter(f"ridge_path: alphas={given} has to be 1 or more.")
        top = _MOST * largest if largest > 0 else 1.0
        return np.geomspace(top, top * eps, int(given))
    grid = np.sort(check_array(given, ensure_2d=False, dtype=np.float64))[::-1]
    if grid.ndim != 1 or not grid.size or grid.min() <= 0:
        raise InvalidParameter(
            f"ridge_path: alphas={given!r} have to be a number of them, or a list of numbers > 0."
        )
    return np.ascontiguousarray(grid)
