"""Linear regression in a norm of the residuals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin, _fit_context
from sklearn.linear_model._base import LinearModel
from sklearn.utils.validation import check_array, validate_data

from mercer._typing import Array
from mercer.exceptions import InvalidParameter, NotPositiveDefinite
from mercer.problems.linear_program import ChebyshevProblem, TiltedProblem
from mercer.problems.penalties import L2, PenaltyProblem
from mercer.solvers import least_squares, linear_programs


class NormRegressor(RegressorMixin, LinearModel):
    r"""Linear regression with the least norm of the residuals, certified.

    min ‖y − Xw − b‖  in L1, L2, L∞ or √(rᵀPr)

    L1 goes from vertex to vertex and L∞ is a linear program of HiGHS: both are exact and come with
    a dual point. L2 and P are solved by a singular value decomposition with scaled columns and
    refinement in extended precision, XᵀX is never formed; if the columns depend on each other, the
    shortest weights are taken and ``rank_`` says so.

    Parameters
    ----------
    norm : 1, 2, inf or array of shape (n_samples, n_samples)
        The norm, or a positive definite matrix P.
    fit_intercept : bool
        Whether there is an intercept b.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As in scikit-learn.
    norm_ : float
        The norm of the residuals.
    rank_ : int
        The number of independent columns, the one of the intercept included.
    interpolated_ : array of int
        L1: the rows that the fit goes through, one for each independent column. L∞: the rows with
        the largest residual that decide. Otherwise empty.
    multipliers_ : array of shape (n_samples,)
        The dual point.
    certificate_ : Certificate
        How far the answer is from the best one: of the norm for L1 and L∞, of its square otherwise.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 6.1.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "norm": ["array-like", int, float],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, norm: Any = 2, *, fit_intercept: bool = True) -> None:
        self.norm = norm
        self.fit_intercept = fit_intercept

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> NormRegressor:
        """Fit the weights to the rows of X and their targets y."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        A = np.column_stack([X, np.ones(len(y))]) if self.fit_intercept else X
        b = np.asarray(y, np.float64)
        self.interpolated_ = np.empty(0, np.intp)
        if np.ndim(self.norm) == 0 and self.norm in (1, np.inf):
            vertex = (
                linear_programs.solve_tilted(TiltedProblem(A, b))
                if self.norm == 1
                else linear_programs.solve_chebyshev(ChebyshevProblem(A, b))
            )
            x, self.multipliers_, self.interpolated_ = vertex.x, vertex.nu, vertex.rows
            self.certificate_ = vertex.certificate
            self.rank_ = int(np.linalg.matrix_rank(A))
            self.norm_ = vertex.certificate.primal
        else:
            root = self._root(len(b))
            A, b = (A, b) if root is None else (root @ A, root @ b)
            found = least_squares.accurate(A, b)
            x, self.rank_ = found.x, found.rank
            problem = PenaltyProblem(A, b, L2())
            self.multipliers_ = problem.multipliers(x)
            self.certificate_ = problem.certify(x, self.multipliers_)
            self.norm_ = float(np.sqrt(self.certificate_.primal))
        self.coef_: Array = x[: X.shape[1]]
        self.intercept_: float = float(x[-1]) if self.fit_intercept else 0.0
        return self

    def _root(self, n: int) -> Array | None:
        """Return the transposed Cholesky factor of P, None for the identity."""
        if np.ndim(self.norm) == 0:
            if self.norm != 2:
                raise InvalidParameter(f"norm={self.norm!r} has to be 1, 2, inf or a matrix P.")
            return None
        P = check_array(self.norm, dtype=np.float64)
        if P.shape != (n, n) or not np.allclose(P, P.T):
            raise InvalidParameter(
                f"The matrix of the norm has the shape {P.shape}; it has to be symmetric, with a "
                f"row and a column for each of the {n} samples."
            )
        try:
            return np.asarray(linalg.cholesky(P))
        except linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(P).min())
            raise NotPositiveDefinite(
                f"The matrix of the norm has the eigenvalue {least:.3g}, so √(rᵀPr) is no norm; "
                "use a positive definite one."
            ) from None
